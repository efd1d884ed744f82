//! `/metrics`: what is counted, what is never a label, and that the documentation, the dashboard and the alerts name what exists.

mod support;

use std::collections::BTreeSet;

use holdpoint_server::{AuthKey, Keys};
use serde_json::{Value, json};
use support::{Answer, Live, Setup, TestServer};

const PAY: &str = "send 50 dollars to Hanako";

async fn metrics(server: &TestServer) -> String {
    let response = reqwest::Client::builder().no_proxy().build().expect("a client").get(server.url("/metrics"));
    let response = response.send().await.expect("an answer");
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = response.text().await.expect("a text");
    assert!(text.ends_with("# EOF\n"), "{text}");
    text
}

/// The value of one series: its name, and its labels in any order.
fn value(text: &str, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        let (found, written) =
            series.split_once('{').map_or((series, ""), |(name, rest)| (name, rest.trim_end_matches('}')));
        let has = |(label, value): &(&str, &str)| written.contains(&format!("{label}=\"{value}\""));
        (found == name && labels.iter().all(has)).then(|| value.parse().ok()).flatten()
    })
}

#[tokio::test]
async fn a_turn_with_an_approval_is_counted() {
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    chat.ask(PAY).await;
    server.clock.advance(std::time::Duration::from_secs(120));
    let text = metrics(&server).await;
    let hold = [("tool", "process_payment"), ("kind", "approval"), ("age", "1m to 10m")];
    assert_eq!(value(&text, "holdpoint_holds", &hold), Some(1.0), "{text}");
    assert_eq!(value(&text, "holdpoint_hold_oldest_age_seconds", &[("kind", "approval")]), Some(120.0));
    assert_eq!(value(&text, "holdpoint_turns", &[("state", "waiting")]), Some(1.0));
    assert_eq!(value(&text, "holdpoint_turns", &[("state", "running")]), Some(0.0));

    let approval = chat.approval(0);
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    chat.read(&mut sse).await;
    let text = metrics(&server).await;
    for (name, labels, wanted) in [
        ("holdpoint_turns", &[("state", "waiting")][..], 0.0),
        ("holdpoint_turns_started_total", &[], 1.0),
        ("holdpoint_turns_ended_total", &[("end", "finished")], 1.0),
        ("holdpoint_decisions_total", &[("kind", "approve"), ("channel", "chat")], 1.0),
        ("holdpoint_decisions_total", &[("kind", "approve"), ("channel", "inbox")], 0.0),
        ("holdpoint_decision_wait_seconds_sum", &[("kind", "approve")], 120.0),
        ("holdpoint_calls_settled_total", &[("tool", "process_payment"), ("cause", "ran")], 1.0),
        ("holdpoint_tool_duration_seconds_count", &[("tool", "process_payment"), ("result", "ok")], 1.0),
        ("holdpoint_model_duration_seconds_count", &[("result", "finished")], 2.0),
        ("holdpoint_log_appends_total", &[("result", "unknown")], 0.0),
        ("holdpoint_log_failures_total", &[("operation", "append")], 0.0),
        ("holdpoint_http_requests_total", &[("route", "/stream"), ("method", "POST"), ("status", "200")], 2.0),
    ] {
        assert_eq!(value(&text, name, labels), Some(wanted), "{name} {labels:?} in\n{text}");
    }
    for (name, labels) in [
        ("holdpoint_tokens_total", [("kind", "prompt")]),
        ("holdpoint_tokens_total", [("kind", "completion")]),
        ("holdpoint_log_appends_total", [("result", "committed")]),
        ("holdpoint_received_bytes_total", [("transport", "http")]),
        ("holdpoint_sent_bytes_total", [("transport", "http")]),
    ] {
        assert!(value(&text, name, &labels).is_some_and(|value| value > 0.0), "{name} {labels:?} in\n{text}");
    }
    assert!(
        !text.contains(&chat.id) && !text.contains(&approval) && !text.contains("local"),
        "an id is used as a label:\n{text}"
    );
}

#[tokio::test]
async fn decisions_are_told_apart_by_channel() {
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    chat.ask(PAY).await;
    let path = format!("/api/approvals/{}", chat.approval(0));
    assert_eq!(server.post(&path, &json!({"approved": false})).await.0, 200);
    assert_eq!(server.post(&path, &json!({"approved": false})).await.0, 200, "the same again is not in force again");

    let mut live = Live::connect(&server, "").await;
    live.say(PAY).await;
    live.until("finish-step").await;
    let text = metrics(&server).await;
    assert_eq!(value(&text, "holdpoint_sockets", &[("kind", "live")]), Some(1.0), "{text}");
    let (call, approval) = live.last_call();
    live.decide(&call, &approval.expect("a question"), true).await;
    live.until("[DONE]").await;

    let mut chat = server.chat();
    chat.ask(PAY).await;
    server.clock.advance(std::time::Duration::from_secs(400));
    let path = format!("/api/approvals/{}", chat.approval(0));
    assert_eq!(server.post(&path, &json!({"approved": true})).await.0, 410);

    let text = metrics(&server).await;
    for (name, labels, wanted) in [
        ("holdpoint_decisions_total", &[("kind", "deny"), ("channel", "inbox")][..], 1.0),
        ("holdpoint_decisions_total", &[("kind", "approve"), ("channel", "live")], 1.0),
        ("holdpoint_decisions_total", &[("kind", "approve"), ("channel", "chat")], 0.0),
        ("holdpoint_hold_expiries_total", &[("kind", "approval")], 1.0),
        ("holdpoint_calls_settled_total", &[("cause", "expired")], 1.0),
    ] {
        assert_eq!(value(&text, name, labels), Some(wanted), "{name} {labels:?} in\n{text}");
    }
    assert!(value(&text, "holdpoint_sent_bytes_total", &[("transport", "socket")]).is_some_and(|bytes| bytes > 0.0));
    assert!(
        value(&text, "holdpoint_received_bytes_total", &[("transport", "socket")]).is_some_and(|bytes| bytes > 0.0)
    );
}

