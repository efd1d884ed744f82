//! Text in the adk profile: held back while an approval request is still possible, or, if progressive, only behind an
//! unsettled call of its own step.

use holdpoint_protocol::ids::ToolCallId;

use super::{Event, View};
use crate::fact::Fact;

/// The buffers of held-back text.
#[derive(Debug)]
pub(super) struct Text {
    /// Set until the last step of the turn is complete.
    is_held: bool,
    held: Vec<Event>,
    /// The number of them that precede the current step.
    before_step: usize,
    /// Unsettled calls of the current step: text after them waits.
    behind: Vec<ToolCallId>,
    waiting: Vec<Event>,
}

impl Text {
    /// The text of the turn that begins with this fact.
    pub(super) fn of_turn(fact: &Fact, view: View) -> Self {
        let can_ask = matches!(fact, Fact::TurnStarted { can_ask: true, .. });
        let is_progressive = view.is_progressive;
        Self {
            is_held: can_ask && !is_progressive,
            held: Vec::new(),
            before_step: 0,
            behind: Vec::new(),
            waiting: Vec::new(),
        }
    }

    pub(super) fn write(&mut self, event: Event, out: &mut Vec<Event>) {
        if self.is_held {
            self.held.push(event);
        } else if self.behind.is_empty() {
            out.push(event);
        } else {
            self.waiting.push(event);
        }
    }

    /// Records a call of this step.
    pub(super) fn called(&mut self, call: &ToolCallId) {
        if !self.is_held {
            self.behind.push(call.clone());
        }
    }

    /// Releases the text behind a call whose outcome was sent.
    pub(super) fn settled(&mut self, call: &ToolCallId, out: &mut Vec<Event>) {
        self.behind.retain(|behind| behind != call);
        if self.behind.is_empty() {
            out.append(&mut self.waiting);
        }
    }

    /// Begins a step, and releases the text of the previous one.
    pub(super) fn next_step(&mut self, out: &mut Vec<Event>) {
        self.behind.clear();
        self.before_step = self.held.len();
        out.append(&mut self.waiting);
    }

    /// Drops the text of a step that was abandoned. Returns whether the client gets its text at once.
    pub(super) fn abandon(&mut self) -> bool {
        let is_sent = !self.is_held && self.behind.is_empty();
        self.behind.clear();
        self.waiting.clear();
        self.held.truncate(self.before_step);
        is_sent
    }

    /// Releases everything that is left, in order.
    pub(super) fn release(&mut self, out: &mut Vec<Event>) {
        self.behind.clear();
        out.extend(self.waiting.drain(..).chain(self.held.drain(..)));
    }
}
