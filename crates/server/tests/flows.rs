//! Every row of the flow table, in both modes, against a real server, compared with the project's own captures.
//!
//! `HOLDPOINT_RECORD=1 cargo test -p holdpoint-server --test flows` writes the captures anew (`cargo xtask record`); read them before you
//! commit them.

mod support;

use std::{fs, path::PathBuf};

use serde_json::{Map, Value, json};
use support::{Answer, Live, TestServer};

/// Compares with the capture of that name, or records it.
fn capture(name: &str, mode: &str, said: &str, segments: &[Vec<Value>]) {
    let done = segments.iter().flatten().filter(|chunk| **chunk == "[DONE]").count();
    let capture = json!({"flow": name, "mode": mode, "said": said, "doneCount": done, "segments": Names::default().stable(segments)});
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/flows/{name}-{mode}.json"));
    let text = format!("{:#}\n", capture);
    if std::env::var_os("HOLDPOINT_RECORD").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
        fs::write(&path, text).expect("can be written");
        return;
    }
    let stored =
        fs::read_to_string(&path).unwrap_or_else(|_| panic!("no capture {}: run `cargo xtask record`", path.display()));
    assert_eq!(text, stored, "{name} over {mode} is not what was captured");
}

/// Gives ids, times and the like names that do not change from run to run.
#[derive(Default)]
struct Names(Map<String, Value>);

impl Names {
    fn stable(&mut self, segments: &[Vec<Value>]) -> Value {
        segments.iter().map(|segment| segment.iter().map(|chunk| self.value("", chunk)).collect::<Vec<_>>()).collect()
    }

    fn value(&mut self, key: &str, value: &Value) -> Value {
        let prefix = match key {
            "messageId" => "message",
            "toolCallId" => "call",
            "approvalId" => "approval",
            "transaction_id" => "transaction",
            "timestamp" => return json!("TIME"),
            _ => "",
        };
        match value {
            Value::String(text) if !prefix.is_empty() => {
                let number = self.0.keys().filter(|known| known.starts_with(prefix)).count() + 1;
                let known = format!("{prefix} {text}");
                self.0.entry(known).or_insert_with(|| json!(format!("{prefix}-{number}"))).clone()
            }
            Value::String(text) if text.contains("txn_") => {
                let at = text.find("txn_").unwrap_or_default();
                let id = &text[at..(at + 16).min(text.len())];
                json!(text.replace(id, self.value("transaction_id", &json!(id)).as_str().unwrap_or_default()))
            }
            Value::Object(map) => {
                Value::Object(map.iter().map(|(key, value)| (key.clone(), self.value(key, value))).collect())
            }
            Value::Array(items) => items.iter().map(|item| self.value("", item)).collect(),
            other => other.clone(),
        }
    }
}

/// Over SSE: says something, gives the same answers to all questions of each segment, until the turn is over.
async fn random_turns_over_sse(name: &str, said: &str, answers: &[bool]) -> TestServer {
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    chat.ask(said).await;
    let mut answers = answers.iter();
    loop {
        let open: Vec<String> = open_approvals(&chat);
        if open.is_empty() {
            break;
        }
        let given: Vec<Answer<'_>> = open
            .iter()
            .map(|id| {
                if *answers.next().expect("an answer for each question") {
                    Answer::Approve(id)
                } else {
                    Answer::Deny(id, None)
                }
            })
            .collect();
        let mut sse = chat.answer(&given).await;
        chat.read(&mut sse).await;
    }
    assert!(answers.next().is_none(), "a question was never asked");
    capture(name, "sse", said, &chat.segments);
    drop(chat);
    server
}

fn open_approvals(chat: &support::Chat<'_>) -> Vec<String> {
    let last = serde_json::to_value(chat.messages.last()).expect("json");
    let parts = last["parts"].as_array().cloned().unwrap_or_default();
    let open = parts.iter().filter(|part| part["state"] == "approval-requested");
    open.filter_map(|part| part["approval"]["id"].as_str()).map(str::to_owned).collect()
}

/// On live: says something and answers each question as it comes.
async fn on_live(name: &str, said: &str, answers: &[bool]) {
    let server = TestServer::demo().await;
    let mut live = Live::connect(&server, "").await;
    live.say(said).await;
    for approved in answers {
        live.until("tool-approval-request").await;
        live.until("finish-step").await;
        let (call, approval) = live.last_call();
        live.decide(&call, &approval.expect("a question"), *approved).await;
    }
    live.until("[DONE]").await;
    capture(name, "live", said, &[live.chunks.clone()]);
    live.close().await;
}

const PAY: &str = "次郎さんに200ドル送金してください";
const PAY_TWO: &str = "Aliceに30ドル、Bobに40ドル送金してください";

#[tokio::test]
async fn process_payment_approved() {
    random_turns_over_sse("process_payment-approved", PAY, &[true]).await;
    on_live("process_payment-approved", PAY, &[true]).await;
}

#[tokio::test]
async fn process_payment_denied() {
    random_turns_over_sse("process_payment-denied", PAY, &[false]).await;
    on_live("process_payment-denied", PAY, &[false]).await;
}

