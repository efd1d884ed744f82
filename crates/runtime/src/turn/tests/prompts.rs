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
    assert_eq!(facts, "writing ask_user, called ask_user, started ask_user");
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
