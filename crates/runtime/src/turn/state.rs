//! A chat's state: the fold of its facts.

use std::{collections::HashMap, sync::Arc};

use holdpoint_protocol::{
    ids::{ApprovalId, MessageId, PartId, ToolCallId},
    message::Role,
};
use serde_json::Value;

use crate::{
    clock::Timestamp,
    fact::{BlockKind, CallOrder, Cause, Fact, NextTurn, Outcome},
    subject::Subject,
    tool::{Execution, Returns, Wait},
    value::MAX_BYTES,
};

/// What the machine knows of a chat.
#[derive(Debug, Clone, Default)]
pub struct ChatState {
    /// How many facts there are.
    pub len: u64,
    /// Whose chat it is; `None` while there is none.
    pub subject: Option<Subject>,
    /// The messages, oldest first, and where each began.
    pub messages: Vec<(MessageId, Role, u64)>,
    /// Every call of the chat.
    pub calls: HashMap<ToolCallId, Arc<Call>>,
    /// Which call each question is about.
    pub approvals: HashMap<ApprovalId, ToolCallId>,
    /// The answer that is being given.
    pub turn: Option<Turn>,
    /// Turns of newer messages that begin when the calls of this one have ended. All but the last are superseded already.
    pub next: Vec<NextTurn>,
    /// Where each turn began, and its message.
    pub turns: Vec<(u64, MessageId)>,
}

/// A call, as the server itself knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// The input that was shown.
    pub input: Value,
    /// Where it runs.
    pub execution: Execution,
    /// How a response waits for it.
    pub wait: Wait,
    /// What its output is.
    pub returns: Returns,
    /// Where the tool came from.
    pub origin: Option<String>,
    /// The call whose tool asks this of the user.
    pub asked_by: Option<ToolCallId>,
    /// Where its turn began.
    pub turn: u64,
    /// The question, if one was asked.
    pub question: Option<ApprovalRequest>,
    /// Where it stands.
    pub stage: Stage,
}

/// A question to a person, and the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// Its id.
    pub approval: ApprovalId,
    /// Why it is asked.
    pub reason: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When it expires.
    pub expires: Option<Timestamp>,
    /// The answer, and where in the log it stands.
    pub answer: Option<(bool, u64)>,
}

/// Where a call stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// The model has made it; nothing was done yet.
    Made,
    /// A person was asked.
    Asked,
    /// It runs, here or in the browser.
    Running {
        /// Since when; older logs do not say.
        since: Option<Timestamp>,
        /// Until when.
        deadline: Option<Timestamp>,
    },
    /// It has its outcome.
    Settled {
        /// The outcome.
        outcome: Outcome,
        /// What settled it.
        cause: Cause,
        /// Where in the log that stands.
        position: u64,
    },
}

/// The answer that is being given.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The assistant message.
    pub message: MessageId,
    /// How calls are taken up.
    pub order: CallOrder,
    /// Whether its responses end at a frontend call.
    pub is_resubmit: bool,
    /// Where it began.
    pub position: u64,
    /// How many times the model was called.
    pub steps: u32,
    /// What it is doing.
    pub phase: Phase,
    /// The calls of the current step, in order.
    pub calls: Vec<ToolCallId>,
    /// The block that is being written.
    pub block: Option<(BlockKind, PartId)>,
    /// How many blocks there were.
    pub blocks: u32,
    /// Inputs that are being written.
    pub inputs: Vec<OpenInput>,
}

/// The input of a call while the model writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenInput {
    /// The model's own id for the call. Not in the log: it is needed only while the model's stream lives.
    pub theirs: String,
    /// The call.
    pub call: ToolCallId,
    /// The tool.
    pub name: String,
    /// What was streamed of it, as far as it may be long.
    pub text: String,
}

impl Turn {
    /// Adds to an input that is being written. What is over the limit of an input is not kept: that call is refused anyway.
    pub(super) fn write_input(&mut self, call: &ToolCallId, delta: &str) {
        if let Some(input) = self.inputs.iter_mut().find(|input| input.call == *call)
            && input.text.len() <= MAX_BYTES
        {
            input.text.push_str(delta);
        }
    }
}

/// What a turn is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The model writes.
    Model,
    /// Calls run or wait. When all are settled it stands still until somebody is there (or the next fact is already on its way).
    Calls,
}

impl Call {
    /// Whether it has its outcome.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Settled { .. })
    }

    /// Whether it waits for somebody: a person, or a browser.
    pub fn is_held(&self) -> bool {
        match self.stage {
            Stage::Asked => true,
            Stage::Running { .. } => self.execution == Execution::Frontend,
            Stage::Made | Stage::Settled { .. } => false,
        }
    }

    /// Whether it runs on the server.
    pub fn runs_here(&self) -> bool {
        matches!(self.stage, Stage::Running { .. }) && self.execution != Execution::Frontend
    }

    /// When it began to wait for what it waits for now, where that is known.
    pub fn since(&self) -> Option<Timestamp> {
        match (&self.stage, &self.question) {
            (Stage::Asked, Some(question)) => Some(question.asked_at),
            (Stage::Running { since, .. }, _) => *since,
            _ => None,
        }
    }

    /// When its time is up.
    pub fn deadline(&self) -> Option<Timestamp> {
        match (&self.stage, &self.question) {
            (Stage::Asked, Some(question)) => question.expires,
            (Stage::Running { deadline, .. }, _) => *deadline,
            _ => None,
        }
    }
}

