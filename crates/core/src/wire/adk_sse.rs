//! The adk profile over SSE: the SSE mode of the specification.
//!
//! The first segment shows calls as they come, and ends at an approval request. Later segments hold everything back
//! until it is known whether they end at another one. If so, only the new approval requests are shown. If not, the turn
//! has ended and everything is sent. The outcomes of a step that waits for the client are sent together, once all of its
//! calls are settled.

use std::{collections::HashSet, sync::Arc};

use holdpoint_protocol::{chunk::FinishReason, ids::ToolCallId};

use super::{
    ClientHas, Event, Projection, View,
    audience::Audience,
    blocks::{Blocks, Meter},
    calls::{Past, TurnCalls, Waits},
    shown::Shown,
    text::Text,
};
use crate::{
    call::Call,
    fact::{BlockKind, CallOrder, Cause, Fact, TurnEnd},
    tool::Execution,
};

/// Writes turns for `POST /stream`.
#[derive(Debug)]
pub struct AdkSse {
    view: View,
    turn: Option<Turn>,
    past: Arc<Past>,
}

#[derive(Debug)]
struct Turn {
    calls: TurnCalls,
    past: Arc<Past>,
    is_open: bool,
    /// The number of segments that ended at an approval request.
    rounds: u32,
    meter: Meter,
    blocks: Blocks,
    text: Text,
    shown: Shown,
    /// Settled calls whose outcome (and announcement, if not shown yet) is held back: until the last segment, or until
    /// all calls of their step are settled.
    held: Vec<ToolCallId>,
    has_question_in_step: bool,
    has_request_in_segment: bool,
    audience: Audience,
}

impl AdkSse {
    /// A projection with these settings.
    pub fn new(view: View) -> Self {
        Self { view, turn: None, past: Arc::default() }
    }
}

impl Projection for AdkSse {
    fn apply(&mut self, fact: &Fact, out: &mut Vec<Event>) {
        if let Some(calls) = TurnCalls::begin(fact, self.view.is_resubmit) {
            out.push(Event::start(&calls.message));
            self.turn = Some(Turn::new(calls, Text::of_turn(fact, self.view), Arc::clone(&self.past)));
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        // A newer message came while no response was open, so no response gets this end.
        if matches!(fact, Fact::TurnEnded { end: TurnEnd::Superseded, .. }) && !turn.is_open {
            return;
        }
        match fact {
            Fact::StepAbandoned => turn.abandon(out),
            Fact::TurnEnded { .. } => turn.close_unwritten(out),
            _ => {}
        }
        turn.calls.apply(fact);
        turn.apply(fact, out);
        if matches!(fact, Fact::TurnEnded { .. }) {
            turn.is_open = false;
        }
    }

    fn start(&self) -> Option<Event> {
        self.turn.as_ref().map(|turn| Event::start(&turn.calls.message))
    }

    fn is_closed(&self) -> bool {
        self.turn.as_ref().is_none_or(|turn| !turn.is_open)
    }

    fn nothing(&mut self, out: &mut Vec<Event>) {
        if let Some(turn) = &mut self.turn {
            out.extend([turn.meter.finish(FinishReason::Stop, &turn.calls), Event::End]);
        }
    }

    fn set_past(&mut self, past: Past) {
        self.past = Arc::new(past);
    }

    fn holds_outcomes(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| !turn.is_one_by_one())
    }

    fn begin_segment(&mut self, over: HashSet<ToolCallId>, has: Option<&HashSet<&ToolCallId>>) {
        if let Some(turn) = &mut self.turn {
            Arc::make_mut(&mut turn.past).set_over(over);
            // A segment that nobody got may have shown others.
            turn.shown.retain(|id| has.is_none_or(|has| has.contains(id)));
        }
    }

    fn fresh(&self) -> Box<dyn Projection> {
        Box::new(Self::new(self.view))
    }
}

impl Turn {
    fn new(calls: TurnCalls, text: Text, past: Arc<Past>) -> Self {
        Self {
            calls,
            past,
            is_open: true,
            rounds: 0,
            meter: Meter::default(),
            blocks: Blocks::default(),
            text,
            shown: Shown::default(),
            held: Vec::new(),
            has_question_in_step: false,
            has_request_in_segment: false,
            audience: Audience::Request,
        }
    }

