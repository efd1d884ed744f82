//! The token budget: the question whether to go on, and what follows from its answer.

use super::*;

const ASKED: &str = "step, writing continue_turn, called continue_turn, step ended, asked continue_turn";
/// The model has used 100 tokens, and the call of its step runs.
const USED: &str = "opened, said u1, turn, step, called look, step ended 100, started look";

/// A question is open.
fn asking() -> Case {
    let facts = "opened, said u1, turn, step, called look, step ended 100, started look, ran look, step, \
                 called continue_turn, step ended, asked continue_turn";
    given(facts).budget(100, 0)
}

#[test]
fn a_turn_that_has_used_its_tokens_asks_before_the_next_step() {
    let done = || tool_done("look", Ok(json!(1)));
    let then = |next: &str| format!("settled look by ran: output 1, {next}");
    let table = [((0, 0), "step"), ((101, 0), "step"), ((0, 101), "step"), ((100, 0), ASKED), ((0, 100), ASKED)];
    for ((turn, chat), next) in table {
        assert_eq!(facts_of(given(USED).budget(turn, chat).when(done())), then(next), "{turn} {chat}");
    }
}

/// The answer is there, and the tokens are gone: there is nothing to ask.
#[test]
fn a_turn_that_ends_does_not_ask() {
    let facts = "opened, said u1, turn, step";
    assert_eq!(facts_of(given(facts).budget(1, 1).when(model_finishes())), "step ended, ended");
}

#[test]
fn a_chat_that_has_used_its_tokens_asks_before_its_next_turn() {
    let facts = "opened, said u1, turn, step, step ended 100, ended";
    let table = [((0, 100), ASKED), ((0, 101), "step"), ((100, 0), "step")];
    for ((turn, chat), next) in table {
        let written = facts_of(given(facts).budget(turn, chat).when(say("u2")));
        assert_eq!(written, format!("said u2, turn, {next}"), "{turn} {chat}");
    }
}

#[test]
fn a_yes_lets_it_use_as_many_again() {
    let started = facts_of(asking().when(decide("continue_turn", true)));
    assert_eq!(started, "approved continue_turn, started continue_turn");
    let facts = "opened, said u1, turn, step, called look, step ended 100, started look, ran look, step, \
                 called continue_turn, step ended, asked continue_turn, approved continue_turn, started continue_turn";
    let done = || tool_done("continue_turn", Ok(json!({"continued": true})));
    let output = r#"settled continue_turn by ran: output {"continued":true}, step"#;
    assert_eq!(facts_of(given(facts).budget(100, 0).when(done())), output);
    // The step of the question does not count: the model was not called in it.
    assert_eq!(facts_of(given(facts).budget(100, 0).max_steps(2).when(done())), output);
    // The turn was let go on, and the chat was not.
    let asked = facts_of(given(facts).budget(100, 100).when(done()));
    assert!(asked.ends_with(ASKED), "{asked}");
}

#[test]
fn anything_else_ends_the_turn() {
    let denied = facts_of(asking().when(decide("continue_turn", false)));
    assert_eq!(
        denied,
        "denied continue_turn, settled continue_turn by decision: denied, stopped: the token budget is used up"
    );
    for is_watched in [true, false] {
        let late = asking().after(301).when(expired("continue_turn", is_watched));
        let text = r#"settled continue_turn by expired: error "Approval request timed out", "#;
        let end = "stopped: the token budget is used up, and nobody decided in time whether to go on";
        assert_eq!(facts_of(late), format!("{text}{end}"), "{is_watched}");
    }
}

#[test]
fn a_newer_message_takes_its_place() {
    let written = facts_of(asking().when(say("u2")));
    assert_eq!(written, "settled continue_turn by superseded: denied, superseded, said u2, turn, step");
}

/// Otherwise it could let itself go on.
#[test]
fn the_model_can_not_call_it() {
    let facts = "opened, said u1, turn, step";
    let input = json!({"scope": "turn", "used": 1, "limit": 1, "more": 1});
    let written = facts_of(given(facts).budget(1, 1).when(model_calls("continue_turn", input)));
    assert_eq!(written, r#"writing continue_turn, invalid continue_turn: there is no tool "continue_turn""#);
}
