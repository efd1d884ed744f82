//! The life of a call (asked, started, settled), and the turn's next move.

use std::{sync::Arc, time::Duration};

use holdpoint_protocol::ids::ToolCallId;
use serde_json::{Value, json};

use super::{
    Draft, Env, Reply, answers, budget,
    cut_off::{interrupted, is_repeatable, may_have_run},
    grants,
};
use crate::{
    call::{Call, Stage},
    chat::{Chat, OpenInput, Phase, StopRequest, Turn},
    fact::{CallOrder, Caller, Cause, Fact, NextTurn, Outcome, SUPERSEDED, TurnEnd},
    grants::UsableGrant,
    request_terms::RequestTerms,
    tool::{self, ApprovalPolicy, Execution, PROMPT_TOOL, Returns, StoredFile, ToolSpec, Wait},
    value::admit_sized,
};

/// Asks about or starts every call that is ready, and starts the next step once all are settled.
pub(super) fn advance(draft: &mut Draft<'_>, env: &mut Env<'_>) {
    take_up(draft, env);
    resume_if_idle(draft, env);
}

/// Once all calls are settled, starts the next step, or the next turn if one waits.
pub(super) fn resume_if_idle(draft: &mut Draft<'_>, env: &mut Env<'_>) {
    if env.is_elsewhere || !draft.state.is_idle() {
        return;
    }
    if !draft.state.next.is_empty() {
        draft.push(Fact::TurnEnded { end: TurnEnd::Superseded, at: env.now });
        return begin_last(draft, env);
    }
    if let Some(reason) = budget::refusal(draft.state) {
        return end(draft, TurnEnd::Stopped { reason: Some(reason) }, env);
    }
    let steps = draft.state.turn.as_ref().map_or(0, |turn| turn.steps);
    if steps < env.max_steps {
        next_step(draft, env);
    } else {
        let message = format!("The agent has taken {steps} steps without coming to an end, and was stopped.");
        end(draft, TurnEnd::Failed { message }, env);
    }
}

/// Whether the turn is idle because its last hold expired: it resumes when a client is there.
pub(super) fn expired_last(state: &Chat) -> bool {
    let calls = state.turn.iter().flat_map(|turn| &turn.calls).filter_map(|id| state.calls.get(id));
    let last = calls.filter_map(|call| call.settled.as_ref()).max_by_key(|settled| settled.position);
    let is_expired = last.is_some_and(|settled| settled.cause == Cause::Expired);
    state.next.is_empty() && state.is_idle() && is_expired && budget::refusal(state).is_none()
}

/// Ends a turn by itself. A newer message may have come while the model wrote: the message was stored on another node, and
/// this one was already going on.
pub(super) fn end(draft: &mut Draft<'_>, end: TurnEnd, env: &mut Env<'_>) {
    draft.push(Fact::TurnEnded { end, at: env.now });
    begin_last(draft, env);
}

/// Begins the last waiting turn. The others are opened and ended at once, for the responses that follow them.
fn begin_last(draft: &mut Draft<'_>, env: &mut Env<'_>) {
    while let Some(next) = draft.state.next.first().copied() {
        if draft.state.next.len() == 1 {
            return begin(draft, next, env);
        }
        open_turn(draft, next, env);
        let end = TurnEnd::Stopped { reason: Some("superseded".to_owned()) };
        draft.push(Fact::TurnEnded { end, at: env.now });
    }
}

/// Begins a turn and its first step.
pub(super) fn begin(draft: &mut Draft<'_>, next: NextTurn, env: &mut Env<'_>) {
    open_turn(draft, next, env);
    next_step(draft, env);
}

/// Starts the next step of the model. If a budget is used up, a person is asked first.
fn next_step(draft: &mut Draft<'_>, env: &mut Env<'_>) {
    match budget::used_up(draft.state, env.budget) {
        None => draft.push(Fact::StepStarted),
        Some(spending) => {
            budget::ask(draft, spending, env);
            advance(draft, env);
        }
    }
}

