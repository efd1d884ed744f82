//! Answers: decisions and browser results. Each call takes at most one of each.

use holdpoint_protocol::{
    ids::{ApprovalId, ToolCallId},
    request::{AckStatus, Answer, ClientResult},
};
use serde_json::Value;

use super::{Answered, Call, Draft, Env, FrontendResult, Stage, calls};
use crate::{
    fact::{Cause, Fact, Outcome},
    subject::Subject,
    tool::{Execution, Returns},
    value::admit_sized,
};

/// Takes an answer and advances the turn.
pub(super) fn answer(draft: &mut Draft<'_>, answer: Answer, by: &Subject, env: &mut Env<'_>) -> Answered {
    let answered = take(draft, answer, by, env);
    if matches!(answered, Answered::Taken | Answered::TooLate(Cause::Expired)) {
        calls::advance(draft, env);
    }
    answered
}

/// Takes an answer without advancing the turn.
pub(super) fn take(draft: &mut Draft<'_>, answer: Answer, by: &Subject, env: &mut Env<'_>) -> Answered {
    match answer {
        Answer::Approval { approval_id, approved, reason } => {
            decision(draft, &approval_id, approved, reason, by.clone(), env)
        }
        Answer::Result { tool_call_id, result } => take_result(draft, &tool_call_id, &frontend_result(result), env),
    }
}

fn frontend_result(result: ClientResult) -> FrontendResult {
    match result {
        ClientResult::Output(output) => {
            FrontendResult { status: AckStatus::Success, output: Some(output), error_text: None, ack: None }
        }
        ClientResult::Error(text) => {
            FrontendResult { status: AckStatus::Failed, output: None, error_text: Some(text), ack: None }
        }
    }
}

/// A person's decision.
fn decision(
    draft: &mut Draft<'_>,
    approval: &ApprovalId,
    approved: bool,
    reason: Option<String>,
    by: Subject,
    env: &mut Env<'_>,
) -> Answered {
    let Some(id) = draft.state.approvals.get(approval).cloned() else { return Answered::Unknown };
    let Some(call) = draft.call(&id) else { return Answered::Unknown };
    match call.request.as_ref().and_then(|request| request.answer) {
        Some((before, _)) if before == approved => return Answered::Again,
        Some(_) => return Answered::Contradicts,
        None => {}
    }
    match call.stage {
        Stage::Settled { cause, .. } => return Answered::TooLate(cause),
        Stage::Asked => {}
        Stage::Made | Stage::Running { .. } => return Answered::Unknown,
    }
    // The deadline is compared with the clock, since the expiry may not have been processed yet.
    if calls::expire(draft, &id, env) {
        return Answered::TooLate(Cause::Expired);
    }
    draft.push(Fact::Decided { call: id.clone(), approved, reason: reason.clone(), by, at: env.now });
    if env.is_elsewhere {
        return Answered::Taken;
    }
    if approved {
        calls::start(draft, &id, env);
    } else {
        calls::settle(draft, &id, Outcome::Denied { reason }, Cause::Decision, env);
    }
    Answered::Taken
}

/// A browser's result, by ack or frame.
pub(super) fn result(draft: &mut Draft<'_>, id: &ToolCallId, result: &FrontendResult, env: &mut Env<'_>) -> Answered {
    let answered = take_result(draft, id, result, env);
    if matches!(answered, Answered::Taken | Answered::TooLate(Cause::Expired)) {
        calls::advance(draft, env);
    }
    answered
}

fn take_result(draft: &mut Draft<'_>, id: &ToolCallId, result: &FrontendResult, env: &mut Env<'_>) -> Answered {
    let Some(call) = draft.call(id) else { return Answered::Unknown };
    match call.execution {
        Execution::Frontend => {}
        Execution::Delegate => return Answered::NotAwaited,
        Execution::Server => return Answered::Unknown,
    }
    match &call.stage {
        Stage::Made => Answered::Unknown,
        Stage::Asked => Answered::NeedsApproval,
        Stage::Running { .. } => {
            let outcome = outcome(id, call, result);
            if let Outcome::Output(output) = &outcome
                && let Err(error) = admit_sized(output)
            {
                return Answered::InvalidValue(error);
            }
            if calls::expire(draft, id, env) {
                return Answered::TooLate(Cause::Expired);
            }
            let cause = if result.status == AckStatus::Timeout { Cause::Expired } else { Cause::Result };
            calls::settle(draft, id, outcome, cause, env);
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
        Stage::Settled { cause, .. } => Answered::TooLate(*cause),
    }
}

/// Whether a result equals the recorded outcome. `requestedAt` is ignored, and a client may echo our own output.
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
