//! An in-memory log, for `--ephemeral` and for tests.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use tokio::sync::{broadcast, watch};

use super::{Append, AppendId, AppendResult, Batch, Head, HeadQuery, Health, Listed, Log, LogError, WAKEUPS};
use crate::subject::Subject;

/// A log kept in memory.
#[derive(Debug)]
pub struct MemoryLog {
    /// Locked for one operation at a time, never across an await.
    chats: Mutex<Chats>,
    wakeups: broadcast::Sender<ChatId>,
    health: watch::Sender<Health>,
}

#[derive(Debug, Default)]
struct Chats {
    by_id: BTreeMap<ChatId, Chat>,
    by_subject: HashMap<Subject, Owned>,
    open: BTreeSet<ChatId>,
}

/// The chats and keys of a subject.
#[derive(Debug, Default)]
struct Owned {
    chats: BTreeSet<ChatId>,
    by_key: HashMap<Arc<str>, ChatId>,
}

#[derive(Debug)]
struct Chat {
    batches: Vec<(AppendId, Batch)>,
    head: Head,
    /// The keys used in it, with their subjects.
    keys: Vec<(Subject, Arc<str>)>,
}

impl MemoryLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    fn chats(&self) -> MutexGuard<'_, Chats> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self { chats: Mutex::default(), wakeups: broadcast::Sender::new(WAKEUPS), health: watch::Sender::default() }
    }
}

impl Log for MemoryLog {
    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        Box::pin(async move {
            let mut changed = Vec::new();
            let results = {
                let mut chats = self.chats();
                let append = |append: Append| {
                    let chat = append.chat.clone();
                    let result = chats.append(append);
                    if matches!(result, AppendResult::Committed { .. }) {
                        changed.push(chat);
                    }
                    result
                };
                appends.into_iter().map(append).collect()
            };
            for chat in changed {
                // Having no subscribers is fine.
                let _ = self.wakeups.send(chat);
            }
            results
        })
    }

    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>> {
        Box::pin(async move {
            let chats = self.chats();
            let Some(chat) = chats.by_id.get(chat) else { return Ok(Vec::new()) };
            let start = chat.batches.partition_point(|(_, batch)| end(batch) <= after);
            Ok(chat.batches[start..].iter().take(limit).map(|(_, batch)| batch.clone()).collect())
        })
    }

    fn wakeups(&self) -> broadcast::Receiver<ChatId> {
        self.wakeups.subscribe()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }

    fn probe(&self) -> BoxFuture<'_, Health> {
        Box::pin(async { Health::Writable })
    }

    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        Box::pin(async move { Ok(self.chats().heads(&query, limit)) })
    }

    fn head<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<(u64, Head)>, LogError>> {
        Box::pin(async move { Ok(self.chats().by_id.get(chat).map(|chat| (chat.len(), chat.head.clone()))) })
    }

    fn delete<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<(), LogError>> {
        Box::pin(async move {
            let deleted = self.chats().delete(chat);
            if deleted {
                let _ = self.wakeups.send(chat.clone());
            }
            Ok(())
        })
    }

    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<ChatId>, LogError>> {
        Box::pin(
            async move { Ok(self.chats().by_subject.get(subject).and_then(|owned| owned.by_key.get(key)).cloned()) },
        )
    }
}

impl Chats {
    fn append(&mut self, append: Append) -> AppendResult {
        let chat = self.by_id.get(&append.chat);
        let len = chat.map_or(0, Chat::len);
        if append.expected != len {
            let repeated = chat.and_then(|chat| chat.appended(append.expected, append.append_id));
            return repeated.map_or(AppendResult::Conflict { len }, |len| AppendResult::Committed { len });
        }
        if append.count == 0 {
            return AppendResult::Committed { len };
        }
        let batch = Batch { first: len, count: append.count, payload: append.payload };
        let len = end(&batch);
        self.index(&append.chat, &append.head);
        let keys = append.keys.into_iter().map(|key| self.give(&append.chat, &append.head.subject, key)).collect();
        match self.by_id.get_mut(&append.chat) {
            Some(chat) => {
                chat.batches.push((append.append_id, batch));
                chat.head = append.head;
                chat.keys.extend::<Vec<_>>(keys);
            }
            None => {
                let chat = Chat { batches: vec![(append.append_id, batch)], head: append.head, keys };
                self.by_id.insert(append.chat, chat);
            }
        }
        AppendResult::Committed { len }
    }

