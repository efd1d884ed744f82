//! The inputs of the turn machine, and its replies.

use std::sync::Arc;

use holdpoint_protocol::{
    holds::DecisionKind,
    ids::{ApprovalId, GrantId, ToolCallId},
    request::{AckStatus, ChatRequest, DecisionRequest},
};
use serde_json::Value;

use crate::{
    fact::{Cause, Checked, NextTurn},
    grants::RememberError,
    identity::Identity,
    model::ModelEvent,
    tool::{Prompt, StoredFile},
    value::ValueError,
};

/// An input of the turn machine. Cheap to clone, because an input that lost a race is sent again.
#[derive(Debug, Clone)]
pub enum Input {
    /// A chat request.
    Submit(Arc<Submit>),
    /// A browser's result, by ack or frame.
    Result {
        /// The call.
        call: ToolCallId,
        /// The result.
        result: Arc<FrontendResult>,
    },
    /// A person's decision, from the inbox.
    Decide {
        /// The approval request.
        approval: ApprovalId,
        /// The decision.
        decision: DecisionRequest,
        /// Who decided.
        by: Arc<Identity>,
    },
    /// An event of the model's stream.
    Model(ModelEvent),
    /// A call of the model whose tool has checked whether it needs approval.
    CheckedCall(CheckedCall),
    /// The model failed or its stream broke off. The text is for the user.
    ModelFailed(String),
    /// A tool has finished on the server.
    ToolDone {
        /// The call.
        call: ToolCallId,
        /// The output, or the error text.
        outcome: Result<Value, String>,
        /// The files that the output has links to.
        files: Arc<[StoredFile]>,
    },
    /// A running tool reports its progress.
    Progress {
        /// The call.
        call: ToolCallId,
        /// The preliminary output.
        output: Value,
    },
    /// A running tool was cut off, because the server goes down or its time was over; or it does not know what it has done.
    ToolCutOff {
        /// The call.
        call: ToolCallId,
        /// Whether it may have been carried out.
        may_have_run: bool,
        /// What the tool had to say about it.
        said: Option<String>,
    },
    /// Something is due about a call: it escalates, or it expires.
    Due {
        /// The call.
        call: ToolCallId,
        /// Whether a response is open that shows it.
        is_watched: bool,
    },
    /// Stop the turn.
    Stop {
        /// The reason.
        reason: Option<String>,
    },
    /// A running tool prompts the user.
    Prompt {
        /// The tool's call.
        by: ToolCallId,
        /// The prompt.
        prompt: Prompt,
    },
    /// A running tool saves the state from which its call can be resumed, and prompts the user.
    Save {
        /// The tool's call.
        call: ToolCallId,
        /// The state, in the tool's own format. Without one, the call can't be resumed any more.
        data: Option<Arc<str>>,
        /// The prompts that the call waits for in that state.
        prompts: Arc<[Prompt]>,
    },
    /// A client has connected: a turn that went idle after an unwatched expiry resumes.
    ResumeIdle,
    /// Another node has appended to the chat that this one runs: act on it.
    Follow {
        /// Whether a response is open that shows it.
        is_watched: bool,
    },
    /// The server has restarted: what is running according to the state no longer runs.
    Recover,
}

/// A call, with the result of its tool's check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedCall {
    /// The model's own id for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The input.
    pub input: Value,
    /// The result.
    pub checked: Checked,
}

/// A chat request, with the turn settings of its transport.
#[derive(Debug, Clone)]
pub struct Submit {
    /// The request.
    pub request: ChatRequest,
    /// Who sent it.
    pub by: Identity,
    /// The settings of a turn that this request begins.
    pub next: NextTurn,
}

/// A browser's result for a call.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontendResult {
    /// The status.
    pub status: AckStatus,
    /// The output.
    pub output: Option<Value>,
    /// The error text.
    pub error_text: Option<String>,
    /// The ack as received, for tools that return it.
    pub ack: Option<Value>,
}

/// The reply to the sender of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Nothing.
    None,
    /// The prompt is shown as this call.
    Prompted(ToolCallId),
    /// The state is saved as far as it can be, and each of the prompts is shown as this call, unless it can't be.
    Saved(Vec<Option<ToolCallId>>),
    /// The request was accepted. [`ResponsePlan`](crate::wire::ResponsePlan) says what its response shows.
    Submitted(Submitted),
    /// The result of an answer.
    Answered(Answered),
    /// The request was rejected.
    Rejected(Rejection),
}

/// What a chat request did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    /// It asked for a turn: the last one, which has begun, or the last of those that wait ([`Chat::next`]).
    ///
    /// [`Chat::next`]: crate::chat::Chat::next
    Turn,
    /// It brought answers, or nothing new.
    Answers {
        /// The number of facts before it.
        before: u64,
        /// The answers in the message that it continues, in the order in which they were taken.
        taken: Vec<TakenAnswer>,
    },
}

