//! The log itself.

use std::fmt;

use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use tokio::sync::{broadcast, watch};

use crate::{Append, AppendResult, Batch, DeleteResult, Deletion, Digest, Health, LogError, Stored, Wakeup};

/// The log of each chat: appends, reads and deletions, and who hears of them.
///
/// - **Compare-and-set.** An append is committed only if `expected` is the chat's length. Of many appends at the same
///   position one is committed; the others get [`AppendResult::Conflict`] with the length, and nothing of them is
///   written. So there are no gaps and no overlaps.
/// - **Idempotence.** An append that is repeated with the same `append_id` at the same position is committed once and gets
///   the same result, even after later appends.
/// - **Atomicity.** The facts, the digest and the ownership of an append, and what it changes in the [`Index`](super::Index),
///   are committed together. The appends of one call succeed or fail independently. An append of no facts at the right
///   position succeeds and writes nothing.
/// - **Cancellation.** Dropping the future of an append loses no commit and breaks nothing: repeating the append tells
///   its result.
/// - **Bytes.** Payloads of any size, heads of any content and ids with any characters come back unchanged, and so do times
///   up to [`Timestamp::LAST`](holdpoint_core::clock::Timestamp::LAST).
/// - **Reads are linearizable.** A read returns whole batches, also from a position inside a batch, and everything that
///   was committed before it, by any writer.
/// - **Wakeups** come after the commit. They may be lost, and a failed append causes none.
/// - **Ownership** is written with appends only, and each batch carries the owner after it. So an owner that was replaced
///   can't append without learning of it. A node that takes a chat has renewed its lease by that.
/// - **Deletion** is a compare-and-set too. It removes the facts, the digests and the ownership of a chat and what the index
///   has of it, and nothing of other chats. What is left is a [`Stored::Tombstone`] with the hash of the [`Deletion`]: no
///   position is ever used twice.
/// - **The hash chain.** Each batch carries the [`BatchHash`](crate::BatchHash) of the one before it in its chat, and
///   [`Log::stored`] has that of the last one. A chat that uses the id of a deleted one goes on from the hash in the
///   tombstone.
pub trait Log: Send + Sync + fmt::Debug + 'static {
    /// Appends to several chats. Each succeeds or fails independently. The results are in the order of the appends.
    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>>;

    /// The batches of a chat with facts after the first `after`, oldest first, at most `limit` batches. Linearizable:
    /// includes everything committed before the call. Empty for an unknown chat.
    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>>;

    /// The digests stored with the batches that begin at `from` or later, oldest first, at most `limit`.
    fn digests<'a>(&'a self, chat: &'a ChatId, from: u64, limit: usize)
    -> BoxFuture<'a, Result<Vec<Digest>, LogError>>;

    /// What is stored of a chat; `None` for an unknown chat.
    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>>;

    /// Deletes a chat of this length: its facts, its head, its keys and its holds. A tombstone stays. Deleting what is
    /// deleted, or was never there, succeeds.
    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>>;

    /// The changes of chats, from now on, those of other nodes included. Lossy: a slow reader misses some, and the
    /// channel reports the lag.
    fn wakeups(&self) -> broadcast::Receiver<Wakeup>;

    /// Whether it can write, as of the last write.
    fn health(&self) -> watch::Receiver<Health>;

    /// Tests whether it can write, by writing. A recent write counts, to spare the disk.
    fn probe(&self) -> BoxFuture<'_, Health>;
}
