//! The log of Holdpoint: the events of each chat, in order, each once.
//!
//! An engine knows chats, positions and bytes, and does not interpret the bytes. Its compare-and-set gives the
//! product's guarantees: a hold is settled once, a server tool starts at most once, two nodes can't both run a turn.
//!
//! ```
//! use holdpoint_log::{HeadQuery, Log, MemoryLog};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), holdpoint_log::LogError> {
//! let log = MemoryLog::new();
//! assert!(log.heads(HeadQuery::default(), 10).await?.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `sqlite` | no | the log in SQLite (`SqliteLog`), built from source |
//! | `postgres` | no | the log in PostgreSQL (`PostgresLog`), for several nodes |

mod audit;
mod chain;
mod forward;
mod grants;
mod memory;
mod misfits;
mod one_node;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
mod types;

use std::{fmt, time::Duration};

pub use audit::{AuditEntry, AuditQuery, AuditRow, REVOCATION};
pub use chain::{BatchHash, Break, NoHash, Walk};
pub use forward::ForwardLog;
use futures::future::BoxFuture;
pub use grants::{GrantChanges, GrantQuery, GrantRow, GrantScope, GrantState, GrantUse, Revocation, StoredGrant};
use holdpoint_protocol::ids::ChatId;
pub use memory::MemoryLog;
pub use misfits::Misfit;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresError, PostgresLog, PostgresOptions};
#[cfg(feature = "sqlite")]
pub use sqlite::{FolderRights, SqliteError, SqliteLog};
use tokio::sync::{broadcast, watch};
pub use types::{
    Append, AppendId, AppendResult, Batch, ChatChange, DeleteResult, Deletion, Digest, Due, Found, Head, HeadOrder,
    HeadQuery, Health, HoldApprover, HoldChanges, HoldCount, HoldCounts, HoldQuery, HoldRow, HoldsOf, Key, Listed,
    ListedHold, LogError, NodeId, Ownership, Stored, Usage, Wakeup,
};

use holdpoint_core::{clock::Timestamp, identity::Identity, subject::Subject};

/// The size of a page of holds that is full before it has as many as wanted. Inputs can be large.
pub const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// The newest format of what the runtime stores: facts, heads and digests. A node that does not know a format can't read
/// what is stored in it, so nothing is before [`Log::renew`] says that it may. `Fact::format` says which one each fact needs.
pub const FORMAT: u32 = 1;

/// Wakeups buffered for a slow reader.
const WAKEUPS: usize = 1024;

