//! The calls of a turn: one fold of its facts. The projections are policies over it: when a call is shown, what is held back, when a
//! segment ends.

use std::collections::{HashMap, HashSet};

use holdpoint_protocol::ids::{ApprovalId, MessageId, ToolCallId};
use serde_json::Value;

use crate::{
    clock::Timestamp,
    fact::{CallOrder, Cause, Fact, Outcome},
    model::Usage,
    subject::Subject,
    tool::{Execution, Wait},
};

/// A turn as its facts have it.
#[derive(Debug)]
pub(super) struct TurnCalls {
    /// The assistant message.
    pub(super) message: MessageId,
    /// How calls are taken up.
    pub(super) order: CallOrder,
    /// When the turn began.
    pub(super) started_at: Timestamp,
    /// The model, by the most precise name that is known.
    pub(super) model: String,
    /// Whether the model is writing.
    pub(super) is_writing: bool,
    pub(super) is_over: bool,
    /// Whether the client that it is folded for sends every frontend result with its next request.
    is_resubmit: bool,
    /// What each step used.
    usage: Vec<Usage>,
    /// The calls of the turn that are complete, in the order in which they were made.
    made: Vec<ToolCallId>,
    /// Where the current step begins in `made`.
    step: usize,
    /// The calls of the current step, in the order in which the model began to write them.
    begun: Vec<ToolCallId>,
    calls: HashMap<ToolCallId, Call>,
}

/// A call as its facts have it.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    /// The input as it stands; null while the model writes it.
    pub(super) input: Value,
    pub(super) execution: Execution,
    /// Whether a running tool asks this of the user.
    pub(super) is_prompt: bool,
    /// A call of the browser's that a person must approve first.
    pub(super) is_gated: bool,
    /// Whether the input did not fit. The outcome says why.
    pub(super) is_invalid: bool,
    /// The ordinal of the call in its turn.
    pub(super) number: usize,
    pub(super) question: Option<ApprovalRequest>,
    pub(super) decision: Option<Decision>,
    pub(super) start: Option<Start>,
    pub(super) settled: Option<Settled>,
    order: CallOrder,
    is_resubmit: bool,
}

/// An approval request.
#[derive(Debug)]
pub(super) struct ApprovalRequest {
    pub(super) approval: ApprovalId,
    pub(super) at: Timestamp,
    pub(super) expires: Option<Timestamp>,
}

/// A person's answer to it.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) approved: bool,
    pub(super) reason: Option<String>,
    pub(super) by: Subject,
    pub(super) at: Timestamp,
}

/// The start of a call.
#[derive(Debug)]
pub(super) struct Start {
    /// Older logs do not say.
    pub(super) at: Option<Timestamp>,
    pub(super) deadline: Option<Timestamp>,
}

/// The outcome of a call.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) outcome: Outcome,
    pub(super) cause: Cause,
    pub(super) at: Timestamp,
}

impl Settled {
    /// The outcome as a client is told of it.
    pub(super) fn told(&self) -> Outcome {
        self.outcome.told(self.cause)
    }
}

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// The calls before it.
    Queue,
    /// The server, or a browser whose result comes while the response is open.
    Here,
    /// A person's decision.
    Person,
    /// A browser's result, in the client's next request.
    Browser,
    /// Nothing: it is settled.
    Nothing,
}

impl Waits {
    /// Whether the response can end: the client acts next.
    pub(super) fn is_for_client(self) -> bool {
        matches!(self, Waits::Person | Waits::Browser)
    }
}

impl Call {
    pub(super) fn waits(&self) -> Waits {
        if self.settled.is_some() {
            Waits::Nothing
        } else if self.start.is_some() {
            if self.is_resubmit { Waits::Browser } else { Waits::Here }
        } else if self.decision.is_some() {
            Waits::Here
        } else if self.question.is_some() {
            Waits::Person
        } else if self.order == CallOrder::OneByOne {
            Waits::Queue
        } else {
            Waits::Here
        }
    }

    /// Whether anything was done about it yet. In a turn that takes its calls one by one, nobody is told of a call before that.
    pub(super) fn has_begun(&self) -> bool {
        self.question.is_some() || self.start.is_some() || self.settled.is_some()
    }

    /// Why the input did not fit.
    pub(super) fn input_error(&self) -> Option<&str> {
        match &self.settled.as_ref()?.outcome {
            Outcome::Error(text) if self.is_invalid => Some(text),
            _ => None,
        }
    }
}

impl TurnCalls {
    /// A turn that begins with this fact. `is_resubmit`: the client sends every frontend result with its next request.
    pub(super) fn begin(fact: &Fact, is_resubmit: bool) -> Option<Self> {
        let Fact::TurnStarted { message, order, model, at, .. } = fact else { return None };
        Some(Self {
            message: message.clone(),
            order: *order,
            started_at: *at,
            model: model.clone(),
            is_writing: true,
            is_over: false,
            is_resubmit,
            usage: Vec::new(),
            made: Vec::new(),
            step: 0,
            begun: Vec::new(),
            calls: HashMap::new(),
        })
    }

