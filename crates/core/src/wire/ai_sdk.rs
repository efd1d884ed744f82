//! The ai-sdk profile: a turn as `streamText` writes it, for a stock `useChat`. Every model request is a step, text is
//! sent at once, and a segment ends when every call is settled or waits for the client. Only chunks that `ai` 6 knows
//! are written.

use std::{collections::HashMap, sync::Arc};

use holdpoint_protocol::{
    PROMPT_TOOL,
    chunk::FinishReason,
    ids::{ApprovalId, ToolCallId},
};

use super::{
    Event, Projection, View,
    blocks::{Blocks, Meter},
    calls::{Past, TurnCalls, Waits},
};
use crate::{
    call::Call,
    fact::{CallOrder, Fact, Outcome, TurnEnd},
};

/// Writes turns for `/api/chat` and `/api/chat/ws`.
#[derive(Debug)]
pub struct AiSdk {
    view: View,
    turn: Option<Turn>,
    past: Arc<Past>,
}

#[derive(Debug)]
struct Turn {
    calls: TurnCalls,
    past: Arc<Past>,
    is_open: bool,
    is_in_step: bool,
    meter: Meter,
    blocks: Blocks,
    wire: HashMap<ToolCallId, OnWire>,
    /// The number of the segment.
    segment: u32,
}

/// What the client has seen of a call.
#[derive(Debug, Default)]
struct OnWire {
    /// A frontend call that waits for approval. Its input is sent as deltas, because those do not make the client run
    /// it.
    is_gated: bool,
    /// Whether the call was gated and the client has since been told to run it.
    is_released: bool,
    has_deltas: bool,
    shown: Shown,
    /// The segment that has shown its input.
    segment: u32,
    /// Whether an approver has changed the input that the client has seen.
    is_stale: bool,
    request: RequestState,
    /// A denial, held back while a call of its step waits for the client.
    denial: Vec<Event>,
}

/// How much of a call's input the client has seen.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Shown {
    #[default]
    Nothing,
    Start,
    Input,
}

/// The state of an approval request on the wire.
#[derive(Debug, Clone, PartialEq, Default)]
enum RequestState {
    #[default]
    None,
    /// Shown once the other calls of the step are settled.
    Waiting(ApprovalId),
    /// Decided before this response could show it.
    Answered(ApprovalId),
    /// Shown, in this segment or an earlier one.
    Shown { in_this_segment: bool },
}

impl AiSdk {
    /// A projection with these settings.
    pub fn new(view: View) -> Self {
        Self { view, turn: None, past: Arc::default() }
    }
}

impl Projection for AiSdk {
    fn apply(&mut self, fact: &Fact, out: &mut Vec<Event>) {
        if let Some(calls) = TurnCalls::begin(fact, self.view.is_resubmit) {
            out.push(Event::start(&calls.message));
            self.turn = Some(Turn::new(calls, Arc::clone(&self.past)));
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        match fact {
            Fact::StepAbandoned => turn.abandon(out),
            Fact::TurnEnded { .. } => turn.close_unwritten(out),
            _ => {}
        }
        turn.calls.apply(fact);
        turn.apply(fact, out);
    }

    fn start(&self) -> Option<Event> {
        self.turn.as_ref().map(|turn| Event::start(&turn.calls.message))
    }

    fn is_closed(&self) -> bool {
        self.turn.as_ref().is_none_or(|turn| !turn.is_open)
    }

    fn nothing(&mut self, out: &mut Vec<Event>) {
        if let Some(turn) = &mut self.turn {
            out.extend([Event::StepStart, Event::StepEnd]);
            out.extend([turn.meter.finish(FinishReason::Stop, &turn.calls), Event::End]);
        }
    }

    fn set_past(&mut self, past: Past) {
        self.past = Arc::new(past);
    }

    fn fresh(&self) -> Box<dyn Projection> {
        Box::new(Self::new(self.view))
    }
}

impl Turn {
    fn new(calls: TurnCalls, past: Arc<Past>) -> Self {
        Self {
            calls,
            past,
            is_open: true,
            is_in_step: false,
            meter: Meter::default(),
            blocks: Blocks::default(),
            wire: HashMap::new(),
            segment: 0,
        }
    }

