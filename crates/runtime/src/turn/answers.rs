//! Answers: a person's decision, a browser's result. Each question takes one, ever.

use holdpoint_protocol::{
    ids::{ApprovalId, ToolCallId},
    request::AckStatus,
};
use serde_json::Value;

use super::{Answered, Call, Draft, Env, FrontendResult, Stage, calls};
use crate::{
    fact::{Cause, Fact, Outcome},
    subject::Subject,
    tool::{Execution, Returns},
};

/// A person's decision.
pub(super) fn decision(
    draft: &mut Draft<'_>,
    approval: &ApprovalId,
    approved: bool,
    reason: Option<String>,
    by: Subject,
    env: &mut Env<'_>,
) -> Answered {
    let Some(id) = draft.state.approvals.get(approval).cloned() else { return Answered::Unknown };
    let Some(call) = draft.call(&id) else { return Answered::Unknown };
    match call.question.as_ref().and_then(|question| question.answer) {
        Some((before, _)) if before == approved => return Answered::Again,
        Some(_) => return Answered::Contradicts,
        None if call.stage != Stage::Asked => return Answered::TooLate,
        None => {}
    }
    // The deadline counts from the clock, not from when somebody got round to looking at it.
    if call.deadline().is_some_and(|deadline| deadline <= env.now) {
        calls::expired(draft, &id, true, env);
        return Answered::TooLate;
    }
    draft.push(Fact::Decided { call: id.clone(), approved, reason: reason.clone(), by, at: env.now });
    if approved {
        calls::start(draft, &id, env);
    } else {
        calls::settle(draft, &id, Outcome::Denied { reason }, Cause::Decision, env);
    }
    calls::advance(draft, env);
    Answered::Taken
}

/// A browser's result.
pub(super) fn result(draft: &mut Draft<'_>, id: &ToolCallId, result: &FrontendResult, env: &mut Env<'_>) -> Answered {
    let Some(call) = draft.call(id).filter(|call| call.execution == Execution::Frontend) else {
        return Answered::Unknown;
    };
    match &call.stage {
        Stage::Made => Answered::Unknown,
        Stage::Asked => Answered::NeedsApproval,
        Stage::Running { .. } if call.deadline().is_some_and(|deadline| deadline <= env.now) => {
            calls::expired(draft, id, true, env);
            Answered::TooLate
        }
        Stage::Running { .. } => {
            let outcome = outcome(id, call, result);
            let cause = if result.status == AckStatus::Timeout { Cause::Expired } else { Cause::Result };
            calls::settle(draft, id, outcome, cause, env);
            calls::advance(draft, env);
            Answered::Taken
        }
        Stage::Settled { outcome: before, cause: Cause::Result, .. } => {
            if is_same(before, id, call, result) {
                Answered::Again
            } else {
                Answered::Contradicts
            }
        }
        Stage::Settled { cause: Cause::Decision | Cause::Ran | Cause::Refused, .. } => Answered::Contradicts,
        Stage::Settled { .. } => Answered::TooLate,
    }
}

/// Takes a result that came together with a new message: the call gets its outcome, and the turn goes no further.
pub(super) fn keep_result(draft: &mut Draft<'_>, id: &ToolCallId, result: &FrontendResult, env: &Env<'_>) {
    let runs = |call: &&Call| call.execution == Execution::Frontend && matches!(call.stage, Stage::Running { .. });
    if let Some(outcome) = draft.call(id).filter(runs).map(|call| outcome(id, call, result)) {
        calls::settle(draft, id, outcome, Cause::Result, env);
    }
}

/// Whether a result says what was recorded: when it was asked for does not matter, and a client may echo our own output.
fn is_same(before: &Outcome, id: &ToolCallId, call: &Call, result: &FrontendResult) -> bool {
    let bare = |outcome: &Outcome| match outcome {
        Outcome::Output(Value::Object(ack)) if call.returns == Returns::Ack => {
            let mut ack = ack.clone();
            ack.retain(|key, value| key != "requestedAt" && !value.is_null());
            Outcome::Output(Value::Object(ack))
        }
        other => other.clone(),
    };
    let echoed = result.output.clone().map(Outcome::Output);
    bare(before) == bare(&outcome(id, call, result)) || echoed.as_ref() == Some(before)
}

fn outcome(id: &ToolCallId, call: &Call, result: &FrontendResult) -> Outcome {
    match (result.status, call.returns) {
        (AckStatus::Timeout, returns) => calls::no_answer(returns),
        (_, Returns::Ack) => Outcome::Output(match &result.ack {
            Some(ack) => ack.clone(),
            None => wrapped(id, result),
        }),
        (AckStatus::Success, Returns::Output) => Outcome::Output(result.output.clone().unwrap_or(Value::Null)),
        (AckStatus::Failed, Returns::Output) => {
            let text = result.error_text.clone().filter(|text| !text.is_empty());
            Outcome::Error(text.unwrap_or_else(|| "The browser could not run the tool".to_owned()))
        }
    }
}

/// A result that came in a message or frame, in the shape of an ack.
fn wrapped(id: &ToolCallId, result: &FrontendResult) -> Value {
    let mut ack = serde_json::Map::new();
    ack.insert("toolCallId".to_owned(), Value::from(id.as_str()));
    match result.status {
        AckStatus::Success => {
            ack.insert("status".to_owned(), Value::from("success"));
            ack.insert("output".to_owned(), result.output.clone().unwrap_or(Value::Null));
        }
        AckStatus::Failed | AckStatus::Timeout => {
            ack.insert("status".to_owned(), Value::from("failed"));
            ack.insert("errorText".to_owned(), result.error_text.clone().map_or(Value::Null, Value::from));
        }
    }
    Value::Object(ack)
}
