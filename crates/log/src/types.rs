//! What a log takes and gives.

use bytes::Bytes;
use holdpoint_protocol::ids::{ApprovalId, ChatId, ToolCallId};

use super::{AuditRow, BatchHash, GrantChanges};
use holdpoint_core::{approvers::Approver, clock::Timestamp, subject::Subject};

/// Identifies an append, so that retrying it does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AppendId(pub u128);

/// A runtime that appends to a log. A runtime that starts again is another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u128);

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// One append to one chat, stored as one [`Batch`].
#[derive(Debug, Clone)]
pub struct Append {
    /// The chat, created by its first append.
    pub chat: ChatId,
    /// The number of facts that the chat must have had so far, those before a deletion included.
    pub expected: u64,
    /// The same id at the same position is the same append.
    pub append_id: AppendId,
    /// Number of facts in the payload; at least 1.
    pub count: u32,
    /// The facts.
    pub payload: Bytes,
    /// The chat's head after this append. It replaces the previous head.
    pub head: Head,
    /// Ids by which its subject can find the chat from now on: those of its calls, approval requests and messages.
    pub keys: Vec<Key>,
    /// The holds that it opens and closes.
    pub holds: HoldChanges,
    /// What it does to the ownership of the chat.
    pub ownership: Ownership,
    /// What the runtime reads later in place of older facts. Stored with the batch.
    pub digest: Option<Bytes>,
    /// What it adds to the record.
    pub audit: Vec<AuditRow>,
    /// The grants that it makes and uses.
    pub grants: GrantChanges,
}

/// An id by which a subject finds a chat, and a position in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The id.
    pub id: Box<str>,
    /// The position that [`Index::find`](super::Index::find) returns with the chat: from there on, the runtime reads what the
    /// id belongs to.
    pub at: u64,
    /// Whether any subject can look it up: it is found with [`Subject::nobody`] in place of the chat's subject.
    pub is_shared: bool,
}

impl Key {
    /// The subject that finds the chat by it.
    pub fn subject<'a>(&self, head: &'a Head) -> &'a str {
        if self.is_shared { Subject::NOBODY } else { head.subject.as_str() }
    }
}

impl<T: Into<Box<str>>> From<T> for Key {
    /// A key of the chat's subject, at the beginning of the chat.
    fn from(id: T) -> Self {
        Self { id: id.into(), at: 0, is_shared: false }
    }
}

/// What a key leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The chat.
    pub chat: ChatId,
    /// The position of the key.
    pub at: u64,
}

impl<T: Into<ChatId>> From<T> for Found {
    /// The beginning of a chat.
    fn from(chat: T) -> Self {
        Self { chat: chat.into(), at: 0 }
    }
}

/// What an append does to the ownership of its chat. A chat has an owner while something runs in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ownership {
    /// Nobody owns the chat from now on.
    #[default]
    Release,
    /// This node owns the chat from now on.
    Take(NodeId),
    /// The owner stays.
    Keep,
}

/// The holds that an append opens and closes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HoldChanges {
    /// Holds that begin. A hold of the same call is replaced.
    pub opened: Vec<HoldRow>,
    /// Calls whose holds end. A call without a hold is fine.
    pub closed: Vec<ToolCallId>,
    /// Who else than the owner of the chat may decide about the holds that begin, each with the call. Those of a hold that
    /// is replaced are replaced too.
    pub approvers: Vec<(ToolCallId, Approver)>,
    /// Who else than the owner of the chat is told of the change: those of the holds that begin, change and end, and
    /// of those that had been decided and whose calls end.
    pub told: Vec<Approver>,
}

impl HoldChanges {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.opened.is_empty() && self.closed.is_empty()
    }
}

/// An open hold, as stored beside the facts of its chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRow {
    /// The call that waits.
    pub call: ToolCallId,
    /// The tool.
    pub tool: Box<str>,
    /// The approval request; `None` for a hold that waits for something else than a decision.
    pub approval: Option<ApprovalId>,
    /// When the wait began.
    pub since: Timestamp,
    /// When something is to be done about it: it escalates, or it expires.
    pub due_at: Option<Timestamp>,
    /// Other data: the runtime's own JSON.
    pub data: Bytes,
}

/// Somebody who may decide about a hold: its call, and who it is. `None` is a row that names nobody who could.
pub type HoldApprover = (ToolCallId, Option<Approver>);

/// A hold about which something is due: the time, its chat and its call.
pub type Due = (Timestamp, ChatId, ToolCallId);

/// A hold in a list: its chat, and the hold.
pub type ListedHold = (ChatId, HoldRow);

/// Filters for a list of holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldQuery {
    /// Whose holds.
    pub of: HoldsOf,
    /// Only approval requests.
    pub only_approvals: bool,
    /// Only holds that come after this one, for paging: when its wait began, its call and its chat.
    pub after: Option<(Timestamp, ToolCallId, ChatId)>,
}

/// Whose holds are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HoldsOf {
    /// Those in the chats of a subject.
    Subject(Subject),
    /// Those in one chat.
    Chat(ChatId),
    /// Those about which somebody may decide, in any chat.
    Approver(Approver),
}

/// The number of open holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HoldCounts {
    /// The number of chats with a hold.
    pub chats: u64,
    /// The number of holds.
    pub holds: Vec<HoldCount>,
}

