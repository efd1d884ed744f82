//! The ai-sdk profile: a turn as `streamText` writes it, for a stock `useChat`. Steps around every model call, text at once, and a
//! segment that ends when every call is settled or waits for the client. Only chunks that `ai` 6 knows are written.

use std::collections::{HashMap, HashSet};

use holdpoint_protocol::{
    ASK_USER,
    chunk::{Chunk, Chunks, DeltaOf, FinishReason, FinishStep, Pieces, Run, StartStep, ToolOutputDenied},
    ids::{ApprovalId, MessageId, ToolCallId},
};
use serde_json::Value;

use super::{
    Out, Projection, View,
    chunks::{self, Blocks, Meter},
};
use crate::{
    fact::{CallOrder, Cause, Fact, Outcome, TurnEnd},
    tool::{Execution, Wait},
};

/// Writes turns for `/api/chat` and `/api/chat/ws`.
#[derive(Debug)]
pub struct AiSdk {
    view: View,
    turn: Option<Turn>,
    past: Past,
}

/// What is known to have happened already to calls that are being replayed.
#[derive(Debug, Default)]
struct Past {
    /// They must not make the client run them again: their input is shown as a delta, which does not (rule T8).
    settled: HashSet<ToolCallId>,
    /// Nobody is to be asked again.
    decided: HashSet<ToolCallId>,
}

#[derive(Debug)]
struct Turn {
    message: MessageId,
    order: CallOrder,
    is_open: bool,
    is_in_step: bool,
    meter: Meter,
    blocks: Blocks,
    /// Calls of the current step, in order.
    step: Vec<ToolCallId>,
    calls: HashMap<ToolCallId, Call>,
}

#[derive(Debug)]
struct Call {
    name: String,
    input: Value,
    waits: Waits,
    is_resubmit: bool,
    /// A browser's call that waits for its approval: its input is shown by deltas, which do not make the client run it.
    is_gated: bool,
    /// It was, and the client has been told to run it.
    is_released: bool,
    has_deltas: bool,
    shown: Shown,
    question: Question,
    /// A denial that waits until nobody is being asked in its step.
    denial: Vec<Chunk>,
}

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Waits {
    /// Its turn has not come.
    Queue,
    /// The server, or a browser whose result this response waits for.
    Here,
    /// A person's answer, in the client's next request.
    Person,
    /// A browser's result, in the client's next request.
    Browser,
    Nothing,
}

/// How much of a call's input was shown.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shown {
    Nothing,
    Start,
    Input,
}

/// Where the question about a call stands on the wire.
#[derive(Debug, Clone, PartialEq)]
enum Question {
    None,
    /// It is shown when the other calls of the step are settled.
    Waiting(ApprovalId),
    /// It was answered before it could be shown, here.
    Answered(ApprovalId),
    /// It was shown, in this segment or an earlier one.
    Shown {
        in_this_segment: bool,
    },
}

impl AiSdk {
    /// A projection for a client with these wishes.
    pub fn new(view: View) -> Self {
        Self { view, turn: None, past: Past::default() }
    }

    /// A projection that replays a message of which this much is known already.
    pub fn replay<'a>(view: View, facts: impl Iterator<Item = &'a Fact>) -> Self {
        let mut past = Past::default();
        for fact in facts {
            match fact {
                Fact::Settled { call, .. } => drop(past.settled.insert(call.clone())),
                Fact::Decided { call, .. } => drop(past.decided.insert(call.clone())),
                _ => {}
            }
        }
        Self { view, turn: None, past }
    }
}

impl Projection for AiSdk {
    fn apply(&mut self, fact: &Fact, out: &mut Vec<Out>) {
        if let Fact::TurnStarted { message, order, model, .. } = fact {
            out.push(Out::one(chunks::start(message)));
            self.turn = Some(Turn::new(message, model, *order));
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        turn.apply(fact, self.view, &self.past, out);
    }

    fn start(&self) -> Option<Chunk> {
        self.turn.as_ref().map(|turn| chunks::start(&turn.message))
    }

    fn is_closed(&self) -> bool {
        self.turn.as_ref().is_none_or(|turn| !turn.is_open)
    }

    fn nothing(&mut self, out: &mut Vec<Out>) {
        if let Some(turn) = &mut self.turn {
            let steps: [Chunk; 2] = [StartStep {}.into(), FinishStep {}.into()];
            out.extend(steps.map(Out::one));
            out.extend([Out::one(turn.meter.finish(FinishReason::Stop)), Out::End]);
        }
    }
}

impl Turn {
    fn new(message: &MessageId, model: &str, order: CallOrder) -> Self {
        Self {
            message: message.clone(),
            order,
            is_open: true,
            is_in_step: false,
            meter: Meter::new(model),
            blocks: Blocks::default(),
            step: Vec::new(),
            calls: HashMap::new(),
        }
    }

