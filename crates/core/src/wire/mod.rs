//! Projections: pure functions from facts to chunks, messages and lists, the same for every reader.
//!
//! `calls.rs` folds a turn's facts into the state of its calls. Each projection decides what of it is shown, and when.
//! [`AdkSse`], [`AdkLive`] and [`AiSdk`] write a turn as chunks, and [`Response`] cuts one response out of them.
//! [`history`] builds the messages for a client, [`conversation`] those for the model.

mod adk_live;
mod adk_sse;
mod ai_sdk;
mod audience;
mod calls;
mod chunks;
mod client_has;
mod conversation;
mod earlier;
mod history;
mod holds;
mod response;
mod step_shown;
#[cfg(test)]
mod tests;
mod text;
mod written;

use std::collections::HashSet;

pub use adk_live::AdkLive;
pub use adk_sse::AdkSse;
pub use ai_sdk::AiSdk;
pub use calls::Past;
pub use conversation::{Conversation, Passage, conversation};
pub use earlier::asked_again;
pub use earlier::earlier;
pub use history::history;
use holdpoint_protocol::{
    chunk::{Chunk, Chunks},
    ids::ToolCallId,
};
pub use holds::{Asked, asked};
pub use holds::{Listed, holds};
pub use response::{Response, Resume};
pub use step_shown::StepShown;
pub use written::{is_call_start, is_end, is_start, is_step};

use crate::fact::Fact;

/// The output of a projection.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "chunks are nearly all of them")]
pub enum Out {
    /// A chunk, or a run of deltas.
    Chunks(Chunks),
    /// The end of the segment.
    End,
}

impl Out {
    /// One chunk.
    pub fn one(chunk: Chunk) -> Self {
        Out::Chunks(Chunks::One(chunk))
    }
}

/// Writes a turn as the chunks of one profile.
pub trait Projection: Send {
    /// Applies the next fact of the chat.
    fn apply(&mut self, fact: &Fact, out: &mut Vec<Out>);

    /// The `start` of a segment of the current turn, for a response that joins in the middle.
    fn start(&self) -> Option<Chunk>;

    /// Whether no segment is open: the turn has ended, or waits for the client's next request.
    fn is_closed(&self) -> bool;

    /// Writes a segment without content, after its `start`.
    fn nothing(&mut self, out: &mut Vec<Out>);

    /// Prepares for showing facts that are past.
    fn set_past(&mut self, past: Past);

    /// Whether outcomes may be sent in a later segment than that of their fact. What it writes then is not sent yet, even
    /// if the client shows the same because it has sent it itself.
    fn holds_outcomes(&self) -> bool {
        false
    }

    /// Prepares for the segment of a response, which comes after the calls in `over` were settled and shows their end. `has` are
    /// the calls that its client shows, if it has said so.
    fn begin_segment(&mut self, over: HashSet<ToolCallId>, has: Option<&HashSet<&ToolCallId>>) {
        let _ = (over, has);
    }

    /// A projection with the same settings that has seen nothing.
    fn fresh(&self) -> Box<dyn Projection>;
}

/// How a turn is written on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// As the specification defines it.
    #[default]
    Adk,
    /// As `streamText` writes it, for a stock `useChat`.
    AiSdk,
}

/// The endpoint that an answer came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Channel {
    /// `POST /api/approvals/{approvalId}` or `POST /api/tools/ack`.
    Inbox,
    /// A chat request over HTTP.
    #[default]
    Chat,
    /// `/live`.
    Live,
    /// `/api/chat/ws`.
    Ws,
}

/// The format in which a client reads a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View {
    /// The profile.
    pub profile: Profile,
    /// Whether text is sent at once instead of held back.
    pub is_progressive: bool,
    /// Whether responses end at a frontend call. The result comes with the next request.
    pub is_resubmit: bool,
}
