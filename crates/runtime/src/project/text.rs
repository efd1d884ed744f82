//! Text in the adk profile: held back while something may still be asked, or (progressive) only while a call of its own step has no
//! outcome.

use holdpoint_protocol::{chunk::Chunk, ids::ToolCallId};

use super::Out;

/// Where text goes.
#[derive(Debug)]
pub(super) struct Text {
    /// Until the turn's last step is complete.
    is_held: bool,
    held: Vec<Chunk>,
    /// Calls of the current step that have no outcome: text behind them waits.
    behind: Vec<ToolCallId>,
    waiting: Vec<Chunk>,
}

impl Text {
    pub(super) fn new(holds_text: bool, is_progressive: bool) -> Self {
        Self { is_held: holds_text && !is_progressive, held: Vec::new(), behind: Vec::new(), waiting: Vec::new() }
    }

    pub(super) fn write(&mut self, chunk: Chunk, out: &mut Vec<Out>) {
        if self.is_held {
            self.held.push(chunk);
        } else if self.behind.is_empty() {
            out.push(Out::Chunk(chunk));
        } else {
            self.waiting.push(chunk);
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
            out.extend(self.waiting.drain(..).map(Out::Chunk));
        }
    }

    /// A new step: what waited for calls of the step before waits no longer.
    pub(super) fn next_step(&mut self, out: &mut Vec<Out>) {
        self.behind.clear();
        out.extend(self.waiting.drain(..).map(Out::Chunk));
    }

    /// All that is left, in order.
    pub(super) fn release(&mut self, out: &mut Vec<Out>) {
        self.behind.clear();
        out.extend(self.waiting.drain(..).chain(self.held.drain(..)).map(Out::Chunk));
    }
}
