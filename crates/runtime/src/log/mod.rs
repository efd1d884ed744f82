//! The log: the events of each chat, in order, each once.
//!
//! An engine knows chats, positions and bytes, and does not interpret the bytes. Its compare-and-set gives the
//! product's guarantees: a hold is settled once, a server tool starts at most once, two nodes can't both run a turn.

mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tail;

use std::fmt;

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
pub use memory::MemoryLog;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteError, SqliteLog};
pub use tail::tail;
use tokio::sync::{broadcast, watch};

use crate::{clock::Timestamp, subject::Subject};

/// Wakeups buffered for a slow reader.
const WAKEUPS: usize = 1024;

/// Identifies an append, so that retrying it does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AppendId(pub u128);

/// One append to one chat, stored as one [`Batch`].
#[derive(Debug, Clone)]
pub struct Append {
    /// The chat, created by its first append.
    pub chat: ChatId,
    /// The number of events that the chat must have.
    pub expected: u64,
    /// The same id at the same position is the same append.
    pub append_id: AppendId,
    /// Number of events in the payload; at least 1.
    pub count: u32,
    /// The events.
    pub payload: Bytes,
    /// The chat's head after this append. It replaces the previous head.
    pub head: Head,
    /// Ids by which its subject can find the chat from now on: those of its calls and approval requests.
    pub keys: Vec<Box<str>>,
}

/// The summary of a chat for lists and recovery, committed together with its append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The owner of the chat.
    pub subject: Subject,
    /// Whether anything waits or runs in it.
    pub is_open: bool,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// Other data: the runtime's own JSON.
    pub data: Bytes,
}

/// The result of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendResult {
    /// Durable. Repeating the append gives the same result, whatever came after it.
    Committed {
        /// The length of the chat after this append.
        len: u64,
    },
    /// Another append was first. Read again.
    Conflict {
        /// The current length of the chat.
        len: u64,
    },
    /// Whether it was committed is not known. Repeat it with the same id at the same position to find out.
    Unknown,
}

/// One stored append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Number of events before it.
    pub first: u64,
    /// Number of events in it.
    pub count: u32,
    /// The events.
    pub payload: Bytes,
}

/// Filters for a list of chats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadQuery {
    /// Only chats of this subject.
    pub subject: Option<Subject>,
    /// Only chats in which anything waits or runs.
    pub only_open: bool,
    /// Only chats whose id comes after this one, for paging.
    pub after: Option<ChatId>,
}

/// A listed chat: its id, its length and its head.
pub type Listed = (ChatId, u64, Head);

/// Whether an engine can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Health {
    /// The last write succeeded, or nothing was written yet.
    #[default]
    Writable,
    /// The last write failed, and the next would fail for the same reason: a full disk, a locked or read-only file.
    Failing,
}

/// An engine failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The operation may or may not have taken effect. A retry may succeed.
    #[error("the log: {0}")]
    Failed(String),
    /// The stored data is damaged. A retry won't help.
    #[error("the log is damaged: {0}")]
    Damaged(String),
}

