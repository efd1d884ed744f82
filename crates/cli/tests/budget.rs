//! The token budget: a person is asked before the model is called with tokens that nobody has allowed.

mod support;

use std::time::Duration;

use holdpoint_protocol::check::{Options, Profile, StreamChecker};
use serde_json::{Value, json};
use support::{Answer, Binary, Setup, TestServer, types};

/// Three steps of 100 tokens.
fn script() -> Value {
    let usage = json!({"promptTokens": 60, "completionTokens": 40});
    let weather = |place: &str| json!({"toolCall": {"name": "get_weather", "input": {"location": place}}});
    json!({"turns": [
        {"when": "hello", "usage": usage, "steps": [[{"text": ["Hello."]}]]},
        {"when": "", "usage": usage, "steps": [[weather("Rome")], [weather("Oslo")], [{"text": ["Both."]}]]},
    ]})
}

async fn server(turn: u64, chat: u64) -> TestServer {
    let mut setup = Setup::script(&script());
    let budget = holdpoint_runtime::tool::Budget {
        turn: std::num::NonZeroU64::new(turn),
        chat: std::num::NonZeroU64::new(chat),
    };
    setup.builder = setup.builder.limits(holdpoint_runtime::Limits { budget, ..Default::default() });
    setup.start().await
}

/// The calls of a client, as `tool: state`.
fn shown(chat: &support::Chat<'_>) -> Vec<String> {
    chat.calls().into_iter().map(|(name, ..)| name).collect()
}

#[tokio::test]
async fn a_turn_asks_when_its_tokens_are_used_up_and_goes_on_after_a_yes() {
    let server = server(200, 0).await;
    let mut chat = server.chat();
    let first = chat.ask("compare the weather").await;
    assert_eq!(types(&first).iter().filter(|kind| *kind == "tool-approval-request").count(), 1);
    assert_eq!(shown(&chat), ["get_weather", "get_weather", "continue_turn"]);
    let entry = &server.approvals().await[0];
    assert_eq!(entry["toolName"], "continue_turn");
    assert_eq!(entry["input"], json!({"scope": "turn", "used": 200, "limit": 200, "more": 200}));
    assert_eq!(entry["reason"], "This answer has used 200 tokens, and 200 were allowed");
    assert_eq!(entry["title"], "Go on?");
    let may = json!(["approve", "deny", "remember"]);
    assert_eq!(entry["allowed"], may);
    let approval = chat.approval(2);
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    chat.read(&mut sse).await;
    assert_eq!(chat.text(), "Both.");
}

#[tokio::test]
async fn a_denied_budget_ends_the_turn_and_leaves_the_chat_usable() {
    let server = server(100, 0).await;
    let mut chat = server.chat();
    chat.ask("compare the weather").await;
    assert_eq!(shown(&chat), ["get_weather", "continue_turn"]);
    let approval = chat.approval(1);
    let mut sse = chat.answer(&[Answer::Deny(&approval, None)]).await;
    let ended = types(&chat.read(&mut sse).await);
    assert!(ended.contains(&"abort".to_owned()), "{ended:?}");
    assert!(server.approvals().await.is_empty());
    chat.ask("hello").await;
    assert_eq!(chat.text(), "Hello.");
}

