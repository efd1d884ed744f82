//! The chunks of the UI message stream: typed, strict when written, lenient when read.
//!
//! [`Chunk`] is what we write: it can't hold a null, an extra key or an unknown type. [`ReadChunk`] is what a peer
//! sent: extra keys and unknown types are kept.

mod define;
mod delta;
mod kinds;
mod read;
mod run;
mod values;

pub(crate) use delta::{DeltaKind, PlainDelta};
pub use kinds::*;
pub use read::{Fault, ReadChunk};
pub use run::{Chunks, DeltaOf, Pieces, Run};
pub use values::{Citation, CitedSource, FinishReason, InputEncoding, SteeringPart};

impl Chunk {
    /// Whether only `ai` 7 knows this type of chunk (rule S1).
    pub fn is_sdk7_only(&self) -> bool {
        matches!(
            self,
            Chunk::ToolApprovalResponse(_)
                | Chunk::Custom(_)
                | Chunk::ReasoningFile(_)
                | Chunk::SteeringMessage(_)
                | Chunk::ResetStep(_)
        )
    }

    /// A key of this chunk that only `ai` 7 knows, if it has one.
    pub fn sdk7_only_key(&self) -> Option<&'static str> {
        match self {
            Chunk::TextEnd(c) if c.citations.is_some() => Some("citations"),
            Chunk::ToolApprovalRequest(c) if c.reason.is_some() => Some("reason"),
            Chunk::ToolApprovalRequest(c) if c.is_automatic.is_some() => Some("isAutomatic"),
            _ => None,
        }
    }

    /// Whether it carries JSON from elsewhere, which may contain a forbidden key.
    pub(crate) fn carries_json(&self) -> bool {
        !matches!(self, Chunk::TextDelta(TextDelta { provider_metadata: None, .. }))
            && !matches!(self, Chunk::ReasoningDelta(ReasoningDelta { provider_metadata: None, .. }))
            && !matches!(self, Chunk::ToolInputDelta(_))
    }
}
