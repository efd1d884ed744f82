//! Loading a chat from the log.

use std::sync::{Arc, atomic::Ordering};

use holdpoint_protocol::ids::ChatId;

use super::{
    counters::count,
    head::{HeadData, Hold},
    runtime::Inner,
};
use crate::{
    fact::{Fact, text_of},
    log::{Head, LogError, NodeId, Stored},
    subject::Subject,
    turn::ChatState,
};

/// The number of batches per read.
const PAGE: usize = 256;

/// The facts of a chat, and the memory they occupy until dropped.
pub(super) struct Loaded {
    pub(super) facts: Vec<Arc<Fact>>,
    /// The number of facts that the log had of earlier chats with this id, which were deleted.
    pub(super) base: u64,
    /// The owner of those chats, if there is no chat now.
    pub(super) former_owner: Option<Subject>,
    /// The node that runs the turn.
    pub(super) owner: Option<NodeId>,
    pub(super) memory: Memory,
}

/// Why a chat could not be loaded.
pub(super) enum LoadError {
    /// The log failed. A retry may succeed.
    Log(LogError),
    /// The stored facts can't be decoded.
    Unreadable(String),
    /// The chats in memory have reached the limit. A retry may succeed.
    NoRoom,
}

/// A chat's share of the limit on loaded bytes.
pub(super) struct Memory {
    inner: Arc<Inner>,
    bytes: usize,
}

impl Memory {
    fn new(inner: &Arc<Inner>) -> Self {
        Self { inner: Arc::clone(inner), bytes: 0 }
    }

    /// The size of the chat in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn load(&mut self, bytes: usize) -> bool {
        let is_taken = self.inner.counters.load(bytes, self.inner.limits.loaded_bytes);
        self.bytes += if is_taken { bytes } else { 0 };
        is_taken
    }

    /// Counts appended bytes, even over the limit: running work continues.
    pub(super) fn grow(&mut self, bytes: usize) {
        self.inner.counters.grow(bytes);
        self.bytes += bytes;
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.inner.counters.unload(self.bytes);
    }
}

/// Loads all facts of a chat.
pub(super) async fn load(inner: &Arc<Inner>, id: &ChatId) -> Result<Loaded, LoadError> {
    let failed = |error| match error {
        LogError::Damaged(text) => {
            count(&inner.counters.unreadable_chats);
            LoadError::Unreadable(text)
        }
        failed => LoadError::Log(failed),
    };
    let mut loaded = Loaded { facts: Vec::new(), base: 0, former_owner: None, owner: None, memory: Memory::new(inner) };
    loop {
        let after = loaded.base + loaded.facts.len() as u64;
        let batches = inner.log.read(id, after, PAGE).await.map_err(failed)?;
        if batches.is_empty() {
            if loaded.facts.is_empty()
                && let Some(Stored::Tombstone { len, subject }) = inner.log.stored(id).await.map_err(failed)?
            {
                loaded.base = len;
                loaded.former_owner = Some(subject);
            }
            return Ok(loaded);
        }
        for batch in batches {
            if loaded.facts.is_empty() {
                loaded.base = batch.first;
            }
            loaded.owner = batch.owner;
            if !loaded.memory.load(batch.payload.len()) {
                return Err(LoadError::NoRoom);
            }
            // Values in facts have their own reader: see `json::value`.
            let read: Vec<Fact> = serde_json::from_slice(&batch.payload).map_err(|error| {
                count(&inner.counters.unreadable_chats);
                LoadError::Unreadable(format!("fact {}: {error}", batch.first))
            })?;
            loaded.facts.extend(read.into_iter().map(Arc::new));
        }
    }
}

/// The data of a chat's head. If it can't be decoded, it is computed from the facts.
pub(super) async fn head(inner: &Arc<Inner>, id: &ChatId, head: &Head) -> HeadData {
    let error = match HeadData::read(head) {
        Ok(data) => return data,
        Err(error) => error,
    };
    inner.counters.unreadable_heads.fetch_add(1, Ordering::Relaxed);
    tracing::error!(chat = %id, %error, "the head of a chat can't be decoded; the chat is folded instead");
    match load(inner, id).await {
        Ok(loaded) => {
            let mut state = ChatState::default();
            loaded.facts.iter().for_each(|fact| state.apply(fact));
            HeadData::of(&state, &title(&loaded.facts), Hold::of(&state).len())
        }
        Err(LoadError::Log(error)) => {
            tracing::error!(chat = %id, %error, "the chat can't be read either");
            HeadData::default()
        }
        Err(LoadError::Unreadable(error)) => {
            tracing::error!(chat = %id, %error, "the chat can't be decoded either: its holds are lost");
            HeadData::default()
        }
        Err(LoadError::NoRoom) => {
            tracing::error!(chat = %id, "there is no room to load the chat");
            HeadData::default()
        }
    }
}

/// The beginning of the first user message.
fn title(facts: &[Arc<Fact>]) -> String {
    facts.iter().find_map(|fact| title_of(fact)).unwrap_or_default()
}

/// The title that a chat gets from its first message.
pub(super) fn title_of(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Said { message, .. } => {
            Some(text_of(message).chars().take(80).collect::<String>()).filter(|title| !title.is_empty())
        }
        _ => None,
    }
}