    fn apply(&mut self, fact: &Fact, view: View, past: &Past, out: &mut Vec<Out>) {
        match fact {
            Fact::StepStarted => {
                self.open(out);
                self.end_step(out);
                self.is_in_step = true;
                self.step.clear();
                out.push(Out::one(StartStep {}.into()));
            }
            Fact::BlockStarted { kind, id } => {
                self.blocks.start(*kind, id);
                out.push(Out::one(chunks::block_start(*kind, id)));
            }
            Fact::BlockDelta { id, delta } => {
                out.push(Out::Chunks(chunks::block_deltas(self.blocks.kind(id), id, delta)));
            }
            Fact::BlockEnded { id } => out.push(Out::one(chunks::block_end(self.blocks.end(id), id))),
            Fact::InputStarted { call, name } => {
                self.begin(call, name);
                if self.order == CallOrder::Together {
                    self.show_start(call, out);
                }
            }
            Fact::InputDelta { call, delta } if self.order == CallOrder::Together => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.has_deltas = true;
                }
                out.push(deltas(call, delta.clone()));
            }
            Fact::Called { call, input, execution, wait, asked_by, needs_approval, .. } => {
                let is_frontend = *execution == Execution::Frontend;
                let is_resubmit = is_frontend && (view.is_resubmit || *wait == Wait::Resubmit);
                self.called(call, input, is_resubmit && asked_by.is_none(), is_frontend && *needs_approval);
                if self.order == CallOrder::Together {
                    self.show(call, past, out);
                }
            }
            Fact::Invalid { call, name, input, error } => {
                self.called(call, input, false, false);
                self.wait(call, Waits::Nothing);
                self.show_start(call, out);
                if let Some(call) = self.calls.get_mut(call) {
                    call.shown = Shown::Input;
                }
                out.push(Out::one(chunks::input_error(call, name, input, error)));
            }
            Fact::StepEnded { usage, version, .. } => self.meter.add(*usage, version.as_deref()),
            Fact::Asked { call, approval, .. } => {
                self.show(call, past, out);
                self.wait(call, Waits::Person);
                let is_answered = past.decided.contains(call) || past.settled.contains(call);
                if let Some(call) = self.calls.get_mut(call) {
                    call.question = match is_answered {
                        true => Question::Answered(approval.clone()),
                        false => Question::Waiting(approval.clone()),
                    };
                }
                self.end_if_waiting(out);
            }
            Fact::Decided { call, .. } => {
                self.open(out);
                self.wait(call, Waits::Here);
                // It is not asked any more: somebody has answered elsewhere, while the other calls of the step ran.
                if let Some(call) = self.calls.get_mut(call)
                    && let Question::Waiting(approval) = &call.question
                {
                    call.question = Question::Answered(approval.clone());
                }
            }
            Fact::Started { call, .. } => {
                self.show(call, past, out);
                self.release(call, past, out);
                self.started(call, out);
            }
            Fact::Settled { call, outcome, cause, .. } => {
                self.open(out);
                self.show(call, past, out);
                self.settle(call, outcome, *cause, out);
                self.end_if_waiting(out);
            }
            Fact::TurnEnded { end, .. } => self.end(end, out),
            _ => {}
        }
    }

    /// A segment begins with the first thing that happens after the last one was closed.
    fn open(&mut self, out: &mut Vec<Out>) {
        if self.is_open {
            return;
        }
        self.is_open = true;
        for call in self.calls.values_mut() {
            if let Question::Shown { in_this_segment } = &mut call.question {
                *in_this_segment = false;
            }
        }
        out.push(Out::one(chunks::start(&self.message)));
    }

    fn end_step(&mut self, out: &mut Vec<Out>) {
        if std::mem::take(&mut self.is_in_step) {
            out.push(Out::one(FinishStep {}.into()));
        }
    }

    fn begin(&mut self, id: &ToolCallId, name: &str) {
        let call = Call {
            name: name.to_owned(),
            input: Value::Null,
            waits: if self.order == CallOrder::OneByOne { Waits::Queue } else { Waits::Here },
            is_resubmit: false,
            is_gated: false,
            is_released: false,
            has_deltas: false,
            shown: Shown::Nothing,
            question: Question::None,
            denial: Vec::new(),
        };
        self.step.push(id.clone());
        self.calls.insert(id.clone(), call);
    }

    /// What is new in a continuation (a call of `/live` whose turn has come) stands in a step of its own. A running tool's question does
    /// not: it belongs to the step of the call that asks, in which others may still wait for a person.
    fn show_start(&mut self, id: &ToolCallId, out: &mut Vec<Out>) {
        if self.calls.get(id).is_none_or(|call| call.shown != Shown::Nothing) {
            return;
        }
        self.open(out);
        let Some(call) = self.calls.get_mut(id) else { return };
        if call.name != ASK_USER && !std::mem::replace(&mut self.is_in_step, true) {
            out.push(Out::one(StartStep {}.into()));
        }
        call.shown = Shown::Start;
        out.push(Out::one(chunks::input_start(id, &call.name)));
    }

    /// Shows a call's input, once. In a turn of `/live` that is when its turn has come, which may be in a later segment.
    fn show(&mut self, id: &ToolCallId, past: &Past, out: &mut Vec<Out>) {
        if self.calls.get(id).is_none_or(|call| call.shown == Shown::Input) {
            return;
        }
        self.show_start(id, out);
        let Some(call) = self.calls.get_mut(id) else { return };
        call.shown = Shown::Input;
        match past.settled.contains(id) || call.is_gated {
            false => out.push(Out::one(chunks::input_available(id, &call.name, &call.input))),
            true if !call.has_deltas => out.push(deltas(id, (&*call.input.to_string()).into())),
            true => {}
        }
    }

    /// The client runs a browser's call on being told that it is available: not before its approval.
    fn release(&mut self, id: &ToolCallId, past: &Past, out: &mut Vec<Out>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        if std::mem::take(&mut call.is_gated) {
            call.is_released = true;
            if !past.settled.contains(id) {
                out.push(Out::one(chunks::input_available(id, &call.name, &call.input)));
            }
        }
    }

    fn called(&mut self, id: &ToolCallId, input: &Value, is_resubmit: bool, is_gated: bool) {
        if let Some(call) = self.calls.get_mut(id) {
            call.input = input.clone();
            call.is_resubmit = is_resubmit;
            call.is_gated = is_gated;
        }
    }

    fn wait(&mut self, id: &ToolCallId, waits: Waits) {
        if let Some(call) = self.calls.get_mut(id) {
            call.waits = waits;
        }
    }

    fn started(&mut self, id: &ToolCallId, out: &mut Vec<Out>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        if !call.is_resubmit {
            call.waits = Waits::Here;
            return;
        }
        call.waits = Waits::Browser;
        // The client has answered the question, and runs the call on being told once more that it is available.
        if call.question == (Question::Shown { in_this_segment: false }) && !call.is_released {
            out.push(Out::one(chunks::input_available(id, &call.name, &call.input)));
        }
        self.end_if_waiting(out);
    }

    fn settle(&mut self, id: &ToolCallId, outcome: &Outcome, cause: Cause, out: &mut Vec<Out>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        call.waits = Waits::Nothing;
        let question = std::mem::replace(&mut call.question, Question::None);
        match (outcome, question) {
            // A client can't hold a denial of something that was never asked: that is told as an error.
            (Outcome::Denied { .. }, Question::None) | (Outcome::Output(_) | Outcome::Error(_), _) => {
                out.push(Out::one(chunks::outcome(id, &outcome.told(cause))));
            }
            (Outcome::Denied { .. }, question) => {
                if let Question::Waiting(approval) | Question::Answered(approval) = question {
                    call.denial.push(chunks::question(id, &approval));
                }
                call.denial.push(ToolOutputDenied { tool_call_id: id.clone() }.into());
            }
        }
        self.release_denials(false, out);
    }

    /// Clients up to 6.0.269 and 7.0.82 can't take a denial beside a question that is open in the same step (rule A5); and neither
    /// predicate of the SDK sends a browser's result beside a denial.
    fn release_denials(&mut self, all: bool, out: &mut Vec<Out>) {
        if !all && self.states().any(|waits| matches!(waits, Waits::Person | Waits::Browser)) {
            return;
        }
        for id in &self.step {
            out.extend(self.calls.get_mut(id).into_iter().flat_map(|call| call.denial.drain(..)).map(Out::one));
        }
    }

    fn states(&self) -> impl Iterator<Item = Waits> {
        self.step.iter().filter_map(|id| Some(self.calls.get(id)?.waits))
    }

    /// The segment ends when every call of the step is settled or waits for the client, and one waits.
    fn end_if_waiting(&mut self, out: &mut Vec<Out>) {
        let waits = |waits: Waits| matches!(waits, Waits::Person | Waits::Browser);
        if !self.is_open || !self.states().any(waits) || self.states().any(|waits| waits == Waits::Here) {
            return;
        }
        self.release_denials(false, out);
        for id in &self.step {
            if let Some(call) = self.calls.get_mut(id)
                && let Question::Waiting(approval) = &call.question
            {
                out.push(Out::one(chunks::question(id, approval)));
                call.question = Question::Shown { in_this_segment: true };
            }
        }
        self.close(FinishReason::ToolCalls, out);
    }

    fn close(&mut self, reason: FinishReason, out: &mut Vec<Out>) {
        self.end_step(out);
        self.is_open = false;
        out.extend([Out::one(self.meter.finish(reason)), Out::End]);
    }

    fn end(&mut self, end: &TurnEnd, out: &mut Vec<Out>) {
        self.open(out);
        self.release_denials(true, out);
        let (last, reason) = chunks::ending(end);
        if matches!(end, TurnEnd::Stopped { .. } | TurnEnd::Superseded) {
            // A step of its own: the last one may have nothing but settled calls, which the client would answer by sending again.
            self.end_step(out);
            self.is_in_step = true;
            out.push(Out::one(StartStep {}.into()));
        }
        out.extend(last.map(Out::one));
        self.close(reason, out);
    }
}

fn deltas(call: &ToolCallId, pieces: Pieces) -> Out {
    Out::Chunks(Chunks::Run(Run { of: DeltaOf::ToolInput(call.clone()), pieces }))
}
