//! Who may do what: every route and every frame, for every identity. A route that `/openapi.json` shows and that has no row here fails,
//! and so does a frame of the protocol.

mod support;

use std::collections::BTreeSet;

use futures::{SinkExt, StreamExt};
use holdpoint_protocol::{live::LiveFrame, websocket::WsRequest};
use holdpoint_server::{AuthKey, Keys};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{PATIENCE, Setup, TestServer};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{self, Message, client::IntoClientRequest},
};

const PAY: &str = "Send 50 dollars to Wilhelmina";

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Nobody,
    WrongKey,
    Other,
    Owner,
}

impl Who {
    const ALL: [Self; 4] = [Self::Nobody, Self::WrongKey, Self::Other, Self::Owner];

    fn key(self) -> Option<&'static str> {
        match self {
            Self::Nobody => None,
            Self::WrongKey => Some("guessed"),
            Self::Other => Some("key-of-bob"),
            Self::Owner => Some("key-of-ann"),
        }
    }
}

/// What the owner and somebody else get. Without a key, and with a wrong one, it is 401 wherever a key is needed.
struct Row {
    route: &'static str,
    body: &'static str,
    owner: u16,
    other: u16,
    is_public: bool,
}

const fn row(route: &'static str, body: &'static str, owner: u16, other: u16) -> Row {
    Row { route, body, owner, other, is_public: false }
}

const fn public(route: &'static str, status: u16) -> Row {
    Row { route, body: "", owner: status, other: status, is_public: true }
}

