//! A chat that begins at its last turn decides as one that has all of them, whenever it says that it needs no others; and what the model
//! is sent is the same, whether it comes from the facts or from what was stored of them turn by turn.

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_protocol::request::{AckStatus, DecisionRequest};
use holdpoint_runtime::{
    Identity,
    chat::Chat,
    fact::{CallOrder, Fact, NextTurn},
    turn::{EarlierId, FrontendResult, Input, NeedsEarlier, Reply, Submit, needs_earlier, step},
    wire::{Conversation, Passage, Response, ResponsePlan, Resume, conversation},
};
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Value, json};

use crate::{
    ai_sdk,
    world::{World, shown},
};

/// Where turns begin: behind the end of the one before.
fn boundaries(facts: &[Arc<Fact>]) -> Vec<usize> {
    let begun = facts.iter().enumerate().filter(|(_, fact)| matches!(***fact, Fact::TurnStarted { .. }));
    let behind = |begun: usize| facts[..begun].iter().rposition(|fact| matches!(**fact, Fact::TurnEnded { .. }));
    begun.filter_map(|(begun, _)| Some(behind(begun)? + 1)).collect()
}

/// The partial state at the last boundary, made from the one at the boundary before, and so on.
fn partial(facts: &[Arc<Fact>]) -> Option<(usize, Chat)> {
    let (mut at, mut state) = (0, Chat::default());
    for boundary in boundaries(facts) {
        facts[at..boundary].iter().for_each(|fact| state.apply(fact));
        (at, state) = (boundary, state.into_partial());
    }
    (at > 0).then_some((at, state))
}

/// The ids that the log finds in what comes before a position.
fn known(facts: &[Arc<Fact>]) -> HashSet<String> {
    let mut known = HashSet::new();
    for fact in facts {
        match &**fact {
            Fact::Said { message, .. } => drop(known.insert(message.id.to_string())),
            Fact::Context { messages } => known.extend(messages.iter().map(|message| message.id.to_string())),
            Fact::TurnStarted { message, .. } => drop(known.insert(message.to_string())),
            Fact::Called { call, .. } | Fact::Invalid { call, .. } => drop(known.insert(call.to_string())),
            Fact::Asked { approval, .. } => drop(known.insert(approval.to_string())),
            _ => {}
        }
    }
    known
}

/// What somebody could ask for now, about anything that ever was in the chat.
fn inputs(world: &World) -> Vec<Input> {
    let mut inputs = vec![Input::Stop { reason: None }, Input::ResumeIdle, Input::Recover];
    let submit = |body: Value| {
        let next = NextTurn { order: CallOrder::Together, holds_text: true, is_resubmit: false };
        let request = serde_json::from_value(body).expect("a valid body");
        Input::Submit(Arc::new(Submit { request, by: Identity::local(), next }))
    };
    let said = |id: &str| json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "again"}]});
    inputs.push(submit(json!({"messages": [said("never seen")]})));
    inputs.push(submit(json!({"trigger": "regenerate-message", "messages": []})));
    for (approval, call) in &world.state.approvals {
        let decision = DecisionRequest::from(true);
        inputs.push(Input::Decide { approval: approval.clone(), decision, by: Arc::new(Identity::local()) });
        let message =
            world.state.turns.iter().find(|(at, _)| world.state.calls.get(call).is_some_and(|call| call.turn == *at));
        for id in [message.map(|(_, id)| id.to_string()), None] {
            let approval = json!({"id": approval, "approved": true});
            let part = json!({"type": "tool-pay", "toolCallId": call, "state": "approval-responded", "input": {}, "approval": approval});
            inputs.push(submit(json!({"messages": [{"id": id, "role": "assistant", "parts": [part]}]})));
        }
    }
    for (call, _) in world.state.calls.iter() {
        let result = FrontendResult { status: AckStatus::Success, output: Some(json!(1)), error_text: None, ack: None };
        inputs.push(Input::Result { call: call.clone(), result: Arc::new(result) });
    }
    let all = known(&world.facts);
    for id in all.iter().filter(|id| id.starts_with('u') || id.starts_with("msg")) {
        inputs.push(submit(json!({"messages": [said(id)]})));
        inputs.push(submit(json!({"messages": [said(id)], "messageId": id})));
        inputs.push(submit(json!({"trigger": "regenerate-message", "messages": [], "messageId": id})));
        inputs.push(submit(
            json!({"messages": [{"id": id, "role": "assistant", "parts": [{"type": "text", "text": "x"}]}]}),
        ));
    }
    inputs
}

