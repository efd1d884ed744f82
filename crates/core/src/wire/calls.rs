//! The calls of a turn, as one fold of its facts. The projections are policies over it: when a call is shown, what is
//! held back, when a segment ends.

use std::collections::{HashMap, HashSet};

use holdpoint_protocol::ids::{MessageId, ToolCallId};
use serde_json::Value;

use crate::{
    call::Call,
    chat::Calls,
    clock::Timestamp,
    fact::{CallOrder, Fact},
    model::Usage,
    tool::{Execution, Wait},
};

/// A turn, folded from its facts.
#[derive(Debug)]
pub(super) struct TurnCalls {
    /// The assistant message.
    pub(super) message: MessageId,
    /// The order in which calls are started.
    pub(super) order: CallOrder,
    /// When the turn began.
    pub(super) started_at: Timestamp,
    /// The most precise name of the model known so far.
    pub(super) model: String,
    /// Whether the model is writing.
    pub(super) is_writing: bool,
    pub(super) is_over: bool,
    /// Whether this client, or the one that began the turn, sends every frontend result with its next request.
    is_resubmit: bool,
    /// The usage of each step.
    usage: Vec<Usage>,
    /// The completed calls of the turn, in the order of their completion.
    made: Vec<ToolCallId>,
    /// The index in `made` where the current step begins.
    step: usize,
    /// The calls of the current step, in the order in which the model began them.
    begun: Vec<ToolCallId>,
    calls: Calls,
    /// The number of facts of the turn.
    len: u64,
}

/// What a call is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// The calls before it.
    Queue,
    /// The server, or a browser that sends its result while the response is open.
    Here,
    /// A person's decision.
    Person,
    /// A browser's result, in the client's next request.
    Browser,
    /// Nothing: it is settled.
    Nothing,
}

impl Waits {
    /// Whether the client acts next, so that the response can end.
    pub(super) fn is_for_client(self) -> bool {
        matches!(self, Waits::Person | Waits::Browser)
    }
}

/// Who reads a turn, as far as that decides what its calls wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reader {
    /// The order in which the calls of the turn are started.
    pub(super) order: CallOrder,
    /// Whether this client, or the one that began the turn, sends every frontend result with its next request.
    pub(super) is_resubmit: bool,
}

impl Reader {
    /// Whether the result of a call comes with the client's next request.
    fn gets_later(self, call: &Call) -> bool {
        // A prompt is answered while its tool runs, so the response stays open for it.
        let is_answered_here = call.execution != Execution::Frontend || call.by.tool().is_some();
        // Over a WebSocket, a result can arrive at any time, whatever the tool says.
        let says_tool = self.order == CallOrder::Together && call.wait == Wait::Resubmit;
        !is_answered_here && (self.is_resubmit || says_tool)
    }
}

impl Call {
    /// What it is waiting for.
    pub(super) fn waits(&self, reader: Reader) -> Waits {
        if self.settled.is_some() {
            Waits::Nothing
        } else if self.start.is_some() {
            if reader.gets_later(self) { Waits::Browser } else { Waits::Here }
        } else if self.decision.is_some() {
            Waits::Here
        } else if self.request.is_some() {
            Waits::Person
        } else if reader.order == CallOrder::OneByOne {
            Waits::Queue
        } else {
            Waits::Here
        }
    }

    /// Whether its outcome takes another request of the client: a decision, or a browser's result.
    pub(super) fn needs_client(&self, reader: Reader) -> bool {
        reader.gets_later(self) || self.needs_approval && self.decision.is_none()
    }

    /// Whether it is a frontend call that needs approval first.
    pub(super) fn is_gated(&self) -> bool {
        self.execution == Execution::Frontend && self.needs_approval
    }

    /// Whether the browser runs it as soon as it is shown. It is shown once it is a hold, so that the result has a place.
    pub(super) fn runs_when_shown(&self) -> bool {
        self.execution == Execution::Frontend && !self.needs_approval && self.by.tool().is_none()
    }

    /// Whether it was asked about, started or settled. With [`CallOrder::OneByOne`], no client sees the call before
    /// that.
    pub(super) fn has_begun(&self) -> bool {
        self.request.is_some() || self.start.is_some() || self.settled.is_some()
    }
}

impl TurnCalls {
    /// A turn that begins with this fact. With `is_resubmit`, the client sends every frontend result with its next
    /// request.
    pub(super) fn begin(fact: &Fact, is_resubmit: bool) -> Option<Self> {
        let Fact::TurnStarted { message, order, model, at, is_resubmit: began_so, .. } = fact else { return None };
        Some(Self {
            message: message.clone(),
            order: *order,
            started_at: *at,
            model: model.clone(),
            is_writing: true,
            is_over: false,
            is_resubmit: is_resubmit || *began_so && *order == CallOrder::Together,
            usage: Vec::new(),
            made: Vec::new(),
            step: 0,
            begun: Vec::new(),
            calls: Calls::default(),
            len: 1,
        })
    }