    /// Updates the indexes to match the new head.
    fn index(&mut self, id: &ChatId, head: &Head) {
        let before = self.by_id.get(id).map(|chat| &chat.head.subject);
        if before != Some(&head.subject) {
            if let Some(before) = before.cloned() {
                self.disown(&before, |owned| _ = owned.chats.remove(id));
            }
            self.by_subject.entry(head.subject.clone()).or_default().chats.insert(id.clone());
        }
        if head.is_open {
            self.open.insert(id.clone());
        } else {
            self.open.remove(id);
        }
    }

    /// Makes a chat findable by a key, for one subject.
    fn give(&mut self, id: &ChatId, subject: &Subject, key: Box<str>) -> (Subject, Arc<str>) {
        let key = Arc::from(key);
        self.by_subject.entry(subject.clone()).or_default().by_key.insert(Arc::clone(&key), id.clone());
        (subject.clone(), key)
    }

    /// Removes something from a subject, and the subject once it is empty.
    fn disown(&mut self, subject: &Subject, take: impl FnOnce(&mut Owned)) {
        if let Some(owned) = self.by_subject.get_mut(subject) {
            take(owned);
            if owned.chats.is_empty() && owned.by_key.is_empty() {
                self.by_subject.remove(subject);
            }
        }
    }

    fn heads(&self, query: &HeadQuery, limit: usize) -> Vec<Listed> {
        let start = query.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let range = (start, Bound::Unbounded);
        let owned = query.subject.as_ref().map(|subject| self.by_subject.get(subject));
        let ids: Box<dyn Iterator<Item = &ChatId>> = match (query.only_open, owned) {
            (true, _) => Box::new(self.open.range::<ChatId, _>(range)),
            (false, Some(owned)) => {
                Box::new(owned.into_iter().flat_map(move |owned| owned.chats.range::<ChatId, _>(range)))
            }
            (false, None) => Box::new(self.by_id.range::<ChatId, _>(range).map(|(id, _)| id)),
        };
        ids.filter_map(|id| Some((id, self.by_id.get(id)?)))
            .filter(|(_, chat)| query.subject.as_ref().is_none_or(|subject| chat.head.subject == *subject))
            .take(limit)
            .map(|(id, chat)| (id.clone(), chat.len(), chat.head.clone()))
            .collect()
    }

    fn delete(&mut self, id: &ChatId) -> bool {
        let Some(chat) = self.by_id.remove(id) else { return false };
        self.open.remove(id);
        self.disown(&chat.head.subject, |owned| _ = owned.chats.remove(id));
        for (subject, key) in chat.keys {
            // Another chat may have used the key since.
            self.disown(&subject, |owned| {
                if owned.by_key.get(&key) == Some(id) {
                    owned.by_key.remove(&key);
                }
            });
        }
        true
    }
}

impl Chat {
    fn len(&self) -> u64 {
        self.batches.last().map_or(0, |(_, batch)| end(batch))
    }

    /// The end of the append with this id at this position, if committed.
    fn appended(&self, first: u64, id: AppendId) -> Option<u64> {
        let at = self.batches.binary_search_by_key(&first, |(_, batch)| batch.first).ok()?;
        let (done, batch) = &self.batches[at];
        (*done == id).then(|| end(batch))
    }
}

fn end(batch: &Batch) -> u64 {
    batch.first + u64::from(batch.count)
}