/// Adds the turn of an id to a state that lacks it, as it is found in the log. Returns whether it is known which of its
/// messages were cut.
fn include(origin: &mut Chat, now: &Chat, facts: &[Arc<Fact>], written: &[Arc<Fact>], id: &EarlierId) -> bool {
    let Some(at) = written.iter().rposition(|fact| id.is_of(fact)) else { return true };
    let ended = |fact: &Arc<Fact>| matches!(**fact, Fact::TurnEnded { .. });
    let first = written[..at].iter().rposition(ended).map_or(0, |ended| ended + 1);
    let end = written[at..].iter().position(ended).map_or(written.len(), |ended| at + ended + 1);
    origin.include(first as u64, &facts[first..end]);
    now.knows_cuts_of(first as u64, &facts[first..end])
}

/// Whether a state that has one earlier turn after the other added, as far as the input refers to them, is sufficient.
fn look_back(world: &World, origin: &mut Chat, facts: &[Arc<Fact>], at: usize, input: &Input) -> Option<Chat> {
    let fold = |origin: &Chat| {
        let mut state = origin.clone();
        facts[at..].iter().for_each(|fact| state.apply(fact));
        state
    };
    let mut tried = Vec::new();
    loop {
        let state = fold(origin);
        let NeedsEarlier::If(ids) = needs_earlier(&state, input) else { return None };
        let Some(id) = ids.into_iter().find(|id| !tried.contains(id)) else { return Some(state) };
        let is_clear = include(origin, &state, &facts[..at], &world.facts[..at], &id);
        if !is_clear && matches!(input, Input::Submit(_)) {
            return None;
        }
        tried.push(id);
    }
}

/// Returns how many inputs were decided without all earlier turns.
pub(crate) fn check(world: &World) -> Result<usize, TestCaseError> {
    let facts = shown(&world.facts);
    let Some((at, mut origin)) = partial(&facts) else { return Ok(0) };
    let mut state = origin.clone();
    facts[at..].iter().for_each(|fact| state.apply(fact));
    let mut all = Chat::default();
    facts.iter().for_each(|fact| all.apply(fact));
    prop_assert_eq!((&state.turn, &state.next), (&all.turn, &all.next));
    let mut decided = 0;
    for input in inputs(world) {
        // On its own, and after what other inputs have needed.
        for included in [&mut origin.clone(), &mut origin] {
            let Some(mut partial) = look_back(world, included, &facts, at, &input) else { continue };
            let mut whole = all.clone();
            let of_partial = world.with_env(|env| step(&mut partial, input.clone(), env));
            let of_whole = world.with_env(|env| step(&mut whole, input.clone(), env));
            let plan_of = |chat: &Chat, reply: &Reply| ResponsePlan::of(chat, &input, reply);
            let plans = (plan_of(&partial, &of_partial.1), plan_of(&whole, &of_whole.1));
            prop_assert_eq!(plans.0, plans.1, "the response to {:?} of {:#?}", input, world.facts);
            prop_assert_eq!(of_partial, of_whole, "{:?} of {:#?}", input, world.facts);
            decided += 1;
        }
    }
    for resume in [Resume::Message, Resume::Segment] {
        let (mut of_partial, mut of_whole) = (Vec::new(), Vec::new());
        let partial = Response::resume_from(&origin, &facts[at..], ai_sdk(), resume);
        let whole = Response::resume(&facts, ai_sdk(), resume);
        prop_assert_eq!(partial.is_some(), whole.is_some());
        if let (Some(mut partial), Some(mut whole)) = (partial, whole) {
            partial.begin_at(at as u64);
            let _ = partial.take(facts[at..].iter().map(|fact| &**fact), &mut of_partial);
            let _ = whole.take(facts.iter().map(|fact| &**fact), &mut of_whole);
            prop_assert_eq!(of_partial, of_whole);
        }
    }
    Ok(decided)
}

/// The conversation from passages, each of one or more turns, is that of the facts.
pub(crate) fn check_conversation(world: &World) -> Result<(), TestCaseError> {
    let facts = shown(&world.facts);
    for every in [1, 2] {
        let (mut at, mut read) = (0, Conversation::default());
        for boundary in boundaries(&facts).into_iter().step_by(every) {
            let stored = serde_json::to_vec(&Passage::of(&facts[at..boundary])).expect("JSON");
            read.add(serde_json::from_slice(&stored).expect("it is read"));
            at = boundary;
        }
        prop_assert_eq!(read.followed_by(&facts[at..]), conversation(&facts), "{:#?}", facts);
    }
    Ok(())
}
