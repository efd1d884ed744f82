//! What a piece of a response is.

use holdpoint_protocol::{
    chunk::{Chunk, Chunks},
    ids::ToolCallId,
};

use super::Out;

/// Whether it begins a segment.
pub fn is_start(written: &Out) -> bool {
    matches!(written, Out::Chunks(Chunks::One(Chunk::Start(_))))
}

/// Whether it ends a segment.
pub fn is_end(written: &Out) -> bool {
    matches!(written, Out::Chunks(Chunks::One(Chunk::Finish(_))) | Out::End)
}

/// Whether it announces a call.
pub fn is_call_start(written: &Out) -> bool {
    matches!(written, Out::Chunks(Chunks::One(Chunk::ToolInputStart(_))))
}

/// Whether it begins or ends a step.
pub fn is_step(written: &Out) -> bool {
    matches!(written, Out::Chunks(Chunks::One(Chunk::StartStep(_) | Chunk::FinishStep(_))))
}

/// The call whose outcome it is.
pub(super) fn settled_call(chunk: &Chunk) -> Option<&ToolCallId> {
    match chunk {
        Chunk::ToolOutputAvailable(c) => (c.preliminary != Some(true)).then_some(&c.tool_call_id),
        Chunk::ToolOutputError(c) => Some(&c.tool_call_id),
        Chunk::ToolOutputDenied(c) => Some(&c.tool_call_id),
        _ => None,
    }
}