    /// Takes the next fact of the turn.
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
            Fact::InputStarted { call, name } => drop(self.call(call, name)),
            Fact::Called { call, name, input, execution, wait, asked_by, needs_approval, .. } => {
                let is_frontend = *execution == Execution::Frontend;
                // A prompt is answered while the tool that asks runs, so the response stays open for it.
                let is_resubmit = is_frontend && (self.is_resubmit || *wait == Wait::Resubmit) && asked_by.is_none();
                let made = self.made(call, name, input);
                made.execution = *execution;
                made.is_prompt = asked_by.is_some();
                made.is_gated = is_frontend && *needs_approval;
                made.is_resubmit = is_resubmit;
            }
            Fact::Invalid { call, name, input, error } => {
                let at = self.started_at;
                let made = self.made(call, name, input);
                made.is_invalid = true;
                made.settled = Some(Settled { outcome: Outcome::Error(error.clone()), cause: Cause::Refused, at });
            }
            Fact::Asked { call, approval, at, expires, .. } => self.change(call, |call| {
                call.question = Some(ApprovalRequest { approval: approval.clone(), at: *at, expires: *expires });
            }),
            Fact::Decided { call, approved, reason, by, at } => self.change(call, |call| {
                let (reason, by) = (reason.clone(), by.clone());
                call.decision = Some(Decision { approved: *approved, reason, by, at: *at });
            }),
            Fact::Started { call, deadline, at } => self.change(call, |call| {
                call.start = Some(Start { at: *at, deadline: *deadline });
            }),
            Fact::Settled { call, outcome, cause, at } => self.change(call, |call| {
                call.settled = Some(Settled { outcome: outcome.clone(), cause: *cause, at: *at });
            }),
            Fact::TurnEnded { .. } => self.is_over = true,
            _ => {}
        }
    }

    /// A call.
    pub(super) fn get(&self, id: &ToolCallId) -> Option<&Call> {
        self.calls.get(id)
    }

    /// The complete calls of the turn, in the order in which they were made.
    pub(super) fn all(&self) -> impl Iterator<Item = (&ToolCallId, &Call)> {
        self.made.iter().filter_map(|id| Some((id, self.calls.get(id)?)))
    }

    /// The complete calls of the current step, in the order in which they were made.
    pub(super) fn made_in_step(&self) -> &[ToolCallId] {
        &self.made[self.step..]
    }

    /// The calls of the current step, in the order in which the model began to write them.
    pub(super) fn begun_in_step(&self) -> &[ToolCallId] {
        &self.begun
    }

    /// What these calls wait for.
    pub(super) fn waits(&self, calls: &[ToolCallId]) -> impl Iterator<Item = Waits> {
        calls.iter().filter_map(|id| Some(self.calls.get(id)?.waits()))
    }

    /// How many steps are complete.
    pub(super) fn steps(&self) -> usize {
        self.usage.len()
    }

    /// What the steps from this one on have used.
    pub(super) fn usage_since(&self, step: usize) -> Usage {
        let mut sum = Usage::default();
        self.usage.iter().skip(step).for_each(|usage| sum += *usage);
        sum
    }

    fn call(&mut self, id: &ToolCallId, name: &str) -> &mut Call {
        self.calls.entry(id.clone()).or_insert_with(|| {
            self.begun.push(id.clone());
            Call {
                name: name.to_owned(),
                input: Value::Null,
                execution: Execution::Server,
                is_prompt: false,
                is_gated: false,
                is_invalid: false,
                number: 0,
                question: None,
                decision: None,
                start: None,
                settled: None,
                order: self.order,
                is_resubmit: false,
            }
        })
    }

    fn made(&mut self, id: &ToolCallId, name: &str, input: &Value) -> &mut Call {
        let number = self.made.len();
        self.made.push(id.clone());
        let call = self.call(id, name);
        (call.number, call.input) = (number, input.clone());
        call
    }

    fn change(&mut self, id: &ToolCallId, change: impl FnOnce(&mut Call)) {
        if let Some(call) = self.calls.get_mut(id) {
            change(call);
        }
    }
}

/// What has already happened to calls that are replayed.
#[derive(Debug, Default)]
pub(super) struct Past {
    settled: HashSet<ToolCallId>,
    decided: HashSet<ToolCallId>,
}

impl Past {
    pub(super) fn add<'a>(&mut self, facts: impl IntoIterator<Item = &'a Fact>) {
        for fact in facts {
            match fact {
                Fact::Settled { call, .. } => drop(self.settled.insert(call.clone())),
                Fact::Decided { call, .. } => drop(self.decided.insert(call.clone())),
                _ => {}
            }
        }
    }

    /// Settled calls must not make the client run them again: their input is shown as a delta, which does not (rule T8).
    pub(super) fn is_settled(&self, call: &ToolCallId) -> bool {
        self.settled.contains(call)
    }

    /// Nobody is asked again about a call that was decided.
    pub(super) fn is_decided(&self, call: &ToolCallId) -> bool {
        self.decided.contains(call)
    }
}

#[cfg(test)]
mod tests;
