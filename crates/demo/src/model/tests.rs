//! Whole turns of the demo model, with the real demo tools where they run here, and with every outcome of a call.

use std::sync::Arc;

use futures::{FutureExt, StreamExt};
use holdpoint_protocol::{chunk::FinishReason, ids::ToolCallId};
use serde_json::{Value, json};

use super::{DemoModel, language::Language};
use crate::demo_tools;
use holdpoint_runtime::{
    model::{Model, ModelCall, ModelEvent, ModelMessage, ModelRequest, ModelResult, ResultCause, UserPart},
    subject::Subject,
    tool::{ToolContext, ToolSet},
};

/// A turn: the calls of each step, and the final text.
#[derive(Debug, Default)]
struct Turn {
    steps: Vec<Vec<(String, Value)>>,
    text: String,
}

fn step(messages: &[ModelMessage], tools: &ToolSet) -> Vec<ModelEvent> {
    let request = ModelRequest { messages: messages.into(), tools: tools.specs(), instructions: tools.instructions() };
    let play = |request| DemoModel.stream(request).map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap();
    let events = play(request.clone());
    assert_eq!(events, play(request), "the same request gives the same step");
    events
}

/// A result with its cause.
type Ended = (Result<Value, String>, ResultCause);

fn reported(outcome: Result<Value, &str>) -> Ended {
    (outcome.map_err(str::to_owned), ResultCause::Reported)
}

fn denied() -> Ended {
    (Err("denied".to_owned()), ResultCause::Denied { reason: None })
}

/// Plays a turn. `outcome` gives the outcome of a call, or leaves it to the tool.
fn play(text: &str, outcome: impl Fn(&str, &Value) -> Option<Ended>) -> Turn {
    let tools = demo_tools();
    let mut messages = vec![
        ModelMessage::User(vec![UserPart::Text("send 1 dollar to Old".into())]),
        ModelMessage::Assistant { text: "Hello".into(), calls: Vec::new(), state: None },
        ModelMessage::User(vec![UserPart::Text(text.to_owned())]),
    ];
    let mut turn = Turn::default();
    for number in 0.. {
        assert!(number < 5, "{text}: the turn does not end");
        let (mut said, mut calls, mut results) = (String::new(), Vec::new(), Vec::new());
        let events = step(&messages, &tools);
        let Some(ModelEvent::Finish { usage, reason, version, state: None }) = events.last() else {
            panic!("{text}: no finish")
        };
        assert!(usage.prompt_tokens > 0 && usage.completion_tokens > 0, "{text}: {usage:?}");
        assert_eq!(version.as_deref(), Some("holdpoint-demo"));
        for event in &events {
            match event {
                ModelEvent::TextDelta(delta) => said.push_str(delta),
                ModelEvent::Call { name, input, .. } => {
                    let (name, input) = (name.clone(), input.clone().expect("JSON"));
                    assert_eq!(tools.get(&name).expect("a tool").spec.input.check(&input), Ok(()), "{text}");
                    let id = ToolCallId::new(format!("ours-{number}-{}", calls.len())).unwrap();
                    let reported = || (run(&tools, &name, &input), ResultCause::Reported);
                    let (outcome, cause) = outcome(&name, &input).unwrap_or_else(reported);
                    results.push(ModelResult {
                        id: id.clone(),
                        name: name.clone(),
                        outcome,
                        cause,
                        files: std::sync::Arc::default(),
                    });
                    calls.push(ModelCall { id, name, input });
                }
                _ => {}
            }
        }
        messages.push(ModelMessage::Assistant { text: said.clone(), calls: calls.clone(), state: None });
        if calls.is_empty() {
            assert_eq!(*reason, FinishReason::Stop);
            let deltas = events.iter().filter(|event| matches!(event, ModelEvent::TextDelta(_))).count();
            assert!(deltas > 1, "{text}: {said:?} came in {deltas} deltas");
            turn.text = said;
            break;
        }
        assert_eq!(*reason, FinishReason::ToolCalls);
        assert!(said.is_empty() && events[0] == ModelEvent::ReasoningStart, "{text}");
        turn.steps.push(calls.into_iter().map(|call| (call.name, call.input)).collect());
        messages.push(ModelMessage::Results(results));
    }
    assert_eq!(Language::of(&turn.text), Language::of(text), "{text}: {}", turn.text);
    let rest = step(&messages, &tools);
    assert!(matches!(&rest[..], [ModelEvent::Finish { .. }]), "{text}: after its answer there is nothing to say");
    turn
}