#[tokio::test]
async fn process_payment_timeout() {
    // On live somebody is there to see it: the turn goes on by itself.
    let server = TestServer::demo().await;
    let mut live = Live::connect(&server, "").await;
    live.say(PAY).await;
    live.until("finish-step").await;
    server.clock.advance(std::time::Duration::from_secs(301));
    live.until("[DONE]").await;
    capture("process_payment-timeout", "live", PAY, &[live.chunks.clone()]);

    // Over SSE nobody is: the next request gets the outcome.
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    chat.ask(PAY).await;
    let approval = chat.approval(0);
    server.clock.advance(std::time::Duration::from_secs(301));
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    chat.read(&mut sse).await;
    capture("process_payment-timeout", "sse", PAY, &chat.segments);
}

#[tokio::test]
async fn get_location_approved() {
    let place = json!({"latitude": 35.6762, "longitude": 139.6503, "accuracy": 20});
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    chat.ask("現在地を教えて").await;
    let (approval, call) = (chat.approval(0), chat.call(0));
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    // After the approval alone nothing is sent but `start`, and the response stays open.
    let start = sse.next().await.expect("start");
    assert_eq!(server.ack(&call, "success", place.clone()).await, (200, json!({"ok": true})));
    let mut payloads = vec![start];
    payloads.extend(sse.rest().await);
    chat.take(payloads);
    capture("get_location-approved", "sse", "現在地を教えて", &chat.segments);

    let server = TestServer::demo().await;
    let mut live = Live::connect(&server, "").await;
    live.say("現在地を教えて").await;
    live.until("finish-step").await;
    let (call, approval) = live.last_call();
    live.decide(&call, &approval.expect("a question"), true).await;
    live.send(&json!({"type": "tool_result", "toolCallId": call, "result": place})).await;
    live.until("[DONE]").await;
    capture("get_location-approved", "live", "現在地を教えて", &[live.chunks.clone()]);
}

#[tokio::test]
async fn get_location_denied() {
    random_turns_over_sse("get_location-denied", "現在地を教えて", &[false]).await;
    on_live("get_location-denied", "現在地を教えて", &[false]).await;
}

#[tokio::test]
async fn multiple_payments() {
    for (name, answers) in [
        ("approved", [true, true]),
        ("approve-deny", [true, false]),
        ("deny-approve", [false, true]),
        ("deny-deny", [false, false]),
    ] {
        random_turns_over_sse(&format!("multiple-payments-{name}"), PAY_TWO, &answers).await;
        on_live(&format!("multiple-payments-{name}"), PAY_TWO, &answers).await;
    }
}

#[tokio::test]
async fn two_approvals_in_a_row() {
    let said = "find inactive users and deactivate them";
    random_turns_over_sse("database-in-a-row", said, &[true, true]).await;
    on_live("database-in-a-row", said, &[true, true]).await;
    random_turns_over_sse("database-in-a-row-denied", said, &[true, false]).await;
    on_live("database-in-a-row-denied", said, &[true, false]).await;
}

#[tokio::test]
async fn change_bgm() {
    random_turns_over_sse("change_bgm", "トラック1に変更して", &[]).await;
    on_live("change_bgm", "トラック1に変更して", &[]).await;
}

#[tokio::test]
async fn get_weather() {
    random_turns_over_sse("get_weather", "what's the weather in Tokyo", &[]).await;
    on_live("get_weather", "what's the weather in Tokyo", &[]).await;
}

#[tokio::test]
async fn open_url() {
    let said = "open https://example.com";
    let output = json!({"url": "https://example.com", "viewKey": "view-1"});
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    let mut sse = chat.say(said).await;
    let mut payloads = Vec::new();
    let call = loop {
        let payload = sse.next().await.expect("the call");
        let chunk: Value = serde_json::from_str(&payload).expect("json");
        payloads.push(payload);
        if chunk["type"] == "tool-input-available" {
            break chunk["toolCallId"].as_str().expect("an id").to_owned();
        }
    };
    assert_eq!(server.ack(&call, "success", output.clone()).await.0, 200);
    payloads.extend(sse.rest().await);
    let chunks = chat.take(payloads);
    let outcome = chunks.iter().find(|chunk| chunk["type"] == "tool-output-available").expect("an output");
    assert_eq!(outcome["output"]["status"], "success", "the output is the whole ack");
    assert_eq!(outcome["output"]["output"], output);
    capture("open-url", "sse", said, &chat.segments);

    let server = TestServer::demo().await;
    let mut live = Live::connect(&server, "").await;
    live.say(said).await;
    live.until("tool-input-available").await;
    let (call, _) = live.last_call();
    live.send(&json!({"type": "tool_result", "toolCallId": call, "result": output})).await;
    live.until("[DONE]").await;
    capture("open-url", "live", said, &[live.chunks.clone()]);
}

#[tokio::test]
async fn open_url_timeout() {
    let said = "open https://example.com";
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    let mut sse = chat.say(said).await;
    let mut payloads = Vec::new();
    while payloads.last().is_none_or(|payload: &String| !payload.contains("tool-input-available")) {
        payloads.push(sse.next().await.expect("the call"));
    }
    server.clock.advance(std::time::Duration::from_secs(61));
    payloads.extend(sse.rest().await);
    chat.take(payloads);
    capture("open-url-timeout", "sse", said, &chat.segments);

    let server = TestServer::demo().await;
    let mut live = Live::connect(&server, "").await;
    live.say(said).await;
    live.until("tool-input-available").await;
    server.clock.advance(std::time::Duration::from_secs(61));
    live.until("[DONE]").await;
    capture("open-url-timeout", "live", said, &[live.chunks.clone()]);
}
