//! The record: one line for each step of each call, for those who may see it, and after its chat is gone.

mod support;

use axum::http::request::Parts;
use holdpoint_runtime::input_sha256;
use holdpoint_server::{Identity, IdentityError, Role, Server};
use reqwest::Method;
use serde_json::{Value, json};

async fn who(parts: Parts) -> Result<Identity, IdentityError> {
    match parts.headers.get("x-user").and_then(|value| value.to_str().ok()) {
        Some("dora") => Ok(Identity::new("dora").with_roles([Role::Admin])),
        Some(name) => Ok(Identity::new(name)),
        None => Err("log in first".into()),
    }
}

struct App {
    url: String,
    client: reqwest::Client,
}

impl App {
    async fn start() -> Self {
        let runtime = holdpoint_demo::builder().start().await.expect("starts");
        let app = Server::builder(runtime).identify(who).build().router();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, app).await.expect("serves") });
        Self { url, client: reqwest::Client::builder().no_proxy().build().expect("a client") }
    }

    async fn send(&self, method: Method, user: &str, path: &str, body: &Value) -> (u16, Option<String>, String) {
        let request = self.client.request(method, format!("{}{path}", self.url)).header("x-user", user);
        let request = request.header("content-type", "application/json");
        let request = if body.is_null() { request } else { request.body(body.to_string()) };
        let response = request.send().await.expect("an answer");
        let link = response.headers().get("link").map(|link| link.to_str().expect("text").to_owned());
        (response.status().as_u16(), link, response.text().await.expect("a body"))
    }

    /// All lines of all pages.
    async fn audit(&self, user: &str, query: &str) -> Vec<Value> {
        let (mut lines, mut query) = (Vec::new(), query.to_owned());
        loop {
            let (status, link, text) = self.send(Method::GET, user, &format!("/api/audit{query}"), &Value::Null).await;
            assert_eq!(status, 200, "{query}: {text}");
            lines.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")));
            let Some(link) = link else { return lines };
            query = link.trim_start_matches('<').split_once('>').expect("a link").0.to_owned();
        }
    }

    /// A payment that was decided with this body.
    async fn pay(&self, user: &str, chat: &str, decision: &Value) {
        let message = json!({"role": "user", "content": "send 50 dollars to Hanako"});
        let asked = self.send(Method::POST, user, "/stream", &json!({"id": chat, "messages": [message]})).await;
        assert_eq!(asked.0, 200, "{asked:?}");
        let (.., inbox) = self.send(Method::GET, user, "/api/approvals", &Value::Null).await;
        let inbox: Value = serde_json::from_str(&inbox).expect("JSON");
        let approval = inbox[0]["approvalId"].as_str().expect("it waits");
        let decided = self.send(Method::POST, user, &format!("/api/approvals/{approval}"), decision).await;
        assert_eq!(decided.0, 200, "{decided:?}");
        for _ in 0..400 {
            let lines = self.audit(user, &format!("?chat={chat}")).await;
            if lines.iter().any(|line| line["step"] == "settled") {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("it is never settled");
    }
}

fn steps(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["step"].as_str().expect("a step")).collect()
}

