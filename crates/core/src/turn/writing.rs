//! The inputs of calls while the model writes them.

use holdpoint_protocol::ids::ToolCallId;

use super::Turn;
use crate::value::MAX_BYTES;

/// The input of a call while the model writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenInput {
    /// The model's own id for the call. It is not in the log, because only the model's stream uses it.
    pub theirs: String,
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
    pub(super) fn write_input(&mut self, call: &ToolCallId, delta: &str) {
        if let Some(input) = self.inputs.iter_mut().find(|input| input.call == *call)
            && input.text.len() <= MAX_BYTES
        {
            input.text.push_str(delta);
        }
    }
}