/// A log engine.
///
/// The contract suite of `holdpoint-testkit` (`log_contract_suite!`) tests all of this on an engine:
///
/// - **Compare-and-set.** An append is committed only if `expected` is the chat's length. Of many appends at the same
///   position one is committed; the others get [`AppendResult::Conflict`] with the length, and nothing of them is
///   written. So there are no gaps and no overlaps.
/// - **Idempotence.** An append that is repeated with the same `append_id` at the same position is committed once and gets
///   the same result, even after later appends.
/// - **Atomicity.** The events, the head and the keys of an append are committed together. The appends of one call succeed
///   or fail independently. An append of no events at the right position succeeds and writes nothing.
/// - **Cancellation.** Dropping the future of an append loses no commit and breaks nothing: repeating the append tells
///   its result.
/// - **Bytes.** Payloads of any size, heads of any content and ids with any characters come back unchanged.
/// - **Reads are linearizable.** A read returns whole batches, also from a position inside a batch, and everything that
///   was committed before it, by any writer.
/// - **Wakeups** come after the commit. They may be lost, and a failed append causes none.
/// - **Heads** are those of the last append. They are listed in the order of the ids, and paged by `after`.
/// - **Keys** lead the subject of the append, and no other, to the chat that used them last.
/// - **Deletion** removes the events, the head and the keys of a chat, and nothing of other chats.
///
/// An engine on top of another, which compresses, encrypts or, as here, counts what it stores:
///
/// ```
/// use std::sync::{
///     Arc,
///     atomic::{AtomicUsize, Ordering},
/// };
///
/// use futures::future::BoxFuture;
/// use holdpoint_runtime::{
///     Runtime, Subject, View,
///     log::{Append, AppendResult, Batch, Head, HeadQuery, Health, Listed, Log, LogError, MemoryLog},
///     protocol::{ids::ChatId, request::ChatRequest},
/// };
/// use tokio::sync::{broadcast, watch};
///
/// #[derive(Debug, Default)]
/// struct Counting {
///     inner: MemoryLog,
///     bytes: AtomicUsize,
/// }
///
/// impl Log for Counting {
///     fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
///         let sizes: Vec<usize> = appends.iter().map(|append| append.payload.len()).collect();
///         Box::pin(async move {
///             let results = self.inner.append_many(appends).await;
///             for (result, size) in results.iter().zip(sizes) {
///                 if matches!(result, AppendResult::Committed { .. }) {
///                     self.bytes.fetch_add(size, Ordering::Relaxed);
///                 }
///             }
///             results
///         })
///     }
///
///     fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>> {
///         self.inner.read(chat, after, limit)
///     }
///
///     fn wakeups(&self) -> broadcast::Receiver<ChatId> {
///         self.inner.wakeups()
///     }
///
///     fn health(&self) -> watch::Receiver<Health> {
///         self.inner.health()
///     }
///
///     fn probe(&self) -> BoxFuture<'_, Health> {
///         self.inner.probe()
///     }
///
///     fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
///         self.inner.heads(query, limit)
///     }
///
///     fn head<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<(u64, Head)>, LogError>> {
///         self.inner.head(chat)
///     }
///
///     fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<ChatId>, LogError>> {
///         self.inner.find(subject, key)
///     }
///
///     fn delete<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<(), LogError>> {
///         self.inner.delete(chat)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = Arc::new(Counting::default());
/// let runtime = Runtime::builder().log(Arc::clone(&log) as _).start().await?;
/// let (chat, _) = runtime.submit(&Subject::local(), ChatRequest::user("c", "Hello"), View::default()).await?;
/// runtime.idle(&Subject::local(), &chat).await?;
/// assert!(log.bytes.load(Ordering::Relaxed) > 0);
/// # Ok(())
/// # }
/// ```
///
/// Its test, in a crate with `holdpoint-testkit`:
///
/// ```ignore
/// fn counting() -> ((), Arc<dyn Log>) {
///     ((), Arc::new(Counting::default()))
/// }
/// holdpoint_testkit::log_contract_suite!(counting_log, counting);
/// ```
pub trait Log: Send + Sync + fmt::Debug + 'static {
    /// Appends to several chats. Each succeeds or fails independently. The results are in the order of the appends.
    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>>;

    /// The batches of a chat with events after the first `after`, oldest first, at most `limit` batches. Linearizable:
    /// includes everything committed before the call. Empty for an unknown chat.
    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>>;

    /// The ids of changed chats, from now on. Lossy: a slow reader misses some, and the channel reports the lag.
    fn wakeups(&self) -> broadcast::Receiver<ChatId>;

    /// Whether it can write, as of the last write.
    fn health(&self) -> watch::Receiver<Health>;

    /// Tests whether it can write, by writing. A recent write counts, to spare the disk.
    fn probe(&self) -> BoxFuture<'_, Health>;

    /// Heads of chats, ordered by id, at most `limit`.
    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>>;

    /// The length and the head of a chat; `None` for an unknown chat.
    fn head<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<(u64, Head)>, LogError>>;

    /// The subject's chat that used a key last.
    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<ChatId>, LogError>>;

    /// Deletes a chat and its events. Its id may be used again, from position 0.
    fn delete<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<(), LogError>>;
}
