//! Facts from the events of the model.

use holdpoint_protocol::{
    chunk::FinishReason,
    ids::{PartId, ToolCallId},
    json,
};
use serde_json::Value;

use super::{CheckedCall, Draft, Env, calls};
use crate::{
    call::Call,
    chat::Phase,
    fact::{BlockKind, Caller, Cause, Checked, Fact, Outcome, TurnEnd},
    model::ModelEvent,
    tool::{ApprovalPolicy, ToolSpec},
    value::{MAX_LEVELS, MAX_NODES, admit_input, admit_integers, excerpt, excerpt_text},
};

/// Handles one event of the model's stream.
pub(super) fn event(draft: &mut Draft<'_>, event: ModelEvent, env: &mut Env<'_>) {
    if draft.state.turn.as_ref().is_none_or(|turn| turn.phase != Phase::Model) {
        return;
    }
    match event {
        ModelEvent::TextStart => drop(open_block(draft, BlockKind::Text)),
        ModelEvent::ReasoningStart => drop(open_block(draft, BlockKind::Reasoning)),
        ModelEvent::TextDelta(delta) => write(draft, BlockKind::Text, &delta),
        ModelEvent::ReasoningDelta(delta) => write(draft, BlockKind::Reasoning, &delta),
        ModelEvent::TextEnd | ModelEvent::ReasoningEnd => close_block(draft),
        ModelEvent::InputStart { id, name } => drop(begin_input(draft, id, name, env)),
        ModelEvent::InputDelta { id, delta } => {
            let begun =
                draft.state.turn.iter().flat_map(|turn| &turn.inputs).find(|input| input.provider_call_id == id);
            if let Some(call) = begun.map(|input| input.call.clone()) {
                match (draft.facts.last_mut(), &mut draft.state.turn) {
                    // The fact is not committed yet, so it may still grow, and the state with it.
                    (Some(Fact::InputDelta { call: last, delta: pieces }), Some(turn)) if *last == call => {
                        pieces.push(&delta);
                        turn.write_input(&call, &delta);
                    }
                    _ => draft.push(Fact::InputDelta { call, delta: (&*delta).into() }),
                }
            }
        }
        ModelEvent::Call { id, name, input } => call(draft, &id, name, input, None, env),
        ModelEvent::Retry { message, delay } => draft.push(Fact::ModelDelayed { message, seconds: delay.as_secs() }),
        ModelEvent::Finish { usage, reason, version, state } => {
            let is_cut = reason == FinishReason::Length;
            let why = if is_cut { "the token limit cut this call off" } else { "the model did not finish this call" };
            calls::stop_writing(draft, why, env);
            draft.push(Fact::StepEnded { usage, reason, version, state: state.map(Box::new) });
            let Some(turn) = &draft.state.turn else { return };
            if turn.calls.is_empty() {
                calls::end(draft, TurnEnd::Finished { reason }, env);
            } else if is_cut && turn.calls.iter().any(|id| draft.call(id).is_some_and(Call::is_settled)) {
                // The model would write the same call again, and be cut off again.
                refuse_open(draft, "not run: the token limit cut the model's answer off", env);
                calls::end(draft, TurnEnd::Finished { reason }, env);
            } else {
                calls::advance(draft, env);
            }
        }
    }
}

/// Handles a call whose tool has checked whether it needs approval.
pub(super) fn checked_call(draft: &mut Draft<'_>, made: CheckedCall, env: &mut Env<'_>) {
    if draft.state.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Model) {
        let CheckedCall { id, name, input, checked } = made;
        call(draft, &id, name, Ok(input), Some(checked), env);
    }
}

fn open_block(draft: &mut Draft<'_>, kind: BlockKind) -> PartId {
    close_block(draft);
    let number = draft.state.turn.as_ref().map_or(0, |turn| turn.blocks);
    let id = PartId::from(&*number.to_string());
    draft.push(Fact::BlockStarted { kind, id: id.clone() });
    id
}

fn close_block(draft: &mut Draft<'_>) {
    if let Some((_, id)) = draft.state.turn.as_ref().and_then(|turn| turn.block.clone()) {
        draft.push(Fact::BlockEnded { id });
    }
}

/// Writes a delta to the open block. Opens one if the model did not.
fn write(draft: &mut Draft<'_>, kind: BlockKind, delta: &str) {
    let open = draft.state.turn.as_ref().and_then(|turn| turn.block.as_ref()).filter(|(open, _)| *open == kind);
    if let (Some((_, id)), Some(Fact::BlockDelta { id: last, delta: pieces })) = (open, draft.facts.last_mut())
        && id == last
    {
        // The fact is not committed yet, so it may still grow.
        return pieces.push(delta);
    }
    let id = match open {
        Some((_, id)) => id.clone(),
        None => open_block(draft, kind),
    };
    draft.push(Fact::BlockDelta { id, delta: delta.into() });
}

