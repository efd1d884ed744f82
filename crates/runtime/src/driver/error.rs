//! Failures of the runtime's operations.

use crate::{log::LogError, turn::Rejection};

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeError {
    /// It does not exist, or another subject owns it.
    #[error("no such chat")]
    NotFound,
    /// The id of the chat belongs to another subject, who has used it first.
    #[error("this id cannot be used for a chat: make a random one, as `crypto.randomUUID()` does")]
    IdTaken,
    /// The request was rejected.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The stored facts of the chat can't be decoded.
    #[error("what is stored of this chat can't be read: delete it, or restore a backup")]
    Unreadable,
    /// The chats in memory have reached the limit.
    #[error("the server is overloaded: retry in a few seconds")]
    Busy,
    /// The server is shutting down.
    #[error("the server is shutting down: try again in a moment")]
    ShuttingDown,
    /// The log could not be written in time. The change may still take effect.
    #[error(
        "not confirmed: the server can't write to its log right now. It may still take effect: look again, and repeat the same request, before you ask for something else"
    )]
    Unconfirmed,
    /// What was shown of an approval request is not what is recorded. Nothing was decided.
    #[error(
        "not decided: what was shown of this request is not what is recorded. Load it again, read it, and decide then: if its entry in the inbox was changed in the database, it has been written anew, and the server's log says so. `holdpoint verify` tells whether anything else was changed"
    )]
    NotAsShown,
    /// The log failed.
    #[error("the server can't write to its log right now: try again in a moment")]
    Log(LogError),
}
