//! The record of a log in memory.

use std::{collections::BTreeMap, ops::Bound};

use holdpoint_protocol::ids::ChatId;

use crate::{AuditEntry, AuditQuery, AuditRow, PAGE_BYTES};
use holdpoint_core::{clock::Timestamp, subject::Subject};

/// The record.
#[derive(Debug, Default)]
pub(super) struct Record {
    entries: BTreeMap<(Timestamp, ChatId, u64), AuditEntry>,
    /// The time of each entry, by its chat and position.
    by_chat: BTreeMap<(ChatId, u64), Timestamp>,
}

impl Record {
    /// Adds what an append at a position has.
    pub(super) fn add(&mut self, chat: &ChatId, first: u64, owner: &Subject, rows: Vec<AuditRow>) {
        for AuditRow { index, at, tool, by, data, contents } in rows {
            let position = first + u64::from(index);
            let (chat, owner) = (chat.clone(), owner.clone());
            self.by_chat.insert((chat.clone(), position), at);
            let place = (at, chat.clone(), position);
            self.entries.insert(place, AuditEntry { chat, position, owner, at, tool, by, data, contents });
        }
    }

    /// Removes the contents of a chat.
    pub(super) fn forget(&mut self, chat: &ChatId) {
        for ((_, position), at) in self.by_chat.range((chat.clone(), 0)..=(chat.clone(), u64::MAX)) {
            if let Some(entry) = self.entries.get_mut(&(*at, chat.clone(), *position)) {
                entry.contents = None;
            }
        }
    }

    /// See [`crate::Index::audit`].
    pub(super) fn list(&self, query: &AuditQuery, limit: usize) -> Vec<AuditEntry> {
        let entries: Box<dyn Iterator<Item = &AuditEntry>> = match &query.chat {
            Some(chat) => {
                let from = query.after.as_ref().map_or(0, |(.., position)| *position);
                let of_chat = self.by_chat.range((chat.clone(), from)..=(chat.clone(), u64::MAX));
                Box::new(of_chat.filter_map(|((chat, position), at)| self.entries.get(&(*at, chat.clone(), *position))))
            }
            None => {
                let after = query.after.clone().map_or(Bound::Unbounded, Bound::Excluded);
                Box::new(self.entries.range((after, Bound::Unbounded)).map(|(_, entry)| entry))
            }
        };
        let mut bytes = 0;
        let within = |entry: &&AuditEntry| {
            let is_full = bytes > PAGE_BYTES;
            bytes += entry.data.len() + entry.contents.as_ref().map_or(0, bytes::Bytes::len);
            !is_full
        };
        entries.filter(|entry| query.fits(entry)).take(limit).take_while(within).cloned().collect()
    }
}