/// What is not the caller's is not there: the same status as for something that nobody has.
const ROUTES: &[Row] = &[
    row("POST /stream", r#"{"id":"CHAT","messages":[{"role":"user","content":"and?"}]}"#, 200, 404),
    row("POST /api/chat", r#"{"id":"CHAT","messages":[{"role":"user","content":"and?"}]}"#, 200, 404),
    row("GET /live", "", 426, 426),
    row("GET /api/chat/ws", "", 426, 426),
    row("GET /api/chat/{id}/stream", "", 204, 204),
    row(
        "POST /api/tools/ack",
        r#"{"toolCallId":"BROWSER","status":"success","output":1,"requestedAt":"2025-02-01T12:34:56.789Z"}"#,
        200,
        404,
    ),
    row("GET /api/approvals", "", 200, 200),
    row("POST /api/approvals/{approvalId}", r#"{"approved":true}"#, 200, 404),
    row("GET /api/chats", "", 200, 200),
    // Nobody has a chat of that name.
    row("DELETE /api/chat/ws", "", 404, 404),
    row("DELETE /api/chat/{id}", "", 204, 404),
    row("GET /api/chat/{id}/messages", "", 200, 404),
    row("GET /api/chat/{id}/holds", "", 200, 404),
    row("POST /api/chat/{id}/stop", "", 200, 404),
    row("GET /api/tools", "", 200, 200),
    row("POST /api/check", "data: [DONE]\n\n", 200, 200),
    row("GET /api/events", "", 200, 200),
    row("POST /api/ticket", "", 200, 200),
    row("GET /metrics", "", 200, 200),
    public("GET /health", 200),
    public("GET /ready", 200),
    public("GET /openapi.json", 200),
    public("GET /docs", 200),
];

fn keys() -> Keys {
    let key = |key: &str, subject: &str| AuthKey {
        key_sha256: Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect(),
        subject: subject.to_owned(),
        roles: Vec::new(),
    };
    Keys::new(&[key("key-of-ann", "ann"), key("key-of-bob", "bob")]).expect("good keys")
}

/// A server on which a chat of ann's waits for an approval, and another one for a browser.
struct Scene {
    server: TestServer,
    call: String,
    approval: String,
    browser: String,
}

const CHAT: &str = "the-chat";

impl Scene {
    async fn set() -> Self {
        let mut setup = Setup::demo();
        setup.keys = keys();
        let server = setup.start().await;
        let said = json!({"id": CHAT, "messages": [{"role": "user", "content": PAY}]});
        let (status, _) = ask(&server, "POST /stream", &said.to_string(), Who::Owner).await;
        assert_eq!(status, 200);
        let (_, inbox) = ask(&server, "GET /api/approvals", "", Who::Owner).await;
        let text = |field: &str| inbox[0][field].as_str().unwrap_or_else(|| panic!("{field}: {inbox}")).to_owned();
        let (call, approval) = (text("toolCallId"), text("approvalId"));
        let said = json!({"id": "another", "messages": [{"role": "user", "content": "open https://example.com"}]});
        let (_, stream) = ask(&server, "POST /api/chat", &said.to_string(), Who::Owner).await;
        let stream = stream.as_str().expect("a stream").to_owned();
        let (_, after) = stream.split_once(r#""toolCallId":""#).unwrap_or_else(|| panic!("{stream}"));
        let browser = after.split_once('"').expect("an id").0.to_owned();
        Self { call, approval, browser, server }
    }

    fn filled(&self, text: &str) -> String {
        text.replace("{id}", CHAT)
            .replace("{approvalId}", &self.approval)
            .replace("CHAT", CHAT)
            .replace("CALL", &self.call)
            .replace("BROWSER", &self.browser)
    }

    /// Ann's chat as she sees it: nothing of it may change by what others do.
    async fn state(&self) -> Value {
        let (_, messages) = ask(&self.server, &format!("GET /api/chat/{CHAT}/messages"), "", Who::Owner).await;
        let (_, holds) = ask(&self.server, &format!("GET /api/chat/{CHAT}/holds"), "", Who::Owner).await;
        let (_, inbox) = ask(&self.server, "GET /api/approvals", "", Who::Owner).await;
        json!([messages, holds, inbox])
    }
}

/// The status and the body, as far as it has come; streams do not end.
async fn ask(server: &TestServer, route: &str, body: &str, who: Who) -> (u16, Value) {
    let (method, path) = route.split_once(' ').expect("a method and a path");
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client");
    let method: Method = method.parse().expect("a method");
    let mut request = client.request(method, server.url(path)).body(body.to_owned());
    request = request.header("content-type", if path == "/api/check" { "text/plain" } else { "application/json" });
    if let Some(key) = who.key() {
        request = request.bearer_auth(key);
    }
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    let is_endless = path == "/api/events";
    let text = if is_endless { String::new() } else { response.text().await.expect("a body") };
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

#[tokio::test]
async fn every_route_has_a_row() {
    let scene = Scene::set().await;
    let (_, api) = ask(&scene.server, "GET /openapi.json", "", Who::Nobody).await;
    let served: BTreeSet<String> = api["paths"]
        .as_object()
        .expect("paths")
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().expect("operations").keys();
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    let rows: BTreeSet<String> = ROUTES.iter().map(|row| row.route.to_owned()).collect();
    assert_eq!(served, rows, "a route without a row, or a row without a route");
}

#[tokio::test]
async fn every_route_serves_whom_it_should() {
    for row in ROUTES {
        // What others do must change nothing, so the owner comes last.
        let scene = Scene::set().await;
        let before = scene.state().await;
        for who in Who::ALL {
            let wanted = match who {
                Who::Nobody | Who::WrongKey if !row.is_public => 401,
                Who::Owner => row.owner,
                _ => row.other,
            };
            let (status, body) = ask(&scene.server, &scene.filled(row.route), &scene.filled(row.body), who).await;
            assert_eq!(status, wanted, "{} as {who:?}: {body}", row.route);
            if who != Who::Owner {
                assert!(!body.to_string().contains("Wilhelmina"), "{} shows {who:?} what is ann's: {body}", row.route);
                assert_eq!(scene.state().await, before, "{} as {who:?} changed what is ann's", row.route);
            }
        }
    }
}

/// Somebody else's chat, approval request or call is answered as one that does not exist, to the letter.
#[tokio::test]
async fn what_is_somebody_elses_is_as_if_it_were_not_there() {
    let scene = Scene::set().await;
    for row in ROUTES.iter().filter(|row| !row.is_public) {
        let theirs = ask(&scene.server, &scene.filled(row.route), &scene.filled(row.body), Who::Other).await;
        let nobodys =
            |text: &str| text.replace("{id}", "none").replace("{approvalId}", "none").replace("BROWSER", "none");
        // A chat that nobody has can be begun; that is the one difference, and the next test's matter.
        if row.body.contains("CHAT") {
            continue;
        }
        let none = ask(&scene.server, &nobodys(row.route), &nobodys(row.body), Who::Other).await;
        if row.route != "POST /api/ticket" && row.route != "GET /metrics" {
            assert_eq!(theirs, none, "{}", row.route);
        }
    }
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

async fn connect(server: &TestServer, path: &str, who: Who) -> Result<Socket, u16> {
    let mut request = format!("ws://{}{path}", server.address).into_client_request().expect("a request");
    if let Some(key) = who.key() {
        request.headers_mut().insert("authorization", format!("Bearer {key}").parse().expect("a header"));
    }
    match connect_async(request).await {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{path}: {error}"),
    }
}

/// What the server says to a frame: all that comes until it is silent for a moment.
async fn say(socket: &mut Socket, frame: &str) -> String {
    socket.send(Message::text(frame)).await.expect("can be sent");
    let (mut said, mut patience) = (String::new(), PATIENCE);
    while let Ok(Some(Ok(message))) = tokio::time::timeout(patience, socket.next()).await {
        if let Message::Text(text) = message {
            said.push_str(&text);
        }
        patience = std::time::Duration::from_millis(150);
    }
    said
}

/// Every frame of both sockets, about ann's chat.
const FRAMES: &[(&str, &str, &str)] = &[
    ("/live", "message", r#"{"type":"message","id":"CHAT","messages":[{"role":"user","content":"and?"}]}"#),
    (
        "/live",
        "message",
        r#"{"type":"message","id":"CHAT","messages":[{"id":"a","role":"assistant","parts":[{"type":"tool-process_payment","toolCallId":"CALL","state":"approval-responded","input":{},"approval":{"id":"APPROVAL","approved":true}}]}]}"#,
    ),
    ("/live?id=CHAT", "message", r#"{"type":"message","messages":[{"role":"user","content":"and?"}]}"#),
    ("/live?id=CHAT", "interrupt", r#"{"type":"interrupt"}"#),
    ("/live", "tool_result", r#"{"type":"tool_result","toolCallId":"CALL","result":1}"#),
    ("/live", "ping", r#"{"type":"ping","timestamp":1}"#),
    (
        "/api/chat/ws",
        "send",
        r#"{"type":"send","requestId":"r","id":"CHAT","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"and?"}]}]}"#,
    ),
    (
        "/api/chat/ws",
        "send",
        r#"{"type":"send","requestId":"r","id":"CHAT","trigger":"regenerate-message","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"and?"}]}]}"#,
    ),
    ("/api/chat/ws", "resume", r#"{"type":"resume","requestId":"r","id":"CHAT"}"#),
    ("/api/chat/ws", "abort", r#"{"type":"abort","requestId":"r"}"#),
];

#[tokio::test]
async fn sockets_are_for_people_with_a_key() {
    let scene = Scene::set().await;
    for path in ["/live", "/api/chat/ws"] {
        for (who, wanted) in [(Who::Nobody, Some(401)), (Who::WrongKey, Some(401)), (Who::Other, None)] {
            let refused = connect(&scene.server, path, who).await.err();
            assert_eq!(refused, wanted, "{path} as {who:?}");
        }
    }
}

#[tokio::test]
async fn frames_about_somebody_elses_chat_change_and_show_nothing() {
    let scene = Scene::set().await;
    let before = scene.state().await;
    for (path, kind, frame) in FRAMES {
        let filled = |text: &str| scene.filled(text).replace("APPROVAL", &scene.approval);
        let Ok(mut socket) = connect(&scene.server, &filled(path), Who::Other).await else { continue };
        let said = say(&mut socket, &filled(frame)).await;
        assert!(!said.contains("Wilhelmina"), "{path} {kind}: {said}");
        assert_eq!(scene.state().await, before, "{path} {kind} changed what is ann's: {said}");
    }
    // The same answer as the owner's counts: the frame is not refused for its shape.
    let (path, _, frame) = FRAMES[1];
    let mut socket = connect(&scene.server, path, Who::Owner).await.expect("connects");
    let said = say(&mut socket, &scene.filled(frame).replace("APPROVAL", &scene.approval)).await;
    assert!(said.contains("tool-output-available"), "{said}");
    assert_ne!(scene.state().await, before);
}

/// The frames here are those of the protocol: serde lists them when it does not know one.
#[test]
fn every_frame_has_a_row() {
    fn known<T: serde::de::DeserializeOwned>() -> BTreeSet<String> {
        let error = serde_json::from_str::<T>(r#"{"type":"none"}"#).err().expect("there is no such frame").to_string();
        let (_, list) = error.split_once("expected one of ").unwrap_or_else(|| panic!("{error}"));
        list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }
    let rows = |socket: &str| -> BTreeSet<String> {
        let own = FRAMES.iter().filter(|(path, ..)| path.split('?').next() == Some(socket));
        own.map(|(_, kind, _)| (*kind).to_owned()).collect()
    };
    assert_eq!(rows("/live"), known::<LiveFrame>());
    assert_eq!(rows("/api/chat/ws"), known::<WsRequest>());
}
