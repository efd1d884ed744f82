//! Deadlines: the clock decides, not the time of the check.

use super::*;

const HELD: &str = "opened, said u1, turn, step, called pay, step ended, asked pay";
const EXPIRED: &str = r#"settled pay by expired: error "Approval request timed out""#;

#[test]
fn an_expiry_settles_the_call_and_waits_for_somebody() {
    assert_eq!(facts_of(given(HELD).after(61).when(expired("pay", false))), EXPIRED);
    assert_eq!(facts_of(given(HELD).after(61).when(expired("pay", true))), format!("{EXPIRED}, step"));
}

#[test]
fn a_deadline_that_has_not_come_does_nothing() {
    assert_eq!(facts_of(given(HELD).after(59).when(expired("pay", true))), "");
}

#[test]
fn a_decision_after_the_deadline_is_too_late_even_if_nobody_noticed() {
    let (facts, reply) = given(HELD).after(61).when(decide("pay", true));
    assert_eq!(facts, format!("{EXPIRED}, step"));
    assert_eq!(reply, Reply::Answered(Answered::TooLate(Cause::Expired)));
}

#[test]
fn an_idle_turn_goes_on_when_somebody_is_there() {
    let facts = "opened, said u1, turn, step, called pay, step ended, asked pay, expired pay";
    assert_eq!(facts_of(given(facts).when(Input::ResumeIdle)), "step");
    assert_eq!(facts_of(given(HELD).when(Input::ResumeIdle)), "");
}

#[test]
fn a_browser_that_does_not_answer_is_an_outcome() {
    let facts = "opened, said u1, turn, step, called open, step ended, started open";
    let expected = r#"settled open by expired: output {"status":"timeout"}"#;
    assert_eq!(facts_of(given(facts).after(61).when(expired("open", false))), expected);
}