#[tokio::test]
async fn the_audit_log_has_every_step_of_every_call() {
    let app = App::start().await;
    let edited = json!({"recipient": "Hanako", "amount": 20, "currency": "USD"});
    app.pay("ann", "one", &json!({"approved": true, "input": edited, "reason": "less"})).await;
    app.pay("bob", "two", &json!({"approved": false})).await;

    let lines = app.audit("ann", "").await;
    assert_eq!(steps(&lines), ["proposed", "asked", "decided", "started", "settled"], "{lines:#?}");
    assert!(lines.iter().all(|line| line["chatId"] == "one" && line["owner"] == "ann"), "{lines:#?}");
    assert!(lines.iter().all(|line| line["toolName"] == "process_payment"), "{lines:#?}");
    let decided = &lines[2];
    for (key, value) in [("by", "ann"), ("channel", "inbox"), ("decision", "edit"), ("reason", "less")] {
        assert_eq!(decided[key], value, "{decided:#}");
    }
    assert_eq!(decided["approvalId"], lines[1]["approvalId"]);
    assert_eq!((&decided["input"], &decided["originalInput"]["amount"]), (&edited, &json!(50)));
    // In its canonical form the keys are in order, and nothing else is written.
    let canonical = r#"{"amount":20,"currency":"USD","recipient":"Hanako"}"#;
    let digest = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(canonical));
    assert_eq!(decided["inputSha256"], digest);
    assert_eq!(decided["originalInputSha256"], lines[0]["inputSha256"]);
    assert_eq!(Some(lines[4]["inputSha256"].as_str().expect("one")), input_sha256(&edited).as_deref());
    assert_eq!(lines[4]["cause"], "ran");

    let lines = app.audit("bob", "").await;
    assert_eq!(steps(&lines), ["proposed", "asked", "decided", "settled"], "{lines:#?}");
    assert_eq!((&lines[2]["decision"], &lines[3]["cause"]), (&json!("deny"), &json!("decision")));

    // An admin sees everything, in pages of any size.
    let all = app.audit("dora", "").await;
    assert_eq!(all.len(), 9);
    for limit in [1, 2, 4] {
        assert_eq!(app.audit("dora", &format!("?limit={limit}")).await, all);
        assert_eq!(app.audit("dora", &format!("?limit={limit}&chat=two&tool=process_payment")).await, lines);
    }
    for (user, query, count) in [
        ("dora", "?subject=ann", 5),
        ("dora", "?subject=eve", 0),
        ("dora", "?tool=get_weather", 0),
        ("dora", "?since=2020-01-01T00:00:00Z&until=9999-01-01T00:00:00%2B01:00", 9),
        ("dora", "?since=9999-01-01T00:00:00Z", 0),
        ("dora", "?until=2020-01-01T00:00:00Z", 0),
        ("bob", "?chat=one", 0),
        ("bob", "?subject=ann", 0),
        ("eve", "", 0),
    ] {
        assert_eq!(app.audit(user, query).await.len(), count, "{user} {query}");
    }
    for wrong in ["?since=yesterday", "?limit=0", "?after=00"] {
        let (status, _, text) = app.send(Method::GET, "ann", &format!("/api/audit{wrong}"), &Value::Null).await;
        assert_eq!(status, 422, "{wrong}: {text}");
    }

    // What is left of a deleted chat.
    assert_eq!(app.send(Method::DELETE, "ann", "/api/chat/one", &Value::Null).await.0, 204);
    let lines = app.audit("ann", "?chat=one").await;
    assert_eq!(lines[2]["inputSha256"], digest);
    for line in &lines {
        for key in ["input", "originalInput", "reason"] {
            assert!(line.get(key).is_none(), "{line:#}");
        }
    }
}

/// A browser's result is recorded with the channel that it came through.
#[tokio::test]
async fn an_audit_line_of_a_result_names_its_channel() {
    let app = App::start().await;
    let said = json!({"id": "page", "messages": [{"role": "user", "content": "open https://example.com"}]});
    let said = app.send(Method::POST, "ann", "/api/chat", &said).await;
    let lines = app.audit("ann", "?chat=page").await;
    let call = lines.iter().find(|line| line["step"] == "started").unwrap_or_else(|| panic!("{said:?} {lines:?}"));
    let ack = json!({"toolCallId": call["toolCallId"], "status": "success", "output": {"ok": true},
        "requestedAt": "2026-11-20T00:00:00Z"});
    let acked = app.send(Method::POST, "ann", "/api/tools/ack", &ack).await;
    assert_eq!(acked.0, 200, "{acked:?}");
    let lines = app.audit("ann", "?chat=page&step=settled").await;
    assert_eq!((lines.len(), &lines[0]["cause"], &lines[0]["channel"]), (1, &json!("result"), &json!("ack")));
    for wrong in ["?step=dreamt", "?sinse=2026-11-20T00:00:00Z"] {
        assert_eq!(app.send(Method::GET, "ann", &format!("/api/audit{wrong}"), &Value::Null).await.0, 422, "{wrong}");
    }
}
