//! A chat's state: the fold of its facts.

use std::{collections::HashMap, sync::Arc};

use holdpoint_protocol::{
    ids::{ApprovalId, MessageId, ToolCallId},
    message::Role,
};
use serde_json::Value;

use super::{
    budget::{self, Spent},
    known::{Cuts, KnownMessage},
    open_turn::{Phase, StopRequest, Turn},
    request::{ApprovalRequest, Decided, Use},
    writing::OpenInput,
};
use crate::{
    clock::Timestamp,
    fact::{Caller, Cause, Checked, Fact, NextTurn, Outcome},
    grants::JsonDigest,
    subject::Subject,
    tool::{CallState, Execution, Returns, Wait},
};

/// The state of a chat.
#[derive(Debug, Clone, Default)]
pub struct ChatState {
    /// The number of facts.
    pub len: u64,
    /// The owner; `None` until the chat is opened.
    pub subject: Option<Subject>,
    /// The messages, oldest first.
    pub messages: Vec<KnownMessage>,
    /// Messages of a partial state that come before those, as far as turns were added to it: those of turns in a row,
    /// oldest first.
    pub earlier_messages: Vec<Vec<KnownMessage>>,
    /// Where messages were cut.
    pub cuts: Cuts,
    /// Every call of the chat.
    pub calls: HashMap<ToolCallId, Arc<Call>>,
    /// The call of each approval request.
    pub approvals: HashMap<ApprovalId, ToolCallId>,
    /// The open turn.
    pub turn: Option<Turn>,
    /// Turns of newer messages that begin when the calls of this turn are settled. All but the last are already
    /// superseded.
    pub next: Vec<NextTurn>,
    /// The position and the assistant message of each turn.
    pub turns: Vec<(u64, MessageId)>,
    /// The tokens that its turns have used, those before a partial state included.
    pub spent: Spent,
    /// Whether the state begins at a later turn than the first. Then `messages` has only the last ones, and `calls`,
    /// `approvals` and `turns` have nothing of earlier turns, unless it was added ([`ChatState::include`]). See
    /// [`needs_earlier`](super::needs_earlier).
    pub is_partial: bool,
}

/// A call, as the server knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// The input that was shown, or that an approver has put in its place.
    pub input: Value,
    /// Where it runs.
    pub execution: Execution,
    /// How a response waits for it.
    pub wait: Wait,
    /// What its output contains.
    pub returns: Returns,
    /// Where the tool came from.
    pub origin: Option<String>,
    /// Who has made it.
    pub by: Caller,
    /// The result of the tool's own check whether it needs approval.
    pub checked: Option<Checked>,
    /// The position of its turn.
    pub turn: u64,
    /// The approval request, if there is one.
    pub request: Option<ApprovalRequest>,
    /// The grant that approved it, in place of a person.
    pub used: Option<Use>,
    /// What it can be resumed from while it runs, if its process goes down.
    pub resume: Option<Arc<CallState>>,
    /// The stage it has reached.
    pub stage: Stage,
}

/// The stage of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// The model has made it. There is no approval request yet, and it has not started.
    Made,
    /// It waits for a decision.
    Asked,
    /// It runs, on the server or in the browser.
    Running {
        /// When it started.
        since: Timestamp,
        /// The deadline.
        deadline: Option<Timestamp>,
    },
    /// It has its outcome.
    Settled {
        /// The outcome.
        outcome: Outcome,
        /// The cause.
        cause: Cause,
        /// The position of the outcome.
        position: u64,
    },
}

impl Call {
    /// Whether it has an outcome.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Settled { .. })
    }

    /// Whether it waits for a person or a browser.
    pub fn is_held(&self) -> bool {
        match self.stage {
            Stage::Asked => !self.is_decided(),
            Stage::Running { .. } => self.execution == Execution::Frontend,
            Stage::Made | Stage::Settled { .. } => false,
        }
    }

    /// Whether a person has decided about it.
    pub fn is_decided(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.decision.is_some())
    }

    /// Whether a person or a grant has approved it.
    pub fn is_approved(&self) -> bool {
        let decision = self.request.as_ref().and_then(|request| request.decision.as_ref());
        self.used.is_some() || decision.is_some_and(|decision| decision.verdict.is_approval())
    }

    /// Whether it runs on the server.
    pub fn runs_here(&self) -> bool {
        matches!(self.stage, Stage::Running { .. }) && self.execution != Execution::Frontend
    }

    /// When the current wait began.
    pub fn since(&self) -> Option<Timestamp> {
        match (&self.stage, &self.request) {
            (Stage::Asked, Some(request)) => Some(request.asked_at),
            (Stage::Running { since, .. }, _) => Some(*since),
            _ => None,
        }
    }

    /// The deadline of the current wait.
    pub fn deadline(&self) -> Option<Timestamp> {
        match (&self.stage, &self.request) {
            (Stage::Asked, Some(request)) if request.decision.is_none() => request.expires,
            (Stage::Running { deadline, .. }, _) => *deadline,
            _ => None,
        }
    }
}

