//! Stopping a turn: open calls are settled, and nothing starts afterwards.

use super::*;

fn stop() -> Input {
    Input::Stop { reason: None }
}

#[test]
fn everything_that_is_open_is_settled() {
    let by_user = r#"error "stopped by the user""#;
    let table = [
        ("opened, said u1, turn, step, text", "block ended, stopped".to_owned()),
        ("opened, said u1, turn, step, writing pay", "invalid pay: stopped by the user, stopped".to_owned()),
        (
            "opened, said u1, turn, step, called pay, step ended, asked pay",
            format!("settled pay by stopped: {by_user}, stopped"),
        ),
        (
            "opened, said u1, turn, step, called look, called open, step ended, started look, started open",
            format!("settled look by stopped: {by_user}, settled open by stopped: {by_user}, stopped"),
        ),
        ("opened, said u1, turn, step, step ended, ended", String::new()),
    ];
    for (facts, expected) in table {
        assert_eq!(facts_of(given(facts).when(stop())), expected, "{facts}");
    }
}

#[test]
fn a_tool_that_ends_after_the_stop_changes_nothing() {
    let facts = "opened, said u1, turn, step, called look, step ended, started look, expired look, ended";
    assert_eq!(facts_of(given(facts).when(tool_done("look", Ok(json!(1))))), "");
}
