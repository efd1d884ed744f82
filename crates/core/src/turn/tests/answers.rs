//! Decisions: each approval request takes exactly one.

use holdpoint_protocol::request::Verdict;

use super::*;
use crate::notation;

const HELD: &str = "opened, said u1, turn, step, called pay, step ended, asked pay";

#[test]
fn a_decision_releases_or_denies() {
    assert_eq!(facts_of(given(HELD).when(decide("pay", true))), "approved pay, started pay");
    assert_eq!(facts_of(given(HELD).when(decide("pay", false))), "denied pay, settled pay by decision: denied, step");
}

fn verdict(call: &str, verdict: Verdict) -> Input {
    Input::Decide { approval: ApprovalId::from(call), decision: verdict.into(), by: Arc::new(Identity::local()) }
}

fn edit(call: &str, input: Value) -> Input {
    verdict(call, Verdict::Approve { input: Some(input) })
}

fn answer(call: &str, output: Value) -> Input {
    verdict(call, Verdict::Answer { output })
}

#[test]
fn an_edited_input_is_the_one_that_runs() {
    let facts = facts_of(given(HELD).when(edit("pay", json!({"n": 2}))));
    assert_eq!(facts, r#"edited pay to {"n":2}, started pay"#);
    let mut state = Chat::default();
    notation::facts(&format!("{HELD}, edited pay")).iter().for_each(|fact| state.apply(fact));
    assert_eq!(state.calls.get(&ToolCallId::from("pay")).expect("a call").input, json!({"n": 2}));
}

#[test]
fn an_answer_in_the_tools_place_runs_nothing() {
    let facts = facts_of(given(HELD).when(answer("pay", json!({"paid": true}))));
    assert_eq!(facts, r#"answered pay with {"paid":true}, settled pay by decision: output {"paid":true}, step"#);
}

/// The node that runs the turn carries it out.
#[test]
fn a_decision_is_carried_out_by_the_node_that_runs_the_turn() {
    let elsewhere = |input| facts_of(given(HELD).elsewhere().when(input));
    assert_eq!(elsewhere(edit("pay", json!({"n": 2}))), r#"edited pay to {"n":2}"#);
    assert_eq!(elsewhere(answer("pay", json!(2))), "answered pay with 2");
    for (decided, expected) in
        [("edited pay", "started pay"), ("answered pay", "settled pay by decision: output 2, step")]
    {
        let facts: &'static str = format!("{HELD}, {decided}").leak();
        assert_eq!(facts_of(given(facts).when(Input::Follow { is_watched: true })), expected);
    }
}

/// The question stays open.
#[test]
fn an_input_that_does_not_fit_is_refused() {
    let (facts, reply) = given(HELD).when(edit("pay", json!({"n": "many"})));
    let Reply::Answered(Answered::UnfitInput { pointer, .. }) = &reply else { panic!("{reply:?}") };
    assert_eq!((&*facts, &**pointer), ("", "/n"));
    let deep = (0..200).fold(json!(1), |value, _| json!([value]));
    for input in [json!({"n": 9007199254740993_i64}), json!({"x": deep}), json!([1]), json!("text")] {
        let (facts, reply) = given(HELD).when(edit("pay", input));
        let is_refused = matches!(reply, Reply::Answered(Answered::UnfitInput { .. } | Answered::InvalidInput(_)));
        assert!(facts.is_empty() && is_refused, "{reply:?}");
    }
}

#[test]
fn what_a_second_decision_is_told_about_an_edit() {
    let edited: &'static str = format!("{HELD}, edited pay, started pay").leak();
    let answered: &'static str = format!("{HELD}, answered pay, ran pay").leak();
    let table = [
        (edited, edit("pay", json!({"n": 2})), Answered::Again),
        (edited, edit("pay", json!({"n": 3})), Answered::Contradicts),
        (edited, decide("pay", true), Answered::Contradicts),
        (answered, answer("pay", json!(2)), Answered::Again),
        (answered, answer("pay", json!(3)), Answered::Contradicts),
        (answered, decide("pay", true), Answered::Contradicts),
    ];
    for (facts, input, expected) in table {
        assert_eq!(given(facts).when(input), (String::new(), Reply::Answered(expected)));
    }
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

/// A client is told of a denial only when it is known whether others of the step go on, so these are started first.
#[test]
fn of_several_decisions_the_approvals_come_first() {
    let asked = "opened, said u1, turn, step, called locate, called pay, step ended, asked locate, asked pay";
    let part = |name: &str, approved: bool| {
        json!({
            "type": format!("tool-{name}"), "toolCallId": name, "state": "approval-responded", "input": {"n": 1},
            "approval": {"id": name, "approved": approved},
        })
    };
    let answer = json!({"id": "answer", "role": "assistant", "parts": [part("locate", false), part("pay", true)]});
    let facts = facts_of(given(asked).when(request(json!({"messages": [message("u1"), answer]}))));
    assert_eq!(facts, "denied locate, approved pay, started pay, settled locate by decision: denied");
}
