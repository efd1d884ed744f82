//! The adk profile over WebSocket: what the seeds call BIDI mode. One stream, one call at a time.

use std::collections::{HashMap, HashSet, VecDeque};

use holdpoint_protocol::{
    chunk::{Chunk, Chunks, FinishReason, FinishStep, StartStep, ToolInputDelta},
    ids::{ApprovalId, MessageId, ToolCallId},
};
use serde_json::Value;

use super::{
    Out, Projection, View,
    chunks::{self, Blocks, Meter},
    text::Text,
};
use crate::fact::{BlockKind, Fact, Outcome, TurnEnd};

/// Writes turns for `/live`.
#[derive(Debug)]
pub struct AdkLive {
    view: View,
    turn: Option<Turn>,
    /// Calls that are settled already in what is being replayed: they must not make the client run them again.
    replayed: HashSet<ToolCallId>,
    /// Calls about which nobody is to be asked again.
    decided: HashSet<ToolCallId>,
}

#[derive(Debug)]
struct Turn {
    message: MessageId,
    is_over: bool,
    meter: Meter,
    blocks: Blocks,
    text: Text,
    /// Calls that were not settled on the wire yet, in order. Only the first is shown.
    queue: VecDeque<ToolCallId>,
    calls: HashMap<ToolCallId, Call>,
}

#[derive(Debug, Default)]
struct Call {
    name: String,
    input: Value,
    error: Option<String>,
    has_begun: bool,
    is_shown: bool,
    question: Option<ApprovalId>,
    is_asked: bool,
    is_decided: bool,
    outcome: Option<Outcome>,
}

impl AdkLive {
    /// A projection for a client with these wishes.
    pub fn new(view: View) -> Self {
        Self { view, turn: None, replayed: HashSet::new(), decided: HashSet::new() }
    }

    /// What comes now was sent before, to a connection that is gone.
    pub fn replay<'a>(&mut self, facts: impl IntoIterator<Item = &'a Fact>) {
        for fact in facts {
            match fact {
                Fact::Settled { call, .. } => drop(self.replayed.insert(call.clone())),
                Fact::Decided { call, .. } => drop(self.decided.insert(call.clone())),
                _ => {}
            }
        }
    }

    /// Whether a turn waits for a person's approval: the client has closed what it reads, and a newer message goes first.
    fn waits_for_person(turn: &Turn) -> bool {
        let first = turn.queue.front().and_then(|id| turn.calls.get(id));
        first.is_some_and(|call| call.is_asked && !call.is_decided)
    }
}

impl Projection for AdkLive {
    fn apply(&mut self, fact: &Fact, out: &mut Vec<Out>) {
        if let Fact::TurnStarted { message, holds_text, can_ask, model, .. } = fact {
            out.push(Out::one(chunks::start(message)));
            self.turn = Some(Turn {
                message: message.clone(),
                is_over: false,
                meter: Meter::new(model),
                blocks: Blocks::default(),
                text: Text::new(*holds_text || *can_ask, self.view.is_progressive),
                queue: VecDeque::new(),
                calls: HashMap::new(),
            });
            return;
        }
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.is_over) else { return };
        if let Fact::Settled { cause: crate::fact::Cause::Superseded, .. } = fact
            && Self::waits_for_person(turn)
        {
            // The client has begun a new message: nothing of the old one may come in between.
            turn.is_over = true;
            return;
        }
        if let Fact::Said { next: Some(_), .. } = fact {
            // The same, and calls of the old one run on.
            turn.is_over = true;
            return;
        }
        turn.apply(fact, &self.replayed, &self.decided, out);
    }

    fn start(&self) -> Option<Chunk> {
        self.turn.as_ref().map(|turn| chunks::start(&turn.message))
    }

    fn is_closed(&self) -> bool {
        self.turn.as_ref().is_none_or(|turn| turn.is_over)
    }

    fn nothing(&mut self, out: &mut Vec<Out>) {
        if let Some(turn) = &mut self.turn {
            out.extend([Out::one(turn.meter.finish(FinishReason::Stop)), Out::End]);
        }
    }
}

