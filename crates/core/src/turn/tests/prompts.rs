//! Prompts: questions of a running tool to the user.

use super::*;
use crate::tool;

const RUNS: &str = "opened, said u1, turn, step, called look, step ended, started look";

fn prompt() -> Input {
    let prompt = tool::Prompt { message: "Which?".to_owned(), schema: json!({}), timeout: TIMEOUT };
    Input::Prompt { by: ToolCallId::from("look"), prompt }
}

#[test]
fn a_prompt_is_a_call_of_the_browser() {
    let (facts, reply) = given(RUNS).when(prompt());
    assert_eq!(facts, "called ask_user, started ask_user");
    assert!(matches!(reply, Reply::Prompted(_)), "{reply:?}");
}

#[test]
fn a_prompt_that_nobody_can_answer_is_not_asked() {
    let table = [
        ("the tool does not run", "opened, said u1, turn, step, called look, step ended, started look, ran look"),
        ("the client sends no acks", "opened, said u1, turn resubmit, step, called look, step ended, started look"),
    ];
    for (name, facts) in table {
        assert_eq!(given(facts).when(prompt()), (String::new(), Reply::None), "{name}");
    }
    assert_eq!(given(RUNS).max_holds(0).when(prompt()), (String::new(), Reply::None), "too many holds");
}

/// What is recorded as accepted is what the tool gets, so an answer that does not fit is none.
#[test]
fn an_answer_that_does_not_fit_leaves_the_prompt_open() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let prompt = Fact::Called {
        call: ToolCallId::from("prompt"),
        by: crate::fact::Caller::Tool(ToolCallId::from("look")),
        name: "ask_user".to_owned(),
        input: json!({"message": "Who?", "schema": schema, "from": "look"}),
        execution: crate::tool::Execution::Frontend,
        wait: crate::tool::Wait::Stream,
        returns: crate::tool::Returns::Output,
        origin: None,
        needs_approval: false,
        checked: None,
        at: START,
    };
    let started = Fact::Started { call: ToolCallId::from("prompt"), deadline: None, at: START };
    let when = |output: Value| {
        let result = FrontendResult {
            status: holdpoint_protocol::request::AckStatus::Success,
            output: Some(output),
            error_text: None,
            ack: None,
        };
        let input = Input::Result { call: ToolCallId::from("prompt"), result: Arc::new(result) };
        given(RUNS).and([prompt.clone(), started.clone()]).when(input)
    };
    let wrong = [
        (json!({"action": "accept", "content": {"name": 5}}), "/content/name"),
        (json!({"action": "accept"}), "/content/name"),
        (json!({"action": "banana"}), "/action"),
        (json!({"action": 5}), "/action"),
        (json!({"nope": 1}), "/name"),
        (json!("Ada"), ""),
        (json!(null), ""),
    ];
    for (output, place) in wrong {
        let (facts, reply) = when(output.clone());
        assert_eq!(facts, "", "{output}");
        let Reply::Answered(Answered::UnfitAnswer { pointer, .. }) = reply else { panic!("{output}: {reply:?}") };
        assert_eq!(pointer, place, "{output}");
    }
    for output in [
        json!({"action": "accept", "content": {"name": "Ada"}}),
        json!({"name": "Ada"}),
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
    ] {
        let (facts, reply) = when(output.clone());
        assert!(facts.starts_with("settled ask_user by result"), "{output}: {facts}");
        assert_eq!(reply, Reply::Answered(Answered::Taken), "{output}");
    }
}
