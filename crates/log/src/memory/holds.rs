//! The lists of open holds of a log in memory.

use std::{
    collections::{BTreeMap, btree_map},
    ops::Bound,
};

use holdpoint_protocol::ids::{ChatId, ToolCallId};

use super::{Chat, Chats};
use crate::{HoldApprover, HoldChanges, HoldCount, HoldCounts, HoldQuery, HoldRow, HoldsOf, ListedHold, PAGE_BYTES};
use holdpoint_core::{clock::Timestamp, subject::Subject};

/// The place of a hold in its list.
type Place = (Timestamp, ToolCallId, ChatId);

impl Chats {
    pub(super) fn holds(&self, query: &HoldQuery, limit: usize) -> Vec<ListedHold> {
        let after = query.after.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let owned = |subject: &Subject| {
            let owned = self.by_subject.get(subject).into_iter();
            owned.flat_map(|owned| owned.holds.range((after.clone(), Bound::Unbounded)))
        };
        let holds: Box<dyn Iterator<Item = (&Place, &HoldRow)>> = match &query.of {
            HoldsOf::Subject(subject) => Box::new(owned(subject)),
            HoldsOf::Chat(only) => match self.by_id.get(only) {
                Some(chat) => Box::new(owned(&chat.head.subject).filter(move |((.., chat), _)| chat == only)),
                None => return Vec::new(),
            },
            HoldsOf::Approver(approver) => {
                let places = self.by_approver.get(approver).into_iter();
                let places = places.flat_map(|places| places.range((after.clone(), Bound::Unbounded)));
                Box::new(places.filter_map(|(at, subject)| Some((at, self.by_subject.get(subject)?.holds.get(at)?))))
            }
        };
        let fitting = holds.filter(|(_, hold)| hold.approval.is_some() || !query.only_approvals).take(limit);
        let within = fitting.scan(0, |bytes, (at, hold)| {
            let is_full = *bytes > PAGE_BYTES;
            *bytes += hold.data.len();
            (!is_full).then_some((at, hold))
        });
        within.map(|((.., chat), hold)| (chat.clone(), hold.clone())).collect()
    }

    /// Adds the holds that begin.
    pub(super) fn open_holds(&mut self, id: &ChatId, chat: &mut Chat, holds: HoldChanges) {
        let owned = self.by_subject.entry(chat.head.subject.clone()).or_default();
        for hold in holds.opened {
            chat.holds.insert(hold.call.clone(), (hold.since, hold.due_at));
            self.due.extend(hold.due_at.map(|due_at| (due_at, id.clone(), hold.call.clone())));
            owned.holds.insert((hold.since, hold.call.clone(), id.clone()), hold);
        }
        for (call, approver) in holds.approvers {
            let Some((since, _)) = chat.holds.get(&call) else { continue };
            let place = (*since, call.clone(), id.clone());
            self.by_approver.entry(approver.clone()).or_default().insert(place, chat.head.subject.clone());
            chat.approvers.push((call, approver));
        }
    }

    /// See [`crate::Index::restore_holds`].
    pub(super) fn restore_holds(&mut self, id: &ChatId, expected: u64, holds: HoldChanges) -> bool {
        let Some(mut chat) = self.by_id.remove(id) else { return false };
        let is_expected = chat.len() == expected;
        if is_expected {
            for call in chat.holds.keys().cloned().collect::<Vec<_>>() {
                self.close(id, &mut chat, &call);
            }
            self.open_holds(id, &mut chat, holds);
        }
        self.by_id.insert(id.clone(), chat);
        is_expected
    }

    /// Moves the holds of a chat to another owner.
    pub(super) fn move_holds(&mut self, id: &ChatId, chat: &Chat, to: &Subject) {
        for (call, (since, _)) in &chat.holds {
            let place = (*since, call.clone(), id.clone());
            let mut moved = None;
            self.disown(&chat.head.subject, |owned| moved = owned.holds.remove(&place));
            for (_, approver) in chat.approvers.iter().filter(|(of, _)| of == call) {
                self.by_approver.entry(approver.clone()).or_default().insert(place.clone(), to.clone());
            }
            let owned = self.by_subject.entry(to.clone()).or_default();
            owned.holds.extend(moved.map(|hold| (place, hold)));
        }
    }

    /// See [`crate::Index::approvers`].
    pub(super) fn approvers(&self, chat: &ChatId) -> Vec<HoldApprover> {
        let of_chat = self.by_id.get(chat).into_iter().flat_map(|chat| &chat.approvers);
        of_chat.map(|(call, approver)| (call.clone(), Some(approver.clone()))).collect()
    }

    pub(super) fn count_holds(&self, times: &[Timestamp]) -> HoldCounts {
        let mut counts: BTreeMap<(Box<str>, bool, usize), (u64, Timestamp)> = BTreeMap::new();
        for hold in self.by_subject.values().flat_map(|owned| owned.holds.values()) {
            let age = times.iter().filter(|time| hold.since <= **time).count();
            match counts.entry((hold.tool.clone(), hold.approval.is_some(), age)) {
                btree_map::Entry::Vacant(entry) => _ = entry.insert((1, hold.since)),
                btree_map::Entry::Occupied(mut entry) => {
                    let (count, oldest) = entry.get_mut();
                    *count += 1;
                    *oldest = hold.since.min(*oldest);
                }
            }
        }
        let count = |((tool, is_approval, age), (count, oldest))| HoldCount { tool, is_approval, age, count, oldest };
        let chats = self.by_id.values().filter(|chat| !chat.holds.is_empty()).count() as u64;
        HoldCounts { chats, holds: counts.into_iter().map(count).collect() }
    }
}
