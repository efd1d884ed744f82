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

/// The answers of a request are one input: in between, nothing waits for a browser that has already answered.
#[test]
fn a_result_that_comes_with_its_approval_is_not_waited_for() {
    let asked =
        "opened, said u1, turn resubmit, step, called locate, called open, step ended, asked locate, started open";
    let part = |name: &str, approval: Value| {
        let mut part = json!({
            "type": format!("tool-{name}"), "toolCallId": name, "state": "output-available", "input": {"n": 1}, "output": 7,
        });
        if !approval.is_null() {
            part["approval"] = approval;
        }
        part
    };
    let approval = json!({"id": "locate", "approved": true});
    let parts = [part("locate", approval), part("open", Value::Null)];
    let answer = json!({"id": "answer", "role": "assistant", "parts": parts});
    let body = json!({"messages": [message("u1"), answer]});
    let open = r#"settled open by result: output {"toolCallId":"open","status":"success","output":7}"#;
    let expected = format!("{open}, approved locate, settled locate by result: output 7, step");
    assert_eq!(facts_of(given(asked).when(request(body))), expected);
}
