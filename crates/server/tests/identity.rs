//! A program's own login: one function from the request to the identity, for HTTP, event streams and WebSockets; and what a page of
//! another origin can do with a cookie that the browser sends for it.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::{Router, http::request::Parts};
use holdpoint_runtime::subject::Subject;
use holdpoint_server::{Identity, IdentityError, Role, Server};
use reqwest::{Method, Response};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");
const ANN: (&str, &str) = ("cookie", "theme=dark; session=ann");
const BOB: (&str, &str) = ("cookie", "session=bob");

/// The session of a cookie, from a store that takes a moment.
async fn session(parts: Parts) -> Result<Identity, IdentityError> {
    let cookie = parts.headers.get("cookie").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    tokio::task::yield_now().await;
    match cookie.split("; ").find_map(|pair| pair.strip_prefix("session=")) {
        Some("down") => Err(IdentityError::Unavailable("the session store is down".to_owned())),
        Some("nameless") => Ok(Identity::new("")),
        Some("carol") => Ok(Identity::new("carol").with_roles([Role::Admin, Role::User]).with_groups(["finance"])),
        // The name alone is a user.
        Some(name) => Ok(Subject::from(name).into()),
        None => Err("log in first".into()),
    }
}

struct App {
    authority: String,
    client: reqwest::Client,
}

impl App {
    /// The app, with the agent below a path of its own.
    async fn start() -> Self {
        let runtime = holdpoint_demo::builder().start().await.expect("starts");
        let server = Server::builder(runtime).identify(session).origins(["https://app.example"]).build();
        let app = Router::new().nest("/agent", server.router());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let authority = listener.local_addr().expect("an address").to_string();
        tokio::spawn(async move { axum::serve(listener, app).await.expect("serves") });
        Self { authority, client: reqwest::Client::builder().no_proxy().build().expect("a client") }
    }

    async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &Value) -> Response {
        let mut request = self.client.request(method, format!("http://{}/agent{path}", self.authority));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !body.is_null() {
            request = request.body(body.to_string());
        }
        request.send().await.expect("an answer")
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
        let response = self.send(Method::GET, path, headers, &Value::Null).await;
        let status = response.status().as_u16();
        (status, serde_json::from_str(&response.text().await.expect("a body")).unwrap_or_default())
    }

    /// The status of a WebSocket's handshake: 101 when it is open.
    async fn socket(&self, path: &str, headers: &[(&str, &str)]) -> u16 {
        support::handshake(&format!("ws://{}/agent{path}", self.authority), headers).await
    }
}

fn says(text: &str) -> Value {
    json!({"id": "c1", "messages": [{"role": "user", "content": text}]})
}

#[tokio::test]
async fn the_function_says_who_sends_a_request_on_every_route() {
    let app = App::start().await;
    let asked = app.send(Method::POST, "/stream", &[ANN, JSON], &says("hello")).await;
    assert_eq!(asked.status().as_u16(), 200);
    asked.text().await.expect("the whole response");

    assert_eq!(app.get("/api/chat/c1/messages", &[ANN]).await.0, 200);
    assert_eq!(app.get("/api/chat/c1/messages", &[BOB]).await.0, 404);
    for path in ["/live", "/api/chat/ws"] {
        assert_eq!(app.socket(path, &[ANN]).await, 101, "{path}");
        assert_eq!(app.socket(path, &[]).await, 401, "{path}");
    }
    assert_eq!(app.send(Method::GET, "/api/events", &[ANN], &Value::Null).await.status().as_u16(), 200);
    assert_eq!(app.get("/api/events", &[]).await.0, 401);
    assert_eq!(app.send(Method::POST, "/api/chat", &[JSON], &says("hello")).await.status().as_u16(), 401);
}

#[tokio::test]
async fn the_login_function_sets_roles_and_groups() {
    let app = App::start().await;
    let me = async |headers: &[(&str, &str)]| app.get("/api/me", headers).await;
    let ann = json!({"subject": "ann", "roles": ["user"], "groups": []});
    assert_eq!(me(&[ANN]).await, (200, ann), "a subject alone is a user");
    let carol = json!({"subject": "carol", "roles": ["user", "admin"], "groups": ["finance"]});
    assert_eq!(me(&[("cookie", "session=carol")]).await, (200, carol));
    assert_eq!(me(&[]).await.0, 401);
}

