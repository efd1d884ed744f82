//! What can be found.

use holdpoint_protocol::ids::{GrantId, ToolCallId};

use crate::{
    log::{Break, Misfit},
    subject::Subject,
};

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// The hash chain is broken.
    #[error(transparent)]
    Chain(#[from] Break),
    /// Facts can't be decoded, so nothing that follows from them can be compared.
    #[error("position {at}: the facts can't be decoded, so what follows from them can't be compared: {problem}")]
    Unreadable {
        /// Where the batch begins.
        at: u64,
        /// What is wrong.
        problem: String,
    },
    /// A line of the record is not what follows from the facts.
    #[error("position {position}: {change}")]
    Line {
        /// The position of the line.
        position: u64,
        /// What is wrong with it.
        change: LineChange,
    },
    /// The lines of a deleted chat are not those that it had when it was deleted.
    #[error("position {at}: lines of the record before the deletion of the chat were changed, removed or added")]
    Lines {
        /// The position of the deletion.
        at: u64,
    },
    /// The line of a deletion is missing or was changed.
    #[error("position {at}: the record of the deletion of the chat is missing or was changed")]
    Deletion {
        /// The position of the deletion.
        at: u64,
    },
    /// The tombstone of a deleted chat says something else than the record of its deletion.
    #[error("the list of chats has another owner, or another time of its deletion, than the record")]
    Tombstone,
    /// The id of a deleted chat is used by somebody else, which the server does not allow.
    #[error("position {at}: the id was that of a deleted chat of {:?}, and now it is that of a chat of {:?}", .before.as_str(), .now.as_str())]
    ChangedHands {
        /// Where the chat begins.
        at: u64,
        /// The owner of the deleted chat.
        before: Subject,
        /// The owner of this one.
        now: Subject,
    },
    /// Rows of a table do not fit to those that they belong to.
    #[error("the table {}: {} ({} rows)", .0.table, .0.what, .0.rows)]
    Misfit(Misfit),
    /// The row of a hold, by which the inbox lists it, is not what follows from the facts.
    #[error("the row of the hold of call {call} is missing, was added or was changed")]
    Hold {
        /// The call.
        call: ToolCallId,
    },
    /// Those whose inbox lists a hold are not those who may decide.
    #[error("those whose inbox lists the hold of call {call} are not those who may decide about it")]
    Approvers {
        /// The call.
        call: ToolCallId,
    },
    /// The chat's entry in lists is not what follows from the facts.
    #[error("its entry in the list of chats is not what its facts say: {0}")]
    Head(&'static str),
    /// A grant is not what the record says of it.
    #[error("the grant {grant}: {what}")]
    Grant {
        /// The grant.
        grant: GrantId,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// What is wrong with a line of the record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineChange {
    /// It is not there.
    #[error("the line of the record is missing")]
    Missing,
    /// Nothing has happened of which it tells.
    #[error("the line of the record was added: no fact says so")]
    Added,
    /// It tells something else than the facts.
    #[error("the line of the record was changed: {0}")]
    Changed(String),
    /// The chat is deleted, and the line has an input or a reason all the same.
    #[error("the line of the record has contents, although the chat was deleted")]
    Contents,
}
