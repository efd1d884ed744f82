//! What can happen to a chat from outside, and what is answered.

use std::sync::Arc;

use holdpoint_protocol::{
    ids::{ApprovalId, MessageId, ToolCallId},
    request::{AckStatus, ChatRequest, DecisionRequest},
};
use serde_json::Value;

use crate::{
    fact::{Cause, NextTurn, Outcome},
    model::ModelEvent,
    subject::Subject,
    tool::Prompt,
    value::Unfit,
};

/// An input of the turn machine. Cheap to clone: whoever has lost a race brings it again.
#[derive(Debug, Clone)]
pub enum Input {
    /// A chat request.
    Submit(Arc<Submit>),
    /// A browser's result, by ack or frame.
    Result {
        /// The call.
        call: ToolCallId,
        /// What it says.
        result: Arc<FrontendResult>,
    },
    /// A person's decision, from the inbox.
    Decide {
        /// The approval request.
        approval: ApprovalId,
        /// The decision.
        decision: DecisionRequest,
        /// Who decided.
        by: Subject,
    },
    /// The model said something.
    Model(ModelEvent),
    /// The model failed, or was cut off; the text is for the user.
    ModelFailed(String),
    /// A tool that ran here is done.
    ToolDone {
        /// The call.
        call: ToolCallId,
        /// What came of it.
        outcome: Result<Value, String>,
    },
    /// A call's deadline has come.
    Expired {
        /// The call.
        call: ToolCallId,
        /// Whether anybody has a stream open to see it.
        is_watched: bool,
    },
    /// Stop the turn.
    Stop {
        /// Why.
        reason: Option<String>,
    },
    /// A tool that runs asks the user something.
    Prompt {
        /// The tool's call.
        by: ToolCallId,
        /// What it asks.
        prompt: Prompt,
    },
    /// Somebody is here: a turn that stands still after an expiry that nobody saw goes on.
    GoOn,
    /// The server has started again: nothing of what the state says is running runs.
    Recover,
}

/// A chat request, and how its transport wants the turn.
#[derive(Debug, Clone)]
pub struct Submit {
    /// The request.
    pub request: ChatRequest,
    /// Who asks.
    pub subject: Subject,
    /// How a turn that this request begins is to be run.
    pub next: NextTurn,
}

/// What a browser says came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontendResult {
    /// How it ended.
    pub status: AckStatus,
    /// What came of it.
    pub output: Option<Value>,
    /// What went wrong.
    pub error_text: Option<String>,
    /// The ack as it came, for tools that return it.
    pub ack: Option<Value>,
}

/// What whoever brought the input is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Nothing.
    None,
    /// The question that a tool asked is the input of this call.
    Prompted(ToolCallId),
    /// A request was taken: this is what its response shows.
    Response(ResponsePlan),
    /// How an answer was taken.
    Answered(Answered),
    /// A request was not taken.
    Rejected(Rejection),
}

/// What a response shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponsePlan {
    /// Where in the log it begins.
    pub from: u64,
    /// It brought nothing new: show the whole segment in which `from` lies.
    pub is_replay: bool,
    /// Calls that the client has answered and has no outcome of. Outcomes that came before `from` are shown all the same.
    pub unsettled: Vec<ToolCallId>,
    /// Calls that the client shows already: in a replay they are not announced again.
    pub has: Vec<ToolCallId>,
    /// Those of them of which it has the outcome.
    pub has_outcome: Vec<ToolCallId>,
    /// Calls that the client has approved and that were denied, with what to tell: the SDK refuses `output-denied` beside its own yes.
    pub overruled: Vec<(ToolCallId, String)>,
    /// Whether it shows a turn of its own, rather than more of one that the client has seen the beginning of.
    pub turn: PlannedTurn,
    /// It is about a turn that is over, and not the last one: this is all that it shows.
    pub earlier: Option<Earlier>,
}

/// What stands of a turn that a newer message has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// Its message.
    pub message: MessageId,
    /// What became of the calls that the client takes for open.
    pub outcomes: Vec<(ToolCallId, Outcome)>,
}

/// Which turn a response shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedTurn {
    /// One that the client has seen the beginning of.
    Continued,
    /// A new one, which begins at once.
    New,
    /// A new one, which begins when calls of the one before have ended.
    Next {
        /// How many others begin before it.
        before: usize,
    },
}

impl ResponsePlan {
    /// Shows what follows from a position on, in a turn that the client has seen the beginning of.
    pub fn from(from: u64) -> Self {
        Self {
            from,
            is_replay: false,
            unsettled: Vec::new(),
            has: Vec::new(),
            has_outcome: Vec::new(),
            overruled: Vec::new(),
            turn: PlannedTurn::Continued,
            earlier: None,
        }
    }
}

/// How an answer was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// It counts.
    Taken,
    /// It was given before, and is the same.
    Again,
    /// Something else was decided before.
    Contradicts,
    /// Too late: it has expired, was superseded or stopped.
    TooLate(Cause),
    /// The call waits for its approval.
    NeedsApproval,
    /// The call was handed to the browser, and nobody waits for its result.
    NotAwaited,
    /// There is no such thing to answer.
    Unknown,
    /// Its value can't enter the log.
    Unfit(Unfit),
}

/// A limit that stands in the way of a new turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Too many turns of the subject run.
    #[error("{limit} of your turns are running, which is the limit: try again when one has ended")]
    TurnsOfSubject {
        /// The limit.
        limit: usize,
    },
    /// Too many turns run.
    #[error("this server is running {limit} turns, which is its limit: try again in a moment")]
    Turns {
        /// The limit.
        limit: usize,
    },
    /// In too many chats of the subject something waits or runs.
    #[error("something waits or runs in {limit} of your chats, which is the limit: answer, stop or delete some first")]
    OpenChats {
        /// The limit.
        limit: usize,
    },
    /// The chat has grown too large.
    #[error("this chat is full: it has reached {limit} bytes. Start another one")]
    FullChat {
        /// The limit.
        limit: usize,
    },
}

/// Why a request was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// A value in it can't enter the log.
    #[error("{what}: {unfit}")]
    Unfit {
        /// What it is.
        what: &'static str,
        /// Why not.
        unfit: Unfit,
    },
    /// A part of the message is broken, or of a kind that a user message can't have.
    #[error("messages: part {at} of the new message, of type {kind:?}, is not valid: send text, files or data")]
    BadPart {
        /// Which one, counted from 0.
        at: usize,
        /// Its type.
        kind: String,
    },
    /// Nothing in it can be acted on.
    #[error("nothing to do: send a user message with text or a file, or the answer to an open question")]
    NothingToDo,
    /// It answers a question that was never asked here.
    #[error("there is no such question in this chat: nothing was done")]
    NoSuchQuestion,
    /// An id is too long to be kept.
    #[error("{what}: an id is longer than {limit} bytes")]
    LongId {
        /// Which id.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A chat of this name could not be addressed by its URL.
    #[error("id: a chat can't have the id {0:?}, since no URL could name it")]
    UnusableId(String),
    /// A limit stands in the way of a new turn.
    #[error(transparent)]
    Limit(#[from] Refusal),
    /// There is no message to answer again.
    #[error("there is no message in this chat that could be answered again")]
    NothingToRegenerate,
}
