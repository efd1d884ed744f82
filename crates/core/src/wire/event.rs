//! What a response says, in the words of no protocol. Each profile decides which events a turn has, and when; whoever writes a
//! protocol needs nothing but these. [`Event::into_chunks`] writes the AI SDK's.

use holdpoint_protocol::{
    chunk::{FinishReason, Pieces},
    ids::{ApprovalId, MessageId, PartId, ToolCallId},
};
use serde_json::Value;

use crate::{
    call::Call,
    fact::{BlockKind, Outcome, TurnEnd},
    model::Usage,
};

/// One thing that a response says.
///
/// ```
/// use holdpoint_core::{fact::Outcome, wire::Event};
///
/// /// A protocol of plain lines.
/// fn line(event: &Event) -> Option<String> {
///     Some(match event {
///         Event::BlockDelta { delta, .. } => delta.text().to_owned(),
///         Event::Request { call, approval } => format!("may {call} run? answer {approval}"),
///         Event::Outcome { call, outcome: Outcome::Output(output) } => format!("{call} has returned {output}"),
///         _ => return None,
///     })
/// }
///
/// let event = Event::Request { call: "call_1".into(), approval: "approval_1".into() };
/// assert_eq!(line(&event).as_deref(), Some("may call_1 run? answer approval_1"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A segment begins. It belongs to this message, or continues it.
    Start {
        /// The assistant message.
        message: MessageId,
    },
    /// A step begins.
    StepStart,
    /// The step ends.
    StepEnd,
    /// A block of text or reasoning begins.
    BlockStart {
        /// Text or reasoning.
        kind: BlockKind,
        /// The block.
        id: PartId,
    },
    /// The block goes on.
    BlockDelta {
        /// Text or reasoning.
        kind: BlockKind,
        /// The block.
        id: PartId,
        /// What is added to it.
        delta: Pieces,
    },
    /// The block ends.
    BlockEnd {
        /// Text or reasoning.
        kind: BlockKind,
        /// The block.
        id: PartId,
    },
    /// A call is announced.
    Call {
        /// The call.
        call: ToolCallId,
        /// The tool.
        tool: String,
    },
    /// A piece of a call's input. That does not make a browser run the call.
    InputDelta {
        /// The call.
        call: ToolCallId,
        /// What is added to the input.
        delta: Pieces,
    },
    /// The input of a call is complete. A browser runs the call, if that is its part. A later one replaces it.
    Input {
        /// The call.
        call: ToolCallId,
        /// The tool.
        tool: String,
        /// The input.
        input: Value,
    },
    /// The input of a call is invalid, and the call does not run.
    InputError {
        /// The call.
        call: ToolCallId,
        /// The tool.
        tool: String,
        /// As far as it was written.
        input: Value,
        /// What is wrong with it.
        error: String,
    },
    /// An approver has put an input in place of the one that this segment has announced. Announced once more, a client would take
    /// it for another call, or forget the approval request.
    EditedInput {
        /// The call.
        call: ToolCallId,
        /// The input that it runs with.
        input: Value,
    },
    /// A person is asked whether a call may run.
    Request {
        /// The call.
        call: ToolCallId,
        /// The approval request.
        approval: ApprovalId,
    },
    /// A preliminary output of a running call, which the next one or the outcome replaces.
    Progress {
        /// The call.
        call: ToolCallId,
        /// The output.
        output: Value,
    },
    /// The outcome of a call.
    Outcome {
        /// The call.
        call: ToolCallId,
        /// The outcome. A profile without denials says an error in place of one.
        outcome: Outcome,
    },
    /// The model can't answer yet, and is asked again after a delay. It is no part of the message.
    Delayed {
        /// Why.
        message: String,
        /// The delay.
        seconds: u64,
    },
    /// The turn has failed.
    Failed {
        /// The error message for the user.
        message: String,
    },
    /// The turn was stopped.
    Aborted {
        /// The reason.
        reason: Option<String>,
    },
    /// The segment is complete: the turn has ended, or the client acts next.
    Finish {
        /// Why the model, or the segment, has ended.
        reason: FinishReason,
        /// The tokens used since the last one.
        usage: Usage,
        /// The tokens used in the turn.
        of_turn: Usage,
        /// The model.
        model: String,
    },
    /// The end of the segment. Nothing follows it but another segment.
    End,
}