fn run(tools: &ToolSet, name: &str, input: &Value) -> Result<Value, String> {
    let context = ToolContext::new("chat", Subject::local(), "call");
    let handler = Arc::clone(tools.get(name).unwrap().handler.as_ref().expect("a handler"));
    handler(input.clone(), context).now_or_never().expect("no waiting").map_err(|error| error.0)
}

/// Plays a turn in which every tool really runs.
fn works(text: &str) -> Turn {
    play(text, |name, input| {
        let output = match name {
            "get_location" => Some(
                json!({"latitude": 35.6762, "longitude": 139.65, "accuracy": 20, "city": "Tokyo", "country": "Japan"}),
            ),
            "open-url" => {
                Some(json!({"toolCallId": "c", "status": "success", "output": {"url": input["url"], "viewKey": "v"}}))
            }
            _ => None,
        };
        output.map(|output| (Ok(output), ResultCause::Reported))
    })
}

/// Plays a turn in which every call has this outcome.
fn ends(text: &str, ended: &Ended) -> String {
    let turn = play(text, |_, _| Some(ended.clone()));
    assert_eq!(turn.steps.len(), 1, "{text}");
    turn.text
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
}

fn payment(amount: i64, recipient: &str, currency: &str, description: &str) -> (String, Value) {
    let input = json!({"amount": amount, "recipient": recipient, "currency": currency, "description": description});
    ("process_payment".to_owned(), input)
}

#[test]
fn one_payment() {
    let turn = works("send 50 dollars to Hanako");
    assert_eq!(turn.steps, [[payment(50, "Hanako", "USD", "Payment to Hanako")]]);
    says(&turn.text, &["I sent 50 USD to Hanako (transaction txn_", "Your wallet now holds 950 USD."]);
    let turn = works("Hanakoさんに50ドル送金して");
    assert_eq!(turn.steps, [[payment(50, "Hanako", "USD", "Hanakoさんへの送金")]]);
    says(&turn.text, &["Hanakoさんに50ドルを送りました（取引番号 txn_", "ウォレットの残高は950ドルです。"]);
}

#[test]
fn two_payments_are_two_calls_in_one_step() {
    let turn = works("Aliceに30ドル、Bobに40ドル送金してください");
    let calls = [payment(30, "Alice", "USD", "Aliceさんへの送金"), payment(40, "Bob", "USD", "Bobさんへの送金")];
    assert_eq!(turn.steps, [calls]);
    says(&turn.text, &["Aliceさんに30ドル", "Bobさんに40ドル", "残高は930ドル"]);
    let turn = works("pay 20 EUR to Ken and 30 EUR to Mia");
    assert_eq!(
        turn.steps,
        [[payment(20, "Ken", "EUR", "Payment to Ken"), payment(30, "Mia", "EUR", "Payment to Mia")]]
    );
    says(&turn.text, &["20 EUR to Ken", "30 EUR to Mia", "holds 950 EUR"]);
    let mixed = play("send Alice $30 and Bob $40", |_, input| (input["recipient"] == "Bob").then(denied));
    says(&mixed.text, &["I sent 30 USD to Alice", "You declined, so I did not send 40 USD to Bob.", "holds 970 USD"]);
}

#[test]
fn too_little_money() {
    let text = works("send 5000 dollars to Hanako").text;
    says(&text, &["I could not send 5000 USD to Hanako", "not enough money", "holds 1000 USD"]);
    says(
        &works("Hanakoに5000ドル送金して").text,
        &["残高が足りない", "Hanakoさんへの5000ドルの送金", "残高は1000ドル"],
    );
}