impl ChatState {
    /// Takes one fact.
    pub fn apply(&mut self, fact: &Fact) {
        let position = self.len;
        self.len += 1;
        match fact {
            Fact::Opened { subject } => self.subject = Some(subject.clone()),
            Fact::Context { messages } => {
                self.messages.extend(messages.iter().map(|message| (message.id.clone(), message.role, position)));
            }
            Fact::Said { message, cut, next } => {
                self.cut(cut.as_ref());
                self.messages.push((message.id.clone(), Role::User, position));
                self.next.extend(*next);
            }
            Fact::Regenerated { cut } => self.cut(cut.as_ref()),
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
                    phase: Phase::Model,
                    calls: Vec::new(),
                    block: None,
                    blocks: 0,
                    inputs: Vec::new(),
                });
            }
            Fact::TurnEnded { .. } => self.turn = None,
            Fact::Called { call, name, input, execution, wait, returns, origin, asked_by, .. } => {
                let made = Call {
                    name: name.clone(),
                    input: input.clone(),
                    execution: *execution,
                    wait: *wait,
                    returns: *returns,
                    origin: origin.clone(),
                    asked_by: asked_by.clone(),
                    turn: self.turns.last().map_or(0, |(position, _)| *position),
                    question: None,
                    stage: Stage::Made,
                };
                self.add_call(call, made);
            }
            Fact::Invalid { call, name, input, error } => {
                let made = Call {
                    name: name.clone(),
                    input: input.clone(),
                    execution: Execution::Server,
                    wait: Wait::Stream,
                    returns: Returns::Output,
                    origin: None,
                    asked_by: None,
                    turn: self.turns.last().map_or(0, |(position, _)| *position),
                    question: None,
                    stage: Stage::Settled { outcome: Outcome::Error(error.clone()), cause: Cause::Refused, position },
                };
                self.add_call(call, made);
            }
            Fact::Asked { call, approval, reason, at, expires } => {
                self.approvals.insert(approval.clone(), call.clone());
                self.change(call, |call| {
                    call.stage = Stage::Asked;
                    call.question = Some(ApprovalRequest {
                        approval: approval.clone(),
                        reason: reason.clone(),
                        asked_at: *at,
                        expires: *expires,
                        answer: None,
                    });
                });
            }
            Fact::Decided { call, approved, .. } => self.change(call, |call| {
                if let Some(question) = &mut call.question {
                    question.answer = Some((*approved, position));
                }
            }),
            Fact::Started { call, deadline, at } => {
                self.change(call, |call| call.stage = Stage::Running { since: *at, deadline: *deadline });
            }
            Fact::Settled { call, outcome, cause, .. } => self.change(call, |call| {
                call.stage = Stage::Settled { outcome: outcome.clone(), cause: *cause, position };
            }),
            Fact::Nothing => {}
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
            Fact::StepEnded { .. } => turn.phase = Phase::Calls,
            Fact::StepAbandoned => {
                turn.block = None;
                turn.inputs.clear();
                // The calls were never begun: they are taken back with the step, and their ids stay used.
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
        }
        self.calls.insert(id.clone(), Arc::new(call));
    }

    fn change(&mut self, id: &ToolCallId, change: impl FnOnce(&mut Call)) {
        if let Some(call) = self.calls.get_mut(id) {
            change(Arc::make_mut(call));
        }
    }

    /// Takes back a message and all that came after it.
    fn cut(&mut self, from: Option<&MessageId>) {
        if let Some(at) = from.and_then(|id| self.messages.iter().position(|(message, ..)| message == id)) {
            self.messages.truncate(at);
        }
    }

    /// Calls of the current turn without an outcome, in order.
    pub fn open_calls(&self) -> impl Iterator<Item = (&ToolCallId, &Call)> {
        let ids = self.turn.iter().flat_map(|turn| &turn.calls);
        ids.filter_map(|id| Some((id, &**self.calls.get(id)?))).filter(|(_, call)| !call.is_settled())
    }

    /// Whether the server itself has something to do: the model writes, or a tool runs here.
    pub fn is_running(&self) -> bool {
        let Some(turn) = &self.turn else { return false };
        turn.phase == Phase::Model || self.open_calls().any(|(_, call)| call.runs_here())
    }

    /// Whether the turn stands still: all calls are settled, and nobody was there to see the last one expire.
    pub fn stands_still(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Calls) && self.open_calls().next().is_none()
    }
}