/// A log engine.
///
/// The contract suite of `holdpoint-testkit` (`log_contract_suite!`) tests all of this on an engine:
///
/// - **Compare-and-set.** An append is committed only if `expected` is the chat's length. Of many appends at the same
///   position one is committed; the others get [`AppendResult::Conflict`] with the length, and nothing of them is
///   written. So there are no gaps and no overlaps.
/// - **Idempotence.** An append that is repeated with the same `append_id` at the same position is committed once and gets
///   the same result, even after later appends.
/// - **Atomicity.** The events, the digest, the head, the keys, the holds and the ownership of an append are committed together. The
///   appends of one call succeed or fail independently. An append of no events at the right position succeeds and writes
///   nothing.
/// - **Cancellation.** Dropping the future of an append loses no commit and breaks nothing: repeating the append tells
///   its result.
/// - **Bytes.** Payloads of any size, heads of any content and ids with any characters come back unchanged, and so do times up
///   to [`Timestamp::LAST`].
/// - **Reads are linearizable.** A read returns whole batches, also from a position inside a batch, and everything that
///   was committed before it, by any writer.
/// - **Wakeups** come after the commit. They may be lost, and a failed append causes none.
/// - **Heads** are those of the last append. They are listed by id or by last change, in pages.
/// - **Keys** lead the subject of the append, and no other, to the chat that used them last.
/// - **Holds** are those that were opened and not closed. They are listed oldest first, in pages, and by when they are due.
///   What replaces all those of a chat is bound to its length, as an append is.
/// - **Ownership** is written with appends only, and each batch carries the owner after it. So an owner that was replaced
///   can't append without learning of it. A node that takes a chat has renewed its lease by that.
/// - **Deletion** is a compare-and-set too. It removes the events, the digests, the head, the keys and the holds of a chat, and nothing
///   of other chats. What is left is a [`Stored::Tombstone`] with the hash of the [`Deletion`]: no position is ever used
///   twice.
/// - **The record** is what appends and deletions have added to it, in pages. A deletion removes the contents of its chat's
///   entries only.
/// - **Grants** are made and used by appends. A use is claimed in the append's own transaction: of many appends that use a
///   grant for one use, one is committed, and a repeated append uses it once. After a revocation has returned, no append
///   that uses the grant is committed. A deletion removes those that are for its chat only.
/// - **The hash chain.** Each batch carries the [`BatchHash`] of the one before it in its chat, and [`Log::stored`] has that
///   of the last one. A chat that uses the id of a deleted one goes on from the hash in the tombstone.
///
/// No method has a default. What one node at a time may leave out would be wrong for several: two nodes would run the same
/// turn.
///
/// An engine on top of another is a [`ForwardLog`]. It passes on all that it does not change, so it is as safe as the inner
/// one. This one counts what it stores:
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
///     log::{Append, AppendResult, ForwardLog, Log, MemoryLog},
///     model::ScriptModel,
///     protocol::request::ChatRequest,
/// };
///
/// #[derive(Debug)]
/// struct Counting {
///     inner: Arc<dyn Log>,
///     bytes: AtomicUsize,
/// }
///
/// impl ForwardLog for Counting {
///     fn inner(&self) -> &dyn Log {
///         &*self.inner
///     }
///
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
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = Arc::new(Counting { inner: Arc::new(MemoryLog::default()), bytes: AtomicUsize::default() });
/// let model = Arc::new(ScriptModel::from_text(r#"{"turns": [{"steps": [[{"text": ["Hello."]}]]}]}"#)?);
/// let runtime = Runtime::builder(model).log(Arc::clone(&log) as _).start().await?;
/// let (chat, _) = runtime.submit(&Subject::local(), ChatRequest::user("c", "Hello"), View::default()).await?;
/// runtime.chats(&Subject::local()).idle(&chat).await?;
/// assert!(log.bytes.load(Ordering::Relaxed) > 0);
/// # Ok(())
/// # }
/// ```
///
/// Its test, in a crate with `holdpoint-testkit`:
///
/// ```ignore
/// fn counting() -> ((), Arc<dyn Log>) {
///     ((), Arc::new(Counting { inner: Arc::new(MemoryLog::default()), bytes: AtomicUsize::default() }))
/// }
/// holdpoint_testkit::log_contract_suite!(counting_log, counting);
/// ```
pub trait Log: Send + Sync + fmt::Debug + 'static {
    /// Appends to several chats. Each succeeds or fails independently. The results are in the order of the appends.
    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>>;

    /// The batches of a chat with events after the first `after`, oldest first, at most `limit` batches. Linearizable:
    /// includes everything committed before the call. Empty for an unknown chat.
    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>>;

    /// The digests stored with the batches that begin at `from` or later, oldest first, at most `limit`.
    fn digests<'a>(&'a self, chat: &'a ChatId, from: u64, limit: usize)
    -> BoxFuture<'a, Result<Vec<Digest>, LogError>>;

    /// The changes of chats, from now on, those of other nodes included. Lossy: a slow reader misses some, and the
    /// channel reports the lag.
    fn wakeups(&self) -> broadcast::Receiver<Wakeup>;

    /// Whether [`wakeups`](Self::wakeups) include the changes by other nodes. If not, readers have to ask.
    fn hears_other_nodes(&self) -> bool;

    /// Whether it can write, as of the last write.
    fn health(&self) -> watch::Receiver<Health>;

    /// Tests whether it can write, by writing. A recent write counts, to spare the disk.
    fn probe(&self) -> BoxFuture<'_, Health>;

    /// Heads of chats, at most `limit`. Deleted chats have none.
    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>>;

    /// What is stored of a chat; `None` for an unknown chat.
    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>>;

    /// The number of events that each of these chats has had, those before a deletion included; 0 for an unknown chat.
    fn lengths(&self, chats: Vec<ChatId>) -> BoxFuture<'_, Result<Vec<u64>, LogError>>;

    /// The subject's chat that used a key last, and the position that it gave with the key.
    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>>;

    /// Open holds, by the beginning of their wait, their call and their chat, at most `limit`. There are fewer only at the
    /// end of the list, or if their data has more than [`PAGE_BYTES`] bytes.
    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>>;

    /// The open holds about which something is due up to a time, earliest first, at most `limit`.
    fn due(&self, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Due>, LogError>>;

    /// Counts the open holds by tool, kind and age. The times are those between two ages, latest first. It looks at
    /// every hold.
    fn count_holds(&self, times: Vec<Timestamp>) -> BoxFuture<'_, Result<HoldCounts, LogError>>;

    /// Counts the chats of a subject that are not this node's, each number up to `most`.
    fn usage<'a>(&'a self, subject: &'a Subject, node: NodeId, most: usize) -> BoxFuture<'a, Result<Usage, LogError>>;

    /// Entries of the record, at most `limit`. There are fewer only at the end of the list, or if their data has more than
    /// [`PAGE_BYTES`] bytes.
    fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>>;

    /// Grants, newest first, at most `limit`.
    fn grants(&self, query: GrantQuery, limit: usize) -> BoxFuture<'_, Result<Vec<StoredGrant>, LogError>>;

    /// Revokes a grant, and adds that to the record. Once this has returned, no append that uses the grant is committed.
    /// Revoking what is revoked, or was never there, succeeds and changes nothing.
    fn revoke(&self, revocation: Revocation) -> BoxFuture<'_, Result<(), LogError>>;

    /// The time after which a node that has not renewed its lease is gone; `None` if one node at a time uses the log.
    fn lease(&self) -> Option<Duration>;

    /// Renews the lease of a node that can read up to [`FORMAT`]. Returns the newest format that may be written: every
    /// node with a lease can read it, and a node that can't will get none. If one node at a time uses the log, it is
    /// [`FORMAT`].
    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<u32, LogError>>;

    /// Whether another node is gone: it has no lease. If one node at a time uses the log, every other one is.
    fn is_gone(&self, node: NodeId) -> BoxFuture<'_, Result<bool, LogError>>;

    /// The time by a clock that all nodes share; `None` if there is none, so that each node's own has to do.
    fn time(&self) -> BoxFuture<'_, Result<Option<Timestamp>, LogError>>;

    /// Chats whose owner is gone: neither this node nor another one with a lease.
    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>>;

    /// Keeps a ticket that any node may redeem, once. Returns `false` if this log keeps none, because one node at a time
    /// uses it.
    fn keep_ticket<'a>(
        &'a self,
        ticket: &'a [u8],
        identity: &'a Identity,
        expires: Timestamp,
    ) -> BoxFuture<'a, Result<bool, LogError>>;

    /// Removes a ticket, and returns its identity unless it has expired.
    fn redeem_ticket<'a>(
        &'a self,
        ticket: &'a [u8],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Identity>, LogError>>;

    /// Deletes a chat of this length: its events, its head, its keys and its holds. A tombstone stays. Deleting what is
    /// deleted, or was never there, succeeds.
    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>>;

    /// The ids of all chats, the deleted ones included, in the order of their bytes, at most `limit`.
    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>>;

    /// Who may decide about the holds of a chat besides its owner, as stored beside them.
    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>>;

    /// Replaces the rows of all holds of a chat, and of who may decide about them, by those that begin in these changes: for
    /// rows that something else has changed. Returns `false`, and changes nothing, if the chat has not this length.
    fn restore_holds<'a>(
        &'a self,
        chat: &'a ChatId,
        expected: u64,
        holds: HoldChanges,
    ) -> BoxFuture<'a, Result<bool, LogError>>;

    /// What the engine stores twice and not alike, or stores of no chat. It looks at everything.
    fn misfits(&self) -> BoxFuture<'_, Result<Vec<Misfit>, LogError>>;
}
