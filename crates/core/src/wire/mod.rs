//! Projections: pure functions from facts to chunks, messages and lists, the same for every reader.
//!
//! `calls.rs` folds a turn's facts into the state of its calls. Each profile decides what of it is shown, and when: [`AdkSse`],
//! [`AdkLive`] and [`AiSdk`] write a turn as [events](Event). [`Response`] cuts one response out of them, by its
//! [plan](ResponsePlan): what the client has been shown (`shown.rs`) is not sent again. A protocol is a writer of events, as
//! [`Event::into_chunks`] is.
//!
//! [`history`] builds the messages for a client, [`conversation`] those for the model.

mod adk_live;
mod adk_sse;
mod ai_sdk;
mod audience;
mod blocks;
mod calls;
mod chunks;
mod conversation;
mod earlier;
mod event;
mod history;
mod holds;
mod messages;
mod plan;
mod response;
mod shown;
#[cfg(test)]
mod tests;
mod text;
mod view;

use std::collections::HashSet;

pub use adk_live::AdkLive;
pub use adk_sse::AdkSse;
pub use ai_sdk::AiSdk;
pub use calls::Past;
pub use conversation::{Conversation, Passage, conversation};
pub use earlier::{asked_again, earlier};
pub use event::Event;
pub use history::history;
use holdpoint_protocol::ids::ToolCallId;
pub use holds::{Asked, asked};
pub use holds::{Listed, holds};
pub use plan::{Earlier, PlannedTurn, ResponsePlan};
pub use response::{Response, Resume};
pub use shown::{ClientHas, StepShown};
pub use view::{Channel, Profile, View};

use crate::fact::Fact;

/// Writes a turn as the events of one profile.
pub trait Projection: Send {
    /// Applies the next fact of the chat.
    fn apply(&mut self, fact: &Fact, out: &mut Vec<Event>);

    /// The `start` of a segment of the current turn, for a response that joins in the middle.
    fn start(&self) -> Option<Event>;

    /// Whether no segment is open: the turn has ended, or waits for the client's next request.
    fn is_closed(&self) -> bool;

    /// Writes a segment without content, after its `start`.
    fn nothing(&mut self, out: &mut Vec<Event>);

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