#[tokio::test]
async fn refusals_and_open_streams_are_counted() {
    let mut setup = Setup::demo();
    setup.limits.body = 1000;
    setup.limits.streams_per_subject = 1;
    let server = setup.start().await;
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let events = client.get(server.url("/api/events")).send().await.expect("a stream");
    assert_eq!(server.get("/api/events").await.0, 429);
    assert_eq!(server.post("/api/tools/ack", &json!({"x": "x".repeat(2000)})).await.0, 413);
    assert_eq!(server.get("/api/chats").await.0, 200);
    let text = metrics(&server).await;
    assert_eq!(value(&text, "holdpoint_rejections_total", &[("limit", "streams")]), Some(1.0), "{text}");
    assert_eq!(value(&text, "holdpoint_rejections_total", &[("limit", "body")]), Some(1.0), "{text}");
    assert_eq!(value(&text, "holdpoint_rejections_total", &[("limit", "depth")]), Some(0.0), "{text}");
    assert_eq!(value(&text, "holdpoint_streams", &[("kind", "events")]), Some(1.0), "{text}");
    drop(events);
    let closed = async {
        while value(&metrics(&server).await, "holdpoint_streams", &[("kind", "events")]) != Some(0.0) {
            server.clock.advance(std::time::Duration::from_secs(16));
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(support::PATIENCE, closed).await.expect("the stream is let go of");
    let made_up = reqwest::Method::from_bytes(b"BREW").expect("a method");
    client.request(made_up, server.url("/api/chats")).send().await.expect("an answer");
    let text = metrics(&server).await;
    assert!(!text.contains("BREW") && text.contains("method=\"other\""), "{text}");
}

#[tokio::test]
async fn each_server_has_its_own_metrics_behind_its_keys() {
    let mut setup = Setup::demo();
    setup.keys = Keys::new(&[AuthKey {
        key_sha256: "2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683".to_owned(),
        subject: "alice".to_owned(),
        roles: Vec::new(),
        groups: Vec::new(),
    }])
    .expect("a hash of `key`");
    let (one, other) = (setup.start().await, TestServer::demo().await);
    assert_eq!(one.get("/metrics").await.0, 401);
    other.chat().ask("hello").await;
    assert_eq!(value(&one.server.metrics().await, "holdpoint_turns_started_total", &[]), Some(0.0));
    assert_eq!(value(&other.server.metrics().await, "holdpoint_turns_started_total", &[]), Some(1.0));
}

/// The names of all metrics in a text, as Prometheus stores them.
fn named(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("holdpoint_") {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '/')) {
            continue;
        }
        let is_name = |char: &char| char.is_ascii_lowercase() || *char == '_';
        names.insert(text[at..].chars().take_while(is_name).collect());
    }
    names
}

/// The families that `/metrics` writes, with the names of their series.
fn families(text: &str) -> Vec<(String, Vec<String>)> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    types
        .map(|(name, kind)| {
            let suffixes: &[&str] = match kind {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_sum", "_count"],
                "info" => &["_info"],
                _ => &[""],
            };
            (name.to_owned(), suffixes.iter().map(|suffix| format!("{name}{suffix}")).collect())
        })
        .collect()
}

fn read(path: &str) -> String {
    let path = format!("{}/../../docs/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[tokio::test]
async fn the_documented_metrics_are_exactly_those_that_exist() {
    let server = TestServer::demo().await;
    // Series with the name of a tool or a route begin with its first use.
    let mut chat = server.chat();
    chat.ask(PAY).await;
    let approval = chat.approval(0);
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    chat.read(&mut sse).await;
    chat.ask(PAY).await;
    let families = families(&metrics(&server).await);
    let series: BTreeSet<&String> = families.iter().flat_map(|(_, series)| series).collect();
    assert!(series.len() > 25, "{series:?}");

    let dashboard: Value = serde_json::from_str(&read("operations/dashboard.json")).expect("JSON");
    let alerts: Value = serde_yaml_ng::from_str(&read("operations/alerts.yml")).expect("YAML");
    let rules = alerts["groups"][0]["rules"].as_array().expect("rules");
    assert!(rules.len() > 8 && rules.iter().all(|rule| rule["alert"].is_string() && rule["expr"].is_string()));
    let shown = named(&dashboard.to_string());
    for (file, names) in [("the dashboard", &shown), ("the alerts", &named(&alerts.to_string()))] {
        let unknown: Vec<&String> = names.iter().filter(|name| !series.contains(name)).collect();
        assert!(unknown.is_empty(), "{file} names metrics that do not exist: {unknown:?}");
    }
    let manual = named(&read("operations.md"));
    for (family, series) in &families {
        let is_in = |names: &BTreeSet<String>| names.contains(family) || series.iter().any(|name| names.contains(name));
        assert!(is_in(&manual), "docs/operations.md does not explain {family}");
        assert!(is_in(&shown), "the dashboard does not show {family}");
    }
    let unknown: Vec<&String> = manual
        .iter()
        // Crates, in filters of the log.
        .filter(|name| !["holdpoint_runtime", "holdpoint_server"].contains(&name.as_str()))
        .filter(|name| !series.contains(name) && families.iter().all(|(family, _)| family != *name))
        .collect();
    assert!(unknown.is_empty(), "docs/operations.md explains metrics that do not exist: {unknown:?}");
}