/// A number of open holds that have a tool, a kind and an age in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldCount {
    /// The tool.
    pub tool: Box<str>,
    /// Whether they are approval requests.
    pub is_approval: bool,
    /// How many of the times given they began at or before.
    pub age: usize,
    /// How many they are.
    pub count: u64,
    /// When the oldest of them began.
    pub oldest: Timestamp,
}

/// The summary of a chat for lists, committed together with its append.
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

/// What a log has of a chat besides its facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// A chat.
    Chat {
        /// The number of facts that it has had.
        len: u64,
        /// Its head.
        head: Head,
        /// The hash of its last batch. Only a writer that is not ours leaves none.
        hash: Option<BatchHash>,
    },
    /// What is left of a deleted chat. Only the same subject may use its id again, from this position on.
    Tombstone {
        /// The number of facts that it had, and one for its deletion.
        len: u64,
        /// The owner of the chat.
        subject: Subject,
        /// When it was deleted.
        deleted_at: Timestamp,
        /// The hash of its [`Deletion`]. The next batch goes on from it.
        hash: Option<BatchHash>,
    },
}

impl Stored {
    /// The number of facts, those before a deletion included.
    #[allow(clippy::len_without_is_empty, reason = "something is stored")]
    pub fn len(&self) -> u64 {
        match self {
            Self::Chat { len, .. } | Self::Tombstone { len, .. } => *len,
        }
    }
}

/// A stored digest: the number of facts before its batch, and its bytes.
pub type Digest = (u64, Bytes);

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
    /// A grant that it uses is unknown, revoked, expired or used up, or is for other chats. Nothing was written.
    NotGranted,
    /// Whether it was committed is not known. Repeat it with the same id at the same position to find out.
    Unknown,
}

/// The deletion of a chat: a fact of its own, at the next position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The number of facts that the chat must have had so far.
    pub expected: u64,
    /// The hash that the tombstone gets. The batch of a chat that uses the id again carries it.
    pub hash: BatchHash,
    /// What it adds to the record: who deleted the chat, and what was left of it. The position is that of the deletion.
    pub row: AuditRow,
}

/// The result of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteResult {
    /// The chat is gone.
    Deleted,
    /// The chat has changed. Read again.
    Conflict,
}

/// One stored append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Number of facts before it.
    pub first: u64,
    /// Number of facts in it.
    pub count: u32,
    /// The facts.
    pub payload: Bytes,
    /// The owner of the chat after this append.
    pub owner: Option<NodeId>,
    /// The hash of the batch before it in its chat. Only a writer that is not ours leaves none.
    pub previous_hash: Option<BatchHash>,
}

impl Batch {
    /// The hash of this batch; `None` if it is in no chain.
    pub fn hash(&self, chat: &ChatId) -> Option<BatchHash> {
        let previous = self.previous_hash?;
        Some(BatchHash::of(chat, self.first, self.count, &self.payload, previous))
    }
}

/// Filters for a list of chats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadQuery {
    /// Only chats of this subject.
    pub subject: Option<Subject>,
    /// Only chats in which anything waits or runs.
    pub only_open: bool,
    /// The order of the list, and where it begins.
    pub order: HeadOrder,
}

/// The order of a list of chats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadOrder {
    /// By id.
    Id {
        /// Only chats whose id comes after this one, for paging.
        after: Option<ChatId>,
    },
    /// By last change, newest first; of the same time, by id.
    Newest {
        /// Only chats that come after this one, for paging: its last change and its id.
        after: Option<(Timestamp, ChatId)>,
    },
}

impl Default for HeadOrder {
    fn default() -> Self {
        Self::Id { after: None }
    }
}

/// A listed chat: its id, its length and its head.
pub type Listed = (ChatId, u64, Head);

/// The chats of a subject that count against its limits. Those that the asking node owns are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Chats that other nodes own.
    pub running: usize,
    /// Chats in which anything waits or runs.
    pub open: usize,
}

/// A ticket, as the nodes keep it for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRow {
    /// By which it is found. The ticket itself is stored nowhere.
    pub digest: [u8; 32],
    /// Whose it is.
    pub subject: Subject,
    /// From when on it is of no use.
    pub expires: Timestamp,
    /// What it is good for: the runtime's own data.
    pub data: Bytes,
}

/// Something has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wakeup {
    /// A chat.
    Chat(ChatChange),
    /// Perhaps any chat: wakeups were lost.
    Any,
}

/// A change of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatChange {
    /// The chat.
    pub chat: ChatId,
    /// Its owner.
    pub subject: Subject,
    /// Its length now, as far as known.
    pub len: Option<u64>,
    /// Whether its holds may have changed.
    pub holds: bool,
    /// Who else than the owner could decide, or can now.
    pub approvers: Vec<Approver>,
}

impl ChatChange {
    /// The change that an append makes.
    pub fn of(append: &Append) -> Self {
        let Append { chat, expected, count, head, holds, .. } = append;
        let len = Some(expected.saturating_add(u64::from(*count)));
        let (holds, approvers) = (!holds.is_empty(), holds.told.clone());
        Self { chat: chat.clone(), subject: head.subject.clone(), len, holds, approvers }
    }
}

/// Whether an engine can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Health {
    /// The last write succeeded, or nothing was written yet.
    #[default]
    Writable,
    /// The last write failed, and the next would fail for the same reason: a full disk, a locked or read-only file.
    Failing,
    /// A newer version has changed what is stored, and this one can't use it any more. It writes nothing.
    Outdated,
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
