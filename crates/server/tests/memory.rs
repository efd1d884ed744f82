//! Bounds on the memory that one client can take. What a client does not read, repeats or never ends is stopped before it
//! adds up. `cargo xtask full memory` measures the same on the release binary.

mod support;

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use futures::{SinkExt, StreamExt};
use holdpoint_runtime::{
    log::{MemoryLog, Store},
    tool::{Tool, ToolContext},
};
use holdpoint_server::{AuthKey, Keys, Role};
use holdpoint_testkit::FaultyLog;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{Setup, TestServer};
use tokio_tungstenite::tungstenite::Message;

/// More than the system buffers for a peer that does not read, in both directions.
const MUCH: usize = 64 << 20;
/// How long a blocked write is waited for. Whoever is slower than that is taken for blocked, which no test fails for.
const BLOCKED: Duration = Duration::from_secs(2);

fn connect(server: &TestServer) -> TcpStream {
    let stream = TcpStream::connect(server.address).expect("connects");
    stream.set_write_timeout(Some(BLOCKED)).expect("a timeout");
    stream.set_read_timeout(Some(support::PATIENCE)).expect("a timeout");
    stream
}

/// The number of bytes that were taken before the server stopped reading, up to `most`.
fn sent_before_it_blocks(stream: &mut TcpStream, piece: &[u8], most: usize) -> usize {
    let mut sent = 0;
    while sent < most {
        match stream.write(piece) {
            Ok(0) => return sent,
            Ok(written) => sent += written,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return sent,
            // Closed by the server.
            Err(_) => return sent,
        }
    }
    sent
}

