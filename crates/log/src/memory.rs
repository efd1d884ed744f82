//! An in-memory log, for `--ephemeral` and for tests.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use tokio::sync::{broadcast, watch};

use super::{
    Append, AppendId, AppendResult, AuditRow, Batch, BatchHash, ChatChange, Cluster, DeleteResult, Deletion, Found,
    Head, Health, HoldRow, NodeId, OneNode, Ownership, Store, Stored, StoredSecret, WAKEUPS, Wakeup,
};
use holdpoint_core::{approvers::Approver, clock::Timestamp, subject::Subject};

mod debug;
mod grants;
mod heads;
mod holds;
mod index;
mod log;
mod record;
mod secrets;

use grants::Grants;
use record::Record;

/// A log kept in memory.
pub struct MemoryLog {
    /// Locked for one operation at a time, never across an await.
    chats: Mutex<Chats>,
    /// Locked in the same way.
    secrets: Mutex<BTreeMap<Box<str>, StoredSecret>>,
    wakeups: broadcast::Sender<Wakeup>,
    health: watch::Sender<Health>,
}

#[derive(Debug, Default)]
struct Chats {
    by_id: BTreeMap<ChatId, Chat>,
    /// The length, the owner, and the time and the hash of the deletion of each deleted chat.
    tombstones: BTreeMap<ChatId, (u64, Subject, Timestamp, Option<BatchHash>)>,
    by_subject: HashMap<Subject, Owned>,
    open: BTreeSet<ChatId>,
    newest: BTreeSet<(Reverse<Timestamp>, ChatId)>,
    due: BTreeSet<(Timestamp, ChatId, ToolCallId)>,
    /// The holds about which somebody may decide, besides the owner of the chat.
    by_approver: HashMap<Approver, BTreeMap<(Timestamp, ToolCallId, ChatId), Subject>>,
    owned: BTreeMap<ChatId, NodeId>,
    record: Record,
    grants: Grants,
}

/// What a subject has.
#[derive(Debug, Default)]
struct Owned {
    chats: BTreeSet<ChatId>,
    newest: BTreeSet<(Reverse<Timestamp>, ChatId)>,
    open: BTreeSet<ChatId>,
    by_key: HashMap<Arc<str>, Found>,
    holds: BTreeMap<(Timestamp, ToolCallId, ChatId), HoldRow>,
}

impl Owned {
    fn is_empty(&self) -> bool {
        self.chats.is_empty() && self.by_key.is_empty()
    }
}

#[derive(Debug)]
struct Chat {
    batches: Vec<(AppendId, Batch)>,
    /// The hash of the last batch.
    hash: Option<BatchHash>,
    digests: BTreeMap<u64, Bytes>,
    head: Head,
    /// The keys used in it, with their subjects.
    keys: Vec<(Subject, Arc<str>)>,
    /// When the hold of each call began, and when it is due.
    holds: HashMap<ToolCallId, (Timestamp, Option<Timestamp>)>,
    approvers: Vec<(ToolCallId, Approver)>,
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
        Self {
            chats: Mutex::default(),
            secrets: Mutex::default(),
            wakeups: broadcast::Sender::new(WAKEUPS),
            health: watch::Sender::default(),
        }
    }
}

impl Store for MemoryLog {
    fn cluster(&self) -> &dyn Cluster {
        &OneNode
    }
}

impl Chats {
    fn len(&self, id: &ChatId) -> u64 {
        let tombstone = self.tombstones.get(id).map_or(0, |(len, ..)| *len);
        self.by_id.get(id).map_or(tombstone, Chat::len)
    }

    fn stored(&self, id: &ChatId) -> Option<Stored> {
        if let Some(chat) = self.by_id.get(id) {
            return Some(Stored::Chat { len: chat.len(), head: chat.head.clone(), hash: chat.hash });
        }
        let (len, subject, deleted_at, hash) = self.tombstones.get(id)?.clone();
        Some(Stored::Tombstone { len, subject, deleted_at, hash })
    }