/// What was denied or expired elsewhere needs nobody who watches: the turn is over.
#[tokio::test]
async fn an_expired_budget_request_ends_the_turn() {
    let server = server(100, 0).await;
    let mut chat = server.chat();
    chat.ask("compare the weather").await;
    let path = format!("/api/chat/{}/holds", chat.id);
    server.clock.advance(Duration::from_secs(301));
    let settled = loop {
        let (_, holds) = server.get(&path).await;
        let hold = holds.as_array().and_then(|holds| holds.last()).cloned().unwrap_or_default();
        if hold["state"] == "settled" {
            break hold;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(settled["outcome"]["cause"], "expired");
    chat.ask("hello").await;
    assert_eq!(chat.text(), "Hello.");
}

#[tokio::test]
async fn a_chat_asks_before_its_next_turn() {
    let server = server(0, 100).await;
    let mut chat = server.chat();
    chat.ask("hello").await;
    assert_eq!(chat.text(), "Hello.");
    chat.ask("hello again").await;
    assert_eq!((shown(&chat), chat.text()), (vec!["continue_turn".to_owned()], String::new()));
    let approval = chat.approval(0);
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    chat.read(&mut sse).await;
    assert_eq!(chat.text(), "Hello.");
    // As many tokens again, and they are used up now. Whoever is asked reads what was used in all.
    chat.ask("hello once more").await;
    assert_eq!(shown(&chat), ["continue_turn"]);
    let entry = &server.approvals().await[0];
    assert_eq!(entry["input"], json!({"scope": "chat", "used": 200, "limit": 200, "more": 100}));
}

/// A grant answers in a person's place, as often as it says.
#[tokio::test]
async fn an_approved_budget_can_be_remembered() {
    let server = server(100, 0).await;
    let mut chat = server.chat();
    chat.ask("compare the weather").await;
    let remember = json!({"scope": "chat", "match": "tool", "uses": 1});
    let path = format!("/api/approvals/{}", chat.approval(1));
    let (status, body) = server.post(&path, &json!({"approved": true, "remember": remember})).await;
    assert_eq!(status, 200, "{body}");
    let (_, grants) = server.get("/api/grants").await;
    let mut sse = chat.answer(&[]).await;
    chat.read(&mut sse).await;
    assert_eq!(chat.text(), "Both.", "{grants}");
    let (_, grants) = server.get("/api/grants").await;
    assert_eq!(grants[0]["used"], 1, "{grants}");
}

/// The same in the profile of a stock client, which sends again for ever if a rule is broken.
#[tokio::test]
async fn a_stock_client_decides_the_budget_request_within_the_rules() {
    for approved in [true, false] {
        let server = server(100, 0).await;
        let mut checker = StreamChecker::new(Options { profile: Profile::AiSdk, progressive_text: false });
        let mut lines = 0;
        let mut check = |stream: &str| {
            for payload in stream.lines().filter_map(|line| line.strip_prefix("data: ")) {
                lines += 1;
                match payload {
                    "[DONE]" => checker.done(lines),
                    _ => checker.payload(lines, payload.as_bytes()),
                }
            }
            let violations = checker.take_violations();
            assert!(violations.is_empty(), "{violations:#?}\n{stream}");
        };
        let user = json!({"id": "u1", "role": "user", "parts": [{"type": "text", "text": "compare the weather"}]});
        let (_, stream) = server.post("/api/chat", &json!({"id": "c", "messages": [user]})).await;
        check(stream.as_str().expect("a stream"));
        let (_, messages) = server.get("/api/chat/c/messages").await;
        let mut messages = messages.as_array().expect("messages").clone();
        let part = messages[1]["parts"].as_array_mut().and_then(|parts| parts.last_mut()).expect("a part");
        assert_eq!((&part["type"], &part["state"]), (&json!("tool-continue_turn"), &json!("approval-requested")));
        part["state"] = json!("approval-responded");
        part["approval"]["approved"] = json!(approved);
        let (_, stream) = server.post("/api/chat", &json!({"id": "c", "messages": messages})).await;
        let stream = stream.as_str().expect("a stream");
        check(stream);
        assert_eq!(stream.contains("tool-output-denied"), !approved, "{stream}");
        assert_eq!(stream.contains("Oslo"), approved, "{stream}");
    }
}

/// The question is in the log, and so is what was used.
#[tokio::test]
async fn a_budget_request_survives_a_kill_of_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("script.json");
    std::fs::write(&file, script().to_string()).expect("written");
    let model = format!("script:{}", file.display());
    let settings = [
        ("HOLDPOINT_MODEL__USE", model.as_str()),
        ("HOLDPOINT_MODEL__CHAT_TOKEN_BUDGET", "200"),
        ("HOLDPOINT_TOOLS__CONTINUE_TURN__APPROVAL_TIMEOUT_SEC", "0"),
    ];
    let say = |id: &str, text: &str| {
        let message = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]});
        json!({"id": "c", "messages": [message]})
    };
    let data = folder.path().join("data");
    let server = Binary::start_in(&data, &settings);
    server.post("/api/chat", &say("u1", "hello")).await;
    server.kill();
    // What the first turn used is known from the chat's checkpoint.
    let server = Binary::start_in(&data, &settings);
    let (_, stream) = server.post("/api/chat", &say("u2", "hello")).await;
    assert!(!stream.contains("continue_turn"), "{stream}");
    let (_, stream) = server.post("/api/chat", &say("u3", "hello")).await;
    assert!(stream.contains("continue_turn") && !stream.contains("text-delta"), "{stream}");
    server.kill();
    let server = Binary::start_in(&data, &settings);
    let entry = server.get_json("/api/approvals").await[0].clone();
    assert_eq!((&entry["input"]["used"], &entry["expiresAt"]), (&json!(200), &Value::Null), "{entry}");
    let path = format!("/api/approvals/{}", entry["approvalId"].as_str().expect("an id"));
    assert_eq!(server.post(&path, &json!({"approved": true})).await.0, 200);
    server.until("/api/chat/c/messages", |_, text| text.matches("Hello.").count() == 3).await;
}

