//! The token budget: what a turn and a chat have used, and the question whether to go on.

use holdpoint_protocol::{chunk::FinishReason, ids::ToolCallId};
use serde::{Deserialize, Serialize};

use super::{ChatState, Draft, Env, Stage};
use crate::{
    fact::{Caller, Cause, Checked, Fact, Outcome},
    model::Usage,
    tool::{BUDGET_TOOL, Budget, BudgetScope, Execution, Returns, Spending, Wait},
};

/// The largest integer that every client reads as it is: 2^53 - 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Used tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// All of them.
    used: u64,
    /// Those before the last approval to go on. They count no more.
    released: u64,
}

impl Spent {
    /// Whether nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn add(&mut self, usage: Usage) {
        self.used = self.used.saturating_add(usage.total());
    }

    fn release(&mut self) {
        self.released = self.used;
    }

    /// What a person is told if no more than this may be used without asking. Every browser shows these numbers as they are,
    /// whatever a provider has reported.
    fn over(self, scope: BudgetScope, more: u64) -> Option<Spending> {
        let safe = |number: u64| number.min(MAX_SAFE_INTEGER);
        let limit = self.released.saturating_add(more);
        (self.used >= limit).then(|| Spending { scope, used: safe(self.used), limit: safe(limit), more: safe(more) })
    }
}

impl ChatState {
    /// Lets the turn go on, if this call asked for that and was approved.
    pub(super) fn release_tokens(&mut self, id: &ToolCallId) {
        let Some(call) = self.calls.get(id).filter(|call| call.by == Caller::Budget) else { return };
        if !matches!(call.stage, Stage::Settled { outcome: Outcome::Output(_), .. }) {
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
}

/// The budget that is used up, if any.
pub(super) fn used_up(state: &ChatState, budget: Budget) -> Option<Spending> {
    let turn = state.turn.as_ref().map(|turn| turn.spent).unwrap_or_default();
    let all = [(BudgetScope::Chat, budget.chat, state.spent), (BudgetScope::Turn, budget.turn, turn)];
    all.into_iter().find_map(|(scope, limit, spent)| spent.over(scope, limit?.get()))
}

/// Asks whether the turn may go on: a step with one call, which the model neither made nor sees.
pub(super) fn ask(draft: &mut Draft<'_>, spending: Spending, env: &mut Env<'_>) {
    let (call, name) = (env.call_id(), BUDGET_TOOL.to_owned());
    draft.push(Fact::StepStarted);
    draft.push(Fact::InputStarted { call: call.clone(), name: name.clone() });
    draft.push(Fact::Called {
        call,
        by: Caller::Budget,
        name,
        input: spending.input(),
        execution: Execution::Server,
        wait: Wait::Stream,
        returns: Returns::Output,
        origin: None,
        needs_approval: true,
        checked: Some(Checked { reason: Some(spending.reason()) }),
        at: env.now,
    });
    let (usage, reason) = (Usage::default(), FinishReason::ToolCalls);
    draft.push(Fact::StepEnded { usage, reason, version: None, state: None });
}

/// Why the turn does not go on, if its last question whether it may has another outcome than yes.
pub(super) fn refusal(state: &ChatState) -> Option<String> {
    let calls = state.turn.iter().flat_map(|turn| &turn.calls).filter_map(|id| state.calls.get(id));
    let asked = calls.rev().find(|call| call.by == Caller::Budget)?;
    match &asked.stage {
        Stage::Settled { outcome: Outcome::Output(_), .. } | Stage::Made | Stage::Asked | Stage::Running { .. } => None,
        Stage::Settled { outcome: Outcome::Denied { .. }, .. } => Some("the token budget is used up".to_owned()),
        Stage::Settled { cause: Cause::Expired, .. } => {
            Some("the token budget is used up, and nobody decided in time whether to go on".to_owned())
        }
        Stage::Settled { outcome: Outcome::Error(error), .. } => Some(format!("the token budget is used up: {error}")),
    }
}