    fn apply(&mut self, fact: &Fact, out: &mut Vec<Event>) {
        match fact {
            Fact::StepStarted => {
                self.open(out);
                self.end_step(out);
                self.is_in_step = true;
                out.push(Event::StepStart);
            }
            Fact::BlockStarted { kind, id } => {
                self.blocks.start(*kind, id);
                out.push(Event::block_start(*kind, id));
            }
            Fact::BlockDelta { id, delta } => {
                out.push(Event::block_delta(self.blocks.kind(id), id, delta));
            }
            Fact::BlockEnded { id } => {
                out.extend(self.blocks.end(id).map(|kind| Event::block_end(kind, id)));
            }
            Fact::InputStarted { call, .. } => {
                self.wire.insert(call.clone(), OnWire::default());
                if self.calls.order == CallOrder::Together {
                    self.show_start(call, out);
                }
            }
            // A replay shows the edited input.
            Fact::InputDelta { call, .. } if self.past.edited(call).is_some() => {}
            Fact::InputDelta { call, delta } if self.calls.order == CallOrder::Together => {
                if let Some(wire) = self.wire.get_mut(call) {
                    wire.has_deltas = true;
                }
                out.push(Event::InputDelta { call: call.clone(), delta: delta.clone() });
            }
            Fact::Called { call, .. } => {
                if let (Some(wire), Some(made)) = (self.wire.get_mut(call), self.calls.get(call)) {
                    wire.is_gated = made.is_gated();
                }
                if self.calls.order == CallOrder::Together && !self.waits_for_hold() {
                    self.show(call, out);
                }
            }
            Fact::Invalid { call, name, input, error, .. } => {
                self.show_start(call, out);
                if let Some(wire) = self.wire.get_mut(call) {
                    wire.shown = Shown::Input;
                }
                out.push(Event::input_error(call, name, input, error));
            }
            Fact::Asked { call, approval, .. } => {
                self.show(call, out);
                let is_answered = self.past.is_decided(call) || self.past.is_settled(call);
                if let Some(wire) = self.wire.get_mut(call) {
                    wire.request = match is_answered {
                        true => RequestState::Answered(approval.clone()),
                        false => RequestState::Waiting(approval.clone()),
                    };
                }
                self.end_if_waiting(out);
            }
            Fact::Decided { call, .. } => {
                self.open(out);
                let Some(wire) = self.wire.get_mut(call) else { return };
                let is_edited = self.calls.get(call).is_some_and(Call::is_edited);
                wire.is_stale = is_edited && wire.shown == Shown::Input && self.past.edited(call).is_none();
                // The request is obsolete: it was decided elsewhere while the other calls of the step ran.
                if let RequestState::Waiting(approval) = &wire.request {
                    wire.request = RequestState::Answered(approval.clone());
                }
            }
            Fact::Started { call, .. } => {
                self.show(call, out);
                self.release(call, out);
                self.started(call, out);
            }
            // A replay shows the outcome instead.
            Fact::Progressed { call, output }
                if self.is_open && !self.past.is_settled(call) && self.has_input(call) =>
            {
                out.push(Event::progress(call, output));
            }
            Fact::Settled { call, .. } => {
                self.open(out);
                self.show(call, out);
                self.settle(call, out);
                self.end_if_waiting(out);
            }
            Fact::ModelDelayed { message, seconds } if self.is_open => {
                out.push(Event::Delayed { message: message.clone(), seconds: *seconds });
            }
            Fact::TurnEnded { end, .. } => self.end(end, out),
            _ => {}
        }
    }