    fn apply(&mut self, fact: &Fact, out: &mut Vec<Event>) {
        match fact {
            Fact::StepStarted => {
                self.open(fact, out);
                if self.rounds == 0 && self.audience.is_there() {
                    self.release_outcomes(out);
                }
                self.text.next_step(out);
                self.has_question_in_step = false;
            }
            Fact::BlockStarted { kind, id } => {
                self.blocks.start(*kind, id);
                self.write(*kind, Event::block_start(*kind, id), out);
            }
            Fact::BlockDelta { id, delta } => {
                let kind = self.blocks.kind(id);
                self.write(kind, Event::block_delta(kind, id, delta), out);
            }
            Fact::BlockEnded { id } => {
                if let Some(kind) = self.blocks.end(id) {
                    self.write(kind, Event::block_end(kind, id), out);
                }
            }
            Fact::Called { call, by, .. } => {
                self.text.called(call);
                // A tool waits for the answer to its prompt, so the prompt is not held back.
                if self.rounds == 0 && !self.is_one_by_one() && !self.waits_for_hold() || by.tool().is_some() {
                    self.show(call, out);
                }
            }
            // The node that showed its input could not write it, and another one has ended the turn.
            Fact::Invalid { call, name, input, error, .. } if self.shown.has(call, ClientHas::Start) => {
                out.push(Event::input_error(call, name, input, error));
            }
            Fact::Invalid { call, .. } => {
                self.text.called(call);
                if self.rounds == 0 {
                    self.show(call, out);
                }
                self.settle(call, out);
                self.end_if_waiting(true, out);
            }
            // Decided meanwhile, so the client is not asked.
            Fact::Asked { call, .. } if self.past.is_decided(call) || self.past.is_settled(call) => {
                self.show(call, out)
            }
            Fact::Asked { call, approval, .. } => {
                if !self.has_question_in_step {
                    self.has_question_in_step = true;
                    self.rounds += 1;
                    let made = self.calls.made_in_step().to_vec();
                    let is_shown = !self.is_one_by_one();
                    made.iter().filter(|_| is_shown).for_each(|id| self.show(id, out));
                }
                self.show(call, out);
                self.has_request_in_segment = true;
                self.shown.give(call, ClientHas::Request);
                out.push(Event::request(call, approval));
                self.end_if_waiting(true, out);
            }
            Fact::Decided { call, verdict, .. } => {
                if verdict.edited_input().is_some() && self.past.edited(call).is_none() {
                    self.shown.edit(call);
                }
                self.open(fact, out);
            }
            Fact::Started { call, .. } => self.started(call, out),
            Fact::Settled { call, cause, .. } => {
                self.open(fact, out);
                self.settle(call, out);
                // The request that brings a result may bring others, and then the segment goes on.
                self.end_if_waiting(*cause != Cause::Result, out);
            }
            // After an approval request outcomes are held back, and with them what precedes them.
            Fact::Progressed { call, output } if self.rounds == 0 && self.shown.has(call, ClientHas::Input) => {
                out.push(Event::progress(call, output));
            }
            Fact::ModelDelayed { message, seconds } if self.is_open => {
                out.push(Event::Delayed { message: message.clone(), seconds: *seconds });
            }
            Fact::TurnEnded { end, .. } => {
                self.open(fact, out);
                self.end(end, out);
            }
            _ => {}
        }
    }

    /// Closes what was shown of a step whose node is gone.
    fn abandon(&mut self, out: &mut Vec<Event>) {
        if !self.calls.is_writing {
            return;
        }
        let is_text_sent = self.text.abandon();
        if let Some((kind, id)) = self.blocks.abandon()
            && (kind == BlockKind::Reasoning || is_text_sent)
        {
            out.push(Event::block_end(kind, &id));
        }
        let abandoned = self.calls.abandoned_in_step();
        self.held.retain(|held| !abandoned.contains(held));
        self.abandon_calls(out);
    }

    /// Closes what is open at the end of the turn: the node that wrote it could not store its end, and another one has
    /// ended the turn.
    fn close_unwritten(&mut self, out: &mut Vec<Event>) {
        if let Some((kind, id)) = self.blocks.abandon() {
            self.write(kind, Event::block_end(kind, &id), out);
        }
        self.abandon_calls(out);
    }

    fn abandon_calls(&mut self, out: &mut Vec<Event>) {
        for id in self.calls.abandoned_in_step() {
            let Some(call) = self.calls.get(&id).filter(|call| call.settled.is_none()) else { continue };
            if self.shown.has(&id, ClientHas::Start) {
                out.push(Event::abandoned(&id, call));
            }
        }
    }

    /// Opens a segment, with the first fact after the last segment was closed.
    fn open(&mut self, fact: &Fact, out: &mut Vec<Event>) {
        self.audience = self.audience.with(fact, self.is_open);
        if !self.is_open {
            self.is_open = true;
            self.shown.next_segment();
            self.has_request_in_segment = false;
            out.push(Event::start(&self.calls.message));
        }
    }

    /// Whether it is a turn of a live connection. No client sees a call of such a turn before it begins.
    fn is_one_by_one(&self) -> bool {
        self.calls.order == CallOrder::OneByOne
    }

    fn write(&mut self, kind: BlockKind, event: Event, out: &mut Vec<Event>) {
        match kind {
            BlockKind::Reasoning => out.push(event),
            BlockKind::Text => self.text.write(event, out),
        }
    }

    fn show(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        let Some(call) = self.calls.get(id) else { return };
        if self.shown.give(id, ClientHas::Input) {
            out.push(Event::call(id, &call.name));
            let edited = self.past.edited(id);
            // A call that is shown together with its outcome is not to run any more.
            let is_past = self.past.is_settled(id) || call.runs_when_shown() && call.settled.is_some();
            out.push(match (is_past && !call.is_invalid, edited) {
                (true, _) => Event::input_as_text(id, edited.unwrap_or(&call.input)),
                (false, Some(edited)) => Event::input(id, &call.name, edited),
                (false, None) => Event::input_of(id, call),
            });
        }
    }

