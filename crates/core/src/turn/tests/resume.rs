//! Saved states of running calls: what is stored, and what becomes of it after a restart.

use super::*;
use crate::tool::{CallState, MAX_CALL_STATE_BYTES, Prompt, ToolOrigin};

const RUNS: &str = "opened, said u1, turn, step, called look, step ended, started look";
const RESUMABLE: &str = "opened, said u1, turn, step, called look, step ended, started look, resumable look";
const INTERRUPTED: &str = r#"settled look by interrupted: error "interrupted: outcome unknown", step"#;

fn save(data: Option<&str>, prompts: usize) -> Input {
    let prompt = Prompt { message: "Which?".to_owned(), schema: json!({}), timeout: TIMEOUT };
    Input::Save { call: ToolCallId::from("look"), data: data.map(Arc::from), prompts: vec![prompt; prompts].into() }
}

#[test]
fn a_state_is_saved_together_with_its_prompts() {
    let (facts, reply) = given(RUNS).when(save(Some("state"), 2));
    let prompt = "called ask_user, started ask_user";
    assert_eq!(facts, format!("{prompt}, {prompt}, resumable look"));
    assert!(matches!(reply, Reply::Saved(prompts) if prompts.iter().all(Option::is_some)));
    assert_eq!(given(RUNS).when(save(Some("state"), 0)), ("resumable look".to_owned(), Reply::Saved(vec![])));
}

#[test]
fn a_state_is_withdrawn_once() {
    assert_eq!(facts_of(given(RESUMABLE).when(save(None, 0))), "not resumable look");
    assert_eq!(given(RUNS).when(save(None, 0)), (String::new(), Reply::Saved(vec![])), "there is none");
}

#[test]
fn a_call_works_without_a_state_that_cannot_be_saved() {
    let prompt = "called ask_user, started ask_user";
    let large = "x".repeat(MAX_CALL_STATE_BYTES + 1);
    assert_eq!(facts_of(given(RUNS).when(save(Some(&large), 1))), prompt, "it is too large");
    assert_eq!(
        facts_of(given(RESUMABLE).when(save(Some(&large), 0))),
        "not resumable look",
        "an earlier one does not stay"
    );
    let unasked = given(RUNS).max_holds(0).when(save(Some("state"), 2));
    assert_eq!(unasked, (String::new(), Reply::Saved(vec![None, None])), "there is nothing to wait for");
    let resubmit = "opened, said u1, turn resubmit, step, called look, step ended, started look";
    assert_eq!(given(resubmit).when(save(Some("state"), 1)), (String::new(), Reply::Saved(vec![None])), "no acks");
    let over = "opened, said u1, turn, step, called look, step ended, started look, ran look";
    assert_eq!(given(over).when(save(Some("state"), 1)), (String::new(), Reply::None), "the call is over");
}

#[test]
fn a_call_with_a_state_is_resumed_and_its_prompts_stay_open() {
    assert_eq!(facts_of(given(RESUMABLE).when(Input::Recover)), "started look");
    let prompted = [
        Fact::Called {
            call: ToolCallId::from("p"),
            by: crate::fact::Caller::Tool(ToolCallId::from("look")),
            name: "ask_user".to_owned(),
            input: json!({}),
            execution: crate::tool::Execution::Frontend,
            wait: crate::tool::Wait::Stream,
            returns: crate::tool::Returns::Output,
            origin: None,
            needs_approval: false,
            checked: None,
            at: START,
        },
        Fact::Started { call: ToolCallId::from("p"), deadline: Some(START.after(TIMEOUT)), at: START },
    ];
    assert_eq!(facts_of(given(RESUMABLE).and(prompted).when(Input::Recover)), "started look");
    let again = "opened, said u1, turn, step, called again, step ended, started again, resumable again";
    assert_eq!(facts_of(given(again).when(Input::Recover)), "started again", "it is not begun anew");
}

/// The grant was claimed when the call started, and a revocation ends no call that runs.
#[test]
fn a_call_on_a_grant_is_resumed() {
    let granted = "opened, said u1, turn, step, called pay, step ended, granted pay, started pay, resumable pay";
    assert_eq!(facts_of(given(granted).when(Input::Recover)), "started pay");
}

#[test]
fn a_call_whose_state_is_gone_or_of_another_origin_is_interrupted() {
    let withdrawn = Fact::Resumable { call: ToolCallId::from("look"), state: None };
    assert_eq!(facts_of(given(RESUMABLE).and([withdrawn]).when(Input::Recover)), INTERRUPTED);
    let other = ToolOrigin::Mcp { server: "other".to_owned(), tool: "look".to_owned() };
    let state = CallState { origin: Some(other), data: "state".to_owned(), prompts: Vec::new() };
    let foreign = Fact::Resumable { call: ToolCallId::from("look"), state: Some(Arc::new(state)) };
    assert_eq!(facts_of(given(RUNS).and([foreign]).when(Input::Recover)), INTERRUPTED);
}

#[test]
fn a_call_that_is_to_be_stopped_is_told() {
    let stopped = "opened, said u1, turn, step, called look, step ended, started look, resumable look, stop requested";
    let expected = r#"started look, settled look by interrupted: error "interrupted: outcome unknown", stopped"#;
    assert_eq!(facts_of(given(stopped).when(Input::Recover)), expected);
}
