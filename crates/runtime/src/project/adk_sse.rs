//! The adk profile over SSE: what the seeds call SSE mode.
//!
//! The first segment shows calls as they come. One that needs a person's approval ends it. The segments after that hold everything
//! back until it is known whether they ask again: then only the new questions are shown; otherwise the turn is over, and all goes out.

use std::collections::HashMap;

use holdpoint_protocol::{
    chunk::{Chunk, Chunks, FinishReason},
    ids::{MessageId, ToolCallId},
};
use serde_json::Value;

use super::{
    Out, Projection, View,
    chunks::{self, Blocks, Meter},
    text::Text,
};
use crate::{
    fact::{BlockKind, CallOrder, Fact, Outcome, TurnEnd},
    tool::{Execution, Wait},
};

/// Writes turns for `POST /stream`.
#[derive(Debug)]
pub struct AdkSse {
    view: View,
    turn: Option<Turn>,
}

#[derive(Debug)]
struct Turn {
    message: MessageId,
    order: CallOrder,
    is_open: bool,
    /// Segments that asked a person so far.
    rounds: u32,
    meter: Meter,
    blocks: Blocks,
    text: Text,
    /// Calls of the current step, in order.
    step: Vec<ToolCallId>,
    calls: HashMap<ToolCallId, Call>,
    /// Outcomes, and calls that were not shown yet, that wait for the last segment.
    held: Vec<(ToolCallId, Outcome)>,
    has_question_in_step: bool,
    has_question_in_segment: bool,
}

#[derive(Debug)]
struct Call {
    name: String,
    input: Value,
    /// Why it can't run; that is its outcome.
    error: Option<String>,
    /// The how-manieth call of the turn it is.
    number: usize,
    is_shown: bool,
    waits: Waits,
    is_resubmit: bool,
}

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Waits {
    /// Its turn has not come.
    Queue,
    Server,
    Person,
    Browser,
    Nothing,
}

impl AdkSse {
    /// A projection for a client with these wishes.
    pub fn new(view: View) -> Self {
        Self { view, turn: None }
    }
}

impl Projection for AdkSse {
    fn apply(&mut self, fact: &Fact, out: &mut Vec<Out>) {
        if let Fact::TurnStarted { message, order, holds_text, can_ask, model, .. } = fact {
            let turn = Turn::new(message, model, *order, Text::new(*holds_text || *can_ask, self.view.is_progressive));
            out.push(Out::one(chunks::start(message)));
            self.turn = Some(turn);
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        // A newer message came while nobody had a response open: what is recorded now is not for any response.
        if matches!(fact, Fact::TurnEnded { end: TurnEnd::Superseded, .. }) && !turn.is_open {
            return;
        }
        turn.apply(fact, self.view, out);
        if matches!(fact, Fact::TurnEnded { .. }) {
            turn.is_open = false;
        }
    }

    fn start(&self) -> Option<Chunk> {
        self.turn.as_ref().map(|turn| chunks::start(&turn.message))
    }

    fn is_closed(&self) -> bool {
        self.turn.as_ref().is_none_or(|turn| !turn.is_open)
    }

    fn nothing(&mut self, out: &mut Vec<Out>) {
        if let Some(turn) = &mut self.turn {
            out.extend([Out::one(turn.meter.finish(FinishReason::Stop)), Out::End]);
        }
    }
}

impl Turn {
    fn new(message: &MessageId, model: &str, order: CallOrder, text: Text) -> Self {
        Self {
            message: message.clone(),
            order,
            is_open: true,
            rounds: 0,
            meter: Meter::new(model),
            blocks: Blocks::default(),
            text,
            step: Vec::new(),
            calls: HashMap::new(),
            held: Vec::new(),
            has_question_in_step: false,
            has_question_in_segment: false,
        }
    }

    fn apply(&mut self, fact: &Fact, view: View, out: &mut Vec<Out>) {
        match fact {
            Fact::StepStarted => {
                self.open(out);
                self.text.next_step(out);
                self.step.clear();
                self.has_question_in_step = false;
            }
            Fact::BlockStarted { kind, id } => {
                self.blocks.start(*kind, id);
                self.write(*kind, chunks::block_start(*kind, id).into(), out);
            }
            Fact::BlockDelta { id, delta } => {
                let kind = self.blocks.kind(id);
                self.write(kind, chunks::block_deltas(kind, id, delta), out);
            }
            Fact::BlockEnded { id } => {
                let kind = self.blocks.end(id);
                self.write(kind, chunks::block_end(kind, id).into(), out);
            }
            Fact::Called { call, name, input, execution, wait, asked_by, .. } => {
                let is_resubmit = *execution == Execution::Frontend && (view.is_resubmit || *wait == Wait::Resubmit);
                self.add(call, name, input, None, is_resubmit && asked_by.is_none(), out);
                if asked_by.is_some() {
                    // A tool waits for the answer: it can't wait for the last segment.
                    self.show(call, out);
                }
            }
            Fact::Invalid { call, name, input, error } => {
                self.add(call, name, input, Some(error.clone()), false, out);
                self.settle(call, Outcome::Error(error.clone()), out);
                self.end_if_waiting(out);
            }
            Fact::StepEnded { usage, version, .. } => self.meter.add(*usage, version.as_deref()),
            Fact::Asked { call, approval, .. } => {
                if !self.has_question_in_step {
                    self.has_question_in_step = true;
                    self.rounds += 1;
                    for id in self.step.clone() {
                        self.show(&id, out);
                    }
                }
                self.has_question_in_segment = true;
                self.wait(call, Waits::Person);
                out.push(Out::one(chunks::question(call, approval)));
                self.end_if_waiting(out);
            }
            Fact::Decided { .. } => self.open(out),
            Fact::Started { call, .. } => self.started(call, out),
            Fact::Settled { call, outcome, cause, .. } => {
                self.open(out);
                self.settle(call, outcome.told(*cause), out);
                self.end_if_waiting(out);
            }
            Fact::TurnEnded { end, .. } => self.end(end, out),
            _ => {}
        }
    }