    fn started(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        // The browser runs what it is shown.
        let is_frontend = self.calls.get(id).is_some_and(|call| call.execution == Execution::Frontend);
        if self.rounds == 0 || self.is_one_by_one() || is_frontend {
            self.show(id, out);
        }
        let is_over = self.past.is_over(id);
        let waits = |call: &&Call| call.waits(self.calls.reader()) == Waits::Browser && !is_over;
        let Some(call) = self.calls.get(id).filter(waits) else { return };
        // The client runs the call when it is announced again. In the segment of the approval request it already was.
        if call.request.is_some() && !self.has_request_in_segment && !self.past.is_decided(id) {
            out.push(Event::input(id, &call.name, &call.input));
            self.shown.give(id, ClientHas::Run);
        }
        self.end_if_waiting(true, out);
    }

    fn settle(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        let is_there = self.audience.is_there();
        if self.rounds > 0 || self.held_with_step() || !is_there {
            self.held.push(id.clone());
        } else {
            self.show(id, out);
            self.tell_outcome(id, out);
        }
        if self.rounds == 0 && is_there && self.unsettled_in_step().next().is_none() {
            self.release_outcomes(out);
        }
    }

    /// Whether a call of the step is shown only when the step is complete, and those after it with it.
    fn waits_for_hold(&self) -> bool {
        let unshown = self.calls.made_in_step().iter().filter(|id| !self.shown.has(id, ClientHas::Input));
        unshown.filter_map(|id| self.calls.get(id)).any(Call::runs_when_shown)
    }

    /// Whether another call of the step keeps its outcomes back: one that the client answers in another request.
    fn held_with_step(&self) -> bool {
        !self.is_one_by_one() && self.unsettled_in_step().any(|call| call.needs_client(self.calls.reader()))
    }

    fn unsettled_in_step(&self) -> impl Iterator<Item = &Call> {
        let made = self.calls.made_in_step().iter().filter_map(|id| self.calls.get(id));
        made.filter(|call| call.settled.is_none())
    }

    fn tell_outcome(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        if let Some(call) = self.calls.get(id).filter(|call| !call.is_invalid)
            && let Some(settled) = &call.settled
        {
            if self.shown.take_edit(id) {
                out.push(match self.has_request_in_segment {
                    true => Event::edited_input(id, &call.input),
                    false => Event::input(id, &call.name, &call.input),
                });
            }
            out.push(Event::outcome(id, settled.told().without_denial()));
        }
        self.text.settled(id, out);
    }

    /// The segment ends when every call of the step is settled or waits for the client, and one waits. `is_final` says whether
    /// it is certain that it does not go on with the same request.
    fn end_if_waiting(&mut self, is_final: bool, out: &mut Vec<Event>) {
        let waits: Vec<Waits> = self.calls.waits(self.calls.made_in_step(), &self.past).collect();
        if !self.is_open || !waits.iter().any(|waits| waits.is_for_client()) || waits.contains(&Waits::Here) {
            return;
        }
        let is_asked = self.has_request_in_segment || waits.contains(&Waits::Person);
        if is_final && !is_asked && self.audience.is_there() {
            self.release_complete_steps(out);
        }
        let for_browser = !self.has_request_in_segment && self.rounds > 0 && waits.contains(&Waits::Browser);
        let reason = if for_browser { FinishReason::ToolCalls } else { FinishReason::Stop };
        self.close(reason, out);
    }

    /// Releases the outcomes of steps before the current one, at the end of a segment in which nothing is asked. A client
    /// tells steps apart only by the segments that show them.
    fn release_complete_steps(&mut self, out: &mut Vec<Event>) {
        let made = self.calls.made_in_step().iter();
        let step: HashSet<Option<u32>> = made.map(|id| self.shown.segment_of(id)).collect();
        let is_of_step = |id: &ToolCallId| step.contains(&self.shown.segment_of(id));
        let (open, complete) = std::mem::take(&mut self.held).into_iter().partition(is_of_step);
        self.held = complete;
        self.release_outcomes(out);
        self.held = open;
    }

    fn close(&mut self, reason: FinishReason, out: &mut Vec<Event>) {
        self.is_open = false;
        out.extend([self.meter.finish(reason, &self.calls), Event::End]);
    }

    fn release_outcomes(&mut self, out: &mut Vec<Event>) {
        let mut held = std::mem::take(&mut self.held);
        // Sorted by call, not by completion.
        held.sort_by_key(|id| self.calls.number(id));
        for id in held {
            self.show(&id, out);
            self.tell_outcome(&id, out);
        }
    }

    fn end(&mut self, end: &TurnEnd, out: &mut Vec<Event>) {
        if self.rounds > 1 && !self.has_request_in_segment {
            self.text.release(out);
        }
        self.release_outcomes(out);
        self.text.release(out);
        let (last, reason) = Event::of_end(end);
        out.extend(last);
        self.close(reason, out);
    }
}
