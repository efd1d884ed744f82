//! Errors over HTTP: one shape, one sentence on the chat endpoints, and a status that is decided in one place.

mod support;

use holdpoint_server::{AuthKey, Keys, Limits};
use reqwest::Method;
use serde_json::{Value, json};
use support::{Setup, TestServer};

/// A response to a request that is not taken.
struct Refusal {
    status: u16,
    headers: reqwest::header::HeaderMap,
    body: String,
}

impl Refusal {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The problem, after a look at what holds for all of them.
    fn problem(&self) -> Value {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.body);
        let problem: Value = serde_json::from_str(&self.body).expect("JSON");
        assert_eq!(problem["status"], self.status, "{problem}");
        for field in ["type", "title", "detail"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{field} in {problem}");
        }
        assert!(problem["type"].as_str().is_some_and(|kind| kind.starts_with("urn:holdpoint:problem:")), "{problem}");
        problem
    }
}

async fn refuse(server: &TestServer, method: Method, path: &str, body: impl Into<reqwest::Body>) -> Refusal {
    refuse_with(server, method, path, body, None).await
}

async fn refuse_with(
    server: &TestServer,
    method: Method,
    path: &str,
    body: impl Into<reqwest::Body>,
    key: Option<&str>,
) -> Refusal {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let mut request = client.request(method, server.url(path)).header("content-type", "application/json").body(body);
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let response = request.send().await.expect("an answer");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Refusal { status, headers, body: response.text().await.expect("a body") }
}

#[tokio::test]
async fn every_error_is_a_problem_of_its_kind() {
    let server = TestServer::demo().await;
    let large = vec![b' '; 5 * 1024 * 1024];
    for (method, path, body, status, kind) in [
        (Method::GET, "/api/chat/nobody/messages", Vec::new(), 404, "not-found"),
        (Method::GET, "/api/chat/nobody/holds", Vec::new(), 404, "not-found"),
        (Method::DELETE, "/api/chat/nobody", Vec::new(), 404, "not-found"),
        (Method::POST, "/api/chat/nobody/stop", Vec::new(), 404, "not-found"),
        (Method::GET, "/api/chat/a/holds?calls=some", Vec::new(), 422, "invalid"),
        (Method::POST, "/api/check?profile=none", Vec::new(), 422, "invalid"),
        (Method::POST, "/api/check", large, 413, "too-large"),
        (Method::PUT, "/api/chats", Vec::new(), 405, "method-not-allowed"),
        (Method::GET, "/live", Vec::new(), 426, "upgrade-required"),
        (Method::GET, "/api/chat/ws", Vec::new(), 426, "upgrade-required"),
    ] {
        let refusal = refuse(&server, method, path, body).await;
        assert_eq!(refusal.status, status, "{path}: {}", refusal.body);
        let problem = refusal.problem();
        assert_eq!(problem["type"], format!("urn:holdpoint:problem:{kind}"), "{path}");
        assert!(problem.get("ok").is_none() && problem.get("reason").is_none(), "{path}: {problem}");
    }
    let refusal = refuse(&server, Method::PUT, "/api/chats", "").await;
    assert!(refusal.header("allow").contains("GET"), "{:?}", refusal.headers);
}