    /// A segment begins with the first thing that happens after the last one was closed.
    fn open(&mut self, out: &mut Vec<Out>) {
        if !self.is_open {
            self.is_open = true;
            self.has_question_in_segment = false;
            out.push(Out::one(chunks::start(&self.message)));
        }
    }

    fn write(&mut self, kind: BlockKind, chunks: Chunks, out: &mut Vec<Out>) {
        match kind {
            BlockKind::Reasoning => out.push(Out::Chunks(chunks)),
            BlockKind::Text => self.text.write(chunks, out),
        }
    }

    fn add(
        &mut self,
        id: &ToolCallId,
        name: &str,
        input: &Value,
        error: Option<String>,
        is_resubmit: bool,
        out: &mut Vec<Out>,
    ) {
        let (name, input) = (name.to_owned(), input.clone());
        let waits = if self.order == CallOrder::OneByOne { Waits::Queue } else { Waits::Server };
        let call = Call { name, input, error, number: self.calls.len(), is_shown: false, waits, is_resubmit };
        self.step.push(id.clone());
        self.calls.insert(id.clone(), call);
        self.text.called(id);
        if self.rounds == 0 {
            self.show(id, out);
        }
    }

    fn show(&mut self, id: &ToolCallId, out: &mut Vec<Out>) {
        let Some(call) = self.calls.get_mut(id).filter(|call| !call.is_shown) else { return };
        call.is_shown = true;
        out.push(Out::one(chunks::input_start(id, &call.name)));
        out.push(Out::one(match &call.error {
            Some(error) => chunks::input_error(id, &call.name, &call.input, error),
            None => chunks::input_available(id, &call.name, &call.input),
        }));
    }

    fn wait(&mut self, id: &ToolCallId, waits: Waits) {
        if let Some(call) = self.calls.get_mut(id) {
            call.waits = waits;
        }
    }

    fn started(&mut self, id: &ToolCallId, out: &mut Vec<Out>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        if !call.is_resubmit {
            call.waits = Waits::Server;
            return;
        }
        // The client runs it on being told once more that it is available; in the segment that asked, it was told already.
        let again = call.waits == Waits::Person && !self.has_question_in_segment;
        call.waits = Waits::Browser;
        if again {
            out.push(Out::one(chunks::input_available(id, &call.name, &call.input)));
        }
        self.end_if_waiting(out);
    }

    fn settle(&mut self, id: &ToolCallId, outcome: Outcome, out: &mut Vec<Out>) {
        self.wait(id, Waits::Nothing);
        let is_invalid = self.calls.get(id).is_some_and(|call| call.error.is_some());
        if self.rounds == 0 && !is_invalid {
            out.push(Out::one(chunks::outcome(id, &outcome)));
        } else if !is_invalid || self.rounds > 0 {
            return self.held.push((id.clone(), outcome));
        }
        self.text.settled(id, out);
    }

    /// The segment ends when every call of the step is settled or waits for the client, and one waits.
    fn end_if_waiting(&mut self, out: &mut Vec<Out>) {
        let states: Vec<Waits> = self.step.iter().filter_map(|id| Some(self.calls.get(id)?.waits)).collect();
        let waits = |waits: &Waits| matches!(waits, Waits::Person | Waits::Browser);
        if !self.is_open || !states.iter().any(waits) || states.contains(&Waits::Server) {
            return;
        }
        if !self.has_question_in_segment {
            // Some of the questions were answered: what came of them need not wait for the others.
            self.release_outcomes(out);
        }
        let for_browser = !self.has_question_in_segment && self.rounds > 0 && states.contains(&Waits::Browser);
        let reason = if for_browser { FinishReason::ToolCalls } else { FinishReason::Stop };
        self.close(reason, out);
    }

    fn close(&mut self, reason: FinishReason, out: &mut Vec<Out>) {
        self.is_open = false;
        out.extend([Out::one(self.meter.finish(reason)), Out::End]);
    }

    fn release_outcomes(&mut self, out: &mut Vec<Out>) {
        let mut held = std::mem::take(&mut self.held);
        // In the order of the calls, whichever was done first.
        held.sort_by_key(|(id, _)| self.calls.get(id).map(|call| call.number));
        for (id, outcome) in held {
            self.show(&id, out);
            if self.calls.get(&id).is_some_and(|call| call.error.is_none()) {
                out.push(Out::one(chunks::outcome(&id, &outcome)));
            }
            self.text.settled(&id, out);
        }
    }

    fn end(&mut self, end: &TurnEnd, out: &mut Vec<Out>) {
        self.open(out);
        if self.rounds > 1 && !self.has_question_in_segment {
            self.text.release(out);
        }
        self.release_outcomes(out);
        self.text.release(out);
        let (last, reason) = chunks::ending(end);
        out.extend(last.map(Out::one));
        self.close(reason, out);
    }
}