fn begin_input(draft: &mut Draft<'_>, provider_call_id: String, name: String, env: &mut Env<'_>) -> ToolCallId {
    close_block(draft);
    // Providers repeat ids or omit them, so the chat uses its own.
    let call = env.call_id();
    draft.push(Fact::InputStarted { call: call.clone(), name });
    if let Some(input) = draft.state.turn.as_mut().and_then(|turn| turn.inputs.last_mut()) {
        input.provider_call_id = provider_call_id;
    }
    call
}

fn call(
    draft: &mut Draft<'_>,
    provider_call_id: &str,
    name: String,
    input: Result<Value, String>,
    checked: Option<Checked>,
    env: &mut Env<'_>,
) {
    close_block(draft);
    let begun = draft.state.turn.iter().flat_map(|turn| &turn.inputs);
    let mut begun = begun.filter(|input| input.provider_call_id == provider_call_id && input.name == name);
    let (call, streamed) = match begun.next().map(|input| (input.call.clone(), input.text.clone())) {
        Some(begun) => begun,
        None => (begin_input(draft, provider_call_id.to_owned(), name.clone(), env), String::new()),
    };
    let input = match input {
        Ok(input) => input,
        Err(text) => {
            let read = json::parse_within(text.as_bytes(), json::JsonLimits { levels: MAX_LEVELS, nodes: MAX_NODES });
            let error = match read {
                Ok(_) => "the input is not a JSON object".to_owned(),
                Err(json::ReadError::Syntax(_)) => "the input is not valid JSON".to_owned(),
                Err(over) => format!("the input can't be used: {over}"),
            };
            let input = excerpt_text(&text);
            return draft.push(Fact::Invalid { call, name, input, error, at: env.now });
        }
    };
    if let Err(error) = admit_input(&input) {
        let error = format!("the input can't be used: {error}");
        return draft.push(Fact::Invalid { call, name, input: excerpt(&input), error, at: env.now });
    }
    if !(env.has_room)(&input) {
        let error = format!("not run: the input {}: make it smaller, or try again later", calls::NO_ROOM);
        return draft.push(Fact::Invalid { call, name, input: excerpt(&input), error, at: env.now });
    }
    let Some(tool) = env.tools.offered(&name) else {
        let error = format!("there is no tool {name:?}");
        return draft.push(Fact::Invalid { call, name, input, error, at: env.now });
    };
    let needs_approval = match (&tool.approval, &checked) {
        (ApprovalPolicy::Check(_), Some(checked)) => checked.reason.is_some(),
        (policy, _) => policy.approval_reason(&input).is_some(),
    };
    match fits(tool, &input, &streamed, needs_approval) {
        Err(error) => draft.push(Fact::Invalid { call, name, input, error, at: env.now }),
        Ok(()) => draft.push(Fact::Called {
            call,
            by: Caller::Model,
            name,
            input,
            needs_approval,
            checked,
            execution: tool.execution,
            wait: tool.wait,
            returns: tool.returns,
            origin: tool.origin.clone(),
            at: env.now,
        }),
    }
}

/// Checks an input against the schema, and that the input people see is the one that runs.
fn fits(spec: &ToolSpec, input: &Value, streamed: &str, needs_approval: bool) -> Result<(), String> {
    spec.input.check(input)?;
    // Some clients render the call from its deltas.
    let is_other = |text: &str| json::parse(text.as_bytes()).ok().as_ref() != Some(input);
    if !streamed.trim().is_empty() && is_other(streamed) {
        return Err("the input that was streamed is not the input of the call".to_owned());
    }
    if needs_approval {
        admit_integers(input).map_err(|error| format!("a person can't approve this input: {error}"))?;
    }
    Ok(())
}

/// Handles a failure of the model: closes what it began, and ends the turn. The chat stays usable.
pub(super) fn failed(draft: &mut Draft<'_>, message: String, env: &mut Env<'_>) {
    if draft.state.turn.as_ref().is_none_or(|turn| turn.phase != Phase::Model) {
        return;
    }
    calls::stop_writing(draft, "the model failed before this call was complete", env);
    refuse_open(draft, "not run: the model failed in the middle of its answer", env);
    calls::end(draft, TurnEnd::Failed { message }, env);
}

fn refuse_open(draft: &mut Draft<'_>, why: &str, env: &Env<'_>) {
    let open: Vec<ToolCallId> = draft.state.open_calls().map(|(id, _)| id.clone()).collect();
    for id in open {
        calls::settle(draft, &id, Outcome::Error(why.to_owned()), Cause::Refused, env);
    }
}
