//! The token budget: what a turn and a chat have used, and the question whether to go on.

use holdpoint_protocol::chunk::FinishReason;

use super::{Draft, Env};
use crate::{
    call::Stage,
    chat::Chat,
    fact::{Caller, Cause, Checked, Fact, Outcome},
    model::Usage,
    tool::{BUDGET_TOOL, Budget, BudgetScope, Execution, Returns, Spending, Wait},
};

/// The budget that is used up, if any.
pub(super) fn used_up(state: &Chat, budget: Budget) -> Option<Spending> {
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
pub(super) fn refusal(state: &Chat) -> Option<String> {
    let calls = state.turn.iter().flat_map(|turn| &turn.calls).filter_map(|id| state.calls.get(id));
    let asked = calls.rev().find(|call| call.by == Caller::Budget)?;
    match asked.stage() {
        Stage::Made | Stage::Asked(_) | Stage::Running(_) => None,
        Stage::Settled(settled) => match &settled.outcome {
            Outcome::Output(_) => None,
            Outcome::Denied { .. } => Some("the token budget is used up".to_owned()),
            Outcome::Error(_) if settled.cause == Cause::Expired => {
                Some("the token budget is used up, and nobody decided in time whether to go on".to_owned())
            }
            Outcome::Error(error) => Some(format!("the token budget is used up: {error}")),
        },
    }
}