fn open_turn(draft: &mut Draft<'_>, next: NextTurn, env: &mut Env<'_>) {
    let NextTurn { order, holds_text, is_resubmit } = next;
    let message = env.message_id();
    let model = env.model.to_owned();
    let can_ask = env.tools.may_need_approval();
    draft.push(Fact::TurnStarted { message, order, holds_text, can_ask, is_resubmit, model, at: env.now });
}

fn take_up(draft: &mut Draft<'_>, env: &mut Env<'_>) {
    let is_here = |turn: &&Turn| turn.phase == Phase::Calls && !env.is_elsewhere;
    let Some(turn) = draft.state.turn.as_ref().filter(is_here) else { return };
    let (order, calls) = (turn.order, turn.calls.clone());
    answers::carry_out(draft, env);
    for id in calls {
        if draft.call(&id).is_some_and(|call| call.stage() == Stage::Made) {
            ask_or_start(draft, &id, env);
        }
        if order == CallOrder::OneByOne && draft.call(&id).is_some_and(|call| !call.is_settled()) {
            return;
        }
    }
}

fn ask_or_start(draft: &mut Draft<'_>, id: &ToolCallId, env: &mut Env<'_>) {
    let Some(call) = draft.call(id) else { return };
    let tool = env.tools.get(&call.name);
    let reason = tool.and_then(|tool| match (&tool.approval, &call.checked) {
        (ApprovalPolicy::Check(_), Some(checked)) => checked.reason.clone(),
        // The call itself may know it better than the policy does.
        (policy, checked) => {
            let reason = policy.approval_reason(&call.input)?;
            Some(checked.as_ref().and_then(|checked| checked.reason.clone()).unwrap_or(reason))
        }
    });
    let grant = tool.zip(reason.as_ref()).and_then(|(tool, _)| grants::covering(draft, call, tool, env)).cloned();
    let is_hold = reason.is_some() && grant.is_none() || call.execution == Execution::Frontend;
    if is_hold && draft.state.open_calls().filter(|(_, call)| call.is_held()).count() >= env.max_holds {
        let text = format!("not run: this chat has {} open holds already, which is the limit", env.max_holds);
        return settle(draft, id, Outcome::Error(text), Cause::Refused, env);
    }
    let Some((tool, reason)) = tool.zip(reason) else { return start(draft, id, env) };
    if let Some(UsableGrant { id: grant, maker, .. }) = grant {
        draft.push(Fact::Used { call: id.clone(), grant, by: maker, at: env.now });
        return start(draft, id, env);
    }
    let terms = RequestTerms::of(tool, reason).into();
    let expires = tool.expires_after().map(|timeout| env.now.after(timeout));
    let approval = env.approval_id();
    draft.push(Fact::Asked { call: id.clone(), approval, at: env.now, expires, terms });
}

/// Starts a call. A started call is never started a second time, except by recovery if it is idempotent.
pub(super) fn start(draft: &mut Draft<'_>, id: &ToolCallId, env: &mut Env<'_>) {
    let Some(call) = draft.call(id) else { return };
    let origin = call.origin.as_ref();
    let is_approved = call.decision.is_some();
    let deadline = match env.tools.of_origin(&call.name, origin) {
        Some(tool) => {
            (call.execution == Execution::Frontend).then(|| env.now.after(frontend_timeout(tool, &call.input)))
        }
        // The tool's server has not listed its tools yet, so the driver waits. This needs a person's approval, since
        // the tool's own policy is unknown too.
        None if is_approved && env.tools.pending_timeout(origin).is_some() => None,
        // There is no budget any more, so nothing is in the way of the approval.
        None if call.by == Caller::Budget => {
            return settle(draft, id, Outcome::Output(json!({"continued": true})), Cause::Ran, env);
        }
        None => {
            let text = format!("not run: the tool {:?} that was called is not there any more", call.name);
            return settle(draft, id, Outcome::Error(text), Cause::Refused, env);
        }
    };
    draft.push(Fact::Started { call: id.clone(), deadline, at: env.now });
}

