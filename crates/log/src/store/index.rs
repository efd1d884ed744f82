//! What is found without reading a chat.

use std::fmt;

use futures::future::BoxFuture;
use holdpoint_core::{clock::Timestamp, subject::Subject};
use holdpoint_protocol::ids::ChatId;

use crate::{
    AuditEntry, AuditQuery, Due, Found, GrantQuery, HeadQuery, HoldApprover, HoldChanges, HoldCounts, HoldQuery,
    Listed, ListedHold, LogError, Misfit, NodeId, Revocation, StoredGrant, Usage,
};

/// The rows beside the facts, by which chats, holds, lines of the record and grants are found without reading a chat. They
/// are written by the appends and deletions of the [`Log`](super::Log), in the same transaction.
///
/// - **Heads** are those of the last append. They are listed by id or by last change, in pages.
/// - **Keys** lead the subject of the append, and no other, to the chat that used them last.
/// - **Holds** are those that were opened and not closed. They are listed oldest first, in pages, and by when they are due.
///   What replaces all those of a chat is bound to its length, as an append is.
/// - **The record** is what appends and deletions have added to it, in pages. A deletion removes the contents of its chat's
///   entries only.
/// - **Grants** are made and used by appends. A use is claimed in the append's own transaction: of many appends that use a
///   grant for one use, one is committed, and a repeated append uses it once. After a revocation has returned, no append
///   that uses the grant is committed. A deletion removes those that are for its chat only.
pub trait Index: Send + Sync + fmt::Debug + 'static {
    /// Heads of chats, at most `limit`. Deleted chats have none.
    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>>;

    /// The ids of all chats, the deleted ones included, in the order of their bytes, at most `limit`.
    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>>;

    /// The number of facts that each of these chats has had, those before a deletion included; 0 for an unknown chat.
    fn lengths(&self, chats: Vec<ChatId>) -> BoxFuture<'_, Result<Vec<u64>, LogError>>;

    /// The subject's chat that used a key last, and the position that it gave with the key.
    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>>;

    /// Open holds, by the beginning of their wait, their call and their chat, at most `limit`. There are fewer only at the
    /// end of the list, or if their data has more than [`PAGE_BYTES`](crate::PAGE_BYTES) bytes.
    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>>;

    /// Who may decide about the holds of a chat besides its owner, as stored beside them.
    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>>;

    /// The open holds about which something is due up to a time, earliest first, at most `limit`.
    fn due(&self, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Due>, LogError>>;

    /// Counts the open holds by tool, kind and age. The times are those between two ages, latest first. It looks at
    /// every hold.
    fn count_holds(&self, times: Vec<Timestamp>) -> BoxFuture<'_, Result<HoldCounts, LogError>>;

    /// Counts the chats of a subject that are not this node's, each number up to `most`.
    fn usage<'a>(&'a self, subject: &'a Subject, node: NodeId, most: usize) -> BoxFuture<'a, Result<Usage, LogError>>;

    /// Chats whose owner is gone: neither this node nor another one with a lease.
    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>>;

    /// Entries of the record, at most `limit`. There are fewer only at the end of the list, or if their data has more than
    /// [`PAGE_BYTES`](crate::PAGE_BYTES) bytes.
    fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>>;

    /// Grants, newest first, at most `limit`.
    fn grants(&self, query: GrantQuery, limit: usize) -> BoxFuture<'_, Result<Vec<StoredGrant>, LogError>>;

    /// Revokes a grant, and adds that to the record. Once this has returned, no append that uses the grant is committed.
    /// Revoking what is revoked, or was never there, succeeds and changes nothing.
    fn revoke(&self, revocation: Revocation) -> BoxFuture<'_, Result<(), LogError>>;

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
