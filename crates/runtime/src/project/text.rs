//! Text in the adk profile: held back while something may still be asked, or (progressive) only while a call of its own step has no
//! outcome.

use holdpoint_protocol::{chunk::Chunks, ids::ToolCallId};

use super::{Out, View};
use crate::fact::Fact;

/// Where text goes.
#[derive(Debug)]
pub(super) struct Text {
    /// Until the turn's last step is complete.
    is_held: bool,
    held: Vec<Chunks>,
    /// Calls of the current step that have no outcome: text behind them waits.
    behind: Vec<ToolCallId>,
    waiting: Vec<Chunks>,
}

impl Text {
    /// The text of the turn that begins with this fact.
    pub(super) fn of_turn(fact: &Fact, view: View) -> Self {
        let can_ask = matches!(fact, Fact::TurnStarted { holds_text, can_ask, .. } if *holds_text || *can_ask);
        let is_progressive = view.is_progressive;
        Self { is_held: can_ask && !is_progressive, held: Vec::new(), behind: Vec::new(), waiting: Vec::new() }
    }

    pub(super) fn write(&mut self, chunks: Chunks, out: &mut Vec<Out>) {
        if self.is_held {
            self.held.push(chunks);
        } else if self.behind.is_empty() {
            out.push(Out::Chunks(chunks));
        } else {
            self.waiting.push(chunks);
        }
    }

    /// A call was made in this step.
    pub(super) fn called(&mut self, call: &ToolCallId) {
        if !self.is_held {
            self.behind.push(call.clone());
        }
    }

    /// Its outcome was sent.
    pub(super) fn settled(&mut self, call: &ToolCallId, out: &mut Vec<Out>) {
        self.behind.retain(|behind| behind != call);
        if self.behind.is_empty() {
            out.extend(self.waiting.drain(..).map(Out::Chunks));
        }
    }

    /// A new step: what waited for calls of the step before waits no longer.
    pub(super) fn next_step(&mut self, out: &mut Vec<Out>) {
        self.behind.clear();
        out.extend(self.waiting.drain(..).map(Out::Chunks));
    }

    /// All that is left, in order.
    pub(super) fn release(&mut self, out: &mut Vec<Out>) {
        self.behind.clear();
        out.extend(self.waiting.drain(..).chain(self.held.drain(..)).map(Out::Chunks));
    }
}