#[tokio::test]
async fn an_error_is_a_problem_with_its_text() {
    let app = App::start().await;
    let (status, problem) = app.get("/api/approvals", &[]).await;
    assert_eq!((status, &problem["status"]), (401, &json!(401)));
    assert_eq!(problem["type"], "urn:holdpoint:problem:unauthenticated");
    assert_eq!(problem["detail"], "log in first");
    let (status, problem) = app.get("/api/approvals", &[("cookie", "session=down")]).await;
    assert_eq!((status, &problem["detail"]), (503, &json!("the session store is down")));
    // A login that finds nobody must not make everybody the same subject.
    assert_eq!(app.get("/api/approvals", &[("cookie", "session=nameless")]).await.0, 401);
    // An API key means nothing here.
    assert_eq!(app.get("/api/approvals", &[("x-api-key", "ann")]).await.0, 401);
}

#[tokio::test]
async fn a_socket_may_use_a_ticket_of_the_login() {
    let app = App::start().await;
    let issued = app.send(Method::POST, "/api/ticket", &[ANN, JSON], &Value::Null).await;
    let issued: Value = serde_json::from_str(&issued.text().await.expect("a body")).expect("a ticket");
    let path = format!("/live?ticket={}", issued["ticket"].as_str().expect("a ticket"));
    assert_eq!(app.get(&path.replace("/live", "/api/approvals"), &[]).await.0, 401);
    assert_eq!(app.socket(&path, &[]).await, 101);
    assert_eq!(app.socket(&path, &[]).await, 401);
}

/// The browser sends the cookie with the requests of every page.
#[tokio::test]
async fn a_foreign_page_can_do_nothing_with_the_cookie() {
    let app = App::start().await;
    let own = format!("http://{}", app.authority);
    for (origin, is_served) in [
        (own.as_str(), true),
        ("https://app.example", true),
        ("https://evil.example", false),
        // Another program of this machine shares its cookies.
        ("http://localhost:3000", false),
        ("null", false),
    ] {
        let headers = [ANN, JSON, ("origin", origin)];
        let expect = |served: u16| if is_served { served } else { 403 };
        let asked = app.send(Method::POST, "/stream", &headers, &says("hello")).await;
        assert_eq!(asked.status().as_u16(), expect(200), "{origin}");
        let decided = app.send(Method::POST, "/api/approvals/x", &headers, &json!({"approved": true})).await;
        assert_eq!(decided.status().as_u16(), expect(404), "{origin}");
        assert_eq!(app.get("/api/approvals", &headers).await.0, expect(200), "{origin}");
        for path in ["/live", "/api/chat/ws"] {
            assert_eq!(app.socket(path, &[ANN, ("origin", origin)]).await, expect(101), "{path}, {origin}");
        }
    }
    // An image or a frame has no origin, and a form sends its own types.
    let image = [ANN, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")];
    assert_eq!(app.get("/api/chat/c1/stream", &image).await.0, 403);
    let form = app.send(Method::POST, "/stream", &[ANN, ("content-type", "text/plain")], &says("hello")).await;
    assert_eq!(form.status().as_u16(), 415);
}

#[tokio::test]
async fn a_listed_origin_may_send_the_cookie() {
    let app = App::start().await;
    let listed = app.send(Method::GET, "/api/approvals", &[ANN, ("origin", "https://app.example")], &Value::Null).await;
    assert_eq!(listed.headers()["access-control-allow-origin"], "https://app.example");
    assert_eq!(listed.headers()["access-control-allow-credentials"], "true");
}

/// The function is asked once per request, and never for what needs no login.
#[tokio::test]
async fn the_function_is_called_once_per_request() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let runtime = holdpoint_demo::builder().start().await.expect("starts");
    let server = Server::builder(runtime)
        .identify(|_: Parts| async {
            CALLS.fetch_add(1, Ordering::Relaxed);
            Ok::<_, IdentityError>(Subject::from("ann"))
        })
        .build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, server.router()).await.expect("serves") });
    for (path, calls) in [("/health", 0), ("/api/approvals", 1), ("/api/chats", 2)] {
        assert_eq!(reqwest::get(format!("{base}{path}")).await.expect("an answer").status().as_u16(), 200, "{path}");
        assert_eq!(CALLS.load(Ordering::Relaxed), calls, "{path}");
    }
}