    /// Closes what is open at the end of the turn: the node that wrote it could not store its end, and another one has
    /// ended the turn.
    fn close_unwritten(&mut self, out: &mut Vec<Event>) {
        self.abandon(out);
    }

    /// Closes what was shown of a step whose node is gone.
    fn abandon(&mut self, out: &mut Vec<Event>) {
        if let Some((kind, id)) = self.blocks.abandon() {
            out.push(Event::block_end(kind, &id));
        }
        for id in self.calls.abandoned_in_step() {
            let Some(call) = self.calls.get(&id).filter(|call| call.settled.is_none()) else { continue };
            if self.wire.remove(&id).is_some_and(|wire| wire.shown != Shown::Nothing) {
                out.push(Event::abandoned(&id, call));
            }
        }
    }

    /// Opens a segment, with the first fact after the last segment was closed.
    fn open(&mut self, out: &mut Vec<Event>) {
        if self.is_open {
            return;
        }
        self.is_open = true;
        self.segment += 1;
        for wire in self.wire.values_mut() {
            if let RequestState::Shown { in_this_segment } = &mut wire.request {
                *in_this_segment = false;
            }
        }
        out.push(Event::start(&self.calls.message));
    }

    fn end_step(&mut self, out: &mut Vec<Event>) {
        if std::mem::take(&mut self.is_in_step) {
            out.push(Event::StepEnd);
        }
    }

    /// Opens a step for a new call in a continuation (the next call of a `/live` turn). A prompt gets none: it belongs
    /// to the step of the call that asks, in which others may still wait for a person.
    fn show_start(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        if self.wire.get(id).is_none_or(|wire| wire.shown != Shown::Nothing) {
            return;
        }
        self.open(out);
        let (Some(call), Some(wire)) = (self.calls.get(id), self.wire.get_mut(id)) else { return };
        if call.name != PROMPT_TOOL && !std::mem::replace(&mut self.is_in_step, true) {
            out.push(Event::StepStart);
        }
        wire.shown = Shown::Start;
        out.push(Event::call(id, &call.name));
    }

    /// Shows a call's input, once. In a turn of `/live` this can be in a later segment.
    fn show(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        if self.wire.get(id).is_none_or(|wire| wire.shown == Shown::Input) {
            return;
        }
        self.show_start(id, out);
        let (Some(call), Some(wire)) = (self.calls.get(id), self.wire.get_mut(id)) else { return };
        (wire.shown, wire.segment) = (Shown::Input, self.segment);
        let input = self.past.edited(id).unwrap_or(&call.input);
        let is_past = self.past.is_settled(id) || call.runs_when_shown() && call.settled.is_some();
        match is_past || wire.is_gated {
            false => out.push(Event::input(id, &call.name, input)),
            true if !wire.has_deltas => out.push(Event::input_as_text(id, input)),
            true => {}
        }
    }

    /// Whether a call of the step is shown only when the step is complete, and those after it with it.
    fn waits_for_hold(&self) -> bool {
        let unshown = self.calls.made_in_step().iter().filter(|id| !self.has_input(id));
        unshown.filter_map(|id| self.calls.get(id)).any(Call::runs_when_shown)
    }

    fn is_settled(&self, id: &ToolCallId) -> bool {
        self.calls.get(id).is_some_and(|call| call.settled.is_some())
    }

    /// Whether the client has seen the call's input.
    fn has_input(&self, id: &ToolCallId) -> bool {
        self.wire.get(id).is_some_and(|wire| wire.shown == Shown::Input)
    }

    /// Makes a frontend call available after its approval. The client runs it as soon as it sees that.
    fn release(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        let (Some(call), Some(wire)) = (self.calls.get(id), self.wire.get_mut(id)) else { return };
        if std::mem::take(&mut wire.is_gated) {
            wire.is_released = true;
            wire.is_stale = false;
            if !self.past.is_settled(id) {
                out.push(Event::input(id, &call.name, &call.input));
            }
        }
    }

