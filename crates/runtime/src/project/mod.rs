//! Projections: facts in, something to look at out. Pure, and the same for everybody who looks.
//!
//! `calls.rs` folds a turn's facts into the state of its calls, once for all of them; each projection decides what is shown of that, and
//! when. [`AdkSse`], [`AdkLive`] and [`AiSdk`] write a turn as chunks; [`Follower`] makes a response of that. [`history`] and [`conversation`] make
//! messages: for a client, and for the model.

mod adk_live;
mod adk_sse;
mod ai_sdk;
mod calls;
mod chunks;
mod conversation;
mod follow;
mod history;
mod holds;
mod text;

pub use adk_live::AdkLive;
pub use adk_sse::AdkSse;
pub use ai_sdk::AiSdk;
pub use conversation::conversation;
pub(crate) use follow::settled_in;
pub use follow::{Flow, Follower, Resume, earlier};
pub use history::history;
use holdpoint_protocol::chunk::{Chunk, Chunks};
pub use holds::{Listed, holds};

use crate::{fact::Fact, metrics::Channel};

/// What a projection writes.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "chunks are nearly all of them")]
pub enum Out {
    /// A chunk, or a run of deltas.
    Chunks(Chunks),
    /// The segment is over.
    End,
}

impl Out {
    pub(crate) fn one(chunk: Chunk) -> Self {
        Out::Chunks(Chunks::One(chunk))
    }
}

/// Writes a turn as the chunks of one profile.
pub trait Projection: Send {
    /// Takes the next fact of the chat.
    fn apply(&mut self, fact: &Fact, out: &mut Vec<Out>);

    /// The `start` of a segment of the current turn, for a response that joins in the middle of one.
    fn start(&self) -> Option<Chunk>;

    /// Whether no segment is open: the turn is over, or waits for the client's next request.
    fn is_closed(&self) -> bool;

    /// A segment in which nothing happened, after its `start`.
    fn nothing(&mut self, out: &mut Vec<Out>);
}

/// How the same turn is written on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// As the founding documents have it.
    #[default]
    Adk,
    /// As `streamText` writes it, for a stock `useChat`.
    AiSdk,
}

/// How a client wants a turn written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View {
    /// For whom.
    pub profile: Profile,
    /// Text as it comes.
    pub is_progressive: bool,
    /// Responses end at a frontend call; the result comes with the next request.
    pub is_resubmit: bool,
    /// The endpoint it asks through.
    pub channel: Channel,
}
