//! Answers: decisions and browser results. Each call takes at most one of each.

use std::sync::Arc;

use holdpoint_protocol::{
    holds::DecisionKind,
    ids::{ApprovalId, ToolCallId},
    request::{AckStatus, Answer, ClientResult, DecisionRequest, Verdict},
};
use serde_json::{Value, json};

use super::{Answered, Draft, Env, FrontendResult, calls, grants};
use crate::{
    call::{ApprovalRequest, Call, Decision, Stage},
    fact::{Cause, Fact, Outcome},
    identity::Identity,
    tool::{Execution, InputSchema, Returns},
    value::{admit_input, admit_integers, admit_sized},
};

/// The order in which the answers of one request are taken, so that nothing seems to wait for a browser in between: results of
/// running calls, decisions, and results of calls that these decisions release.
pub(super) fn order(draft: &Draft<'_>, answer: &Answer) -> u8 {
    match answer {
        Answer::Approval { .. } => 1,
        Answer::Result { tool_call_id: id, .. } => {
            if draft.call(id).is_some_and(Call::is_asked) {
                2
            } else {
                0
            }
        }
    }
}

/// Takes an answer. What follows from it is up to the caller, who may take others before: [`calls::advance`].
pub(super) fn take(draft: &mut Draft<'_>, answer: Answer, by: &Identity, env: &mut Env<'_>) -> Answered {
    match answer {
        Answer::Approval { approval_id, approved, reason } => {
            // A stock client knows yes and no. If somebody else has changed the input, that was a yes.
            let is_same = |_: &Call, before: &Decision, _: &Verdict| before.verdict.is_approval() == approved;
            let decision = DecisionRequest { verdict: approved.into(), reason, remember: None };
            take_decision(draft, &approval_id, decision, by, is_same, env)
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

/// Takes a person's decision, from the inbox, and advances the turn.
pub(super) fn decide(
    draft: &mut Draft<'_>,
    approval: &ApprovalId,
    decision: DecisionRequest,
    by: &Identity,
    env: &mut Env<'_>,
) -> Answered {
    let remember = decision.remember.clone();
    let is_same = |call: &Call, before: &Decision, now: &Verdict| match (&before.terms, &remember) {
        (Some(terms), Some(remember)) => call.is_decided_as(now) && terms.are(remember),
        (terms, remember) => call.is_decided_as(now) && terms.is_none() && remember.is_none(),
    };
    let answered = take_decision(draft, approval, decision, by, is_same, env);
    if matches!(answered, Answered::Taken | Answered::Remembered(_) | Answered::TooLate(Cause::Expired)) {
        calls::advance(draft, env);
    }
    answered
}

fn take_decision(
    draft: &mut Draft<'_>,
    approval: &ApprovalId,
    decision: DecisionRequest,
    by: &Identity,
    is_same: impl Fn(&Call, &Decision, &Verdict) -> bool,
    env: &mut Env<'_>,
) -> Answered {
    let DecisionRequest { mut verdict, reason, remember } = decision;
    let Some(id) = draft.state.approvals.get(approval).cloned() else { return Answered::Unknown };
    let Some(call) = draft.call(&id) else { return Answered::Unknown };
    let (Some(request), Some(owner)) = (&call.request, &draft.state.subject) else { return Answered::Unknown };
    if !request.lets_decide(by, owner) {
        let sees_it = by.subject() == owner || by.is_admin();
        return if sees_it { Answered::NotTheirs } else { Answered::Unknown };
    }
    // An edit that changes nothing is an approval.
    if !call.is_edited() && matches!(&verdict, Verdict::Approve { input: Some(input) } if *input == call.input) {
        verdict = Verdict::APPROVE;
    }
    match &call.decision {
        Some(before) if is_same(call, before, &verdict) => return Answered::Again,
        Some(_) => return Answered::Contradicts,
        None => {}
    }
    match call.stage() {
        Stage::Settled(settled) => return Answered::TooLate(settled.cause),
        Stage::Asked(_) => {}
        Stage::Made | Stage::Running(_) => return Answered::Unknown,
    }
    if let Err(refused) = admit_decision(call, request, &verdict, env) {
        return refused;
    }
    let terms = match remember.map(|remember| grants::terms(call, request, &verdict, &remember, by, owner, env)) {
        None => None,
        Some(Ok(terms)) => Some(Arc::new(terms)),
        Some(Err(refused)) => return Answered::NotRemembered(refused),
    };
    let quorum = request.terms.approvers.quorum;
    let votes = u32::try_from(request.votes.len()).unwrap_or(u32::MAX).saturating_add(1);
    let is_vote = verdict.is_approval() && votes < quorum;
    if verdict.is_approval() && request.votes.contains(by.subject()) {
        return Answered::Again;
    }
    // The deadline is compared with the clock, since the expiry may not have been processed yet.
    if calls::expire(draft, &id, env) {
        return Answered::TooLate(Cause::Expired);
    }
    let (by, at) = (by.subject().clone(), env.now);
    if is_vote {
        draft.push(Fact::Voted { call: id, reason, by, at, channel: env.channel });
        return Answered::Voted { votes, quorum };
    }
    draft.push(Fact::Decided {
        call: id.clone(),
        verdict: verdict.clone(),
        reason: reason.clone(),
        by: by.clone(),
        at,
        channel: env.channel,
    });
    let grant = terms.map(|terms| (env.grant_id(), terms));
    if let Some((grant, terms)) = grant.clone() {
        draft.push(Fact::Granted { call: id.clone(), grant, terms, by, at });
    }
    grant.map_or(Answered::Taken, |(grant, _)| Answered::Remembered(grant))
}

/// Does what was decided about the calls of the step: here, on another node, or before the log was cut off. Calls are started
/// first, so that whoever is told of a denial knows whether others go on.
pub(super) fn carry_out(draft: &mut Draft<'_>, env: &mut Env<'_>) {
    let calls = draft.state.turn.iter().flat_map(|turn| &turn.calls);
    let decided = calls.filter_map(|id| {
        let decision = draft.call(id).filter(|call| call.is_asked())?.decision.as_ref()?;
        Some((id.clone(), decision.verdict.clone(), decision.reason.clone()))
    });
    let is_start = |(_, verdict, _): &(ToolCallId, Verdict, _)| matches!(verdict, Verdict::Approve { .. });
    let (started, settled): (Vec<_>, Vec<_>) = decided.partition(is_start);
    for (id, verdict, reason) in started.into_iter().chain(settled) {
        match verdict {
            Verdict::Approve { .. } => calls::start(draft, &id, env),
            Verdict::Deny => calls::settle(draft, &id, Outcome::Denied { reason }, Cause::Decision, env),
            Verdict::Answer { output } => calls::settle(draft, &id, Outcome::Output(output), Cause::Decision, env),
        }
    }
}

/// Checks that a decision may be made of this call: an edited input is checked like the model's own.
fn admit_decision(call: &Call, request: &ApprovalRequest, verdict: &Verdict, env: &Env<'_>) -> Result<(), Answered> {
    let kind = verdict.kind();
    if matches!(kind, DecisionKind::Approve | DecisionKind::Deny) {
        return Ok(());
    }
    // With a quorum nobody may: earlier votes would count for an input that nobody saw.
    if !request.terms.decisions.allow(kind) {
        return Err(Answered::NotAllowed(kind));
    }
    match verdict {
        Verdict::Approve { input: Some(input) } => {
            admit_input(input).map_err(Answered::InvalidInput)?;
            admit_integers(input).map_err(Answered::InvalidInput)?;
            let asked = InputSchema::new(request.terms.schema.clone());
            check_edited(&asked.map_err(|_| Answered::NotAllowed(kind))?, input)?;
            // The tool may have changed since. It is not given what it can't take.
            let tool = env.tools.of_origin(&call.name, call.origin.as_ref());
            tool.map_or(Ok(()), |tool| check_edited(&tool.input, input))
        }
        Verdict::Answer { output } => admit_sized(output).map_err(Answered::InvalidValue),
        Verdict::Approve { input: None } | Verdict::Deny => Ok(()),
    }
}

fn check_edited(schema: &InputSchema, input: &Value) -> Result<(), Answered> {
    schema.check(input).map_err(|text| Answered::UnfitInput { text, pointer: schema.problem_at(input) })
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
    match call.stage() {
        Stage::Made => Answered::Unknown,
        Stage::Asked(_) if call.decision.is_none() => Answered::NeedsApproval,
        Stage::Asked(_) if !is_to_run(call) => Answered::Contradicts,
        // Approved, and not released yet: the result came in the same request.
        Stage::Asked(_) | Stage::Running(_) => {
            let outcome = outcome(id, call, result);
            if let Outcome::Output(output) = &outcome
                && let Err(error) = admit_sized(output)
            {
                return Answered::InvalidValue(error);
            }
            if let (Some(_), Outcome::Output(output)) = (call.by.tool(), &outcome)
                && let Err(unfit) = admit_answer(&call.input, output)
            {
                return unfit;
            }
            if calls::expire(draft, id, env) {
                return Answered::TooLate(Cause::Expired);
            }
            let cause = if result.status == AckStatus::Timeout { Cause::Expired } else { Cause::Result };
            calls::settle(draft, id, outcome, cause, env);
            Answered::Taken
        }
        Stage::Settled(settled) => match settled.cause {
            Cause::Result if is_same(&settled.outcome, id, call, result) => Answered::Again,
            Cause::Result | Cause::Decision | Cause::Ran | Cause::Refused => Answered::Contradicts,
            cause => Answered::TooLate(cause),
        },
    }
}

/// Whether a person has decided that the call runs.
fn is_to_run(call: &Call) -> bool {
    call.decision.as_ref().is_some_and(|decision| matches!(decision.verdict, Verdict::Approve { .. }))
}

/// Checks the answer to a prompt. What is recorded as accepted is what the tool gets.
fn admit_answer(prompt: &Value, output: &Value) -> Result<(), Answered> {
    let unfit = |text: String, pointer: String| Answered::UnfitAnswer { text, pointer };
    let (content, place) = match output.get("action").map(Value::as_str) {
        Some(Some("decline" | "cancel")) => return Ok(()),
        Some(Some("accept")) => (output.get("content").cloned().unwrap_or_else(|| json!({})), "/content"),
        Some(_) => {
            let text = "the action must be \"accept\", \"decline\" or \"cancel\"".to_owned();
            return Err(unfit(text, "/action".to_owned()));
        }
        // A client that knows nothing of actions sends the content.
        None => (output.clone(), ""),
    };
    // A tool of the program may prompt with any schema, also with one that can't be checked.
    let Some(Ok(schema)) = prompt.get("schema").cloned().map(InputSchema::new) else { return Ok(()) };
    schema.check(&content).map_err(|text| unfit(text, format!("{place}{}", schema.problem_at(&content))))
}

/// Whether a result is the outcome that is recorded, as a client's copy of the history has it.
pub(super) fn is_recorded(draft: &Draft<'_>, answer: &Answer) -> bool {
    let Answer::Result { tool_call_id: id, result } = answer else { return false };
    let Some((call, settled)) = draft.call(id).and_then(|call| Some((call, call.settled.as_ref()?))) else {
        return false;
    };
    match (&settled.outcome, result) {
        // A client without denials shows one as an error.
        (Outcome::Denied { reason }, ClientResult::Error(text)) => match settled.told() {
            Outcome::Error(told) => told == *text,
            _ => Outcome::denial_text(reason.as_deref()) == *text,
        },
        (outcome, _) => is_same(outcome, id, call, &frontend_result(result.clone())),
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
