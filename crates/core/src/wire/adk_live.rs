//! The adk profile over WebSocket: the BIDI mode of the specification. One stream, one call at a time.

use std::collections::VecDeque;

use holdpoint_protocol::{chunk::FinishReason, ids::ToolCallId};

use super::{
    ClientHas, Event, Projection, View,
    blocks::{Blocks, Meter},
    calls::{Past, TurnCalls},
    shown::Shown,
    text::Text,
};
use crate::{
    fact::{BlockKind, Caller, Fact, TurnEnd},
    tool::Execution,
};

/// Writes turns for `/live`.
#[derive(Debug)]
pub struct AdkLive {
    view: View,
    turn: Option<Turn>,
    past: Past,
}

#[derive(Debug)]
struct Turn {
    calls: TurnCalls,
    is_over: bool,
    meter: Meter,
    blocks: Blocks,
    text: Text,
    /// Calls whose outcome was not sent yet, in order. Only the first is shown.
    queue: VecDeque<ToolCallId>,
    shown: Shown,
}

impl AdkLive {
    /// A projection with these settings.
    pub fn new(view: View) -> Self {
        Self { view, turn: None, past: Past::default() }
    }

    /// Prepares for a replay of these facts, which the client may have been sent before. Calls that are shown already are
    /// not replayed.
    pub fn replay<'a>(&mut self, facts: impl IntoIterator<Item = &'a Fact>) {
        self.past = Past::of(facts);
        self.turn.iter().flat_map(|turn| turn.shown.calls()).for_each(|call| self.past.forget(call));
    }

    /// Whether the turn waits for a decision that the client was asked for.
    pub fn waits_for_person(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| !turn.is_over && turn.waits_for_person())
    }
}

impl Projection for AdkLive {
    fn apply(&mut self, fact: &Fact, out: &mut Vec<Event>) {
        if let Some(calls) = TurnCalls::begin(fact, self.view.is_resubmit) {
            out.push(Event::start(&calls.message));
            self.turn = Some(Turn {
                calls,
                is_over: false,
                meter: Meter::default(),
                blocks: Blocks::default(),
                text: Text::of_turn(fact, self.view),
                queue: VecDeque::new(),
                shown: Shown::default(),
            });
            return;
        }
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.is_over) else { return };
        if let Fact::Settled { cause: crate::fact::Cause::Superseded, .. } = fact
            && turn.waits_for_person()
        {
            // The client has begun a new message, which nothing of the old one may interrupt.
            turn.is_over = true;
            return;
        }
        if let Fact::Said { next: Some(_), .. } = fact
            && turn.waits_for_person()
        {
            // The same, while calls of the old turn still run. A turn that is written on another node ends on the wire.
            turn.is_over = true;
            return;
        }
        match fact {
            Fact::StepAbandoned => turn.abandon(out),
            Fact::TurnEnded { .. } => turn.close_unwritten(out),
            _ => {}
        }
        turn.calls.apply(fact);
        turn.apply(fact, &self.past, out);
    }

    fn start(&self) -> Option<Event> {
        self.turn.as_ref().map(|turn| Event::start(&turn.calls.message))
    }

    fn is_closed(&self) -> bool {
        self.turn.as_ref().is_none_or(|turn| turn.is_over)
    }

    fn nothing(&mut self, out: &mut Vec<Event>) {
        if let Some(turn) = &mut self.turn {
            out.extend([turn.meter.finish(FinishReason::Stop, &turn.calls), Event::End]);
        }
    }

    fn set_past(&mut self, past: Past) {
        self.past = past;
    }

    fn fresh(&self) -> Box<dyn Projection> {
        Box::new(Self::new(self.view))
    }
}

impl Turn {
    /// Whether it waits for a decision. The client has then closed its stream, and a newer message goes first.
    fn waits_for_person(&self) -> bool {
        let asked = self.queue.front().filter(|id| self.shown.was_asked(id)).and_then(|id| self.calls.get(id));
        asked.is_some_and(|call| call.decision.is_none())
    }