impl ChatState {
    /// Applies one fact.
    pub fn apply(&mut self, fact: &Fact) {
        let position = self.len;
        self.len += 1;
        match fact {
            Fact::Opened { subject } => self.subject = Some(subject.clone()),
            Fact::Context { messages } => {
                self.messages.extend(messages.iter().map(|message| (message.id.clone(), message.role, position)));
            }
            Fact::Said { message, cut, next } => {
                self.cut(cut.as_ref(), position);
                self.messages.push((message.id.clone(), Role::User, position));
                self.next.extend(*next);
            }
            Fact::Regenerated { cut, next } => {
                self.cut(cut.as_ref(), position);
                self.next.extend(*next);
            }
            Fact::StopRequested { reason, is_superseded } => {
                if let Some(turn) = &mut self.turn {
                    turn.stop = Some(StopRequest { reason: reason.clone(), is_superseded: *is_superseded });
                }
            }
            Fact::TurnStarted { message, order, is_resubmit, .. } => {
                if !self.next.is_empty() {
                    self.next.remove(0);
                }
                self.messages.push((message.clone(), Role::Assistant, position));
                self.turns.push((position, message.clone()));
                self.turn = Some(Turn {
                    message: message.clone(),
                    order: *order,
                    is_resubmit: *is_resubmit,
                    position,
                    steps: 0,
                    spent: Spent::default(),
                    phase: Phase::Model,
                    calls: Vec::new(),
                    block: None,
                    blocks: 0,
                    inputs: Vec::new(),
                    stop: None,
                });
            }
            Fact::TurnEnded { .. } => self.turn = None,
            Fact::Called { call, name, input, execution, wait, returns, origin, by, checked, .. } => {
                let made = Call {
                    name: name.clone(),
                    input: input.clone(),
                    execution: *execution,
                    wait: *wait,
                    returns: *returns,
                    origin: origin.clone(),
                    by: by.clone(),
                    checked: checked.clone(),
                    turn: self.turns.last().map_or(0, |(position, _)| *position),
                    request: None,
                    used: None,
                    resume: None,
                    stage: Stage::Made,
                };
                self.add_call(call, made);
            }
            Fact::Invalid { call, name, input, error, .. } => {
                let made = Call {
                    name: name.clone(),
                    input: input.clone(),
                    execution: Execution::Server,
                    wait: Wait::Stream,
                    returns: Returns::Output,
                    origin: None,
                    by: Caller::Model,
                    checked: None,
                    turn: self.turns.last().map_or(0, |(position, _)| *position),
                    request: None,
                    used: None,
                    resume: None,
                    stage: Stage::Settled { outcome: Outcome::Error(error.clone()), cause: Cause::Refused, position },
                };
                self.add_call(call, made);
            }
            Fact::Asked { call, approval, at, expires, terms } => {
                self.approvals.insert(approval.clone(), call.clone());
                self.change(call, |call| {
                    call.stage = Stage::Asked;
                    call.request = Some(ApprovalRequest {
                        approval: approval.clone(),
                        asked_at: *at,
                        expires: *expires,
                        terms: Arc::clone(terms),
                        is_escalated: false,
                        votes: Vec::new(),
                        decision: None,
                    });
                });
            }
            Fact::Voted { call, by, .. } => self.change_request(call, |request| request.votes.push(by.clone())),
            Fact::Escalated { call, .. } => self.change_request(call, |request| request.is_escalated = true),
            Fact::Decided { call, verdict, reason, .. } => self.change(call, |call| {
                let mut original = None;
                if let Some(input) = verdict.edited_input() {
                    original = JsonDigest::of(&call.input);
                    // It runs with exactly that.
                    call.input.clone_from(input);
                }
                if let Some(request) = &mut call.request {
                    let (verdict, reason) = (verdict.clone(), reason.clone());
                    request.decision = Some(Decided { verdict, reason, position, original, terms: None });
                }
            }),
            Fact::Granted { call, terms, .. } => self.change_request(call, |request| {
                if let Some(decision) = &mut request.decision {
                    decision.terms = Some(Arc::clone(terms));
                }
            }),
            Fact::Used { call, grant, by, .. } => self.change(call, |call| {
                call.used = Some(Use { grant: grant.clone(), by: by.clone() });
            }),
            Fact::Started { call, deadline, at } => {
                self.change(call, |call| call.stage = Stage::Running { since: *at, deadline: *deadline });
            }
            Fact::Settled { call, outcome, cause, .. } => {
                self.change(call, |call| {
                    call.stage = Stage::Settled { outcome: outcome.clone(), cause: *cause, position };
                    call.resume = None;
                });
                self.release_tokens(call);
            }
            Fact::Resumable { call, state } => self.change(call, |call| call.resume.clone_from(state)),
            // What a call outputs on its way decides nothing, and neither do its files.
            Fact::Nothing | Fact::Progressed { .. } | Fact::Stored { .. } | Fact::ModelDelayed { .. } => {}
            Fact::StepStarted
            | Fact::StepEnded { .. }
            | Fact::StepAbandoned
            | Fact::BlockStarted { .. }
            | Fact::BlockDelta { .. }
            | Fact::BlockEnded { .. }
            | Fact::InputStarted { .. }
            | Fact::InputDelta { .. } => self.in_turn(fact),
        }
    }

