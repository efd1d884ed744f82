//! A turn that another node runs: an input adds what happened, and the node that runs the turn does what follows.

use super::*;

/// A payment waits while another tool runs.
const RUNS: &str = "opened, said u1, turn, step, called pay, called look, step ended, asked pay, started look";
const WRITES: &str = "opened, said u1, turn, step, text";

fn and(facts: &str, more: &str) -> &'static str {
    format!("{facts}, {more}").leak()
}

#[test]
fn only_what_happened_is_added() {
    let table = [
        (RUNS, decide("pay", true), "approved pay"),
        (RUNS, decide("pay", false), "denied pay"),
        (RUNS, expired("pay", true), ""),
        (RUNS, Input::Stop { reason: None }, "stop requested"),
        (RUNS, say("u2"), "said u2 for later, stop requested: superseded"),
        (WRITES, Input::Stop { reason: None }, "stop requested"),
        (WRITES, say("u2"), "said u2 for later, stop requested: superseded"),
        (WRITES, Input::ResumeIdle, ""),
        (WRITES, Input::Recover, ""),
        (RUNS, Input::Recover, ""),
        (and(RUNS, "approved pay, stop"), Input::Follow { is_watched: true }, ""),
    ];
    for (facts, input, expected) in table {
        assert_eq!(facts_of(given(facts).elsewhere().when(input)), expected);
    }
    let late = given(RUNS).after(TIMEOUT.as_secs() + 1).elsewhere().when(expired("pay", true));
    assert!(facts_of(late).starts_with("settled pay by expired"), "and nothing more");
    let decided = given(and(RUNS, "approved pay")).after(TIMEOUT.as_secs() + 1).when(expired("pay", true));
    assert_eq!(facts_of(decided), "", "a decision is never overtaken by the deadline");
    let again = given(and(RUNS, "stop")).elsewhere().when(Input::Stop { reason: None });
    assert_eq!(facts_of(again), "", "it was asked before");
}

#[test]
fn the_node_that_runs_the_turn_does_what_follows() {
    let table = [
        (and(RUNS, "approved pay"), "started pay"),
        (and(RUNS, "denied pay"), "settled pay by decision: denied"),
        (and(RUNS, "ran look, denied pay"), "settled pay by decision: denied, step"),
        (RUNS, ""),
        (WRITES, ""),
        (and(WRITES, "stop"), "block ended, stopped"),
    ];
    for (facts, expected) in table {
        assert_eq!(facts_of(given(facts).when(Input::Follow { is_watched: false })), expected, "{facts}");
    }
}

/// The newer message gets its answer on the node that ran the turn before, or on the one that takes over.
#[test]
fn a_superseded_turn_ends_and_the_next_one_begins() {
    for input in [Input::Follow { is_watched: false }, Input::Recover] {
        let written = facts_of(given(and(WRITES, "said u2 for later, stop superseded")).when(input));
        assert_eq!(written, "block ended, stopped: superseded, turn, step");
    }
}

/// The turn ends by itself at the moment at which another node stores a newer message: that is answered all the same.
#[test]
fn a_message_that_came_at_the_end_of_a_turn_is_answered() {
    let ended = and(WRITES, "said u2 for later, stop superseded, block ended, step ended, ended");
    assert_eq!(facts_of(given(ended).when(Input::Follow { is_watched: false })), "turn, step");
    assert_eq!(facts_of(given(ended).elsewhere().when(Input::Follow { is_watched: false })), "");
    let several = and(ended, "said u3 for later");
    let written = facts_of(given(several).when(Input::Follow { is_watched: false }));
    assert_eq!(written, "turn, stopped: superseded, turn, step");
}

/// A turn whose last hold expired waits for a client, on any node.
#[test]
fn an_expiry_that_nobody_sees_resumes_nothing() {
    let facts = and(RUNS, "ran look, expired pay");
    assert_eq!(facts_of(given(facts).when(Input::Follow { is_watched: false })), "");
    assert_eq!(facts_of(given(facts).when(Input::Follow { is_watched: true })), "step");
}

#[test]
fn a_stop_that_the_node_did_not_live_to_see_is_carried_out() {
    let written = facts_of(given(and(WRITES, "stop")).when(Input::Recover));
    assert_eq!(written, "block ended, stopped");
    let written = facts_of(given(and(RUNS, "stop")).when(Input::Recover));
    assert!(written.contains("look by interrupted") && written.ends_with("stopped"), "{written}");
}

/// The message was stored on another node while this one was about to call the model.
#[test]
fn a_message_that_came_while_the_model_wrote_is_answered() {
    let late = "opened, said u1, turn, step, said u2 for later";
    assert_eq!(facts_of(given(late).when(model_finishes())), "step ended, ended, turn, step");
    let failed = facts_of(given(late).when(Input::ModelFailed("no luck".to_owned())));
    assert!(failed.ends_with(", turn, step"), "{failed}");
}