/// The call's own `timeoutSec` if the tool's schema has that field, else the tool's timeout.
fn frontend_timeout(spec: &ToolSpec, input: &Value) -> Duration {
    let has_field = spec.input.as_value().pointer("/properties/timeoutSec").is_some();
    let own = input.get("timeoutSec").and_then(Value::as_f64).filter(|seconds| (1.0..=3600.0).contains(seconds));
    own.filter(|_| has_field).map_or(spec.frontend_timeout(), Duration::from_secs_f64)
}

pub(super) fn settle(draft: &mut Draft<'_>, id: &ToolCallId, outcome: Outcome, cause: Cause, env: &Env<'_>) {
    if draft.call(id).is_none_or(Call::is_settled) {
        return;
    }
    // A tool's prompts are settled first: its own outcome is always the last fact about it.
    drop_prompts(draft, id, cause, env);
    let channel = (cause == Cause::Result).then_some(env.channel);
    let is_repeatable = cause == Cause::Interrupted && draft.call(id).is_some_and(|call| is_repeatable(call, env));
    draft.push(Fact::Settled { call: id.clone(), outcome, cause, at: env.now, channel, is_repeatable });
}

/// Settles a tool's open prompts.
pub(super) fn drop_prompts(draft: &mut Draft<'_>, by: &ToolCallId, cause: Cause, env: &Env<'_>) {
    let open: Vec<ToolCallId> =
        draft.state.open_calls().filter(|(_, call)| call.by.tool() == Some(by)).map(|(id, _)| id.clone()).collect();
    for call in open {
        let outcome = Outcome::Error("no longer asked: the tool did not wait for the answer".to_owned());
        draft.push(Fact::Settled { call, outcome, cause, at: env.now, channel: None, is_repeatable: false });
    }
}

/// Prompts the user on behalf of a running tool: a frontend call in the same step, which the model never sees.
pub(super) fn prompt(draft: &mut Draft<'_>, by: &ToolCallId, prompt: tool::Prompt, env: &mut Env<'_>) -> Reply {
    let asks = draft.call(by).filter(|call| matches!(call.stage(), Stage::Running(_)));
    // After a newer message, nobody follows a response of this turn.
    let asks = asks.filter(|_| draft.state.next.is_empty());
    let Some(from) = asks.map(|call| call.name.clone()) else { return Reply::None };
    // A client without the ack can't answer while its response is open. Fail now rather than at the deadline.
    if draft.state.turn.as_ref().is_some_and(|turn| turn.is_resubmit) {
        return Reply::None;
    }
    if draft.state.open_calls().filter(|(_, call)| call.is_held()).count() >= env.max_holds {
        return Reply::None;
    }
    let tool::Prompt { message, schema, timeout } = prompt;
    let input = json!({"message": message, "schema": schema, "from": from});
    if admit_sized(&input).is_err() {
        return Reply::None;
    }
    let call = env.call_id();
    draft.push(Fact::Called {
        call: call.clone(),
        by: Caller::Tool(by.clone()),
        name: PROMPT_TOOL.to_owned(),
        input,
        execution: Execution::Frontend,
        // The tool is running, so the response is open.
        wait: Wait::Stream,
        returns: Returns::Output,
        origin: None,
        needs_approval: false,
        checked: None,
        at: env.now,
    });
    draft.push(Fact::Started { call: call.clone(), deadline: Some(env.now.after(timeout)), at: env.now });
    Reply::Prompted(call)
}

/// Records the progress of a call, unless it has its outcome by now.
pub(super) fn progress(draft: &mut Draft<'_>, call: ToolCallId, output: Value) {
    if draft.call(&call).is_some_and(Call::runs_here) && admit_sized(&output).is_ok() {
        draft.push(Fact::Progressed { call, output });
    }
}

/// Why a value is not kept.
pub(super) const NO_ROOM: &str = "does not fit into the memory that the chats of one user may take at a time";

