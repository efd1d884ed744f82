//! A chat's state: the one fold of its facts.
//!
//! The [machine](crate::turn) decides by it. It can be partial, with what is needed of the turns before it.

mod calls;
mod messages;
mod spent;
mod turn;

use std::collections::HashMap;

pub use calls::Calls;
use holdpoint_protocol::{
    ids::{ApprovalId, MessageId, ToolCallId},
    message::Role,
};
pub use messages::{Cuts, KnownMessage};
pub use spent::Spent;
pub use turn::{OpenInput, Phase, StopRequest, Turn};

use crate::{
    call::Call,
    fact::{Caller, Fact, NextTurn, Outcome},
    subject::Subject,
    tool::{BudgetScope, Spending},
};

/// The state of a chat.
#[derive(Debug, Clone, Default)]
pub struct Chat {
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
    pub calls: Calls,
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
    /// `approvals` and `turns` have nothing of earlier turns, unless it was added ([`Chat::include`]). See
    /// [`needs_earlier`](crate::turn::needs_earlier).
    pub is_partial: bool,
}

impl Chat {
    /// Applies one fact.
    pub fn apply(&mut self, fact: &Fact) {
        let position = self.len;
        self.len += 1;
        let turn = self.turns.last().map_or(0, |(position, _)| *position);
        self.calls.apply(fact, position, turn);
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
            Fact::Called { call, by, .. } => self.made(call, by),
            Fact::Invalid { call, .. } => self.made(call, &Caller::Model),
            Fact::Asked { call, approval, .. } => drop(self.approvals.insert(approval.clone(), call.clone())),
            Fact::Settled { call, .. } => self.release_tokens(call),
            // What the record of the call says is all that follows from them.
            Fact::Voted { .. }
            | Fact::Escalated { .. }
            | Fact::Decided { .. }
            | Fact::Granted { .. }
            | Fact::Used { .. }
            | Fact::Started { .. }
            | Fact::Stored { .. }
            | Fact::Resumable { .. } => {}
            // What a call outputs on its way decides nothing.
            Fact::Nothing | Fact::Progressed { .. } | Fact::ModelDelayed { .. } => {}
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
                turn.steps = turn.steps.saturating_sub(1);
                // The calls never started. They are removed with the step, which a feed does not have, and their ids stay used.
                let unwritten = turn.inputs.drain(..).map(|input| input.call);
                unwritten.chain(turn.calls.drain(..)).for_each(|call| self.calls.remove(&call));
            }
            Fact::BlockStarted { kind, id } => {
                turn.block = Some((*kind, id.clone()));
                turn.blocks += 1;
            }
            Fact::BlockEnded { .. } => turn.block = None,
            Fact::InputStarted { call, name } => turn.inputs.push(OpenInput {
                provider_call_id: String::new(),
                call: call.clone(),
                name: name.clone(),
                text: String::new(),
            }),
            Fact::InputDelta { call, delta } => turn.write_input(call, delta.text()),
            _ => {}
        }
    }

    /// A call of the current step is complete.
    fn made(&mut self, id: &ToolCallId, by: &Caller) {
        if let Some(turn) = &mut self.turn {
            turn.inputs.retain(|input| input.call != *id);
            turn.calls.push(id.clone());
            if *by == Caller::Budget {
                // The model was not called in this step.
                turn.steps = turn.steps.saturating_sub(1);
            }
        }
    }

    /// Lets the turn go on, if this call asked for that and was approved.
    fn release_tokens(&mut self, id: &ToolCallId) {
        let Some(call) = self.calls.get(id).filter(|call| call.by == Caller::Budget) else { return };
        if !call.settled.as_ref().is_some_and(|settled| matches!(settled.outcome, Outcome::Output(_))) {
            return;
        }
        // What somebody has let the chat use, the turn may use too.
        if Spending::read(&call.input).is_some_and(|spending| spending.scope == BudgetScope::Chat) {
            self.spent.release();
        }
        if let Some(turn) = &mut self.turn {
            turn.spent.release();
        }
    }

    /// Calls of the current turn without an outcome, in order.
    pub fn open_calls(&self) -> impl Iterator<Item = (&ToolCallId, &Call)> {
        let ids = self.turn.iter().flat_map(|turn| &turn.calls);
        ids.filter_map(|id| Some((id, self.calls.get(id)?))).filter(|(_, call)| !call.is_settled())
    }

    /// Whether something runs on the server: the model or a tool.
    pub fn is_running(&self) -> bool {
        let Some(turn) = &self.turn else { return false };
        turn.phase == Phase::Model || self.open_calls().any(|(_, call)| call.runs_here())
    }

    /// Whether something was added that has consequences which nobody has drawn yet: a decision, the last outcome, a
    /// newer message, a request to stop.
    pub fn is_unfinished(&self) -> bool {
        let is_decided = |call: &Call| call.is_asked() && call.decision.is_some();
        let is_stopped = self.turn.as_ref().is_some_and(|turn| turn.stop.is_some());
        is_stopped || !self.next.is_empty() || self.is_idle() || self.open_calls().any(|(_, call)| is_decided(call))
    }

    /// Whether the turn is idle: all its calls are settled, and the next step has not started.
    pub fn is_idle(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Calls) && self.open_calls().next().is_none()
    }
}
