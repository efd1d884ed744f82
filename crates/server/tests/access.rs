//! Who may do what: every route and every frame, for every identity: nobody, a wrong key, an expired token, another subject, an
//! approver who may not chat, an admin, and the owner. A route that `/openapi.json` shows and that has no row here fails,
//! and so does a frame of the protocol.

mod support;

use std::{
    collections::BTreeSet,
    sync::LazyLock,
    time::{Duration, Instant},
};

use futures::{SinkExt, StreamExt};
use holdpoint_protocol::{live::LiveFrame, websocket::WsRequest};
use holdpoint_server::{AuthKey, Jwt, JwtSettings, Keys, Role};
use jsonwebtoken::Algorithm;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{
    PATIENCE, Setup, TestServer,
    issuer::{self, Issuer},
};
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
    ExpiredToken,
    /// Another user, by a token.
    Other,
    /// Only an approver, of a group.
    Approver,
    /// A user and an admin.
    Admin,
    Owner,
}

/// The identity provider of the tests.
static ISSUER: LazyLock<Issuer> = LazyLock::new(|| Issuer::new("k", Algorithm::EdDSA));

impl Who {
    /// The owner comes last: what the others do must change nothing.
    const ALL: [Self; 7] =
        [Self::Nobody, Self::WrongKey, Self::ExpiredToken, Self::Other, Self::Approver, Self::Admin, Self::Owner];

    fn credential(self) -> Option<String> {
        let token = |subject: &str, seconds: i64| {
            let now = support::START / 1000;
            Some(ISSUER.sign(&issuer::claims(subject, now.checked_add_signed(seconds).expect("a time"))))
        };
        match self {
            Self::Nobody => None,
            Self::WrongKey => Some("guessed".to_owned()),
            // It was hers.
            Self::ExpiredToken => token("ann", -61),
            Self::Other => token("bob", 300),
            Self::Approver => Some("key-of-carol".to_owned()),
            Self::Admin => Some("key-of-dora".to_owned()),
            Self::Owner => Some("key-of-ann".to_owned()),
        }
    }
}

/// What each identity gets. Without a valid credential it is 401 wherever one is needed.
struct Row {
    route: &'static str,
    body: &'static str,
    owner: u16,
    other: u16,
    approver: u16,
    admin: u16,
    is_public: bool,
}

impl Row {
    fn wanted(&self, who: Who) -> u16 {
        match who {
            Who::Nobody | Who::WrongKey | Who::ExpiredToken if !self.is_public => 401,
            Who::Owner => self.owner,
            Who::Approver => self.approver,
            Who::Admin => self.admin,
            _ => self.other,
        }
    }

    /// Whether an admin sees, or changes, what is somebody else's.
    fn is_open_to_admins(&self) -> bool {
        self.admin != self.other && self.admin != 403
    }
}

/// A route on which the roles make no difference.
const fn row(route: &'static str, body: &'static str, owner: u16, other: u16) -> Row {
    Row { route, body, owner, other, approver: other, admin: other, is_public: false }
}

/// A route for users: whoever is only an approver may not use it.
const fn chatting(route: &'static str, body: &'static str, owner: u16, other: u16) -> Row {
    Row { route, body, owner, other, approver: 403, admin: other, is_public: false }
}

const fn public(route: &'static str, status: u16) -> Row {
    Row { route, body: "", owner: status, other: status, approver: status, admin: status, is_public: true }
}

