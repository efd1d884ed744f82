//! The limits over HTTP and WebSocket: below, at and above each. What is over is 413, 422, 429 or 503, and the server goes on.

mod support;

use std::time::Duration;

use holdpoint_server::{AuthKey, Keys, Limits};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{Live, Setup, TestServer, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

struct Said {
    status: u16,
    retry_after: Option<String>,
    text: String,
}

async fn post(server: &TestServer, path: &str, body: String) -> Said {
    let response = http().post(server.url(path)).header("content-type", "application/json").body(body).send().await;
    said(response.expect("an answer")).await
}

async fn said(response: reqwest::Response) -> Said {
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (status, retry_after) = (response.status().as_u16(), header("retry-after"));
    Said { status, retry_after, text: response.text().await.expect("a body") }
}

fn message(chat: &str, text: &str) -> String {
    json!({"id": chat, "messages": [{"role": "user", "content": text}]}).to_string()
}

/// A message whose body has this many values: one part has the rest in an array.
fn with_values(values: usize) -> String {
    // The body, its messages, the message, its role, its parts, two parts with two fields each, and the array.
    let nulls = vec![Value::Null; values - 11];
    let parts = json!([{"type": "text", "text": "hello"}, {"type": "data-x", "data": nulls}]);
    json!({"messages": [{"role": "user", "parts": parts}]}).to_string()
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

fn values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(values).sum::<usize>(),
        _ => 1,
    }
}

#[tokio::test]
async fn the_values_of_a_body_are_limited() {
    let mut setup = Setup::demo();
    setup.limits.nodes = 1000;
    let server = setup.start().await;
    for (number, is_taken) in [(999, true), (1000, true), (1001, false)] {
        let body = with_values(number);
        assert_eq!(values(&serde_json::from_str(&body).expect("JSON")), number);
        for path in ["/stream", "/api/chat"] {
            let said = post(&server, path, body.clone()).await;
            assert_eq!(said.status, if is_taken { 200 } else { 413 }, "{number}: {}", said.text);
            assert!(is_taken || said.text.contains("more than 1000 values"), "{}", said.text);
        }
    }
    assert_eq!(Limits::default().nodes, 100_000);
}

