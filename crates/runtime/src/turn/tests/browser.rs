//! Calls that run in the browser, and the results it sends.

use holdpoint_protocol::request::AckStatus;

use super::*;

const OPEN: &str = "opened, said u1, turn, step, called open, step ended, started open";

fn result(call: &str, status: AckStatus, output: Value) -> Input {
    let result = FrontendResult { status, output: Some(output), error_text: None, ack: None };
    Input::Result { call: ToolCallId::from(call), result: Arc::new(result) }
}

#[test]
fn a_result_settles_the_call() {
    let facts = facts_of(given(OPEN).when(result("open", AckStatus::Success, json!("x"))));
    let expected = r#"settled open by result: output {"toolCallId":"open","status":"success","output":"x"}, step"#;
    assert_eq!(facts, expected);
}

#[test]
fn what_a_result_is_told() {
    let asked = "opened, said u1, turn, step, called locate, step ended, asked locate";
    let ours = "opened, said u1, turn, step, called look, step ended, started look";
    let table = [
        ("before the approval", asked, "locate", Answered::NeedsApproval),
        ("a server tool's", ours, "look", Answered::Unknown),
        ("no such call", ours, "gone", Answered::Unknown),
    ];
    for (name, facts, call, expected) in table {
        let told = given(facts).when(result(call, AckStatus::Success, json!(1)));
        assert_eq!(told, (String::new(), Reply::Answered(expected)), "{name}");
    }
}

#[test]
fn a_result_that_is_too_late_resumes_the_turn() {
    let facts = "opened, said u1, turn, step, called open, step ended, started open, expired open";
    let expected = ("step".to_owned(), Reply::Answered(Answered::TooLate(Cause::Expired)));
    assert_eq!(given(facts).when(result("open", AckStatus::Success, json!(1))), expected);
}

#[test]
fn an_approved_call_is_handed_to_the_browser() {
    let asked = "opened, said u1, turn, step, called locate, step ended, asked locate";
    assert_eq!(facts_of(given(asked).when(decide("locate", true))), "approved locate, started locate");
}
