//! A login that ends: the streams and sockets that were opened with it end too, each as its protocol wants it.

mod support;

use std::time::Duration;

use axum::http::request::Parts;
use futures::{SinkExt, StreamExt};
use holdpoint_runtime::clock::{Clock, Timestamp};
use holdpoint_server::{Identity, IdentityError};
use serde_json::{Value, json};
use support::{PATIENCE, Setup, Sse, TestServer, types};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest},
};

const LOGIN: Duration = Duration::from_secs(100);
const EXPIRED: &str = "Your login has expired. Please sign in again.";

/// Everybody is ann, until her login ends.
async fn start() -> TestServer {
    let setup = Setup::demo();
    let end = setup.clock.now().after(LOGIN);
    setup.start_with(move |server| server.identify(move |parts| login(parts, end))).await
}

async fn login(parts: Parts, end: Timestamp) -> Result<Identity, IdentityError> {
    match parts.headers.contains_key("x-nobody") {
        true => Err("log in first".into()),
        false => Ok(Identity::new("ann").expiring(end)),
    }
}

async fn pass(server: &TestServer, time: Duration) {
    // The stream sleeps until its login ends; the runtime sleeps as well.
    server.clock.until_sleepers(1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.clock.advance(time);
}

async fn socket(server: &TestServer, path: &str, has_login: bool) -> Option<Socket> {
    let mut request = format!("ws://{}{path}", server.address).into_client_request().expect("a request");
    if !has_login {
        request.headers_mut().insert("x-nobody", "1".parse().expect("a value"));
    }
    connect_async(request).await.ok().map(|(socket, _)| socket)
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

/// All texts up to the close frame, and its code.
async fn rest(socket: &mut Socket) -> (String, u16) {
    let mut texts = String::new();
    loop {
        match tokio::time::timeout(PATIENCE, socket.next()).await.expect("it ends in time") {
            Some(Ok(Message::Text(text))) => texts.push_str(&text),
            Some(Ok(Message::Close(Some(close)))) => return (texts, close.code.into()),
            Some(Ok(_)) => {}
            other => panic!("{other:?} after {texts}"),
        }
    }
}

#[tokio::test]
async fn me_says_when_the_login_ends() {
    let server = start().await;
    let end = server.clock.now().after(LOGIN).iso8601();
    let ann = json!({"subject": "ann", "roles": ["user"], "groups": [], "expiresAt": end});
    assert_eq!(server.get("/api/me").await, (200, ann));
    server.clock.advance(LOGIN);
    let (status, problem) = server.get("/api/me").await;
    assert_eq!((status, &problem["detail"]), (401, &json!("your login has expired: log in again")));
}

#[tokio::test]
async fn a_response_ends_with_an_error_when_the_login_expires() {
    let server = start().await;
    let mut chat = server.chat();
    // It waits for the browser.
    let mut sse = chat.say("open https://example.com").await;
    let mut payloads = Vec::new();
    while !payloads.iter().any(|payload: &String| payload.contains("tool-input-available")) {
        payloads.push(sse.next().await.expect("it goes on"));
    }
    pass(&server, LOGIN).await;
    payloads.append(&mut sse.rest().await);
    // The checker has no complaint either.
    let chunks = chat.take(payloads);
    let [.., error, finish, done] = chunks.as_slice() else { panic!("{chunks:?}") };
    assert_eq!(*error, json!({"type": "error", "errorText": EXPIRED}));
    assert_eq!((&finish["type"], done), (&json!("finish"), &json!("[DONE]")), "{:?}", types(&chunks));
    assert_eq!(server.get("/api/approvals").await.0, 401);
}

#[tokio::test]
async fn an_event_stream_ends_with_its_login() {
    let server = start().await;
    let response = reqwest::Client::builder().no_proxy().build().expect("a client");
    let response = response.get(server.url("/api/events")).send().await.expect("an answer");
    let mut events = Sse::new(response);
    assert_eq!(events.next().await.as_deref(), Some(r#"{"type":"ready"}"#));
    pass(&server, LOGIN).await;
    assert_eq!(events.rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_live_connection_is_closed_when_the_login_expires() {
    let server = start().await;
    let mut socket = socket(&server, "/live", true).await.expect("it opens");
    let said = json!({"type": "message", "messages": [{"role": "user", "content": "open https://example.com"}]});
    socket.send(Message::text(said.to_string())).await.expect("can be sent");
    pass(&server, LOGIN).await;
    let (texts, code) = rest(&mut socket).await;
    assert_eq!(code, 1008, "{texts}");
    assert!(texts.ends_with(&format!("data: {}\n\n", json!({"type": "error", "errorText": EXPIRED}))), "{texts}");
}

#[tokio::test]
async fn a_socket_of_the_sdk_is_closed_and_each_request_fails() {
    let server = start().await;
    let mut socket = socket(&server, "/api/chat/ws?wait=stream", true).await.expect("it opens");
    let message = json!({"id": "m", "role": "user", "parts": [{"type": "text", "text": "open https://example.com"}]});
    let send = json!({"type": "send", "requestId": "r", "id": "c", "messages": [message]});
    socket.send(Message::text(send.to_string())).await.expect("can be sent");
    // It has begun to wait.
    let mut texts = String::new();
    while !texts.contains("tool-input-available") {
        if let Some(Ok(Message::Text(text))) = socket.next().await {
            texts.push_str(&text);
        }
    }
    pass(&server, LOGIN).await;
    let (texts, code) = rest(&mut socket).await;
    assert_eq!(code, 1008, "{texts}");
    assert!(texts.ends_with(&json!({"type": "error", "requestId": "r", "errorText": EXPIRED}).to_string()), "{texts}");
}

/// A ticket carries the login that it was issued for, with its end.
#[tokio::test]
async fn a_ticket_does_not_outlive_the_login() {
    let server = start().await;
    let ticket = async || match server.post("/api/ticket", &Value::Null).await {
        (200, issued) => issued["ticket"].as_str().expect("a ticket").to_owned(),
        other => panic!("{other:?}"),
    };
    server.clock.advance(LOGIN - Duration::from_secs(30));
    let (first, second) = (ticket().await, ticket().await);
    let mut open = socket(&server, &format!("/live?ticket={first}"), false).await.expect("it opens");
    pass(&server, Duration::from_secs(31)).await;
    assert_eq!(rest(&mut open).await.1, 1008);
    assert!(socket(&server, &format!("/live?ticket={second}"), false).await.is_none(), "the ticket itself is fresh");
}