#[test]
fn weather() {
    for (text, place, part) in
        [("what's the weather in Tokyo", "Tokyo", "In Tokyo it is "), ("東京の天気は？", "東京", "東京の天気は")]
    {
        let turn = works(text);
        assert_eq!(turn.steps, [[("get_weather".to_owned(), json!({ "location": place }))]]);
        let weather = run(&demo_tools(), "get_weather", &json!({ "location": place })).unwrap();
        let degrees = super::phrase::decimal(&weather["temperature"], 1).unwrap();
        says(&turn.text, &[part, &degrees]);
    }
}

#[test]
fn location() {
    for (text, parts) in [
        ("where am I", ["Tokyo, Japan", "35.6762", "139.65,", "20 m"]),
        ("現在地を教えて", ["Tokyo", "緯度35.6762", "経度139.65で", "20m"]),
    ] {
        let turn = works(text);
        assert_eq!(turn.steps, [[("get_location".to_owned(), json!({}))]]);
        says(&turn.text, &parts);
    }
    says(
        &ends("where am I", &reported(Ok(json!({"latitude": "?"})))),
        &["get_location answered: {\"latitude\":\"?\"}"],
    );
}

#[test]
fn music() {
    for (text, part) in [("play track 1", "track 1"), ("トラック1に変更して", "トラック1")] {
        let turn = works(text);
        assert_eq!(turn.steps, [[("change_bgm".to_owned(), json!({"track": 1}))]]);
        says(&turn.text, &[part]);
    }
}

#[test]
fn pages() {
    for (text, part) in
        [("open https://example.com", "I opened https://example.com"), ("https://example.com を開いて", "を開きました")]
    {
        let turn = works(text);
        assert_eq!(turn.steps, [[("open-url".to_owned(), json!({"url": "https://example.com"}))]]);
        says(&turn.text, &[part, "https://example.com"]);
    }
    says(
        &ends("open https://a.example", &reported(Ok(json!({"status": "timeout"})))),
        &["open https://a.example", "no answer in time"],
    );
    let blocked = json!({"toolCallId": "c", "status": "failed", "errorText": "pop-ups are blocked"});
    says(
        &ends("open https://a.example", &reported(Ok(blocked))),
        &["I could not open https://a.example: pop-ups are blocked."],
    );
}

#[test]
fn a_search_then_an_update_with_what_was_found() {
    for (text, parts) in [
        ("find inactive users and deactivate them", ["I found 3 users: Ben Carter (102)", "I deactivated 3 users."]),
        (
            "非アクティブなユーザーを探して無効化して",
            ["3人のユーザーが見つかりました", "3人のユーザーを無効にしました。"],
        ),
    ] {
        let turn = works(text);
        let search = ("search_database".to_owned(), json!({"query": "inactive users"}));
        let update = ("update_database".to_owned(), json!({"ids": [102, 104, 106], "set": {"status": "deactivated"}}));
        assert_eq!(turn.steps, [[search], [update]]);
        says(&turn.text, &parts);
    }
    assert_eq!(works("find inactive users").steps.len(), 1);
}

#[test]
fn a_search_that_finds_nothing_or_is_denied_updates_nothing() {
    let text = "find inactive users and deactivate them";
    says(&ends(text, &reported(Ok(json!({"count": 0, "users": []})))), &["I found no such users."]);
    says(&ends(text, &denied()), &["You declined", "did not search the database"]);
    let denied = play(text, |name, _| (name == "update_database").then(denied));
    assert_eq!(denied.steps.len(), 2);
    says(&denied.text, &["I found 3 users", "You declined, so I did not change 3 users in the database."]);
}

