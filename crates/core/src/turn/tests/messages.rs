//! User messages: new ones, edits and regenerates.

use super::*;
use crate::wire::PlannedTurn;

const ANSWERED: &str = "opened, said u1, turn, step, step ended, ended";
const HELD: &str = "opened, said u1, turn, step, called pay, step ended, asked pay";

#[test]
fn a_message_begins_a_turn() {
    assert_eq!(facts_of(given("").when(say("u1"))), "opened, said u1, turn, step");
    assert_eq!(facts_of(given(ANSWERED).when(say("u2"))), "said u2, turn, step");
}

#[test]
fn the_history_that_a_client_brings_is_context() {
    let body = json!({"messages": [message("u0"), message("u1")]});
    assert_eq!(facts_of(given("").when(request(body))), "opened, context 1, said u1, turn, step");
}

#[test]
fn a_message_that_is_known_is_not_taken_twice() {
    assert_eq!(facts_of(given(ANSWERED).when(say("u1"))), "");
}

#[test]
fn an_edit_takes_the_place_of_its_message() {
    let edit = json!({"messageId": "u1", "messages": [message("u1")]});
    assert_eq!(facts_of(given(ANSWERED).when(request(edit))), "said u1 in place of u1, turn, step");
}

#[test]
fn another_answer_takes_the_place_of_the_last_one() {
    let again = || request(json!({"trigger": "regenerate-message", "messages": []}));
    assert_eq!(facts_of(given(ANSWERED).when(again())), "regenerated answer, turn, step");
    let (facts, reply) = given("").when(again());
    assert_eq!((&*facts, reply), ("", Reply::Rejected(Rejection::NothingToRegenerate)));
}

#[test]
fn a_newer_message_withdraws_what_waits() {
    let expected = "settled pay by superseded: denied, superseded, said u2, turn, step";
    assert_eq!(facts_of(given(HELD).when(say("u2"))), expected);
}

#[test]
fn a_limit_refuses_new_turns_and_loses_nothing() {
    let (facts, reply) = given(HELD).over_the_limit().when(say("u2"));
    assert_eq!((&*facts, reply), ("", Reply::Rejected(Rejection::Limit(Refusal::Turns { limit: 1 }))));
    assert_eq!(facts_of(given(HELD).over_the_limit().when(decide("pay", true))), "approved pay, started pay");
}

#[test]
fn a_message_that_also_approves_waits_for_the_call() {
    let part = json!({
        "type": "tool-pay", "toolCallId": "pay", "state": "approval-responded", "input": {"n": 1},
        "approval": {"id": "pay", "approved": true},
    });
    let answer = json!({"id": "answer", "role": "assistant", "parts": [part]});
    let body = json!({"messages": [message("u1"), answer, message("u2")]});
    assert_eq!(facts_of(given(HELD).when(request(body))), "said u2 for later, approved pay, started pay");
}

/// A repeated message is answered with its own turn, not with the last one.
#[test]
fn a_repeated_message_shows_its_own_answer() {
    let two = "opened, said u1, turn, step, step ended, ended, said u2, turn, step, step ended, ended";
    for (id, from) in [("u1", 2), ("u2", 7)] {
        let (facts, plan) = given(two).plan(say(id));
        assert_eq!((&*facts, plan.from, plan.is_replay), ("", from, true), "{id}");
    }
}

/// Its answer was cut, and the new one has not begun.
#[test]
fn a_repeated_message_waits_for_the_answer_that_was_asked_for() {
    let again = request(json!({"trigger": "regenerate-message", "messages": []}));
    let mut state = Chat::default();
    let open = facts("opened, said u1, turn, step");
    open.iter().for_each(|fact| state.apply(fact));
    let tools = tools();
    let mut env = Env {
        now: START,
        tools: &tools,
        model: "dice",
        max_steps: 3,
        max_holds: 2,
        budget: Budget::default(),
        is_elsewhere: true,
        grants: &[],
        full_of_grants: None,
        unsent: &BTreeSet::new(),
        refuses: None,
        channel: holdpoint_protocol::audit::AuditChannel::Inbox,
        new_id: &mut || "1".to_owned(),
        has_room: &mut |_| true,
    };
    let (_, reply) = step(&mut state, again, &mut env);
    assert!(matches!(reply, Reply::Submitted(_)), "{reply:?}");
    let repeated = say("u1");
    let (facts, reply) = step(&mut state, repeated.clone(), &mut env);
    let plan = ResponsePlan::of(&state, &repeated, &reply).expect("it was accepted");
    assert_eq!((facts, plan.turn), (Vec::new(), PlannedTurn::Next { before: 0 }));
}

/// The chat of the client's message was deleted, and its id is used again.
#[test]
fn a_message_of_another_chat_can_not_be_continued() {
    let part =
        json!({"type": "tool-look", "toolCallId": "strange", "state": "output-available", "input": {}, "output": 1});
    let body = json!({"messages": [message("u1"), {"id": "strange", "role": "assistant", "parts": [part]}]});
    let (facts, reply) = given("opened, said u1, turn, step").when(request(body));
    assert_eq!((&*facts, reply), ("", Reply::Rejected(Rejection::NothingToDo)));
}