    fn in_turn(&mut self, fact: &Fact) {
        let Some(turn) = &mut self.turn else { return };
        match fact {
            Fact::StepStarted => {
                turn.steps += 1;
                turn.phase = Phase::Model;
                turn.calls.clear();
                turn.inputs.clear();
            }
            Fact::StepEnded { usage, .. } => {
                turn.phase = Phase::Calls;
                turn.spent.add(*usage);
                self.spent.add(*usage);
            }
            Fact::StepAbandoned if turn.phase == Phase::Model => {
                turn.block = None;
                turn.inputs.clear();
                // The calls never started. They are removed with the step, which a feed does not have, and their ids stay used.
                for call in std::mem::take(&mut turn.calls) {
                    self.calls.remove(&call);
                }
                if let Some(turn) = &mut self.turn {
                    turn.steps = turn.steps.saturating_sub(1);
                }
            }
            Fact::BlockStarted { kind, id } => {
                turn.block = Some((*kind, id.clone()));
                turn.blocks += 1;
            }
            Fact::BlockEnded { .. } => turn.block = None,
            Fact::InputStarted { call, name } => turn.inputs.push(OpenInput {
                theirs: String::new(),
                call: call.clone(),
                name: name.clone(),
                text: String::new(),
            }),
            Fact::InputDelta { call, delta } => turn.write_input(call, delta.text()),
            _ => {}
        }
    }

    fn add_call(&mut self, id: &ToolCallId, call: Call) {
        if let Some(turn) = &mut self.turn {
            turn.inputs.retain(|input| input.call != *id);
            turn.calls.push(id.clone());
            if call.by == Caller::Budget {
                // The model was not called in this step.
                turn.steps = turn.steps.saturating_sub(1);
            }
        }
        self.calls.insert(id.clone(), Arc::new(call));
    }

    fn change(&mut self, id: &ToolCallId, change: impl FnOnce(&mut Call)) {
        if let Some(call) = self.calls.get_mut(id) {
            change(Arc::make_mut(call));
        }
    }

    fn change_request(&mut self, id: &ToolCallId, change: impl FnOnce(&mut ApprovalRequest)) {
        self.change(id, |call| {
            if let Some(request) = &mut call.request {
                change(request);
            }
        });
    }

    /// Calls of the current turn without an outcome, in order.
    pub fn open_calls(&self) -> impl Iterator<Item = (&ToolCallId, &Call)> {
        let ids = self.turn.iter().flat_map(|turn| &turn.calls);
        ids.filter_map(|id| Some((id, &**self.calls.get(id)?))).filter(|(_, call)| !call.is_settled())
    }

    /// Whether something runs on the server: the model or a tool.
    pub fn is_running(&self) -> bool {
        let Some(turn) = &self.turn else { return false };
        turn.phase == Phase::Model || self.open_calls().any(|(_, call)| call.runs_here())
    }

    /// Whether the turn is idle because its last hold expired: it resumes when a client is there.
    pub(super) fn expired_last(&self) -> bool {
        let calls = self.turn.iter().flat_map(|turn| &turn.calls).filter_map(|id| self.calls.get(id));
        let settled = calls.filter_map(|call| match call.stage {
            Stage::Settled { cause, position, .. } => Some((position, cause)),
            _ => None,
        });
        let last = settled.max_by_key(|(position, _)| *position).map(|(_, cause)| cause);
        let is_last = self.next.is_empty() && self.is_idle() && last == Some(Cause::Expired);
        is_last && budget::refusal(self).is_none()
    }

    /// Whether something was added that has consequences which nobody has drawn yet: a decision, the last outcome, a
    /// newer message, a request to stop.
    pub fn is_unfinished(&self) -> bool {
        let is_decided = |call: &Call| call.stage == Stage::Asked && call.is_decided();
        let is_stopped = self.turn.as_ref().is_some_and(|turn| turn.stop.is_some());
        is_stopped || !self.next.is_empty() || self.is_idle() || self.open_calls().any(|(_, call)| is_decided(call))
    }

    /// Whether the turn is idle: all its calls are settled, and the next step has not started.
    pub fn is_idle(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Calls) && self.open_calls().next().is_none()
    }
}
