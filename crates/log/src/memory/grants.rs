//! The grants of a log in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use holdpoint_protocol::ids::{ChatId, GrantId};

use super::{Chats, Record};
use crate::{
    AuditRow, GrantChanges, GrantQuery, GrantRow, GrantScope, GrantState, GrantUse, REVOCATION, Revocation, StoredGrant,
};
use holdpoint_core::{clock::Timestamp, subject::Subject};

/// The place of a grant in a list.
type Place = (Timestamp, GrantId);

/// The grants.
#[derive(Debug, Default)]
pub(super) struct Grants {
    by_id: HashMap<GrantId, StoredGrant>,
    places: BTreeSet<Place>,
    by_subject: HashMap<Subject, BTreeSet<Place>>,
    by_maker: HashMap<Subject, BTreeSet<Place>>,
}

impl Grants {
    /// Whether all uses of an append can be claimed.
    pub(super) fn admit(&self, changes: &GrantChanges, chat: &ChatId, subject: &Subject) -> bool {
        let mut uses: BTreeMap<&GrantId, Vec<&GrantUse>> = BTreeMap::new();
        for used in &changes.used {
            uses.entry(&used.grant).or_default().push(used);
        }
        uses.into_iter().all(|(id, uses)| self.by_id.get(id).is_some_and(|grant| grant.admits(&uses, chat, subject)))
    }

    /// Writes what an append at a position makes and uses.
    pub(super) fn change(&mut self, changes: GrantChanges, chat: &ChatId, first: u64, subject: &Subject) {
        for GrantUse { grant, at } in changes.used {
            if let Some(grant) = self.by_id.get_mut(&grant) {
                grant.used += 1;
                grant.last_used_at = grant.last_used_at.max(Some(at));
            }
        }
        for GrantRow { id, index, tool, maker, scope, made_at, until, uses, data } in changes.made {
            let place = (made_at, id.clone());
            self.places.insert(place.clone());
            self.by_subject.entry(subject.clone()).or_default().insert(place.clone());
            self.by_maker.entry(maker.clone()).or_default().insert(place);
            let grant = StoredGrant {
                id: id.clone(),
                subject: subject.clone(),
                chat: (scope == GrantScope::Chat).then(|| chat.clone()),
                tool,
                maker,
                made_in: Some(chat.clone()),
                position: first + u64::from(index),
                made_at,
                until,
                uses,
                used: 0,
                last_used_at: None,
                revoked: None,
                data,
            };
            self.by_id.insert(id, grant);
        }
    }

    /// Removes those that are for a chat only.
    pub(super) fn forget(&mut self, chat: &ChatId, subject: &Subject) {
        let places: Vec<Place> = self.by_subject.get(subject).into_iter().flatten().cloned().collect();
        for place in places {
            if self.by_id.get(&place.1).is_some_and(|grant| grant.chat.as_ref() == Some(chat)) {
                self.remove(&place);
            }
        }
    }

    fn remove(&mut self, place: &Place) {
        let Some(grant) = self.by_id.remove(&place.1) else { return };
        self.places.remove(place);
        for (lists, subject) in [(&mut self.by_subject, &grant.subject), (&mut self.by_maker, &grant.maker)] {
            if let Some(list) = lists.get_mut(subject) {
                list.remove(place);
                if list.is_empty() {
                    lists.remove(subject);
                }
            }
        }
    }

    /// See [`crate::Index::grants`].
    pub(super) fn list(&self, query: &GrantQuery, limit: usize) -> Vec<StoredGrant> {
        let at = |(_, id): &Place| self.by_id.get(id);
        let of = |lists: &HashMap<Subject, BTreeSet<Place>>, subject: &Subject| -> BTreeSet<Place> {
            lists.get(subject).cloned().unwrap_or_default()
        };
        let found: Vec<&StoredGrant> = match query {
            GrantQuery::One(id) => self.by_id.get(id).into_iter().collect(),
            GrantQuery::Usable { subject, tool, now } => {
                let places = self.by_subject.get(subject).into_iter().flatten().rev().filter_map(at);
                let is_usable = |grant: &&StoredGrant| {
                    grant.state(*now) == GrantState::Active && tool.as_ref().is_none_or(|tool| grant.tool == *tool)
                };
                places.filter(is_usable).take(limit).collect()
            }
            GrantQuery::List { of: subject, after } => {
                let is_after = |place: &&Place| after.as_ref().is_none_or(|after| *place < after);
                let both = |subject| &of(&self.by_subject, subject) | &of(&self.by_maker, subject);
                let own = subject.as_ref().map(both);
                own.as_ref().unwrap_or(&self.places).iter().rev().filter(is_after).filter_map(at).take(limit).collect()
            }
        };
        found.into_iter().cloned().collect()
    }

    /// See [`crate::Index::revoke`].
    fn revoke(&mut self, revocation: Revocation, record: &mut Record) {
        let Revocation { grant, by, at, data } = revocation;
        let Some(grant) = self.by_id.get_mut(&grant) else { return };
        if let (None, Some(chat)) = (&grant.revoked, &grant.made_in) {
            grant.revoked = Some((at, by.clone()));
            let tool = grant.tool.clone();
            let row = AuditRow { index: 0, at, tool, by: Some(by), data, contents: None };
            record.add(chat, grant.position + REVOCATION, &grant.subject, vec![row]);
        }
    }
}

impl Chats {
    /// See [`crate::Index::revoke`].
    pub(super) fn revoke(&mut self, revocation: Revocation) {
        self.grants.revoke(revocation, &mut self.record);
    }
}