/// An answer of a chat request, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenAnswer {
    /// The call, if it is known.
    pub call: Option<ToolCallId>,
    /// For a decision: whether it approves the call. Otherwise it is a browser's result.
    pub approved: Option<bool>,
    /// Whether it is the outcome that was recorded before.
    pub is_recorded: bool,
    /// What became of it.
    pub answered: Answered,
}

/// The result of an answer. Exhaustive on purpose: a front end has to say something about each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// The answer is in force.
    Taken,
    /// The approval counts, and others have to approve as well.
    Voted {
        /// How many have approved.
        votes: u32,
        /// How many have to.
        quorum: u32,
    },
    /// The same answer was given before.
    Again,
    /// A different answer was given before.
    Contradicts,
    /// The call had already expired, or was superseded or stopped.
    TooLate(Cause),
    /// The call still waits for its approval.
    NeedsApproval,
    /// The call is delegated to the browser, and no result is expected.
    NotAwaited,
    /// No such call or approval request, or none that this identity may see.
    Unknown,
    /// This identity sees the approval request, but others decide about it.
    NotTheirs,
    /// The value does not fit into the log.
    InvalidValue(ValueError),
    /// The answer to a prompt is not one, or does not fit the prompt's schema.
    UnfitAnswer {
        /// What is wrong.
        text: String,
        /// Where in the output: a JSON pointer.
        pointer: String,
    },
    /// The edited input can't be used.
    InvalidInput(ValueError),
    /// The edited input does not fit the tool's schema.
    UnfitInput {
        /// What is wrong.
        text: String,
        /// Where in the input: a JSON pointer.
        pointer: String,
    },
    /// The tool does not allow this kind of decision.
    NotAllowed(DecisionKind),
    /// The answer is in force, and made a grant.
    Remembered(GrantId),
    /// The approval can't be remembered, and is not in force.
    NotRemembered(RememberError),
}

/// A limit that prevents a new turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The subject has too many running turns.
    #[error("{limit} of your turns are running, which is the limit: try again when one has ended")]
    TurnsOfSubject {
        /// The limit.
        limit: usize,
    },
    /// The server has too many running turns.
    #[error("this server is running {limit} turns, which is its limit: try again in a moment")]
    Turns {
        /// The limit.
        limit: usize,
    },
    /// The subject has too many chats in which something waits or runs.
    #[error("something waits or runs in {limit} of your chats, which is the limit: answer, stop or delete some first")]
    OpenChats {
        /// The limit.
        limit: usize,
    },
    /// The subject has too many chats.
    #[error("you have {limit} chats, which is the limit: delete some first")]
    Chats {
        /// The limit.
        limit: usize,
    },
    /// The chats of the subject are too large in total.
    #[error("your chats have reached {limit} bytes, which is the limit: delete some first")]
    StoredBytes {
        /// The limit.
        limit: usize,
    },
    /// The chat is too large.
    #[error("this chat is full: it has reached {limit} bytes. Start another one")]
    FullChat {
        /// The limit.
        limit: usize,
    },
}

/// Why a request was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// A value does not fit into the log.
    #[error("{what}: {error}")]
    InvalidValue {
        /// Which value.
        what: &'static str,
        /// The reason.
        error: ValueError,
    },
    /// A part of the message is invalid, or of a type that a user message can't have.
    #[error("messages: part {at} of the new message, of type {kind:?}, is not valid: send text, files or data")]
    BadPart {
        /// The index of the part.
        at: usize,
        /// Its type.
        kind: String,
    },
    /// The request has nothing to act on.
    #[error("nothing to do: send a user message with text or a file, or the answer to an open hold")]
    NothingToDo,
    /// It answers an approval request that does not exist in this chat.
    #[error("there is no such approval request in this chat: nothing was done")]
    NoSuchQuestion,
    /// An id is too long.
    #[error("{what}: an id is longer than {limit} bytes")]
    LongId {
        /// Which id.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// An id has a control character, or one that can't be seen.
    #[error("{what}: an id has a character that can't be seen, such as a control character")]
    UnseenId {
        /// Which id.
        what: &'static str,
    },
    /// No URL could address a chat with this id.
    #[error("id: a chat can't have the id {0:?}, since no URL could name it")]
    UnusableId(String),
    /// A limit prevents a new turn.
    #[error(transparent)]
    Limit(#[from] Refusal),
    /// There is no message to regenerate.
    #[error("there is no message in this chat that could be answered again")]
    NothingToRegenerate,
}
