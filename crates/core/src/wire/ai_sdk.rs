//! The ai-sdk profile: a turn as `streamText` writes it, for a stock `useChat`. Every model request is a step, text is
//! sent at once, and a segment ends when every call is settled or waits for the client. Only chunks that `ai` 6 knows
//! are written.

use std::{collections::HashMap, sync::Arc};

use holdpoint_protocol::{chunk::FinishReason, ids::ToolCallId};

use super::{
    ClientHas, Event, Projection, View,
    blocks::{Blocks, Meter},
    calls::{Past, TurnCalls, Waits},
    shown::Shown,
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
    shown: Shown,
    /// Denials that are held back while a call of their step waits for the client.
    denials: HashMap<ToolCallId, Vec<Event>>,
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
            shown: Shown::default(),
            denials: HashMap::new(),
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
            Fact::InputStarted { call, .. } if self.calls.order == CallOrder::Together => self.show_start(call, out),
            // A replay shows the edited input.
            Fact::InputDelta { call, .. } if self.past.edited(call).is_some() => {}
            Fact::InputDelta { call, delta } if self.calls.order == CallOrder::Together => {
                self.shown.give_delta(call);
                out.push(Event::InputDelta { call: call.clone(), delta: delta.clone() });
            }
            Fact::Called { call, .. } if self.calls.order == CallOrder::Together && !self.waits_for_hold() => {
                self.show(call, out);
            }
            Fact::Invalid { call, name, input, error, .. } => {
                self.show_start(call, out);
                self.shown.give(call, ClientHas::Input);
                out.push(Event::input_error(call, name, input, error));
            }
            Fact::Asked { call, .. } => {
                self.show(call, out);
                self.end_if_waiting(out);
            }
            Fact::Decided { call, verdict, .. } => {
                self.open(out);
                if verdict.edited_input().is_some() && self.past.edited(call).is_none() {
                    self.shown.edit(call);
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
            if self.shown.remove(&id) {
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
        self.shown.next_segment();
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
        if self.shown.has(id, ClientHas::Start) {
            return;
        }
        self.open(out);
        let Some(call) = self.calls.get(id) else { return };
        if call.by.tool().is_none() && !std::mem::replace(&mut self.is_in_step, true) {
            out.push(Event::StepStart);
        }
        self.shown.give(id, ClientHas::Start);
        out.push(Event::call(id, &call.name));
    }

    /// Shows a call's input, once. In a turn of `/live` this can be in a later segment.
    fn show(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        if self.has_input(id) {
            return;
        }
        self.show_start(id, out);
        let Some(call) = self.calls.get(id) else { return };
        self.shown.give(id, ClientHas::Input);
        let input = self.past.edited(id).unwrap_or(&call.input);
        let is_past = self.past.is_settled(id) || call.runs_when_shown() && call.settled.is_some();
        // The input of a gated call is sent as deltas, because those do not make the client run it.
        match is_past || call.is_gated() {
            false => out.push(Event::input(id, &call.name, input)),
            true if !self.shown.has_deltas(id) => out.push(Event::input_as_text(id, input)),
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
        self.shown.has(id, ClientHas::Input)
    }

    /// Makes a frontend call available after its approval. The client runs it as soon as it sees that.
    fn release(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        let Some(call) = self.calls.get(id).filter(|call| call.is_gated()) else { return };
        if self.shown.give(id, ClientHas::Run) && !self.past.is_settled(id) {
            out.push(Event::input(id, &call.name, &call.input));
        }
    }

    fn started(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        let Some(call) = self.calls.get(id) else { return };
        if call.waits(self.calls.reader()) != Waits::Browser {
            return;
        }
        // The client has answered the approval request, and runs the call when it is announced again.
        if self.shown.was_asked_before(id) && !self.shown.has(id, ClientHas::Run) {
            out.push(Event::input(id, &call.name, &call.input));
        }
        self.end_if_waiting(out);
    }

    fn settle(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        let Some(call) = self.calls.get(id) else { return };
        let Some(settled) = &call.settled else { return };
        if self.shown.take_edit(id) {
            out.push(match self.shown.is_in_this_segment(id) {
                true => Event::edited_input(id, &call.input),
                false => Event::input(id, &call.name, &call.input),
            });
        }
        match (&settled.outcome, &call.request) {
            (Outcome::Denied { .. }, Some(request)) => {
                let denial = self.denials.entry(id.clone()).or_default();
                if !self.shown.was_asked(id) {
                    denial.push(Event::request(id, &request.approval));
                }
                denial.push(Event::outcome(id, settled.outcome.clone()));
            }
            // A client can't represent a denial of a call without an approval request, so it gets an error.
            (Outcome::Denied { .. }, None) | (Outcome::Output(_) | Outcome::Error(_), _) => {
                out.push(Event::outcome(id, settled.told().without_denial()));
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
            out.extend(self.denials.remove(id).into_iter().flatten());
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
        // A request that was decided meanwhile is obsolete.
        let (calls, past) = (&self.calls, &self.past);
        let is_open = |id: &ToolCallId, call: &Call| !call.is_settled() && !past.is_decided(id) && !past.is_settled(id);
        for id in calls.begun_in_step() {
            if let Some(request) = calls.get(id).filter(|call| is_open(id, call)).and_then(Call::open_request)
                && self.shown.give(id, ClientHas::Request)
            {
                out.push(Event::request(id, &request.approval));
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