impl Turn {
    fn apply(
        &mut self,
        fact: &Fact,
        replayed: &HashSet<ToolCallId>,
        decided: &HashSet<ToolCallId>,
        out: &mut Vec<Out>,
    ) {
        match fact {
            Fact::StepStarted => self.text.next_step(out),
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
            Fact::Called { call, name, input, asked_by, .. } => {
                let made = Call { name: name.clone(), input: input.clone(), ..Call::default() };
                match asked_by {
                    None => self.add(call, made),
                    // The tool that asks is the one whose turn it is: its question comes before its outcome.
                    Some(_) => {
                        self.queue.push_front(call.clone());
                        self.calls.insert(call.clone(), made);
                    }
                }
            }
            Fact::Invalid { call, name, input, error } => {
                let (name, input, outcome) = (name.clone(), input.clone(), Outcome::Error(error.clone()));
                let call_made = Call {
                    name,
                    input,
                    error: Some(error.clone()),
                    has_begun: true,
                    outcome: Some(outcome),
                    ..Call::default()
                };
                self.add(call, call_made);
                self.show(replayed, out);
            }
            Fact::StepEnded { usage, version, .. } => self.meter.add(*usage, version.as_deref()),
            Fact::Asked { call, approval, .. } => {
                let is_decided = decided.contains(call);
                if let Some(call) = self.calls.get_mut(call) {
                    (call.has_begun, call.question) = (true, Some(approval.clone()).filter(|_| !is_decided));
                }
                self.show(replayed, out);
            }
            Fact::Decided { call, .. } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.is_decided = true;
                }
            }
            Fact::Started { call, .. } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.has_begun = true;
                }
                self.show(replayed, out);
            }
            Fact::Settled { call, outcome, cause, .. } => {
                if let Some(call) = self.calls.get_mut(call) {
                    (call.has_begun, call.outcome) = (true, Some(outcome.told(*cause)));
                }
                self.show(replayed, out);
            }
            Fact::TurnEnded { end, .. } => self.end(end, out),
            _ => {}
        }
    }

    fn write(&mut self, kind: BlockKind, chunks: Chunks, out: &mut Vec<Out>) {
        match kind {
            BlockKind::Reasoning => out.push(Out::Chunks(chunks)),
            BlockKind::Text => self.text.write(chunks, out),
        }
    }

    fn add(&mut self, id: &ToolCallId, call: Call) {
        self.text.called(id);
        self.queue.push_back(id.clone());
        self.calls.insert(id.clone(), call);
    }

    /// Shows what can be shown of the first call; when that is settled, of the next.
    fn show(&mut self, replayed: &HashSet<ToolCallId>, out: &mut Vec<Out>) {
        while let Some(id) = self.queue.front().cloned() {
            let Some(call) = self.calls.get_mut(&id).filter(|call| call.has_begun) else { return };
            if !call.is_shown {
                call.is_shown = true;
                out.push(Out::one(chunks::input_start(&id, &call.name)));
                out.push(Out::one(match &call.error {
                    Some(error) => chunks::input_error(&id, &call.name, &call.input, error),
                    None if replayed.contains(&id) => {
                        ToolInputDelta { tool_call_id: id.clone(), input_text_delta: call.input.to_string() }.into()
                    }
                    None => chunks::input_available(&id, &call.name, &call.input),
                }));
            }
            if let Some(approval) = call.question.as_ref().filter(|_| !call.is_asked && !replayed.contains(&id)) {
                call.is_asked = true;
                out.push(Out::one(StartStep {}.into()));
                out.push(Out::one(chunks::question(&id, approval)));
                out.push(Out::one(FinishStep {}.into()));
            }
            let Some(outcome) = &call.outcome else { return };
            if call.error.is_none() {
                out.push(Out::one(chunks::outcome(&id, outcome)));
            }
            self.queue.pop_front();
            self.text.settled(&id, out);
        }
    }

    fn end(&mut self, end: &TurnEnd, out: &mut Vec<Out>) {
        self.is_over = true;
        self.text.release(out);
        let (last, reason) = chunks::ending(end);
        out.extend(last.map(Out::one));
        out.extend([Out::one(self.meter.finish(reason)), Out::End]);
    }
}
