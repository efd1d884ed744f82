//! Decisions: each approval request takes exactly one.

use super::*;

const HELD: &str = "opened, said u1, turn, step, called pay, step ended, asked pay";

#[test]
fn a_decision_releases_or_denies() {
    assert_eq!(facts_of(given(HELD).when(decide("pay", true))), "approved pay, started pay");
    assert_eq!(facts_of(given(HELD).when(decide("pay", false))), "denied pay, settled pay by decision: denied, step");
}

#[test]
fn what_a_second_decision_is_told() {
    let table = [
        ("the same", "approved pay, started pay", decide("pay", true), Answered::Again),
        ("another", "approved pay, started pay", decide("pay", false), Answered::Contradicts),
        ("the same, after it ran", "approved pay, started pay, ran pay", decide("pay", true), Answered::Again),
        ("about nothing", "approved pay, started pay", decide("gone", true), Answered::Unknown),
    ];
    for (name, then, input, expected) in table {
        let facts: &'static str = format!("{HELD}, {then}").leak();
        assert_eq!(given(facts).when(input), (String::new(), Reply::Answered(expected)), "{name}");
    }
}

/// A late decision still shows that a client is there: the idle turn resumes.
#[test]
fn a_decision_that_is_too_late_resumes_the_turn() {
    let facts: &'static str = format!("{HELD}, expired pay").leak();
    let expected = ("step".to_owned(), Reply::Answered(Answered::TooLate(Cause::Expired)));
    assert_eq!(given(facts).when(decide("pay", true)), expected);
}

#[test]
fn a_call_that_was_never_asked_about_can_not_be_approved() {
    let facts = "opened, said u1, turn, step, called look, step ended, started look";
    let (facts, reply) = given(facts).when(decide("look", true));
    assert_eq!((&*facts, reply), ("", Reply::Answered(Answered::Unknown)));
}

#[test]
fn the_model_goes_on_when_the_last_call_is_settled() {
    let facts = "opened, said u1, turn, step, called pay, called look, step ended, asked pay, started look";
    assert_eq!(facts_of(given(facts).when(tool_done("look", Ok(json!(1))))), "settled look by ran: output 1");
    let facts: &'static str = format!("{facts}, ran look").leak();
    assert_eq!(facts_of(given(facts).when(decide("pay", false))), "denied pay, settled pay by decision: denied, step");
}

#[test]
fn a_tool_that_fails_is_an_outcome() {
    let facts: &'static str = format!("{HELD}, approved pay, started pay").leak();
    let expected = r#"settled pay by ran: error "no money", step"#;
    assert_eq!(facts_of(given(facts).when(tool_done("pay", Err("no money")))), expected);
}

#[test]
fn a_tool_is_done_once() {
    let facts: &'static str = format!("{HELD}, approved pay, started pay, ran pay").leak();
    assert_eq!(facts_of(given(facts).when(tool_done("pay", Ok(json!(2))))), "");
}
