//! The calls of a turn, as one fold of its facts. The projections are policies over it: when a call is shown, what is
//! held back, when a segment ends.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use holdpoint_protocol::{
    holds::DecisionKind,
    ids::{ApprovalId, GrantId, MessageId, ToolCallId},
};
use serde_json::Value;

use crate::{
    clock::Timestamp,
    fact::{CallOrder, Caller, Cause, Fact, Outcome},
    model::Usage,
    request_terms::RequestTerms,
    subject::Subject,
    tool::{Execution, StoredFile, Wait},
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
    /// Whether this client sends every frontend result with its next request.
    is_resubmit: bool,
    /// The usage of each step.
    usage: Vec<Usage>,
    /// The completed calls of the turn, in the order of their completion.
    made: Vec<ToolCallId>,
    /// The index in `made` where the current step begins.
    step: usize,
    /// The calls of the current step, in the order in which the model began them.
    begun: Vec<ToolCallId>,
    calls: HashMap<ToolCallId, Call>,
}

/// A call, folded from its facts.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    /// The current input; null while the model writes it.
    pub(super) input: Value,
    pub(super) execution: Execution,
    pub(super) by: Caller,
    /// Whether it is a frontend call that needs approval first.
    pub(super) is_gated: bool,
    /// Whether the tool's policy asks for approval. A grant may give it.
    needs_approval: bool,
    /// Whether the input was invalid. The outcome says why.
    pub(super) is_invalid: bool,
    /// The index of the call in its turn.
    pub(super) number: usize,
    pub(super) request: Option<ApprovalRequest>,
    /// Whether those of the escalation may decide too.
    pub(super) is_escalated: bool,
    /// Those who have approved, while others have to as well.
    pub(super) votes: Vec<Subject>,
    pub(super) decision: Option<Decision>,
    pub(super) start: Option<Start>,
    pub(super) settled: Option<Settled>,
    /// The files that it has produced.
    pub(super) files: Arc<[StoredFile]>,
    order: CallOrder,
    is_resubmit: bool,
}

/// An approval request.
#[derive(Debug)]
pub(super) struct ApprovalRequest {
    pub(super) approval: ApprovalId,
    pub(super) at: Timestamp,
    pub(super) expires: Option<Timestamp>,
    pub(super) terms: Arc<RequestTerms>,
}

/// A person's decision.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) kind: DecisionKind,
    /// The model's input, if an approver has put another one in its place.
    pub(super) original_input: Option<Value>,
    pub(super) reason: Option<String>,
    /// Everybody whose approval it took, or whoever denied.
    pub(super) by: Vec<Subject>,
    /// The grant that decided, made by whom `by` names.
    pub(super) grant: Option<GrantId>,
    pub(super) at: Timestamp,
}

/// The start of a call.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) at: Timestamp,
    pub(super) deadline: Option<Timestamp>,
}

/// The outcome of a call.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) outcome: Outcome,
    pub(super) cause: Cause,
    pub(super) at: Timestamp,
    /// Whether the call can be made again although its outcome is unknown.
    pub(super) is_repeatable: bool,
}

impl Settled {
    /// The outcome as shown to a client.
    pub(super) fn told(&self) -> Outcome {
        self.outcome.told(self.cause)
    }
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

impl Call {
    pub(super) fn waits(&self) -> Waits {
        if self.settled.is_some() {
            Waits::Nothing
        } else if self.start.is_some() {
            if self.is_resubmit { Waits::Browser } else { Waits::Here }
        } else if self.decision.is_some() {
            Waits::Here
        } else if self.request.is_some() {
            Waits::Person
        } else if self.order == CallOrder::OneByOne {
            Waits::Queue
        } else {
            Waits::Here
        }
    }