#[tokio::test]
async fn errors_of_the_chat_endpoints_are_one_sentence() {
    let server = TestServer::demo().await;
    for (method, path, body, status) in [
        (Method::POST, "/stream", "{", 400),
        (Method::POST, "/api/chat", "[]", 422),
        (Method::POST, "/api/chat", r#"{"id":"a","messages":[]}"#, 422),
        (Method::PUT, "/api/chat", "", 405),
        (Method::POST, "/api/chat/a/stream", "", 405),
    ] {
        let refusal = refuse(&server, method, path, body).await;
        assert_eq!(refusal.status, status, "{path}: {}", refusal.body);
        assert_eq!(refusal.header("content-type"), "text/plain; charset=utf-8", "{path}");
        assert!(!refusal.body.is_empty() && !refusal.body.contains('\n'), "{path}: {}", refusal.body);
        assert!(!refusal.body.starts_with('{'), "{path}: {}", refusal.body);
    }
}

#[tokio::test]
async fn the_ack_and_the_inbox_add_their_own_fields() {
    let server = TestServer::demo().await;
    let ack = |call: &str| json!({"toolCallId": call, "status": "success", "requestedAt": "2025-02-01"}).to_string();
    for (path, body, status, kind, reason) in [
        ("/api/tools/ack", ack("nobody"), 404, "not-found", Some("unknown")),
        ("/api/tools/ack", "{".to_owned(), 422, "not-json", None),
        ("/api/tools/ack", r#"{"toolCallId":"a","status":"maybe"}"#.to_owned(), 422, "invalid", None),
        ("/api/approvals/nobody", r#"{"approved":true}"#.to_owned(), 404, "not-found", Some("unknown")),
        ("/api/approvals/nobody", r#"{"approved":"yes"}"#.to_owned(), 422, "invalid", None),
    ] {
        let refusal = refuse(&server, Method::POST, path, body.clone()).await;
        assert_eq!(refusal.status, status, "{path} {body}: {}", refusal.body);
        let problem = refusal.problem();
        assert_eq!(problem["type"], format!("urn:holdpoint:problem:{kind}"), "{path}");
        assert_eq!(problem["ok"], false, "{problem}");
        assert_eq!(problem["reason"], *reason.unwrap_or_else(|| problem["detail"].as_str().expect("a text")));
    }
    let refusal = refuse(&server, Method::PUT, "/api/approvals/nobody", "").await;
    assert_eq!((refusal.status, &refusal.problem()["ok"]), (405, &json!(false)));
}

#[tokio::test]
async fn a_problem_points_at_the_invalid_field() {
    let server = TestServer::demo().await;
    let pointer = async |path: &str, body: Value| {
        refuse(&server, Method::POST, path, body.to_string()).await.problem()["pointer"].clone()
    };
    assert_eq!(pointer("/api/approvals/a", json!({"approved": "yes"})).await, "/approved");
    let ack = json!({"toolCallId": "a", "status": "maybe", "requestedAt": "2025-02-01"});
    assert_eq!(pointer("/api/tools/ack", ack).await, "/status");
    let ack = json!({"toolCallId": "a", "status": "success", "requestedAt": "soon"});
    assert_eq!(pointer("/api/tools/ack", ack).await, "/requestedAt");
    // Of a missing field there is only the object that lacks it.
    assert_eq!(pointer("/api/approvals/a", json!({})).await, "");
}

#[tokio::test]
async fn refusals_of_extractors_and_limits_have_the_form_of_their_route() {
    let mut setup = Setup::demo();
    setup.keys = Keys::new(&[AuthKey {
        key_sha256: "2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683".to_owned(),
        subject: "alice".to_owned(),
        roles: Vec::new(),
        groups: Vec::new(),
    }])
    .expect("a hash of `key`");
    setup.limits = Limits { streams_per_subject: 0, ..Limits::default() };
    let server = setup.start().await;

    let refusal = refuse(&server, Method::GET, "/api/chats", "").await;
    assert_eq!((refusal.status, refusal.header("www-authenticate")), (401, "Bearer"));
    assert_eq!(refusal.problem()["type"], "urn:holdpoint:problem:key-required");
    let refusal = refuse_with(&server, Method::GET, "/api/chats", "", Some("other")).await;
    assert_eq!(refusal.problem()["type"], "urn:holdpoint:problem:key-invalid");

    let refusal = refuse(&server, Method::POST, "/api/chat", "").await;
    assert_eq!((refusal.status, refusal.header("content-type")), (401, "text/plain; charset=utf-8"));
    assert_eq!(refusal.header("www-authenticate"), "Bearer");
    let refusal = refuse(&server, Method::POST, "/api/tools/ack", "{}").await;
    assert_eq!((refusal.status, &refusal.problem()["ok"]), (401, &json!(false)));

    let body = json!({"messages": [{"role": "user", "content": "hello"}]}).to_string();
    let refusal = refuse_with(&server, Method::POST, "/stream", body, Some("key")).await;
    assert_eq!((refusal.status, refusal.header("retry-after")), (429, "1"), "{}", refusal.body);
    let refusal = refuse_with(&server, Method::GET, "/api/events", "", Some("key")).await;
    assert_eq!(refusal.problem()["type"], "urn:holdpoint:problem:too-many-streams");
}

/// A path before the router changes nothing.
#[tokio::test]
async fn a_nested_router_keeps_its_forms() {
    let runtime = holdpoint_demo::builder().start().await.expect("it starts");
    let router = axum::Router::new().nest("/agent", holdpoint_server::Server::new(runtime).router());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    for (path, kind) in
        [("/agent/api/chat", "text/plain; charset=utf-8"), ("/agent/api/tools/ack", "application/problem+json")]
    {
        let response = client.post(format!("http://{address}{path}")).body("{").send().await.expect("an answer");
        assert_eq!(response.headers()["content-type"], kind, "{path}");
    }
}