/// A WebSocket without a library, which reads nothing after the handshake.
fn unread_socket(server: &TestServer, path: &str) -> TcpStream {
    let mut stream = connect(server);
    let handshake = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(handshake.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("the handshake is answered");
        answer.push(byte[0]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    stream
}

/// Whole ping frames of the largest size, masked with zeros.
fn pings(count: usize) -> Vec<u8> {
    let mut ping = vec![0x89, 0x80 | 125, 0, 0, 0, 0];
    ping.extend([b'x'; 125]);
    ping.repeat(count)
}

#[tokio::test(flavor = "multi_thread")]
async fn pings_are_read_only_as_fast_as_their_pongs_are() {
    let server = TestServer::demo().await;
    for path in ["/live", "/api/chat/ws"] {
        let mut stream = unread_socket(&server, path);
        let sent = tokio::task::spawn_blocking(move || sent_before_it_blocks(&mut stream, &pings(500), MUCH));
        let sent = sent.await.expect("no panic");
        assert!(sent < MUCH, "{path}: {sent} bytes of pings were taken, and no pong was read");
    }
    // A client that reads them gets a pong for each.
    let (mut socket, _) =
        tokio_tungstenite::connect_async(format!("ws://{}/live", server.address)).await.expect("connects");
    for number in 0..1000_u32 {
        socket.send(Message::Ping(number.to_be_bytes().to_vec().into())).await.expect("sent");
        let pong = tokio::time::timeout(support::PATIENCE, socket.next()).await.expect("in time");
        assert_eq!(pong.expect("open").expect("open"), Message::Pong(number.to_be_bytes().to_vec().into()));
    }
}

/// The status of a request with a header of about this size.
fn status_with_header(server: &TestServer, bytes: usize) -> String {
    let mut stream = connect(server);
    let header =
        format!("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-long: {}", "x".repeat(bytes));
    let _ = stream.write_all(header.as_bytes()).and_then(|()| stream.write_all(b"\r\n\r\n"));
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_over_its_limit_is_refused() {
    let server = TestServer::demo().await;
    let said = tokio::task::spawn_blocking(move || {
        let said = [16 << 10, 30 << 10, 64 << 10].map(|bytes| status_with_header(&server, bytes));
        // Without an end, before any login.
        let mut stream = connect(&server);
        let _ = stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n");
        (said, sent_before_it_blocks(&mut stream, &b"x-more: x\r\n".repeat(400), MUCH))
    });
    let ([small, large, over], endless) = said.await.expect("no panic");
    assert!(small.starts_with("HTTP/1.1 200") && large.starts_with("HTTP/1.1 200"), "{small}, {large}");
    assert!(over.starts_with("HTTP/1.1 431"), "{over}");
    assert!(endless < MUCH, "{endless} bytes of headers were taken");
}

/// The id of a request is repeated in every frame of its response.
#[tokio::test]
async fn a_request_id_over_its_limit_is_refused() {
    let server = TestServer::demo().await;
    let (mut socket, _) =
        tokio_tungstenite::connect_async(format!("ws://{}/api/chat/ws", server.address)).await.expect("connects");
    let mut ask = async |frame: Value| -> Value {
        socket.send(Message::text(frame.to_string())).await.expect("sent");
        let answer = tokio::time::timeout(support::PATIENCE, socket.next()).await.expect("in time");
        serde_json::from_str(answer.expect("open").expect("open").to_text().expect("text")).expect("JSON")
    };
    for (length, is_taken) in [(255, true), (256, true), (257, false), (1 << 20, false)] {
        let id = "r".repeat(length);
        let said = ask(json!({"type": "resume", "requestId": id, "id": "nothing"})).await;
        // Other than by it, the client could not tell which request failed (rules W1 and W3).
        assert_eq!(said["requestId"], id, "{length}");
        assert_eq!(said["type"], if is_taken { "no-active" } else { "error" }, "{length}");
        assert!(is_taken || said["errorText"].as_str().is_some_and(|text| text.contains("256 bytes")), "{length}");
    }
    for kind in ["send", "abort"] {
        let said = ask(json!({"type": kind, "requestId": "r".repeat(257), "id": "c", "messages": []})).await;
        assert_eq!(said["type"], "error", "{kind}");
    }
}

/// An error says what is wrong, and does not repeat what was sent.
#[tokio::test]
async fn errors_do_not_repeat_what_was_sent() {
    let server = TestServer::demo().await;
    let long = "x".repeat(1 << 20);
    let bodies = [
        ("/stream", json!({"messages": [{"role": long, "content": "hello"}]})),
        ("/api/chat", json!({"id": "c", "messages": [], "trigger": long})),
        ("/api/chat", json!({"id": "c", "messages": [{"role": "user", "parts": long}]})),
        ("/api/approvals/x", json!({"approved": long})),
        ("/api/tools/ack", json!({"toolCallId": "c", "status": long})),
    ];
    for (path, body) in bodies {
        let (status, said) = server.post(path, &body).await;
        let length = said.to_string().len();
        assert!(status >= 400 && length < 4096, "{path}: {status}, {length} bytes");
    }
    let mut live = support::Live::connect(&server, "").await;
    live.send(&json!({"type": "message", "messages": [{"role": long, "content": "hello"}]})).await;
    let said = live.next().await.expect("an error");
    assert!(said["type"] == "error" && said.to_string().len() < 4096, "{} bytes", said.to_string().len());
}

fn keys() -> Keys {
    let key = |subject: &str, roles: &[Role]| AuthKey {
        key_sha256: Sha256::digest(format!("key-of-{subject}")).iter().map(|byte| format!("{byte:02x}")).collect(),
        subject: subject.to_owned(),
        roles: roles.to_vec(),
        groups: Vec::new(),
    };
    Keys::new(&[key("ann", &[]), key("bob", &[]), key("carol", &[Role::Approver])]).expect("good keys")
}

/// The number of calls with large inputs, and the size of each: more than a page of a list, or just more than a little.
const CALLS: usize = 12;
const LARGE: usize = 900 << 10;
const MEDIUM: usize = 200 << 10;

/// A server with a log that counts what is read, and a model that makes calls with large inputs.
async fn serve(log: &Arc<FaultyLog>, input: usize) -> TestServer {
    let calls = vec![json!({"toolCall": {"name": "deploy", "input": {"what": "x".repeat(input)}}}); CALLS];
    let mut setup = Setup::script(&json!({"turns": [
        {"when": "pay", "steps": [calls, [{"text": ["paid"]}]]},
        {"when": "wait", "steps": [[{"text": vec!["x".repeat(16 << 10); 256]}, {"waitMs": 3_600_000}, {"text": ["late"]}]]},
        {"when": "draw", "steps": [[{"toolCall": {"name": "draw", "input": {}}}], [{"text": ["done"]}]]},
        {"when": "hello", "steps": [[{"text": ["hello"]}]]},
    ]}));
    setup.keys = keys();
    let deploy = Tool::server("deploy", "for tests", async |_: Value, _| Ok("deployed")).approve_always();
    let draw = Tool::server("draw", "for tests", async |_: Value, context: ToolContext| {
        Ok(json!([context.store_file("image/png", b"\x89PNG")]))
    });
    let tools = [deploy, draw].map(|tool| tool.build().expect("a tool"));
    setup.builder = setup.builder.tools(tools.into_iter().collect());
    setup.log(log.clone()).start().await
}

fn log() -> Arc<FaultyLog> {
    Arc::new(FaultyLog::new(Arc::new(MemoryLog::default())))
}

async fn request(server: &TestServer, method: &str, path: &str, who: &str, body: String) -> reqwest::Response {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let request = client.request(method.parse().expect("a method"), server.url(path)).body(body);
    let request = request.header("content-type", "application/json").bearer_auth(format!("key-of-{who}"));
    tokio::time::timeout(support::PATIENCE, request.send()).await.expect("in time").expect("an answer")
}

async fn get(server: &TestServer, path: &str, who: &str) -> (u16, Value) {
    let response = request(server, "GET", path, who, String::new()).await;
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

async fn say(server: &TestServer, chat: &str, text: &str) -> reqwest::Response {
    let body = json!({"id": chat, "messages": [{"role": "user", "content": text}]}).to_string();
    let response = request(server, "POST", "/api/chat", "ann", body).await;
    assert_eq!(response.status(), 200);
    response
}

/// Begins a turn that waits for approvals, and returns what waits.
async fn hold(server: &TestServer, chat: &str) -> Vec<String> {
    say(server, chat, "pay").await.text().await.expect("the segment ends");
    let (status, holds) = get(server, &format!("/api/chat/{chat}/holds"), "ann").await;
    assert_eq!(status, 200);
    let holds = holds.as_array().expect("a list").iter();
    let open = holds.filter(|hold| hold["state"] == "waiting");
    let ids: Vec<_> = open.filter_map(|hold| Some(hold["approvalId"].as_str()?.to_owned())).collect();
    assert_eq!(ids.len(), CALLS);
    ids
}

/// Requests whose responses nobody reads.
fn unread(server: &TestServer, path: &str, who: &str, count: usize) -> Vec<TcpStream> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer key-of-{who}\r\n\r\n");
    let open = |_| {
        let mut stream = connect(server);
        stream.write_all(request.as_bytes()).expect("sent");
        stream
    };
    (0..count).map(open).collect()
}

/// The status of a response that may not have begun: `None` if it does not within this time.
fn status(stream: &mut TcpStream, time: Duration) -> Option<u16> {
    stream.set_read_timeout(Some(time)).expect("a timeout");
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).ok()?;
    std::str::from_utf8(&begin[9..]).ok()?.parse().ok()
}

/// How long nothing more is expected to happen. Less would only make the test weaker.
const SETTLED: Duration = Duration::from_millis(700);

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_nobody_reads_are_not_loaded() {
    let log = log();
    let server = serve(&log, LARGE).await;
    let ids = hold(&server, "c").await;
    for id in &ids[..CALLS - 2] {
        let body = json!({"approved": true, "input": {"what": "y".repeat(LARGE)}}).to_string();
        assert_eq!(request(&server, "POST", &format!("/api/approvals/{id}"), "ann", body).await.status(), 200);
    }
    hold(&server, "d").await;
    for path in ["/api/approvals?limit=1000", "/api/audit?limit=1000"] {
        log.take_lists_read();
        let open = unread(&server, path, "ann", 40);
        tokio::time::sleep(SETTLED).await;
        let (read, (_, in_flight)) = (log.take_lists_read(), server.server.bytes_in_flight());
        assert!(in_flight <= 16 << 20, "{path}: {in_flight} bytes are counted");
        // What fits into the share of the subject, and one that waits for room.
        assert!(read <= 6, "{path}: {read} pages were read");
        let refused = tokio::task::spawn_blocking(move || {
            let mut open = open;
            let statuses = open.iter_mut().filter_map(|stream| status(stream, support::PATIENCE));
            statuses.filter(|status| *status == 503).count()
        });
        assert!(refused.await.expect("no panic") > 30, "{path}: the others are told to come again");
        assert_eq!(get(&server, path, "bob").await.0, 200, "{path}: others have a share of their own");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_approval_is_answered_from_its_turn() {
    let log = log();
    let server = serve(&log, MEDIUM).await;
    say(&server, "c", "hello").await.text().await.expect("the turn ends");
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.extend(hold(&server, "c").await);
    }
    // The next message settles what waits.
    say(&server, "c", "hello").await.text().await.expect("the turn ends");
    for (who, expected) in [("ann", 410), ("bob", 404), ("carol", 404)] {
        log.take_bytes_read();
        let (status, said) = get(&server, &format!("/api/approvals/{}", ids[0]), who).await;
        let (read, _) = log.take_bytes_read();
        assert_eq!(status, expected, "{who}: {said}");
        assert!(expected == 404 || said["reason"] == "superseded", "{said}");
        // Each of the two turns has the inputs twice: as the model wrote them, and as they were called.
        assert!(read < 3 * CALLS * MEDIUM, "{who}: {read} bytes were read");
    }
}

/// The files of a call are read without the rest of the chat.
#[tokio::test]
async fn a_file_is_read_from_its_turn() {
    let log = log();
    let server = serve(&log, MEDIUM).await;
    hold(&server, "c").await;
    say(&server, "c", "draw").await.text().await.expect("the turn ends");
    hold(&server, "c").await;
    let (_, calls) = get(&server, "/api/chat/c/holds?calls=all", "ann").await;
    let call = calls.as_array().expect("a list").iter().find(|call| call["toolName"] == "draw").expect("the call");
    let path = format!("/api/chat/c/files/{}/0", call["toolCallId"].as_str().expect("an id"));
    log.take_bytes_read();
    let response = request(&server, "GET", &path, "ann", String::new()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.bytes().await.expect("a body"), b"\x89PNG"[..]);
    let (read, _) = log.take_bytes_read();
    assert!(read < 10_000, "{read} bytes were read for a file of 4");
}

#[tokio::test]
async fn a_chat_is_not_loaded_for_others() {
    let log = log();
    let server = serve(&log, MEDIUM).await;
    hold(&server, "c").await;
    // The chat only waits, so it falls asleep.
    while server.server.runtime().admin().counts().loaded_bytes > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    log.take_bytes_read();
    let message = json!({"id": "c", "messages": [{"role": "user", "content": "hello"}]}).to_string();
    let requests = [
        ("GET", "/api/chat/c/messages", String::new(), 404),
        ("GET", "/api/chat/c/holds", String::new(), 404),
        ("GET", "/api/chat/c/stream", String::new(), 204),
        ("GET", "/api/chat/c/files/x/0", String::new(), 404),
        ("POST", "/api/chat/c/stop", String::new(), 404),
        ("POST", "/api/chat", message.clone(), 404),
        ("POST", "/stream", message, 404),
        ("DELETE", "/api/chat/c", String::new(), 404),
    ];
    for (method, path, body, expected) in requests {
        assert_eq!(request(&server, method, path, "bob", body).await.status(), expected, "{method} {path}");
        assert_eq!(log.take_bytes_read().0, 0, "{method} {path} has read the chat");
    }
    assert_eq!(get(&server, "/api/chat/c/messages", "ann").await.0, 200);
}

/// What a subject stores is limited: the number of its chats, and their size. Decisions and outcomes are always written.
#[tokio::test]
async fn what_a_subject_stores_is_limited() {
    for is_shared in [false, true] {
        let limits =
            holdpoint_runtime::Limits { chats_per_subject: 3, stored_bytes_per_subject: 60_000, ..Default::default() };
        let log: Arc<dyn Store> = Arc::new(MemoryLog::default());
        let mut setup = Setup::demo().log(Arc::clone(&log));
        (setup.keys, setup.builder) = (keys(), setup.builder.limits(limits));
        let server = setup.start().await;
        let try_say = async |server: &TestServer, chat: &str, who: &str, text: &str| {
            let body = json!({"id": chat, "messages": [{"role": "user", "content": text}]}).to_string();
            let response = request(server, "POST", "/api/chat", who, body).await;
            (response.status().as_u16(), response.text().await.expect("a body"))
        };
        for chat in ["a", "b", "c"] {
            assert_eq!(try_say(&server, chat, "ann", "send 50 dollars to Hanako").await.0, 200, "{chat}");
        }
        let (status, text) = try_say(&server, "d", "ann", "hello").await;
        assert!(status == 429 && text.contains("you have 3 chats"), "{status} {text}");
        assert_eq!(try_say(&server, "c", "ann", "hello").await.0, 200, "an existing chat goes on");
        assert_eq!(try_say(&server, "d", "bob", "hello").await.0, 200, "others have limits of their own");
        assert_eq!(request(&server, "DELETE", "/api/chat/c", "ann", String::new()).await.status(), 204);
        assert_eq!(try_say(&server, "e", "ann", "hello").await.0, 200, "there is room again");
        assert_eq!(try_say(&server, "e", "ann", &"x".repeat(60_000)).await.0, 200, "below the limit");
        // Another node, or the next start, counts what is stored.
        let server = match is_shared {
            false => server,
            true => {
                let mut setup = Setup::demo().log(log);
                (setup.keys, setup.builder) = (keys(), setup.builder.limits(limits));
                setup.start().await
            }
        };
        let (status, text) = try_say(&server, "a", "ann", "hello").await;
        assert!(status == 413 && text.contains("60000 bytes"), "{status} {text}");
        let (_, approvals) = get(&server, "/api/approvals", "ann").await;
        let approval = approvals[0]["approvalId"].as_str().expect("a payment waits");
        let path = format!("/api/approvals/{approval}");
        let decided = request(&server, "POST", &path, "ann", json!({"approved": true}).to_string()).await;
        assert_eq!(decided.status(), 200, "a decision is always taken");
        assert_eq!(request(&server, "DELETE", "/api/chat/e", "ann", String::new()).await.status(), 204);
        assert_eq!(try_say(&server, "a", "ann", "hello").await.0, 200, "there is room again");
    }
}

/// A response keeps about what it has read until its client has. So many of them do not follow a large turn.
#[tokio::test(flavor = "multi_thread")]
async fn responses_that_nobody_reads_have_a_share_of_the_memory() {
    let server = serve(&log(), MEDIUM).await;
    let mut running = say(&server, "c", "wait").await;
    let mut read = 0;
    while read < 4 << 20 {
        read += running.chunk().await.expect("open").expect("open").len();
    }
    let limit = holdpoint_runtime::Limits::default().loaded_bytes_per_subject;
    let mut open = unread(&server, "/api/chat/c/stream", "ann", 40);
    let statuses = tokio::task::spawn_blocking(move || {
        let statuses: Vec<_> = open.iter_mut().map(|stream| status(stream, support::PATIENCE)).collect();
        (statuses, open)
    });
    let (statuses, open) = statuses.await.expect("no panic");
    let taken = statuses.iter().filter(|status| **status == Some(200)).count();
    let refused = statuses.iter().filter(|status| **status == Some(503)).count();
    assert!(taken > 3 && refused > 3 && taken + refused == 40, "{statuses:?}");
    let loaded = server.server.runtime().admin().counts().loaded_bytes;
    assert!(loaded <= limit, "{loaded} bytes are counted, and {limit} is the limit");
    assert_eq!(get(&server, "/api/chats", "bob").await.0, 200);
    drop(open);
    let begun = std::time::Instant::now();
    while server.server.runtime().admin().counts().loaded_bytes > limit / 2 {
        // That a client is gone is noticed at the next write.
        assert!(begun.elapsed() < support::PATIENCE, "what is not followed any more is not counted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