/// The question is older than the settings, and the answer counts all the same.
#[tokio::test]
async fn an_approved_budget_counts_after_the_setting_was_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("script.json");
    std::fs::write(&file, script().to_string()).expect("written");
    let model = format!("script:{}", file.display());
    let model = ("HOLDPOINT_MODEL__USE", model.as_str());
    let data = folder.path().join("data");
    let server = Binary::start_in(&data, &[model, ("HOLDPOINT_MODEL__TURN_TOKEN_BUDGET", "100")]);
    let message = json!({"id": "u1", "role": "user", "parts": [{"type": "text", "text": "compare the weather"}]});
    server.post("/api/chat", &json!({"id": "c", "messages": [message]})).await;
    server.kill();
    let server = Binary::start_in(&data, &[model]);
    let entry = server.get_json("/api/approvals").await[0].clone();
    let path = format!("/api/approvals/{}", entry["approvalId"].as_str().expect("an id"));
    assert_eq!(server.post(&path, &json!({"approved": true})).await.0, 200);
    server.until("/api/chat/c/messages", |_, text| text.contains("Both.")).await;
}

#[test]
fn settings_that_would_disable_the_budget_request_are_refused() {
    let check = |text: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("c.toml"), text).expect("written");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        let output = command.args(["config", "check", "--config", "c.toml"]).current_dir(folder.path()).output();
        String::from_utf8(output.expect("runs").stderr).expect("UTF-8")
    };
    let budget = "[model]\nturn_token_budget = 1000\n[tools.continue_turn]\n";
    let table = [
        (format!("{budget}approval = 'never'"), "tools.continue_turn: `approval` of this tool can't be changed"),
        (format!("{budget}decisions = ['approve', 'deny', 'edit']"), "`decisions` of this tool can't be changed"),
        (
            format!("{budget}input_schema = {{}}"),
            "`input_schema` of this tool can't be changed: it asks whether to go on",
        ),
        (format!("{budget}execution = 'frontend'"), "`continue_turn` can't be the name of a tool"),
        ("[tools.continue_turn]\ntitle = 'x'".to_owned(), "there is no budget: set `model.turn_token_budget`"),
        ("[model]\nturn_token_budget = 0".to_owned(), "turn_token_budget"),
        ("[model]\nchat_token_budget = -5".to_owned(), "chat_token_budget"),
    ];
    for (text, expected) in table {
        let errors = check(&text);
        assert!(errors.contains(expected), "{text}\n{errors}");
    }
    let good = format!("{budget}approval_timeout_sec = 0\n[tools.continue_turn.approvers]\nby = ['group:finance']");
    assert_eq!(check(&good), "");
}