/// Settles a call whose tool has finished on the server.
pub(super) fn ran(
    draft: &mut Draft<'_>,
    id: &ToolCallId,
    outcome: Result<Value, String>,
    files: Arc<[StoredFile]>,
    env: &mut Env<'_>,
) {
    if draft.call(id).is_some_and(Call::runs_here) {
        let outcome = match outcome {
            Ok(output) => match admit_sized(&output) {
                Ok(()) if (env.has_room)(&output) => Outcome::Output(output),
                Ok(()) => Outcome::Error(format!("The tool ran, but its output {NO_ROOM}")),
                Err(error) => Outcome::Error(format!("The tool ran, but its output can't be used: {error}")),
            },
            Err(error) => Outcome::Error(error),
        };
        if !files.is_empty() && matches!(outcome, Outcome::Output(_)) {
            draft.push(Fact::Stored { call: id.clone(), files });
        }
        settle(draft, id, outcome, Cause::Ran, env);
        advance(draft, env);
    }
}

/// Does what is due about a call: it expires, or it escalates.
pub(super) fn due(draft: &mut Draft<'_>, id: &ToolCallId, is_watched: bool, env: &mut Env<'_>) {
    if !expire(draft, id, env) {
        return escalate(draft, id, env);
    }
    take_up(draft, env);
    // Without the tokens to go on, the turn ends here, whoever is there to see it.
    if is_watched || budget::refusal(draft.state).is_some() {
        resume_if_idle(draft, env);
    }
}

/// Settles a call whose deadline has passed, and returns whether it did. An answered call, or one with a later
/// deadline, is left alone.
pub(super) fn expire(draft: &mut Draft<'_>, id: &ToolCallId, env: &mut Env<'_>) -> bool {
    let Some(call) = draft.call(id).filter(|call| call.deadline().is_some_and(|deadline| deadline <= env.now)) else {
        return false;
    };
    let outcome = match call.stage() {
        Stage::Asked(_) => Outcome::Error("Approval request timed out".to_owned()),
        _ => no_answer(call.returns),
    };
    settle(draft, id, outcome, Cause::Expired, env);
    true
}

/// Adds those of the escalation to those who may decide, once its time has come.
fn escalate(draft: &mut Draft<'_>, id: &ToolCallId, env: &Env<'_>) {
    let asked = draft.call(id).filter(|call| call.is_asked());
    if asked.and_then(Call::escalates_at).is_some_and(|at| at <= env.now) {
        draft.push(Fact::Escalated { call: id.clone(), at: env.now });
    }
}

/// The outcome of a frontend call that gets no result in time.
pub(super) fn no_answer(returns: Returns) -> Outcome {
    match returns {
        Returns::Ack => Outcome::Output(json!({"status": "timeout"})),
        Returns::Output => Outcome::Error("Tool execution timed out: the browser gave no answer in time".to_owned()),
    }
}

/// Acts on what other nodes have appended: decisions, outcomes, a newer message, a request to stop.
pub(super) fn follow(draft: &mut Draft<'_>, is_watched: bool, env: &mut Env<'_>) {
    if env.is_elsewhere {
        return;
    }
    // The turn may have ended by itself when the newer message came.
    let Some(turn) = draft.state.turn.as_ref() else { return begin_last(draft, env) };
    match turn.stop.clone() {
        Some(StopRequest { is_superseded: true, .. }) => {
            stop_writing(draft, "superseded", env);
            supersede_calls(draft, &[], env);
            let end = TurnEnd::Stopped { reason: Some("superseded".to_owned()) };
            draft.push(Fact::TurnEnded { end, at: env.now });
            begin_last(draft, env);
        }
        Some(StopRequest { reason, .. }) => stop(draft, reason, env),
        None => {
            take_up(draft, env);
            if !draft.state.next.is_empty() {
                let open = draft.state.open_calls().filter(|(_, call)| call.runs_here());
                let running: Vec<ToolCallId> = open.map(|(id, _)| id.clone()).collect();
                supersede_calls(draft, &running, env);
            }
            if is_watched || !expired_last(draft.state) {
                resume_if_idle(draft, env);
            }
        }
    }
}