    /// Whether its outcome takes another request of the client: a decision, or a browser's result.
    pub(super) fn needs_client(&self) -> bool {
        self.is_resubmit || self.needs_approval && self.decision.is_none()
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

    /// Whether an approver has changed its input.
    pub(super) fn is_edited(&self) -> bool {
        self.decision.as_ref().is_some_and(|decision| decision.original_input.is_some())
    }

    /// Why the input is invalid.
    pub(super) fn input_error(&self) -> Option<&str> {
        match &self.settled.as_ref()?.outcome {
            Outcome::Error(text) if self.is_invalid => Some(text),
            _ => None,
        }
    }
}

impl TurnCalls {
    /// A turn that begins with this fact. With `is_resubmit`, the client sends every frontend result with its next
    /// request.
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
            Fact::InputStarted { call, name } => drop(self.call(call, name)),
            Fact::Called { call, name, input, execution, wait, by, needs_approval, .. } => {
                let is_frontend = *execution == Execution::Frontend;
                // A prompt is answered while its tool runs, so the response stays open for it.
                let is_resubmit = is_frontend && (self.is_resubmit || *wait == Wait::Resubmit) && by.tool().is_none();
                let made = self.made(call, name, input);
                made.execution = *execution;
                made.by.clone_from(by);
                made.is_gated = is_frontend && *needs_approval;
                made.needs_approval = *needs_approval;
                made.is_resubmit = is_resubmit;
            }
            Fact::Invalid { call, name, input, error, .. } => {
                let at = self.started_at;
                let made = self.made(call, name, input);
                made.is_invalid = true;
                made.settled = Some(Settled {
                    outcome: Outcome::Error(error.clone()),
                    cause: Cause::Refused,
                    at,
                    is_repeatable: false,
                });
            }
            Fact::Asked { call, approval, at, expires, terms } => self.change(call, |call| {
                let (approval, terms) = (approval.clone(), Arc::clone(terms));
                call.request = Some(ApprovalRequest { approval, at: *at, expires: *expires, terms });
            }),
            Fact::Voted { call, by, .. } => self.change(call, |call| call.votes.push(by.clone())),
            Fact::Escalated { call, .. } => self.change(call, |call| call.is_escalated = true),
            Fact::Decided { call, verdict, reason, by, at, .. } => self.change(call, |call| {
                let (kind, reason, at) = (verdict.kind(), reason.clone(), *at);
                let voters = call.votes.iter().filter(|_| verdict.is_approval());
                let by = voters.chain([by]).cloned().collect();
                let edited = verdict.edited_input().cloned();
                let original_input = edited.map(|input| std::mem::replace(&mut call.input, input));
                call.decision = Some(Decision { kind, original_input, reason, by, grant: None, at });
            }),
            Fact::Used { call, grant, by, at } => self.change(call, |call| {
                let (by, grant) = (vec![by.clone()], Some(grant.clone()));
                let (kind, original_input, reason) = (DecisionKind::Approve, None, None);
                call.decision = Some(Decision { kind, original_input, reason, by, grant, at: *at });
            }),
            Fact::Started { call, deadline, at } => self.change(call, |call| {
                call.start = Some(Start { at: *at, deadline: *deadline });
            }),
            Fact::Stored { call, files } => self.change(call, |call| call.files = Arc::clone(files)),
            Fact::Settled { call, outcome, cause, at, is_repeatable, .. } => self.change(call, |call| {
                let (cause, at, is_repeatable) = (*cause, *at, *is_repeatable);
                call.settled = Some(Settled { outcome: outcome.clone(), cause, at, is_repeatable });
            }),
            Fact::TurnEnded { .. } => self.is_over = true,
            _ => {}
        }
    }

    /// The call with this id.
    pub(super) fn get(&self, id: &ToolCallId) -> Option<&Call> {
        self.calls.get(id)
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
        calls.iter().filter_map(|id| match self.calls.get(id)?.waits() {
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

    fn call(&mut self, id: &ToolCallId, name: &str) -> &mut Call {
        self.calls.entry(id.clone()).or_insert_with(|| {
            self.begun.push(id.clone());
            Call {
                name: name.to_owned(),
                input: Value::Null,
                execution: Execution::Server,
                by: Caller::Model,
                is_gated: false,
                needs_approval: false,
                is_invalid: false,
                number: 0,
                request: None,
                is_escalated: false,
                votes: Vec::new(),
                decision: None,
                start: None,
                settled: None,
                files: Arc::default(),
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
