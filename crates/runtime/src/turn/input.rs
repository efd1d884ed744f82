//! What can happen to a chat from outside, and what is answered.

use holdpoint_protocol::{
    ids::{ApprovalId, ToolCallId},
    request::{AckStatus, ChatRequest},
};
use serde_json::Value;

use crate::{fact::CallOrder, model::ModelEvent, subject::Subject, tool::Question};

/// An input of the turn machine.
#[derive(Debug, Clone)]
pub enum Input {
    /// A chat request.
    Submit(Box<Submit>),
    /// A browser's result, by ack or frame.
    Result {
        /// The call.
        call: ToolCallId,
        /// What it says.
        result: FrontendResult,
    },
    /// A person's decision, from the inbox.
    Decide {
        /// The question.
        approval: ApprovalId,
        /// The answer.
        approved: bool,
        /// Why.
        reason: Option<String>,
        /// Who.
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
    Ask {
        /// The tool's call.
        by: ToolCallId,
        /// What it asks.
        question: Question,
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
    /// How calls are taken up in a turn that this request begins.
    pub order: CallOrder,
    /// Whether text of such a turn is held back while something may still be asked.
    pub holds_text: bool,
    /// Whether responses of such a turn end at a frontend call, whatever the tool says.
    pub is_resubmit: bool,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    None,
    /// The question that a tool asked is the input of this call.
    Asked(ToolCallId),
    /// A request was taken: this is what its response shows.
    Follow(Follow),
    /// How an answer was taken.
    Answered(Answered),
    /// A request was not taken.
    Rejected(Rejection),
}

/// What a response shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follow {
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
}

impl Follow {
    /// Shows what follows from a position on.
    pub fn from(from: u64) -> Self {
        Self { from, is_replay: false, unsettled: Vec::new(), has: Vec::new(), has_outcome: Vec::new() }
    }
}

/// How an answer was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// It counts.
    Taken,
    /// It was given before, and is the same.
    Again,
    /// Something else was decided before.
    Contradicts,
    /// Too late: expired, superseded or stopped.
    TooLate,
    /// The call waits for its approval.
    NeedsApproval,
    /// There is no such thing to answer.
    Unknown,
}

/// Why a request was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// It brings nothing but answers that contradict what was decided.
    #[error("another answer was given before, and stands")]
    Contradicts,
    /// Nothing in it can be acted on.
    #[error("nothing to do: send a user message with text or a file, or the answer to an open question")]
    NothingToDo,
    /// It answers a question that was never asked here.
    #[error("there is no such question in this chat: nothing was done")]
    NoSuchQuestion,
    /// There is no message to answer again.
    #[error("there is no message in this chat that could be answered again")]
    NothingToRegenerate,
}