/// Asks the node that runs the turn to end it, unless it has been asked.
pub(super) fn request_stop(draft: &mut Draft<'_>, reason: Option<String>, is_superseded: bool) {
    let is_news = |turn: &Turn| turn.stop.as_ref().is_none_or(|stop| is_superseded && !stop.is_superseded);
    if draft.state.turn.as_ref().is_some_and(is_news) {
        draft.push(Fact::StopRequested { reason, is_superseded });
    }
}

/// Stops the turn and settles its open calls.
pub(super) fn stop(draft: &mut Draft<'_>, reason: Option<String>, env: &mut Env<'_>) {
    if draft.state.turn.is_none() {
        return;
    }
    if env.is_elsewhere {
        return request_stop(draft, reason, false);
    }
    let text = match &reason {
        Some(reason) => format!("stopped: {reason}"),
        None => "stopped by the user".to_owned(),
    };
    stop_writing(draft, &text, env);
    for id in open(draft) {
        let (outcome, cause) = match may_have_run(draft, &id, env) {
            true => interrupted(),
            false => (Outcome::Error(text.clone()), Cause::Stopped),
        };
        settle(draft, &id, outcome, cause, env);
    }
    end_stopped(draft, reason, env);
}

/// Ends the turn in favor of a new one. Holds are denied; running calls are cut off.
pub(super) fn supersede(draft: &mut Draft<'_>, env: &mut Env<'_>) {
    if draft.state.turn.is_none() {
        return;
    }
    let was_running = draft.state.is_running();
    stop_writing(draft, "superseded", env);
    supersede_calls(draft, &[], env);
    if was_running {
        end_stopped(draft, Some("superseded".to_owned()), env);
    } else {
        draft.push(Fact::TurnEnded { end: TurnEnd::Superseded, at: env.now });
    }
}

/// Settles the open calls of the turn, except `kept`.
pub(super) fn supersede_calls(draft: &mut Draft<'_>, kept: &[ToolCallId], env: &mut Env<'_>) {
    for id in open(draft).into_iter().filter(|id| !kept.contains(id)) {
        let Some(call) = draft.call(&id) else { continue };
        let (outcome, cause) = match (call.runs_here(), call.is_approved()) {
            (true, _) if may_have_run(draft, &id, env) => interrupted(),
            (true, _) => (Outcome::Error("stopped: superseded".to_owned()), Cause::Stopped),
            // An approved call was not denied. It just never ran.
            (false, true) => (Outcome::Error(SUPERSEDED.to_owned()), Cause::Superseded),
            (false, false) => (Outcome::Denied { reason: Some("superseded".to_owned()) }, Cause::Superseded),
        };
        settle(draft, &id, outcome, cause, env);
    }
}

/// Ends a stopped turn and all turns that wait for it.
fn end_stopped(draft: &mut Draft<'_>, reason: Option<String>, env: &mut Env<'_>) {
    draft.push(Fact::TurnEnded { end: TurnEnd::Stopped { reason: reason.clone() }, at: env.now });
    while let Some(next) = draft.state.next.first().copied() {
        open_turn(draft, next, env);
        draft.push(Fact::TurnEnded { end: TurnEnd::Stopped { reason: reason.clone() }, at: env.now });
    }
}

fn open(draft: &Draft<'_>) -> Vec<ToolCallId> {
    draft.state.open_calls().map(|(id, _)| id.clone()).collect()
}

/// Closes the block and the inputs that the model is writing.
pub(super) fn stop_writing(draft: &mut Draft<'_>, why: &str, env: &Env<'_>) {
    let Some(turn) = &mut draft.state.turn else { return };
    let inputs = std::mem::take(&mut turn.inputs);
    if let Some((_, id)) = turn.block.clone() {
        draft.push(Fact::BlockEnded { id });
    }
    for OpenInput { call, name, .. } in inputs {
        draft.push(Fact::Invalid { call, name, input: Value::Null, error: why.to_owned(), at: env.now });
    }
}