impl Event {
    pub(super) fn start(message: &MessageId) -> Self {
        Self::Start { message: message.clone() }
    }

    pub(super) fn block_start(kind: BlockKind, id: &PartId) -> Self {
        Self::BlockStart { kind, id: id.clone() }
    }

    pub(super) fn block_delta(kind: BlockKind, id: &PartId, delta: &Pieces) -> Self {
        Self::BlockDelta { kind, id: id.clone(), delta: delta.clone() }
    }

    pub(super) fn block_end(kind: BlockKind, id: &PartId) -> Self {
        Self::BlockEnd { kind, id: id.clone() }
    }

    pub(super) fn call(call: &ToolCallId, tool: &str) -> Self {
        Self::Call { call: call.clone(), tool: tool.to_owned() }
    }

    pub(super) fn input(call: &ToolCallId, tool: &str, input: &Value) -> Self {
        Self::Input { call: call.clone(), tool: tool.to_owned(), input: input.clone() }
    }

    /// The whole input, without making the client run the call.
    pub(super) fn input_as_text(call: &ToolCallId, input: &Value) -> Self {
        Self::InputDelta { call: call.clone(), delta: (&*input.to_string()).into() }
    }

    pub(super) fn input_error(call: &ToolCallId, tool: &str, input: &Value, error: &str) -> Self {
        let (tool, error) = (tool.to_owned(), error.to_owned());
        Self::InputError { call: call.clone(), tool, input: input.clone(), error }
    }

    /// The input of a call: complete, or invalid with the error.
    pub(super) fn input_of(id: &ToolCallId, call: &Call) -> Self {
        match call.input_error() {
            Some(error) => Self::input_error(id, &call.name, &call.input, error),
            None => Self::input(id, &call.name, &call.input),
        }
    }

    pub(super) fn edited_input(call: &ToolCallId, input: &Value) -> Self {
        Self::EditedInput { call: call.clone(), input: input.clone() }
    }

    pub(super) fn request(call: &ToolCallId, approval: &ApprovalId) -> Self {
        Self::Request { call: call.clone(), approval: approval.clone() }
    }

    pub(super) fn progress(call: &ToolCallId, output: &Value) -> Self {
        Self::Progress { call: call.clone(), output: output.clone() }
    }

    pub(super) fn outcome(call: &ToolCallId, outcome: Outcome) -> Self {
        Self::Outcome { call: call.clone(), outcome }
    }

    /// A call of a step that was abandoned, of which something was shown.
    pub(super) fn abandoned(id: &ToolCallId, call: &Call) -> Self {
        const ABANDONED: &str = "not run: the server was interrupted while it wrote this call, and begins again";
        Self::input_error(id, &call.name, &call.input, ABANDONED)
    }

    /// What a response says at the end of a turn, before it is finished for this reason.
    pub(super) fn of_end(end: &TurnEnd) -> (Option<Self>, FinishReason) {
        match end {
            TurnEnd::Finished { reason } => (None, *reason),
            TurnEnd::Failed { message } => (Some(Self::Failed { message: message.clone() }), FinishReason::Error),
            TurnEnd::Stopped { reason } => (Some(Self::Aborted { reason: reason.clone() }), FinishReason::Other),
            TurnEnd::Superseded => (Some(Self::Aborted { reason: Some("superseded".to_owned()) }), FinishReason::Other),
        }
    }

    /// Whether it begins a segment.
    pub fn is_start(&self) -> bool {
        matches!(self, Self::Start { .. })
    }

    /// Whether it ends a segment.
    pub fn is_end(&self) -> bool {
        matches!(self, Self::Finish { .. } | Self::End)
    }

    /// Whether it announces a call.
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. })
    }

    /// Whether it begins or ends a step.
    pub fn is_step(&self) -> bool {
        matches!(self, Self::StepStart | Self::StepEnd)
    }

    /// The call whose outcome it is.
    pub(super) fn settled(&self) -> Option<&ToolCallId> {
        match self {
            Self::Outcome { call, .. } => Some(call),
            _ => None,
        }
    }
}