#[test]
fn every_outcome_has_its_words() {
    let because = |reason: &str| ResultCause::Denied { reason: Some(reason.to_owned()) };
    for (cause, english, japanese) in [
        (ResultCause::Denied { reason: None }, "You declined, so I did not", "承認されなかったため、"),
        (because("too dear"), "(your reason: too dear)", "（理由: too dear）"),
        (ResultCause::Superseded, "You went on to something else", "別の依頼に移ったため"),
        (ResultCause::ApprovalExpired, "Nobody approved it in time", "時間内に承認されなかったため"),
        (ResultCause::ResultExpired, "no answer in time", "時間内に応答がありません"),
        (ResultCause::Interrupted, "can't tell whether it happened", "結果は分かりません"),
        (ResultCause::Stopped, "It was stopped", "停止されたため"),
        (
            ResultCause::Reported,
            "I could not send 50 USD to Ken: amount: 0 is too small.",
            "できませんでした: amount: 0 is too small。",
        ),
    ] {
        let ended = (Err("amount: 0 is too small".to_owned()), cause);
        says(&ends("send 50 dollars to Ken", &ended), &[english, "send 50 USD to Ken"]);
        says(&ends("Kenさんに50ドル送金して", &ended), &[japanese, "Kenさんへの50ドルの送金"]);
    }
    let long = "x".repeat(100_000);
    assert!(ends("where am I", &reported(Err(&long))).len() < 500);
}

#[test]
fn small_talk_and_questions_back() {
    for (text, parts) in [
        ("hello", vec!["Hello!", "Try one of these", "send 50 dollars to Hanako", "open https://example.com"]),
        ("what can you do?", vec!["a few plain requests", "find inactive users"]),
        ("thank you", vec!["You are welcome"]),
        ("こんにちは", vec!["こんにちは", "東京の天気は？"]),
        ("何ができますか", vec!["簡単な依頼だけ", "トラック1に変更して"]),
        ("ありがとう", vec!["どういたしまして"]),
        ("send money to Hanako", vec!["How much"]),
        ("花子さんに送金して", vec!["いくら"]),
        ("what's the weather", vec!["Which place"]),
        ("change the music", vec!["Which track"]),
    ] {
        let turn = works(text);
        assert!(turn.steps.is_empty(), "{text}");
        says(&turn.text, &parts);
    }
}

#[test]
fn only_tools_on_offer_are_called() {
    let said = |text: &str, tools: &ToolSet| -> String {
        let messages = [ModelMessage::User(vec![UserPart::Text(text.to_owned())])];
        let deltas = step(&messages, tools).into_iter().filter_map(|event| match event {
            ModelEvent::TextDelta(delta) => Some(delta),
            ModelEvent::Call { name, .. } => Some(format!("[{name}]")),
            _ => None,
        });
        deltas.collect()
    };
    let none = ToolSet::default();
    says(&said("where am I", &none), &["the tool get_location", "not available"]);
    says(&said("現在地を教えて", &none), &["get_location", "使えません"]);
    says(&said("hello", &none), &["None of the demo tools is here"]);
    let one: ToolSet = [demo_tools().get("get_weather").unwrap().clone()].into_iter().collect();
    assert_eq!(said("what's the weather in Tokyo and where am I", &one), "[get_weather]");
    let help = said("help", &one);
    assert!(help.contains("weather in Tokyo") && !help.contains("Hanako"), "{help}");
}

#[test]
fn a_call_that_is_written_out_may_be_wrong() {
    let messages = [ModelMessage::User(vec![UserPart::Text("use get_weather {\"location\": ".to_owned())])];
    let events = step(&messages, &demo_tools());
    assert!(
        events.iter().any(|event| matches!(event, ModelEvent::Call { input: Err(text), .. } if text.starts_with('{')))
    );
    let turn = works("use get_weather {\"location\": \"Rome\"}");
    assert_eq!(turn.steps, [[("get_weather".to_owned(), json!({"location": "Rome"}))]]);
}

#[test]
fn odd_conversations_do_no_harm() {
    let file = UserPart::File { media_type: "image/png".into(), url: "data:,".into(), filename: None };
    let user = ModelMessage::User(vec![file]);
    let lone = ModelMessage::Results(vec![ModelResult {
        id: "x".into(),
        name: "y".into(),
        outcome: Ok(json!(1)),
        cause: ResultCause::Reported,
        files: std::sync::Arc::default(),
    }]);
    for messages in [vec![], vec![user.clone()], vec![user.clone(), lone.clone()], vec![lone, user]] {
        assert!(matches!(step(&messages, &demo_tools()).last(), Some(ModelEvent::Finish { .. })));
    }
}
