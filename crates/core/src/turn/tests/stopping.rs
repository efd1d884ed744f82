//! Stopping a turn: open calls are settled, and nothing starts afterwards.

use super::*;

fn stop() -> Input {
    Input::Stop { reason: None }
}

#[test]
fn everything_that_is_open_is_settled() {
    let by_user = r#"error "stopped by the user""#;
    // What ran here may have been carried out.
    let unknown = r#"error "interrupted: outcome unknown""#;
    let table = [
        ("opened, said u1, turn, step, text", "block ended, stopped".to_owned()),
        ("opened, said u1, turn, step, writing pay", "invalid pay: stopped by the user, stopped".to_owned()),
        (
            "opened, said u1, turn, step, called pay, step ended, asked pay",
            format!("settled pay by stopped: {by_user}, stopped"),
        ),
        (
            "opened, said u1, turn, step, called look, called open, step ended, started look, started open",
            format!("settled look by interrupted: {unknown}, settled open by stopped: {by_user}, stopped"),
        ),
        ("opened, said u1, turn, step, step ended, ended", String::new()),
    ];
    for (facts, expected) in table {
        assert_eq!(facts_of(given(facts).when(stop())), expected, "{facts}");
    }
}

/// A call whose request was certainly not sent is stopped, and nothing about it is unknown.
#[test]
fn what_was_not_sent_is_stopped() {
    let runs = "opened, said u1, turn, step, called look, step ended, started look";
    let by_user = r#"settled look by stopped: error "stopped by the user", stopped"#;
    assert_eq!(facts_of(given(runs).unsent("look").when(stop())), by_user);
    let superseded =
        r#"settled look by stopped: error "stopped: superseded", stopped: superseded, said u2, turn, step"#;
    assert_eq!(facts_of(given(runs).unsent("look").when(say("u2"))), superseded);
    let unknown = r#"settled look by interrupted: error "interrupted: outcome unknown""#;
    assert_eq!(facts_of(given(runs).when(say("u2"))), format!("{unknown}, stopped: superseded, said u2, turn, step"));
}

/// The server goes down.
#[test]
fn a_tool_that_is_cut_off_is_interrupted_if_it_may_have_run() {
    let runs = "opened, said u1, turn, step, called look, step ended, started look";
    let cut_off = |may_have_run, said: Option<&str>| {
        let call = ToolCallId::from("look");
        facts_of(given(runs).when(Input::ToolCutOff { call, may_have_run, said: said.map(str::to_owned) }))
    };
    let settled = |cause, text| format!("settled look by {cause}: error {text:?}, step");
    assert_eq!(cut_off(true, None), settled("interrupted", "interrupted: outcome unknown"));
    assert_eq!(cut_off(true, Some("gave up")), settled("interrupted", "interrupted: outcome unknown: gave up"));
    assert_eq!(cut_off(false, None), settled("stopped", "not run: the server went down before the call was made"));
    let over = "opened, said u1, turn, step, called look, step ended, started look, ran look, step";
    let late = Input::ToolCutOff { call: ToolCallId::from("look"), may_have_run: true, said: None };
    assert_eq!(facts_of(given(over).when(late)), "");
}

#[test]
fn a_tool_that_ends_after_the_stop_changes_nothing() {
    let facts = "opened, said u1, turn, step, called look, step ended, started look, expired look, ended";
    assert_eq!(facts_of(given(facts).when(tool_done("look", Ok(json!(1))))), "");
}
