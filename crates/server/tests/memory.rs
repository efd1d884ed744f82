//! Bounds on the memory that one client can take. What a client does not read, repeats or never ends is stopped before it
//! adds up. `cargo xtask full memory` measures the same on the release binary.

mod support;

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use support::TestServer;
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
    let header = format!("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-long: {}", "x".repeat(bytes));
    let _ = stream.write_all(header.as_bytes()).and_then(|()| stream.write_all(b"\r\n\r\n"));
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_has_a_size() {
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
async fn the_id_of_a_request_has_a_length() {
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
async fn errors_are_short() {
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