    fn append(&mut self, append: Append) -> AppendResult {
        let Append { chat: id, expected, append_id, count, payload, head, keys, holds, .. } = append;
        let Append { ownership, digest, audit, grants, .. } = append;
        let len = self.len(&id);
        if expected != len {
            let repeated = self.by_id.get(&id).and_then(|chat| chat.appended(expected, append_id));
            return repeated.map_or(AppendResult::Conflict { len }, |len| AppendResult::Committed { len });
        }
        if count == 0 {
            return AppendResult::Committed { len };
        }
        if !self.grants.admit(&grants, &id, &head.subject) {
            return AppendResult::NotGranted;
        }
        let owner = match ownership {
            Ownership::Release => self.owned.remove(&id).and(None),
            Ownership::Take(node) => {
                self.owned.insert(id.clone(), node);
                Some(node)
            }
            Ownership::Keep => self.owned.get(&id).copied(),
        };
        let before = self.by_id.remove(&id);
        if let Some(before) = &before {
            self.unlist(&id, &before.head);
        }
        let mut chat = before.unwrap_or_else(|| Chat {
            batches: Vec::new(),
            hash: self.tombstones.get(&id).and_then(|(.., hash)| *hash),
            digests: BTreeMap::new(),
            head: head.clone(),
            keys: Vec::new(),
            holds: HashMap::new(),
            approvers: Vec::new(),
        });
        for call in holds.opened.iter().map(|hold| &hold.call).chain(&holds.closed) {
            self.close(&id, &mut chat, call);
        }
        if chat.head.subject != head.subject {
            self.move_holds(&id, &chat, &head.subject);
        }
        chat.head = head;
        self.list(&id, &chat.head);
        self.open_holds(&id, &mut chat, holds);
        for key in keys {
            let subject = Subject::from(key.subject(&chat.head));
            let (at, key) = (key.at, Arc::from(key.id));
            let owned = self.by_subject.entry(subject.clone()).or_default();
            owned.by_key.insert(Arc::clone(&key), Found { chat: id.clone(), at });
            chat.keys.push((subject, key));
        }
        self.record.add(&id, len, &chat.head.subject, audit);
        self.grants.change(grants, &id, len, &chat.head.subject);
        chat.digests.extend(digest.map(|digest| (len, digest)));
        let previous_hash = Some(chat.hash.unwrap_or(BatchHash::BEGINNING));
        let batch = Batch { first: len, count, payload, owner, previous_hash };
        chat.hash = batch.hash(&id);
        let len = end(&batch);
        chat.batches.push((append_id, batch));
        self.tombstones.remove(&id);
        self.by_id.insert(id, chat);
        AppendResult::Committed { len }
    }

    fn list(&mut self, id: &ChatId, head: &Head) {
        let place = (Reverse(head.updated_at), id.clone());
        let owned = self.by_subject.entry(head.subject.clone()).or_default();
        owned.chats.insert(id.clone());
        owned.newest.insert(place.clone());
        self.newest.insert(place);
        if head.is_open {
            owned.open.insert(id.clone());
            self.open.insert(id.clone());
        }
    }

    fn unlist(&mut self, id: &ChatId, head: &Head) {
        let place = (Reverse(head.updated_at), id.clone());
        self.open.remove(id);
        self.newest.remove(&place);
        self.disown(&head.subject, |owned| {
            owned.chats.remove(id);
            owned.open.remove(id);
            owned.newest.remove(&place);
        });
    }

    fn close(&mut self, id: &ChatId, chat: &mut Chat, call: &ToolCallId) {
        let Some((since, due_at)) = chat.holds.remove(call) else { return };
        if let Some(due_at) = due_at {
            self.due.remove(&(due_at, id.clone(), call.clone()));
        }
        let place = (since, call.clone(), id.clone());
        let by_approver = &mut self.by_approver;
        chat.approvers.retain(|(of, approver)| {
            let is_other = of != call;
            if let Some(places) = by_approver.get_mut(approver).filter(|_| !is_other) {
                places.remove(&place);
                if places.is_empty() {
                    by_approver.remove(approver);
                }
            }
            is_other
        });
        self.disown(&chat.head.subject, |owned| _ = owned.holds.remove(&place));
    }

    /// Removes something from a subject, and the subject once it is empty.
    fn disown(&mut self, subject: &Subject, take: impl FnOnce(&mut Owned)) {
        if let Some(owned) = self.by_subject.get_mut(subject) {
            take(owned);
            if owned.is_empty() && owned.holds.is_empty() {
                self.by_subject.remove(subject);
            }
        }
    }

    /// Deletes a chat. `None` if there is none.
    fn delete(&mut self, id: &ChatId, deletion: Deletion) -> Result<Option<ChatChange>, DeleteResult> {
        let Deletion { expected: len, hash, row } = deletion;
        match self.by_id.get(id) {
            None => return Ok(None),
            Some(chat) if chat.len() != len => return Err(DeleteResult::Conflict),
            Some(_) => {}
        }
        let Some(mut chat) = self.by_id.remove(id) else { return Ok(None) };
        self.owned.remove(id);
        self.record.forget(id);
        for call in chat.holds.keys().cloned().collect::<Vec<_>>() {
            self.close(id, &mut chat, &call);
        }
        self.unlist(id, &chat.head);
        self.grants.forget(id, &chat.head.subject);
        let subject = chat.head.subject;
        for (subject, key) in chat.keys {
            // Another chat may have used the key since.
            self.disown(&subject, |owned| {
                if owned.by_key.get(&key).is_some_and(|found| found.chat == *id) {
                    owned.by_key.remove(&key);
                }
            });
        }
        self.tombstones.insert(id.clone(), (len + 1, subject.clone(), row.at, Some(hash)));
        self.record.add(id, len, &subject, vec![AuditRow { index: 0, ..row }]);
        Ok(Some(ChatChange { chat: id.clone(), subject, len: Some(len + 1), holds: true, approvers: Vec::new() }))
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
