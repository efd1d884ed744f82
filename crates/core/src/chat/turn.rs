//! The open turn of a chat.

use holdpoint_protocol::ids::{MessageId, PartId, ToolCallId};

use super::Spent;
use crate::{
    fact::{BlockKind, CallOrder},
    value::MAX_BYTES,
};

/// The open turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The assistant message.
    pub message: MessageId,
    /// The order in which calls are started.
    pub order: CallOrder,
    /// Whether its responses end at a frontend call.
    pub is_resubmit: bool,
    /// The position where it began.
    pub position: u64,
    /// The number of model requests so far.
    pub steps: u32,
    /// The tokens that it has used.
    pub spent: Spent,
    /// The current phase.
    pub phase: Phase,
    /// The calls of the current step, in order.
    pub calls: Vec<ToolCallId>,
    /// The open block.
    pub block: Option<(BlockKind, PartId)>,
    /// The number of blocks so far.
    pub blocks: u32,
    /// Inputs that the model is writing.
    pub inputs: Vec<OpenInput>,
    /// The request to end it, made on another node.
    pub stop: Option<StopRequest>,
}

/// A request to end a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopRequest {
    /// The reason.
    pub reason: Option<String>,
    /// Whether a newer message takes its place.
    pub is_superseded: bool,
}

/// The phase of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The model writes.
    Model,
    /// Calls run or wait. Once all are settled, the turn is idle until a client connects or the next step starts.
    Calls,
}

/// The input of a call while the model writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenInput {
    /// The provider's id for the call. It is not in the log, because only the model's stream uses it.
    pub provider_call_id: String,
    /// The call.
    pub call: ToolCallId,
    /// The tool.
    pub name: String,
    /// The streamed text, up to the size limit.
    pub text: String,
}

impl Turn {
    /// Appends to an input that the model is writing. Text over the size limit is dropped, because that call is refused
    /// anyway.
    pub(crate) fn write_input(&mut self, call: &ToolCallId, delta: &str) {
        if let Some(input) = self.inputs.iter_mut().find(|input| input.call == *call)
            && input.text.len() <= MAX_BYTES
        {
            input.text.push_str(delta);
        }
    }
}
