//! The log: what happened in each chat, in order, once.
//!
//! An engine knows chats, positions and bytes, and nothing of what the bytes say. From its compare-and-set come the product's
//! promises: a hold is settled once, a server tool starts at most once, two nodes can't both run a turn.

mod memory;
mod sqlite;
mod tail;

use std::fmt;

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
pub use memory::MemoryLog;
pub use sqlite::{SqliteError, SqliteLog};
pub use tail::tail;
use tokio::sync::{broadcast, watch};

use crate::{clock::Timestamp, subject::Subject};

/// How many wakeups an engine keeps for a slow reader.
const WAKEUPS: usize = 1024;

/// Names one append, so that it can be tried again without being done twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AppendId(pub u128);

/// One append to one chat. It becomes one [`Batch`].
#[derive(Debug, Clone)]
pub struct Append {
    /// The chat; the first append makes it.
    pub chat: ChatId,
    /// How many events the chat must have for this to be done.
    pub expected: u64,
    /// The same id at the same place is the same append.
    pub append_id: AppendId,
    /// How many events the payload holds; at least 1.
    pub count: u32,
    /// The events.
    pub payload: Bytes,
    /// What the chat looks like from outside after this append. It replaces the head before.
    pub head: Head,
    /// Ids by which its subject can find the chat from now on: those of its calls and questions.
    pub keys: Vec<Box<str>>,
}

/// What lists and a restarted server need to know of a chat without reading it. Written together with the append that made it so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Whose chat it is.
    pub subject: Subject,
    /// Whether anything waits or runs in it.
    pub is_open: bool,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The rest: the runtime's own JSON.
    pub data: Bytes,
}

/// How an append went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// It is durable. The same append again is answered the same, whatever came after it.
    Committed {
        /// How many events the chat had with it.
        len: u64,
    },
    /// Somebody else was first: read again.
    Conflict {
        /// How many events there are.
        len: u64,
    },
    /// Nobody knows whether it was done. Append the same thing with the same id at the same place to find out.
    Unknown,
}

/// One append as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// How many events came before it.
    pub first: u64,
    /// How many it holds.
    pub count: u32,
    /// The events.
    pub payload: Bytes,
}

/// Which chats to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadQuery {
    /// Only this subject's.
    pub subject: Option<Subject>,
    /// Only those in which anything waits or runs.
    pub only_open: bool,
    /// Only chats whose id comes after this one: for the next page.
    pub after: Option<ChatId>,
}

/// A chat in a list: its id, how many events it has, and its head.
pub type Listed = (ChatId, u64, Head);

/// Whether an engine can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Health {
    /// The last write succeeded, or nothing was written yet.
    #[default]
    Writable,
    /// The last write failed, for a reason that the next one will share: a full disk, a locked or read-only file.
    Failing,
}

/// The engine failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// What was being done may or may not have been done. It may succeed the next time.
    #[error("the log: {0}")]
    Failed(String),
    /// What is stored can't be read, now or later.
    #[error("the log is damaged: {0}")]
    Damaged(String),
}

/// A log engine.
pub trait Log: Send + Sync + fmt::Debug + 'static {
    /// Appends to several chats; each goes or fails by itself. The results are in the order of the appends.
    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<Appended>>;

    /// The batches of a chat that hold events after the first `after`, oldest first, at most `limit` batches. Linearizable: what was
    /// committed before the call is in it. An unknown chat has none.
    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>>;

    /// Which chats changed, from now on. Lossy: a slow reader misses some, and is told so by the channel.
    fn wakeups(&self) -> broadcast::Receiver<ChatId>;

    /// Whether it can write, as of the last write.
    fn health(&self) -> watch::Receiver<Health>;

    /// Finds out whether it can write, by writing. Not more often than is good for the disk: a write of a moment ago counts.
    fn probe(&self) -> BoxFuture<'_, Health>;

    /// Heads of chats, in the order of their ids, at most `limit`.
    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>>;

    /// How many events a chat has, and its head; `None` for an unknown chat.
    fn head<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<(u64, Head)>, LogError>>;

    /// The chat of a subject in which a key was last given.
    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<ChatId>, LogError>>;

    /// Forgets a chat and all that happened in it. Its id may be used again, from 0.
    fn forget<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<(), LogError>>;
}