    /// Applies the next fact of the turn.
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::StepStarted => {
                self.is_writing = true;
                self.step = self.made.len();
                self.begun.clear();
            }
            Fact::StepEnded { usage, version, .. } => {
                self.is_writing = false;
                self.usage.push(*usage);
                if let Some(version) = version {
                    self.model.clone_from(version);
                }
            }
            Fact::StepAbandoned => {
                for id in self.abandoned_in_step() {
                    self.calls.remove(&id);
                }
                if self.is_writing {
                    self.made.truncate(self.step);
                    self.begun.clear();
                }
            }
            Fact::InputStarted { call, .. } => self.begun(call),
            Fact::Called { call, .. } | Fact::Invalid { call, .. } => {
                self.begun(call);
                self.made.push(call.clone());
            }
            Fact::TurnEnded { .. } => self.is_over = true,
            _ => {}
        }
        self.calls.apply(fact, self.len, 0);
        self.len += 1;
    }

    fn begun(&mut self, id: &ToolCallId) {
        if !self.calls.contains(id) {
            self.begun.push(id.clone());
        }
    }

    /// Who reads it.
    pub(super) fn reader(&self) -> Reader {
        Reader { order: self.order, is_resubmit: self.is_resubmit }
    }

    /// The call with this id.
    pub(super) fn get(&self, id: &ToolCallId) -> Option<&Call> {
        self.calls.get(id)
    }

    /// The index of a completed call in the turn.
    pub(super) fn number(&self, id: &ToolCallId) -> Option<usize> {
        self.made.iter().position(|made| made == id)
    }

    /// The completed calls of the turn, in the order of their completion.
    pub(super) fn all(&self) -> impl Iterator<Item = (&ToolCallId, &Call)> {
        self.made.iter().filter_map(|id| Some((id, self.calls.get(id)?)))
    }

    /// The completed calls of the current step, in the order of their completion.
    pub(super) fn made_in_step(&self) -> &[ToolCallId] {
        &self.made[self.step..]
    }

    /// The calls of the current step, in the order in which the model began them.
    pub(super) fn begun_in_step(&self) -> &[ToolCallId] {
        &self.begun
    }

    /// The calls of the step that is being written: those to be taken back if it is abandoned. Readers that
    /// join later never see an abandoned step.
    pub(super) fn abandoned_in_step(&self) -> Vec<ToolCallId> {
        if self.is_writing { self.begun.clone() } else { Vec::new() }
    }

    /// What each of these calls is waiting for. A replay does not wait for what is past.
    pub(super) fn waits(&self, calls: &[ToolCallId], past: &Past) -> impl Iterator<Item = Waits> {
        calls.iter().filter_map(|id| match self.calls.get(id)?.waits(self.reader()) {
            Waits::Person if past.is_decided(id) || past.is_settled(id) => Some(Waits::Here),
            Waits::Browser if past.is_settled(id) || past.is_over(id) => Some(Waits::Here),
            waits => Some(waits),
        })
    }

    /// The number of completed steps.
    pub(super) fn steps(&self) -> usize {
        self.usage.len()
    }

    /// The usage of the steps from this one on.
    pub(super) fn usage_since(&self, step: usize) -> Usage {
        let mut sum = Usage::default();
        self.usage.iter().skip(step).for_each(|usage| sum += *usage);
        sum
    }
}

/// Calls of a replay that are already settled or decided.
#[derive(Debug, Default, Clone)]
pub struct Past {
    settled: HashSet<ToolCallId>,
    decided: HashSet<ToolCallId>,
    /// The inputs that approvers have put in place of the model's.
    edited: HashMap<ToolCallId, Value>,
    /// The calls whose end follows in the same segment, whoever has their beginning.
    over: HashSet<ToolCallId>,
}

impl Past {
    /// What is past for a response that shows these facts and comes after all of them. A call of which it shows only the
    /// later part is not in it: the client has the beginning.
    pub(super) fn of<'a>(shown: impl IntoIterator<Item = &'a Fact>) -> Self {
        let (mut made, mut asked, mut past) = (HashSet::new(), HashSet::new(), Self::default());
        for fact in shown {
            match fact {
                Fact::InputStarted { call, .. } | Fact::Called { call, .. } => drop(made.insert(call)),
                Fact::Asked { call, .. } => drop(asked.insert(call)),
                Fact::Settled { call, .. } if made.contains(call) => drop(past.settled.insert(call.clone())),
                Fact::Decided { call, verdict, .. } if asked.contains(call) => {
                    past.decided.insert(call.clone());
                    let edited = verdict.edited_input().filter(|_| made.contains(call));
                    past.edited.extend(edited.map(|input| (call.clone(), input.clone())));
                }
                _ => {}
            }
        }
        past
    }

    /// The segment that comes shows the end of these calls.
    pub(super) fn set_over(&mut self, over: HashSet<ToolCallId>) {
        self.over = over;
    }

    /// The segment does not end before the call does, and the client has nothing to run.
    pub(super) fn is_over(&self, call: &ToolCallId) -> bool {
        self.over.contains(call)
    }

    /// Takes a call out of it: the client has its beginning.
    pub(super) fn forget(&mut self, call: &ToolCallId) {
        self.settled.remove(call);
        self.decided.remove(call);
        self.edited.remove(call);
    }

    /// The input that a replay shows in place of the model's.
    pub(super) fn edited(&self, call: &ToolCallId) -> Option<&Value> {
        self.edited.get(call)
    }

    /// A settled call is replayed with its input as a delta, because that does not make the client run it (rule T8).
    pub(super) fn is_settled(&self, call: &ToolCallId) -> bool {
        self.settled.contains(call)
    }

    /// A decided call is replayed without its approval request.
    pub(super) fn is_decided(&self, call: &ToolCallId) -> bool {
        self.decided.contains(call)
    }
}

#[cfg(test)]
mod tests;