    fn apply(&mut self, fact: &Fact, past: &Past, out: &mut Vec<Event>) {
        match fact {
            Fact::StepStarted => self.text.next_step(out),
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
            // The first call in the queue is the one that asks. Its prompt comes before its outcome.
            Fact::Called { call, by: Caller::Tool(_), .. } => self.queue.push_front(call.clone()),
            Fact::Called { call, .. } => self.add(call),
            Fact::Invalid { call, .. } => {
                self.add(call);
                self.show(past, out);
            }
            Fact::Decided { call, verdict, .. } if verdict.edited_input().is_some() && past.edited(call).is_none() => {
                self.shown.edit(call);
            }
            Fact::Started { call, .. } => {
                self.show(past, out);
                // The browser is about to run it.
                let is_frontend = self.calls.get(call).is_some_and(|call| call.execution == Execution::Frontend);
                if is_frontend {
                    self.tell_edit(call, out);
                }
            }
            Fact::Asked { .. } | Fact::Settled { .. } => self.show(past, out),
            // A replay shows the outcome instead.
            Fact::Progressed { call, output } if self.shown.has(call, ClientHas::Input) && !past.is_settled(call) => {
                out.push(Event::progress(call, output));
            }
            Fact::ModelDelayed { message, seconds } => {
                out.push(Event::Delayed { message: message.clone(), seconds: *seconds })
            }
            Fact::TurnEnded { end, .. } => self.end(end, out),
            _ => {}
        }
    }

    /// Closes what was shown of a step whose node is gone. Its calls were not shown yet.
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
        self.queue.retain(|id| !abandoned.contains(id));
    }

    /// Closes what is open at the end of the turn: the node that wrote it could not store its end, and another one has
    /// ended the turn.
    fn close_unwritten(&mut self, out: &mut Vec<Event>) {
        if let Some((kind, id)) = self.blocks.abandon() {
            self.write(kind, Event::block_end(kind, &id), out);
        }
    }

    fn write(&mut self, kind: BlockKind, event: Event, out: &mut Vec<Event>) {
        match kind {
            BlockKind::Reasoning => out.push(event),
            BlockKind::Text => self.text.write(event, out),
        }
    }

    fn add(&mut self, id: &ToolCallId) {
        self.text.called(id);
        self.queue.push_back(id.clone());
    }

    /// Shows the first call as far as possible, and the next one once it is settled.
    fn show(&mut self, past: &Past, out: &mut Vec<Event>) {
        while let Some(id) = self.queue.front().cloned() {
            let Some(call) = self.calls.get(&id).filter(|call| call.has_begun()) else { return };
            if self.shown.give(&id, ClientHas::Input) {
                out.push(Event::call(&id, &call.name));
                let edited = past.edited(&id);
                out.push(match (past.is_settled(&id) && !call.is_invalid, edited) {
                    (true, _) => Event::input_as_text(&id, edited.unwrap_or(&call.input)),
                    (false, Some(edited)) => Event::input(&id, &call.name, edited),
                    (false, None) => Event::input_of(&id, call),
                });
            }
            if let Some(request) = &call.request
                && !past.is_decided(&id)
                && !past.is_settled(&id)
                && self.shown.give(&id, ClientHas::Request)
            {
                out.push(Event::StepStart);
                out.push(Event::request(&id, &request.approval));
                out.push(Event::StepEnd);
            }
            let Some(settled) = &call.settled else { return };
            if self.shown.take_edit(&id) {
                out.push(Event::edited_input(&id, &call.input));
            }
            if !call.is_invalid {
                out.push(Event::outcome(&id, settled.told().without_denial()));
            }
            self.queue.pop_front();
            self.text.settled(&id, out);
        }
    }

    /// Tells the client that an approver has changed the input. A step stands between that and its announcement, so it
    /// can't be announced again.
    fn tell_edit(&mut self, id: &ToolCallId, out: &mut Vec<Event>) {
        if let Some(call) = self.calls.get(id).filter(|_| self.shown.take_edit(id)) {
            out.push(Event::edited_input(id, &call.input));
        }
    }

    fn end(&mut self, end: &TurnEnd, out: &mut Vec<Event>) {
        self.is_over = true;
        self.text.release(out);
        let (last, reason) = Event::of_end(end);
        out.extend(last);
        out.extend([self.meter.finish(reason, &self.calls), Event::End]);
    }
}
