//! SIGTERM: the listener closes at once, what runs may finish, what waits is ended in order, and a second signal ends it all.

mod support;

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::json;
use support::process::{Running, read_until, start};

/// A server whose turn takes this long.
fn slow(millis: u64) -> (Running, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("slow.json");
    let slow = json!([[{"reasoning": ["hm"]}, {"waitMs": millis}, {"text": ["finished"]}]]);
    let open = json!([[{"toolCall": {"name": "open-url", "input": {"url": "https://example.com"}}}]]);
    let turns = json!({"turns": [{"when": "slow", "steps": slow}, {"when": "open", "steps": open}]});
    std::fs::write(&script, turns.to_string()).expect("written");
    (start(&["--ephemeral", "--model", &format!("script:{}", script.display())]), folder)
}

fn say(server: &Running, text: &str) -> TcpStream {
    server.post("/stream", &json!({"messages": [{"role": "user", "content": text}]}).to_string())
}

/// One answer on a connection that stays open.
fn ready(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("sent");
    read_until(stream, "}")
}

fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an end");
    text
}

#[test]
fn a_signal_closes_the_listener_at_once_and_ends_waiting_responses() {
    let (mut server, _folder) = slow(4000);
    let mut running = say(&server, "slow");
    read_until(&mut running, "reasoning-end");
    let mut waiting = say(&server, "open");
    read_until(&mut waiting, "tool-input-available");
    let mut events = server.request("GET /api/events HTTP/1.1\r\nhost: localhost\r\n\r\n");
    read_until(&mut events, "ready");
    let mut probe = server.connect();
    let answer = ready(&mut probe);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let handshake = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==";
    let sockets = ["/live", "/api/chat/ws"].map(|path| {
        let mut socket = server.request(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{handshake}\r\n\r\n"));
        read_until(&mut socket, "\r\n\r\n");
        socket
    });

    let begun = Instant::now();
    server.signal();
    while TcpStream::connect(&server.address).is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "new connections are still taken");
    let answer = ready(&mut probe);
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("draining"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    let waited = rest(waiting);
    assert!(waited.contains("\"type\":\"error\"") && waited.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"), "{waited}");
    assert!(rest(events).ends_with("0\r\n\r\n"), "the end of the events is in order");
    for mut socket in sockets {
        let mut frame = Vec::new();
        socket.read_to_end(&mut frame).expect("an end");
        // A close frame, and 1001: going away.
        assert_eq!((frame[0], &frame[2..4]), (0x88, 1001_u16.to_be_bytes().as_slice()), "{frame:?}");
    }
    assert!(begun.elapsed() < Duration::from_secs(3), "what only waits does not wait for what runs");
    assert!(server.child.try_wait().expect("a status").is_none(), "the running turn is let finish");
    let answer = rest(running);
    assert!(answer.contains("finished") && answer.contains("[DONE]"), "{answer}");
    assert_eq!(server.child.wait().expect("ends").code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
}

#[test]
fn a_second_signal_ends_at_once() {
    let (mut server, _folder) = slow(20_000);
    let mut running = say(&server, "slow");
    read_until(&mut running, "reasoning-end");
    server.signal();
    std::thread::sleep(Duration::from_millis(300));
    assert!(server.child.try_wait().expect("a status").is_none(), "the turn is let run");
    let begun = Instant::now();
    server.signal();
    assert_eq!(server.child.wait().expect("ends").code(), Some(128 + 15));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