#[tokio::test]
async fn the_levels_of_a_body_are_limited() {
    let server = TestServer::demo().await;
    // Beside the messages, where nobody looks: it is not built all the same.
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for (number, is_taken) in [(63, true), (64, true), (65, false), (500, false)] {
        let body = format!(r#"{{"messages":[{{"role":"user","content":"hello"}}],"x":{}}}"#, nested(number - 1));
        if number < 100 {
            assert_eq!(levels(&serde_json::from_str(&body).expect("JSON")), number);
        }
        let said = post(&server, "/stream", body).await;
        assert_eq!(said.status, if is_taken { 200 } else { 413 }, "{number}: {}", said.text);
        assert!(is_taken || said.text.contains("64 levels"), "{}", said.text);
    }
}

#[tokio::test]
async fn bodies_and_frames_have_the_same_limit() {
    let mut setup = Setup::demo();
    setup.limits.body = 1000;
    let server = setup.start().await;
    let sized = |bytes: usize, kind: &str| {
        let frame = |text: String| json!({"type": kind, "messages": [{"role": "user", "content": text}]}).to_string();
        let fill = bytes - frame(String::new()).len();
        // Not "x": the demo model is to have nothing to look for in it.
        frame(" ".repeat(fill - 1) + "?")
    };
    for (bytes, is_taken) in [(999, true), (1000, true), (1001, false)] {
        let body = sized(bytes, "message");
        assert_eq!(body.len(), bytes);
        let said = post(&server, "/stream", body.clone()).await;
        assert_eq!(said.status, if is_taken { 200 } else { 413 }, "{bytes}: {}", said.text);

        let mut live = Live::connect(&server, "").await;
        live.send_text(&body).await;
        let first = live.next().await.expect("a record");
        if is_taken {
            assert_eq!(first["type"], "start", "{first}");
        } else {
            assert_eq!(first["type"], "error", "{first}");
            assert!(first["errorText"].as_str().is_some_and(|text| text.contains("1000 bytes")), "{first}");
            assert_eq!(live.next().await, None);
            assert_eq!(live.closed.map(|frame| u16::from(frame.code)), Some(1009));
        }
    }
}

/// A model that never answers: its turns run until they are stopped.
fn endless() -> Setup {
    Setup::script(&json!({"turns": [{"steps": [[{"waitMs": 3_600_000}, {"text": ["late"]}]]}]}))
}

#[tokio::test]
async fn running_turns_are_limited() {
    for limits in [
        holdpoint_runtime::Limits { turns_per_subject: 2, ..holdpoint_runtime::Limits::default() },
        holdpoint_runtime::Limits { turns: 2, ..holdpoint_runtime::Limits::default() },
    ] {
        let mut setup = endless();
        setup.builder = setup.builder.limits(limits);
        let server = setup.start().await;
        let mut open = Vec::new();
        for chat in ["a", "b"] {
            let response =
                http().post(server.url("/stream")).body(message(chat, "go")).send().await.expect("an answer");
            assert_eq!(response.status(), 200);
            open.push(response);
        }
        // Going away does not make room: the turns run on.
        drop(open);
        for path in ["/stream", "/api/chat"] {
            let said = post(&server, path, message("c", "go")).await;
            assert_eq!(said.status, 429, "{}", said.text);
            assert!(said.retry_after.is_some() && said.text.contains("limit"), "{}", said.text);
        }
        let mut live = Live::connect(&server, "").await;
        live.say("go").await;
        let told = live.next().await.expect("a record");
        assert!(told["errorText"].as_str().is_some_and(|text| text.contains("limit")), "{told}");

        assert_eq!(post(&server, "/api/chat/a/stop", String::new()).await.status, 200);
        let response = http().post(server.url("/stream")).body(message("c", "go")).send().await.expect("an answer");
        assert_eq!(response.status(), 200);
    }
}

#[tokio::test]
async fn open_chats_are_limited() {
    let mut setup = Setup::demo();
    setup.builder = setup
        .builder
        .limits(holdpoint_runtime::Limits { open_chats_per_subject: 2, ..holdpoint_runtime::Limits::default() });
    let server = setup.start().await;
    for chat in ["a", "b"] {
        assert_eq!(post(&server, "/stream", message(chat, "send 50 dollars to Hanako")).await.status, 200);
    }
    let said = post(&server, "/stream", message("c", "hello")).await;
    assert_eq!((said.status, said.retry_after.is_some()), (429, true), "{}", said.text);
    let deleted = http().delete(server.url("/api/chat/a")).send().await.expect("an answer");
    assert_eq!(deleted.status(), 204);
    assert_eq!(post(&server, "/stream", message("c", "hello")).await.status, 200);
}

#[tokio::test]
async fn a_full_chat_refuses_messages_with_413() {
    let mut setup = Setup::demo();
    setup.builder =
        setup.builder.limits(holdpoint_runtime::Limits { chat_bytes: 3000, ..holdpoint_runtime::Limits::default() });
    let server = setup.start().await;
    assert_eq!(post(&server, "/stream", message("c", &"?".repeat(3000))).await.status, 200);
    let said = post(&server, "/stream", message("c", "hello")).await;
    assert_eq!((said.status, said.retry_after), (413, None), "{}", said.text);
    assert!(said.text.contains("this chat is full"), "{}", said.text);
    assert_eq!(server.get("/api/chat/c/messages").await.0, 200);
}

#[tokio::test]
async fn ids_that_cannot_be_stored_or_addressed_are_refused() {
    let server = TestServer::demo().await;
    for (id, status) in [("x".repeat(256), 200), ("x".repeat(257), 422), (String::new(), 422), ("..".to_owned(), 422)] {
        let said = post(&server, "/stream", message(&id, "hello")).await;
        assert_eq!(said.status, status, "{id:?}: {}", said.text);
    }
    // A chat may be called like a route, and can be deleted all the same.
    assert_eq!(post(&server, "/stream", message("ws", "hello")).await.status, 200);
    assert_eq!(server.get("/api/chat/ws/messages").await.0, 200);
    let delete = async |path: &str| http().delete(server.url(path)).send().await.expect("an answer").status().as_u16();
    assert_eq!(delete("/api/chat/ws").await, 204);
    assert_eq!(delete("/api/chat/ws").await, 404);
    assert_eq!(delete("/api/chat/").await, 404, "it does not exist, though an earlier version could have created it");
}

#[tokio::test]
async fn a_resume_does_not_reveal_the_owner_of_a_chat() {
    let key = |key: &str, subject: &str| AuthKey {
        key_sha256: Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect(),
        subject: subject.to_owned(),
        roles: Vec::new(),
        groups: Vec::new(),
    };
    let mut setup = endless();
    setup.keys = Keys::new(&[key("ann", "ann"), key("bob", "bob")]).expect("good keys");
    let server = setup.start().await;
    let send = async |key: &str, request: reqwest::RequestBuilder| {
        request.bearer_auth(key).send().await.expect("an answer").status().as_u16()
    };
    assert_eq!(send("ann", http().post(server.url("/api/chat")).body(message("c", "go"))).await, 200);
    let resume = |chat: &str| http().get(server.url(&format!("/api/chat/{chat}/stream")));
    assert_eq!(send("bob", resume("c")).await, 204, "somebody else's");
    assert_eq!(send("bob", resume("unknown")).await, 204, "nobody's");
    assert_eq!(send("ann", resume("c")).await, 200);
    assert_eq!(send("bob", http().get(server.url("/api/chat/c/messages"))).await, 404);
}

/// Responses that nobody reads, and bodies that do not end, take their share and no more.
#[tokio::test]
async fn bytes_in_flight_are_limited() {
    let mut setup = Setup::demo();
    setup.limits.bytes_in_flight = 8 * 1024 * 1024;
    let server = setup.start().await;
    // Spaces: the demo model has nothing to look for in them.
    let large = " ".repeat(3_500_000) + "hello";
    // More than the system keeps of what nobody reads.
    for _ in 0..2 {
        assert_eq!(post(&server, "/stream", message("large", &large)).await.status, 200);
    }

    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("can be set");
    let mut unread = socket.connect(server.address).await.expect("connects");
    let get = "GET /api/chat/large/messages HTTP/1.1\r\nhost: localhost\r\n\r\n";
    unread.write_all(get.as_bytes()).await.expect("can be sent");
    let mut first = [0; 16];
    unread.read_exact(&mut first).await.expect("it begins");
    let said = said(http().get(server.url("/api/chat/large/messages")).send().await.expect("an answer")).await;
    assert_eq!((said.status, said.retry_after.is_some()), (503, true), "{}", said.text);
    drop(unread);
    assert_eq!(server.get("/api/chat/large/messages").await.0, 200);

    // Most of a body, and no more of it.
    let mut unsent = Vec::new();
    for _ in 0..2 {
        let mut stream = tokio::net::TcpStream::connect(server.address).await.expect("connects");
        let head = "POST /stream HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4000000\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("can be sent");
        stream.write_all(&vec![b' '; 3_500_000]).await.expect("can be sent");
        unsent.push(stream);
    }
    until("they are read", async || server.server.bytes_in_flight().0 >= 7_000_000).await;
    let refused = post(&server, "/stream", message("other", &large)).await;
    assert_eq!(refused.status, 503, "no room is left for another one");
    assert!(refused.retry_after.is_some() && refused.text.contains("overloaded"), "{}", refused.text);
    assert_eq!(post(&server, "/stream", message("small", "hello")).await.status, 200, "small ones always have room");
    drop(unsent);
    until("the room is given back", async || post(&server, "/stream", message("other", &large)).await.status == 200)
        .await;
}

/// A stock client sends its whole history every time: what the server has itself is skipped, however much it is.
#[tokio::test]
async fn the_history_of_a_known_chat_is_skipped() {
    let mut setup = Setup::demo();
    setup.limits.nodes = 1000;
    let server = setup.start().await;
    assert_eq!(post(&server, "/api/chat", message("c", "send 50 dollars to Hanako")).await.status, 200);
    let (_, messages) = server.get("/api/chat/c/messages").await;
    let tool = &messages[1]["parts"].as_array().expect("parts").iter().find(|part| part["toolCallId"].is_string());
    let mut tool = tool.expect("a call").clone();
    tool["state"] = json!("approval-responded");
    tool["approval"]["approved"] = json!(true);
    // Long, and with an answer in the middle: that one counts.
    let padding = json!({"type": "data-x", "data": vec!["padding"; 5000]});
    let body = |chat: &str| {
        json!({"id": chat, "messages": [
            {"id": "1", "role": "user", "parts": [{"type": "text", "text": "send 50 dollars to Hanako"}, padding]},
            {"id": messages[1]["id"], "role": "assistant", "parts": [padding, tool, padding]},
            {"id": "new", "role": "user", "parts": [{"type": "text", "text": "hello"}]},
        ]})
    };
    let said = post(&server, "/api/chat", body("c").to_string()).await;
    assert_eq!(said.status, 200, "{}", said.text);
    let (_, messages) = server.get("/api/chat/c/messages").await;
    let text = messages.to_string();
    assert!(text.contains("wallet_balance") && text.contains("hello"), "the approval and the message count: {text}");
    let said = post(&server, "/api/chat", body("unknown").to_string()).await;
    assert_eq!(said.status, 413, "of a chat that is not known, all of it would have to be kept: {}", said.text);
    let (status, _) = server.get("/api/chat/unknown/messages").await;
    assert_eq!(status, 404);
}

/// A message that is not complete is in flight as a body is, and has the time of one.
#[tokio::test]
async fn unfinished_frames_are_in_flight_too() {
    let mut setup = Setup::demo();
    setup.limits.bytes_in_flight = 3 * 1024 * 1024;
    setup.limits.body_time = Duration::from_secs(3);
    let server = setup.start().await;
    let handshake = "GET /live HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                     sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    let mut sockets = Vec::new();
    for _ in 0..3 {
        let mut socket = tokio::net::TcpStream::connect(server.address).await.expect("connects");
        socket.write_all(handshake.as_bytes()).await.expect("can be sent");
        let mut answer = [0; 1024];
        let read = socket.read(&mut answer).await.expect("an answer");
        assert!(answer[..read].starts_with(b"HTTP/1.1 101"));
        // A masked text frame of 2 MB, without its last byte. Nobody reads what finds no room, so it is sent beside the test.
        let mut frame = vec![0x81, 0xff, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0];
        frame.resize(frame.len() + 2 * 1024 * 1024 - 1, b'x');
        sockets.push(tokio::spawn(async move {
            let _ = socket.write_all(&frame).await;
            let _ = socket.read_to_end(&mut Vec::new()).await;
        }));
    }
    let bodies = || server.server.bytes_in_flight().0;
    until("they are read", async || bodies() > 1024 * 1024).await;
    let mut most = 0;
    until("all are given up", async || {
        most = most.max(bodies());
        server.clock.advance(Duration::from_millis(100));
        bodies() == 0 && sockets.iter().all(tokio::task::JoinHandle::is_finished)
    })
    .await;
    assert!(most <= 3 * 1024 * 1024, "{most}");
}

/// One of several subjects leaves room for the others.
#[tokio::test]
async fn one_subject_does_not_take_all_the_bytes_in_flight() {
    let key = |key: &str, subject: &str| AuthKey {
        key_sha256: Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect(),
        subject: subject.to_owned(),
        roles: Vec::new(),
        groups: Vec::new(),
    };
    let mut setup = Setup::demo();
    setup.keys = Keys::new(&[key("ann", "ann"), key("bob", "bob")]).expect("good keys");
    setup.limits.bytes_in_flight = 8 * 1024 * 1024;
    let server = setup.start().await;
    let mut unsent = Vec::new();
    for _ in 0..8 {
        let mut stream = tokio::net::TcpStream::connect(server.address).await.expect("connects");
        let head =
            "POST /stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ann\r\ncontent-length: 2000000\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("can be sent");
        // Nobody reads what finds no room, so it is sent beside the test.
        unsent.push(tokio::spawn(async move {
            let _ = stream.write_all(&vec![b' '; 1_900_000]).await;
            stream
        }));
    }
    until("ann has used up her share", async || server.server.bytes_in_flight().0 >= 1_900_000).await;
    let large = " ".repeat(1_000_000) + "hello";
    let post = http().post(server.url("/stream")).bearer_auth("bob").body(message("bobs", &large));
    assert_eq!(post.send().await.expect("an answer").status().as_u16(), 200);
}