    fn started(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        let (Some(call), Some(wire)) = (self.calls.get(id), self.wire.get(id)) else { return };
        if call.waits(self.calls.reader()) != Waits::Browser {
            return;
        }
        // The client has answered the approval request, and runs the call when it is announced again.
        if wire.request == (RequestState::Shown { in_this_segment: false }) && !wire.is_released {
            out.push(Event::input(id, &call.name, &call.input));
        }
        self.end_if_waiting(out);
    }

    fn settle(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        let (Some(call), Some(wire)) = (self.calls.get(id), self.wire.get_mut(id)) else { return };
        let Some(settled) = &call.settled else { return };
        if std::mem::take(&mut wire.is_stale) {
            out.push(match wire.segment == self.segment {
                true => Event::edited_input(id, &call.input),
                false => Event::input(id, &call.name, &call.input),
            });
        }
        let request = std::mem::take(&mut wire.request);
        match (&settled.outcome, request) {
            // A client can't represent a denial of a call without an approval request, so it gets an error.
            (Outcome::Denied { .. }, RequestState::None) | (Outcome::Output(_) | Outcome::Error(_), _) => {
                out.push(Event::outcome(id, settled.told().without_denial()));
            }
            (Outcome::Denied { .. }, request) => {
                if let RequestState::Waiting(approval) | RequestState::Answered(approval) = request {
                    wire.denial.push(Event::request(id, &approval));
                }
                wire.denial.push(Event::outcome(id, settled.outcome.clone()));
            }
        }
        self.release_denials(false, out);
    }

    /// Clients up to 6.0.269 and 7.0.82 can't handle a denial beside an open approval request in the same step (rule
    /// A5), and neither `sendAutomaticallyWhen` predicate of the SDK sends a browser's result beside a denial.
    fn release_denials(&mut self, all: bool, out: &mut Vec<Event>) {
        if !all && self.waits().any(Waits::is_for_client) {
            return;
        }
        for id in self.calls.begun_in_step() {
            out.extend(self.wire.get_mut(id).into_iter().flat_map(|wire| wire.denial.drain(..)));
        }
    }

    fn waits(&self) -> impl Iterator<Item = Waits> {
        self.calls.waits(self.calls.begun_in_step(), &self.past)
    }

    /// The segment ends when every call of the step is settled or waits for the client, and one waits.
    fn end_if_waiting(&mut self, out: &mut Vec<Event>) {
        let can_end = self.waits().any(Waits::is_for_client) && self.waits().all(|waits| waits != Waits::Here);
        if !self.is_open || !can_end {
            return;
        }
        self.release_denials(false, out);
        for id in self.calls.begun_in_step() {
            if let Some(wire) = self.wire.get_mut(id)
                && let RequestState::Waiting(approval) = &wire.request
            {
                out.push(Event::request(id, approval));
                wire.request = RequestState::Shown { in_this_segment: true };
            }
        }
        self.close(FinishReason::ToolCalls, out);
    }

    fn close(&mut self, reason: FinishReason, out: &mut Vec<Event>) {
        self.end_step(out);
        self.is_open = false;
        out.extend([self.meter.finish(reason, &self.calls), Event::End]);
    }

    fn end(&mut self, end: &TurnEnd, out: &mut Vec<Event>) {
        self.open(out);
        self.release_denials(true, out);
        let (last, reason) = Event::of_end(end);
        let is_ended_with_calls = match end {
            TurnEnd::Stopped { .. } | TurnEnd::Superseded => true,
            // The token limit has cut off a call.
            TurnEnd::Finished { .. } => self.calls.made_in_step().iter().any(|id| self.is_settled(id)),
            TurnEnd::Failed { .. } => false,
        };
        if is_ended_with_calls {
            // Open a new step: the last one may have only settled calls, and then the client would send again.
            self.end_step(out);
            self.is_in_step = true;
            out.push(Event::StepStart);
        }
        out.extend(last);
        self.close(reason, out);
    }
}
