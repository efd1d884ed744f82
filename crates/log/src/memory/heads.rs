//! The lists of chats of a log in memory.

use std::{cmp::Reverse, collections::BTreeSet, ops::Bound};

use holdpoint_protocol::ids::ChatId;

use super::Chats;
use crate::{HeadOrder, HeadQuery, Listed};

impl Chats {
    /// See [`crate::Index::ids`].
    pub(super) fn ids(&self, after: Option<&ChatId>, limit: usize) -> Vec<ChatId> {
        let range = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let (living, deleted) = (self.by_id.range::<ChatId, _>(range), self.tombstones.range::<ChatId, _>(range));
        let living = living.map(|(id, _)| id).take(limit);
        let both: BTreeSet<&ChatId> = living.chain(deleted.map(|(id, _)| id).take(limit)).collect();
        both.into_iter().take(limit).cloned().collect()
    }

    /// See [`crate::Index::heads`].
    pub(super) fn heads(&self, query: &HeadQuery, limit: usize) -> Vec<Listed> {
        let owned = query.subject.as_ref().map(|subject| self.by_subject.get(subject));
        if matches!(owned, Some(None)) {
            return Vec::new();
        }
        let owned = owned.flatten();
        let ids: Box<dyn Iterator<Item = &ChatId>> = match &query.order {
            HeadOrder::Id { after } => {
                let start = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let range = (start, Bound::Unbounded);
                match (query.only_open, owned) {
                    (true, Some(owned)) => Box::new(owned.open.range::<ChatId, _>(range)),
                    (true, None) => Box::new(self.open.range::<ChatId, _>(range)),
                    (false, Some(owned)) => Box::new(owned.chats.range::<ChatId, _>(range)),
                    (false, None) => Box::new(self.by_id.range::<ChatId, _>(range).map(|(id, _)| id)),
                }
            }
            HeadOrder::Newest { after } => {
                let after = after.clone().map(|(at, id)| (Reverse(at), id));
                let start = after.map_or(Bound::Unbounded, Bound::Excluded);
                let newest = owned.map_or(&self.newest, |owned| &owned.newest);
                Box::new(newest.range((start, Bound::Unbounded)).map(|(_, id)| id))
            }
        };
        ids.filter_map(|id| Some((id, self.by_id.get(id)?)))
            .filter(|(_, chat)| chat.head.is_open || !query.only_open)
            .take(limit)
            .map(|(id, chat)| (id.clone(), chat.len(), chat.head.clone()))
            .collect()
    }
}
