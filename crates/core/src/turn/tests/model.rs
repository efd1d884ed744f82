//! Model output, and the end of a step and of a turn.

use super::*;

const WRITING: &str = "opened, said u1, turn, step";

#[test]
fn text_goes_into_a_block() {
    let delta = || Input::Model(ModelEvent::TextDelta("hi".to_owned()));
    assert_eq!(facts_of(given(WRITING).when(delta())), r#"text, delta "hi""#);
    assert_eq!(facts_of(given("opened, said u1, turn, step, text").when(delta())), r#"delta "hi""#);
}

#[test]
fn a_call_is_checked_before_anybody_hears_of_it() {
    let table = [
        ("pay", json!({"n": 1}), "writing pay, called pay"),
        ("pay", json!({"n": "many"}), r#"writing pay, invalid pay: "many" is not of type "integer" at /n"#),
        ("fly", json!({}), r#"writing fly, invalid fly: there is no tool "fly""#),
    ];
    for (name, input, expected) in table {
        let facts = facts_of(given(WRITING).when(model_calls(name, input)));
        let is_expected = facts.starts_with(expected.split(": ").next().unwrap_or_default());
        assert!(is_expected && (name != "fly" || facts == expected), "{facts}");
    }
}

#[test]
fn a_step_without_calls_ends_the_turn() {
    assert_eq!(facts_of(given(WRITING).when(model_finishes())), "step ended, ended");
}

#[test]
fn after_the_step_its_calls_are_asked_about_or_started() {
    let table = [
        ("opened, said u1, turn, step, called look", "step ended, started look"),
        ("opened, said u1, turn, step, called pay", "step ended, asked pay"),
        ("opened, said u1, turn, step, called open", "step ended, started open"),
        ("opened, said u1, turn, step, called pay, called look", "step ended, asked pay, started look"),
    ];
    for (facts, expected) in table {
        assert_eq!(facts_of(given(facts).when(model_finishes())), expected, "{facts}");
    }
}

/// The model sees the error in its next step.
#[test]
fn a_call_that_was_not_finished_is_invalid() {
    let facts = "opened, said u1, turn, step, writing pay";
    let expected = "invalid pay: the model did not finish this call, step ended, step";
    assert_eq!(facts_of(given(facts).when(model_finishes())), expected);
}

/// Otherwise the model would write the same call again, at full cost, until its steps are used up.
#[test]
fn a_call_that_the_token_limit_cut_off_ends_the_turn() {
    let cut = || model_ends(FinishReason::Length);
    let refused = r#"error "not run: the token limit cut the model's answer off""#;
    let table = [
        (
            "opened, said u1, turn, step, writing pay",
            "invalid pay: the token limit cut this call off, step ended, ended".to_owned(),
        ),
        ("opened, said u1, turn, step, invalid pay", "step ended, ended".to_owned()),
        (
            "opened, said u1, turn, step, called look, writing pay",
            format!(
                "invalid pay: the token limit cut this call off, step ended, settled look by refused: {refused}, ended"
            ),
        ),
        // Only what follows the call was cut off.
        ("opened, said u1, turn, step, called look", "step ended, started look".to_owned()),
    ];
    for (facts, expected) in table {
        assert_eq!(facts_of(given(facts).when(cut())), expected, "{facts}");
    }
}

#[test]
fn a_model_that_fails_closes_what_it_began() {
    let failed = Input::ModelFailed("Out of credit.".to_owned());
    let facts = "opened, said u1, turn, step, text";
    assert_eq!(facts_of(given(facts).when(failed)), "block ended, failed: Out of credit.");
}

#[test]
fn a_chat_has_no_more_holds_than_it_may() {
    let facts = "opened, said u1, turn, step, called pay, called open";
    let refused = r#"settled open by refused: error "not run: this chat has 1 open holds already, which is the limit""#;
    let expected = format!("step ended, asked pay, {refused}");
    assert_eq!(facts_of(given(facts).max_holds(1).when(model_finishes())), expected);
}

#[test]
fn a_turn_has_no_more_steps_than_it_may() {
    let facts = "opened, said u1, turn, step, called look, step ended, started look";
    let done = || tool_done("look", Ok(json!(1)));
    assert_eq!(facts_of(given(facts).when(done())), "settled look by ran: output 1, step");
    let written = facts_of(given(facts).max_steps(1).when(done()));
    assert!(written.starts_with("settled look by ran: output 1, failed: The agent has taken 1 steps"), "{written}");
}