/// What is not the caller's is not there: the same status as for something that nobody has.
const ROUTES: &[Row] = &[
    chatting("POST /stream", r#"{"id":"CHAT","messages":[{"role":"user","content":"and?"}]}"#, 200, 404),
    chatting("POST /api/chat", r#"{"id":"CHAT","messages":[{"role":"user","content":"and?"}]}"#, 200, 404),
    row("GET /live", "", 426, 426),
    row("GET /api/chat/ws", "", 426, 426),
    row("GET /api/chat/{id}/stream", "", 204, 204),
    chatting(
        "POST /api/tools/ack",
        r#"{"toolCallId":"BROWSER","status":"success","output":1,"requestedAt":"2025-02-01T12:34:56.789Z"}"#,
        200,
        404,
    ),
    row("GET /api/approvals", "", 200, 200),
    // An admin sees the request, and does not decide.
    Row { admin: 200, ..row("GET /api/approvals/{approvalId}", "", 200, 404) },
    Row { admin: 200, ..row("GET /api/approvals/{approvalId}/record", "", 200, 404) },
    Row { admin: 403, ..row("POST /api/approvals/{approvalId}", r#"{"approved":true}"#, 200, 404) },
    row("GET /api/audit", "", 200, 200),
    row("GET /api/grants", "", 200, 200),
    Row { admin: 200, ..row("DELETE /api/grants/{grantId}", "", 200, 404) },
    row("GET /api/chats", "", 200, 200),
    // Nobody has a chat of that name.
    chatting("DELETE /api/chat/ws", "", 404, 404),
    Row { admin: 204, ..chatting("DELETE /api/chat/{id}", "", 204, 404) },
    Row { admin: 200, ..row("GET /api/chat/{id}/messages", "", 200, 404) },
    Row { admin: 200, ..row("GET /api/chat/{id}/holds", "", 200, 404) },
    // An admin sees and deletes, and does nothing in the chats of others.
    chatting("POST /api/chat/{id}/stop", "", 200, 404),
    // This call has no file. `files.rs` is about one that has.
    row("GET /api/chat/{id}/files/{call}/{index}", "", 404, 404),
    row("GET /api/tools", "", 200, 200),
    row("POST /api/check", "data: [DONE]\n\n", 200, 200),
    row("GET /api/events", "", 200, 200),
    row("GET /api/me", "", 200, 200),
    row("POST /api/ticket", "", 200, 200),
    row("GET /metrics", "", 200, 200),
    // The owner of a chat is not an admin.
    Row { admin: 200, ..row("GET /api/status", "", 403, 403) },
    public("GET /health", 200),
    public("GET /ready", 200),
    public("GET /openapi.json", 200),
    public("GET /docs", 200),
];

fn keys() -> Keys {
    let key = |key: &str, subject: &str, roles: &[Role]| AuthKey {
        key_sha256: Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect(),
        subject: subject.to_owned(),
        roles: roles.to_vec(),
        groups: vec!["finance".to_owned()],
    };
    let keys = [
        key("key-of-ann", "ann", &[]),
        key("key-of-carol", "carol", &[Role::Approver]),
        key("key-of-dora", "dora", &[Role::User, Role::Admin]),
    ];
    Keys::new(&keys).expect("good keys")
}

/// A server on which a chat of ann's waits for an approval, and another one for a browser.
struct Scene {
    server: TestServer,
    call: String,
    approval: String,
    browser: String,
    grant: String,
}

const CHAT: &str = "the-chat";

impl Scene {
    async fn set() -> Self {
        let mut setup = Setup::demo();
        setup.keys = keys();
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), issuer::key_set(&[&*ISSUER])).expect("it can be written");
        let settings = JwtSettings {
            issuer: issuer::ISSUER.to_owned(),
            audience: issuer::AUDIENCE.to_owned(),
            jwks_file: Some(file.path().to_owned()),
            ..JwtSettings::default()
        };
        let server = setup.start_with(|server| server.jwt(Jwt::new(&settings).expect("good settings"))).await;
        let grant = grant(&server).await;
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
        Self { call, approval, browser, grant, server }
    }

    fn filled(&self, text: &str) -> String {
        text.replace("{id}", CHAT)
            .replace("{approvalId}", &self.approval)
            .replace("{grantId}", &self.grant)
            .replace("{call}", &self.call)
            .replace("{index}", "0")
            .replace("CHAT", CHAT)
            .replace("CALL", &self.call)
            .replace("BROWSER", &self.browser)
    }

    /// Ann's chat as she sees it: nothing of it may change by what others do.
    async fn state(&self) -> Value {
        let (_, messages) = ask(&self.server, &format!("GET /api/chat/{CHAT}/messages"), "", Who::Owner).await;
        let (_, holds) = ask(&self.server, &format!("GET /api/chat/{CHAT}/holds"), "", Who::Owner).await;
        let (_, inbox) = ask(&self.server, "GET /api/approvals", "", Who::Owner).await;
        let (_, grants) = ask(&self.server, "GET /api/grants", "", Who::Owner).await;
        json!([messages, holds, inbox, grants])
    }
}

/// A grant for ann's chats, for another payment than the one that waits. Its own chat is gone.
async fn grant(server: &TestServer) -> String {
    let said = json!({"id": "gone", "messages": [{"role": "user", "content": "Send 7 dollars to Wilhelmina"}]});
    ask(server, "POST /stream", &said.to_string(), Who::Owner).await;
    let (_, inbox) = ask(server, "GET /api/approvals", "", Who::Owner).await;
    let approval = inbox[0]["approvalId"].as_str().expect("it waits");
    let body = r#"{"approved":true,"remember":{"scope":"subject"}}"#;
    let (_, decided) = ask(server, &format!("POST /api/approvals/{approval}"), body, Who::Owner).await;
    assert_eq!(ask(server, "DELETE /api/chat/gone", "", Who::Owner).await.0, 204);
    decided["grant"].as_str().unwrap_or_else(|| panic!("{decided}")).to_owned()
}

/// The status and the body, as far as it has come; streams do not end.
async fn ask(server: &TestServer, route: &str, body: &str, who: Who) -> (u16, Value) {
    let (method, path) = route.split_once(' ').expect("a method and a path");
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client");
    let method: Method = method.parse().expect("a method");
    let mut request = client.request(method, server.url(path)).body(body.to_owned());
    request = request.header("content-type", if path == "/api/check" { "text/plain" } else { "application/json" });
    if let Some(credential) = who.credential() {
        request = request.bearer_auth(credential);
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
async fn every_route_serves_exactly_the_roles_of_its_row() {
    for row in ROUTES {
        let mut scene = Scene::set().await;
        let before = scene.state().await;
        for who in Who::ALL {
            let (status, body) = ask(&scene.server, &scene.filled(row.route), &scene.filled(row.body), who).await;
            assert_eq!(status, row.wanted(who), "{} as {who:?}: {body}", row.route);
            if who == Who::Owner {
                continue;
            }
            if who == Who::Admin && row.is_open_to_admins() {
                if !row.route.starts_with("GET") {
                    scene = Scene::set().await;
                }
                continue;
            }
            assert!(!body.to_string().contains("Wilhelmina"), "{} shows {who:?} what is ann's: {body}", row.route);
            assert_eq!(scene.state().await, before, "{} as {who:?} changed what is ann's", row.route);
        }
    }
}

/// An admin sees the chats of everybody, and whose they are; nobody else can ask for them.
#[tokio::test]
async fn only_an_admin_lists_all_chats() {
    let scene = Scene::set().await;
    for (who, wanted) in [
        (Who::Nobody, 401),
        (Who::WrongKey, 401),
        (Who::ExpiredToken, 401),
        (Who::Other, 403),
        (Who::Approver, 403),
        (Who::Owner, 403),
        (Who::Admin, 200),
    ] {
        let (status, body) = ask(&scene.server, "GET /api/chats?all=true", "", who).await;
        assert_eq!(status, wanted, "{who:?}: {body}");
        let (_, own) = ask(&scene.server, "GET /api/chats", "", who).await;
        if status == 200 {
            let owners: Vec<&str> =
                body.as_array().into_iter().flatten().filter_map(|chat| chat["subject"].as_str()).collect();
            assert_eq!(owners, ["ann", "ann"], "{body}");
            assert_eq!(own, json!([]), "an admin's own list is the admin's");
        }
    }
    let (_, own) = ask(&scene.server, "GET /api/chats", "", Who::Owner).await;
    assert!(own[0].get("subject").is_none() && own.as_array().is_some_and(|chats| chats.len() == 2), "{own}");
    let (status, _) = ask(&scene.server, "GET /api/chats?all=perhaps", "", Who::Admin).await;
    assert_eq!(status, 422);
}

/// The page after the first is of the same list.
#[tokio::test]
async fn the_list_of_all_chats_has_pages() {
    let scene = Scene::set().await;
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let (mut query, mut seen) = ("?all=true&limit=1".to_owned(), Vec::new());
    loop {
        let asked = client.get(scene.server.url(&format!("/api/chats{query}")));
        let answer = asked.bearer_auth(Who::Admin.credential().expect("a key")).send().await.expect("an answer");
        let link = answer.headers().get("link").map(|link| link.to_str().expect("text").to_owned());
        let page: Value = serde_json::from_str(&answer.text().await.expect("a body")).expect("JSON");
        seen.extend(page.as_array().expect("a list").iter().map(|chat| chat["id"].clone()));
        let Some(link) = link else { break };
        query = link.split(['<', '>']).nth(1).expect("a link").to_owned();
    }
    seen.sort_by_key(Value::to_string);
    assert_eq!(seen, [json!("another"), json!(CHAT)]);
}

/// Somebody else's chat, approval request or call is answered as one that does not exist, to the letter.
#[tokio::test]
async fn other_subjects_get_the_same_answer_as_for_a_missing_id() {
    let scene = Scene::set().await;
    for (row, who) in ROUTES.iter().flat_map(|row| [(row, Who::Other), (row, Who::Approver), (row, Who::Admin)]) {
        if row.is_public || who == Who::Admin && row.admin != row.other {
            continue;
        }
        let theirs = ask(&scene.server, &scene.filled(row.route), &scene.filled(row.body), who).await;
        let nobodys = |text: &str| {
            ["{id}", "{approvalId}", "{grantId}", "BROWSER"]
                .iter()
                .fold(text.to_owned(), |text, id| text.replace(id, "none"))
        };
        // A chat that nobody has can be begun; that is the one difference, and the next test's matter.
        if row.body.contains("CHAT") {
            continue;
        }
        let none = ask(&scene.server, &nobodys(row.route), &nobodys(row.body), who).await;
        if row.route != "POST /api/ticket" && row.route != "GET /metrics" {
            assert_eq!(theirs, none, "{} as {who:?}", row.route);
        }
    }
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

async fn connect(server: &TestServer, path: &str, who: Who) -> Result<Socket, u16> {
    let mut request = format!("ws://{}{path}", server.address).into_client_request().expect("a request");
    if let Some(credential) = who.credential() {
        request.headers_mut().insert("authorization", format!("Bearer {credential}").parse().expect("a header"));
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
    // Not every frame is answered. The answer to this one says that the frame was read, unless the socket is closed for it.
    let _ = socket.send(Message::Ping("read?".into())).await;
    let (mut said, mut patience) = (String::new(), PATIENCE);
    while let Ok(Some(Ok(message))) = tokio::time::timeout(patience, socket.next()).await {
        match message {
            Message::Text(text) => said.push_str(&text),
            Message::Pong(_) => patience = Duration::from_millis(150),
            _ => {}
        }
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
async fn sockets_need_a_key_and_the_role_user() {
    let scene = Scene::set().await;
    for path in ["/live", "/api/chat/ws"] {
        for (who, wanted) in [
            (Who::Nobody, Some(401)),
            (Who::WrongKey, Some(401)),
            (Who::ExpiredToken, Some(401)),
            (Who::Approver, Some(403)),
            (Who::Other, None),
            (Who::Admin, None),
            (Who::Owner, None),
        ] {
            let refused = connect(&scene.server, path, who).await.err();
            assert_eq!(refused, wanted, "{path} as {who:?}");
        }
    }
}

#[tokio::test]
async fn frames_about_another_subjects_chat_are_ignored() {
    let scene = Scene::set().await;
    let before = scene.state().await;
    for ((path, kind, frame), who) in FRAMES.iter().flat_map(|frame| [(frame, Who::Other), (frame, Who::Admin)]) {
        let filled = |text: &str| scene.filled(text).replace("APPROVAL", &scene.approval);
        let mut socket = connect(&scene.server, &filled(path), who).await.expect("connects");
        let said = say(&mut socket, &filled(frame)).await;
        assert!(!said.contains("Wilhelmina"), "{path} {kind} as {who:?}: {said}");
        assert_eq!(scene.state().await, before, "{path} {kind} as {who:?} changed what is ann's: {said}");
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
        let error =
            serde_json::from_str::<T>(r#"{"type":"none"}"#).err().expect("the frame type is unknown").to_string();
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

/// Neither can it be told by the time: a 404 goes out at the next of even steps, however long it took to find out.
#[tokio::test]
async fn another_subjects_id_takes_as_long_as_a_missing_one() {
    const TIMES: usize = 15;
    const STEP: Duration = Duration::from_millis(25);
    let scene = Scene::set().await;
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let time = async |route: &str, body: &str, who: Who| {
        let (method, path) = route.split_once(' ').expect("a method and a path");
        let request = client.request(method.parse().expect("a method"), scene.server.url(path)).body(body.to_owned());
        let request = request.bearer_auth(who.credential().expect("a key"));
        let begun = Instant::now();
        let status = request.send().await.expect("an answer").status().as_u16();
        assert!([404, 204].contains(&status), "{route} as {who:?}: {status}");
        begun.elapsed()
    };
    for row in ROUTES {
        for who in [Who::Other, Who::Approver] {
            let is_hidden = row.wanted(who) == 404 || row.wanted(who) == 204 && row.route.starts_with("GET");
            if !is_hidden || !row.route.contains('{') {
                continue;
            }
            let (route, body) = (scene.filled(row.route), scene.filled(row.body));
            let nobodys = row.route.replace("{id}", "none").replace("{approvalId}", "none");
            let (mut theirs, mut none) = (Vec::new(), Vec::new());
            for _ in 0..TIMES {
                theirs.push(time(&route, &body, who).await);
                none.push(time(&nobodys, &body, who).await);
            }
            // The fastest of several, because a busy machine adds to the others.
            let fastest = |times: Vec<Duration>| {
                let fastest = times.iter().min().copied().expect("there are several");
                assert!(fastest >= STEP, "{} as {who:?}: {times:?}", row.route);
                fastest
            };
            let (theirs, none) = (fastest(theirs), fastest(none));
            assert!(theirs.abs_diff(none) < STEP / 2, "{} as {who:?}: {theirs:?}, {none:?}", row.route);
        }
    }
}
