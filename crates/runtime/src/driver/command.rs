//! Commands to the task of a chat, and their results.

use holdpoint_protocol::ids::ToolCallId;
use serde_json::Value;
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::Instant,
};

use super::{feed::FeedReader, keeper::KeeperCommand, shown::Shown};
use crate::{
    clock::Timestamp,
    log::LogError,
    subject::Subject,
    tool::{Prompt, PromptResponse},
    turn::{Input, Reply},
    wire::{Channel, ResponsePlan},
};

/// A command to a chat.
pub(super) enum Command {
    /// An input. It is dropped after `until`: by then the sender has been told that it may not take effect.
    Input {
        input: Box<Input>,
        subject: Subject,
        channel: Channel,
        /// For a decision from the inbox: what was shown.
        shown: Option<Shown>,
        until: Instant,
        reply: oneshot::Sender<Result<Taken, ChatError>>,
    },
    /// A request for a reader of the feed. With `may_be_new`, the chat may have no facts yet.
    Read { subject: Subject, may_be_new: bool, reply: oneshot::Sender<Result<FeedReader, ChatError>> },
    /// A prompt of a tool.
    Prompt { by: ToolCallId, prompt: Prompt, response: oneshot::Sender<PromptResponse> },
    /// The state of a running tool's call.
    Keeper { call: ToolCallId, command: KeeperCommand },
    /// The progress of a running tool.
    Progress { call: ToolCallId, output: Value },
    /// Something is due about a hold. The permit limits how many chats are woken for that at a time, and is released once
    /// this is handled.
    Due { call: ToolCallId, permit: OwnedSemaphorePermit },
    /// Compares the rows of its holds with its facts, and writes them anew where they differ.
    Mend,
    /// Recovers the chat. With `is_abandoned`, the node that ran it is gone. `done` is signalled afterwards.
    Recover { is_abandoned: bool, done: oneshot::Sender<()> },
    /// Deletes the chat if it has not changed since `before` and nothing in it is open.
    Retire { before: Timestamp, reply: oneshot::Sender<Result<bool, ChatError>> },
    /// Deletes the chat of a subject, on behalf of somebody.
    Delete { subject: Subject, by: Subject, reply: oneshot::Sender<Result<(), ChatError>> },
}

/// The result of an input.
pub(super) struct Taken {
    pub(super) reply: Reply,
    /// For a request: what its response shows.
    pub(super) plan: Option<ResponsePlan>,
    /// Whether it added any facts.
    pub(super) is_new: bool,
    pub(super) reader: FeedReader,
}

impl ChatError {
    /// The answer to a subject to whom the chat does not belong. What would begin a chat learns that the id is taken; for
    /// all else there is no such chat.
    pub(super) fn not_theirs(begins: bool) -> Self {
        if begins { Self::IdTaken } else { Self::NotFound }
    }
}

/// Why a chat failed to carry out a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ChatError {
    #[error("no such chat")]
    NotFound,
    /// Another subject has used the id of the chat first.
    #[error("the id of the chat belongs to another subject")]
    IdTaken,
    /// The chat is not what the task knows of it, or its task has ended: send the command again.
    #[error("the chat changed: retry")]
    Lost,
    /// Another writer has appended to the log: read that, and decide again.
    #[error("somebody else has appended to it")]
    Conflict,
    /// A grant can't be used any more: decide again without it.
    #[error("a grant can't be used any more")]
    NotGranted,
    /// Its facts can't be decoded.
    #[error("its facts can't be decoded")]
    Unreadable,
    /// What was shown of an approval request is not what is recorded.
    #[error("what was shown is not what is recorded")]
    NotAsShown,
    /// The chats in memory have reached the limit.
    #[error("there is no room to load it")]
    NoRoom,
    /// The server is shutting down.
    #[error("the server is going down")]
    Closing,
    #[error(transparent)]
    Log(#[from] LogError),
}
