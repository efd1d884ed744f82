//! The table of auto-send decisions.

use holdpoint_protocol::auto_send::{AutoSend, Context, SendReason, WaitReason, decide_json};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Table {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    /// Anything: `null` is a case too.
    #[serde(default)]
    messages: Value,
    parts: Option<Value>,
    #[serde(default)]
    context: Context,
    send: bool,
    check: u8,
}

fn number(decision: &AutoSend) -> u8 {
    match decision {
        AutoSend::Wait(WaitReason::NotAssistant) => 1,
        AutoSend::Wait(WaitReason::AnsweredInText) => 2,
        AutoSend::Wait(WaitReason::NothingToSend) => 3,
        AutoSend::Wait(WaitReason::StillAsking) => 4,
        AutoSend::Wait(WaitReason::AnsweredWithError) => 5,
        AutoSend::Wait(WaitReason::WaitingForResult) => 6,
        AutoSend::Send { because: SendReason::Result, .. } => 7,
        AutoSend::Send { because: SendReason::Answered, .. } => 8,
    }
}

fn messages(case: &Case) -> Value {
    match &case.parts {
        Some(parts) => json!([{"id": "a", "role": "assistant", "parts": parts}]),
        None => case.messages.clone(),
    }
}

fn table() -> Table {
    serde_json::from_str(include_str!("../../../fixtures/auto-send.json")).expect("the table is valid")
}

#[test]
fn every_case_of_the_table() {
    for case in table().cases {
        let decision = decide_json(&messages(&case), &case.context);
        assert_eq!((decision.is_send(), number(&decision)), (case.send, case.check), "{}: {decision:?}", case.name);
    }
}

#[test]
fn every_check_is_in_the_table() {
    let seen: std::collections::BTreeSet<u8> = table().cases.iter().map(|case| case.check).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// A yes that is recorded is never given again for the same state: no loop.
#[test]
fn an_answer_is_not_sent_twice() {
    for mut case in table().cases {
        let messages = messages(&case);
        if let AutoSend::Send { answers, .. } = decide_json(&messages, &case.context) {
            assert!(!answers.is_empty(), "{}", case.name);
            case.context.sent.extend(answers);
            assert_eq!(
                decide_json(&messages, &case.context),
                AutoSend::Wait(WaitReason::NothingToSend),
                "{}",
                case.name
            );
        }
    }
}
