//! SIGTERM: the listener closes at once, what runs may finish, what waits is ended in order, and a second signal ends it all.

mod support;

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::json;
use support::{
    Endpoint, block_until,
    process::{Running, read_until, start},
};

/// A server whose turn runs until its endpoint answers.
struct Slow {
    server: Running,
    endpoint: Endpoint,
    _folder: tempfile::TempDir,
}

impl Slow {
    async fn start() -> Self {
        let endpoint = Endpoint::start().await;
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let slow = json!([[{"toolCall": {"name": "deliver", "input": {}}}], [{"text": ["finished"]}]]);
        let open = json!([[{"toolCall": {"name": "open-url", "input": {"url": "https://example.com"}}}]]);
        let turns = json!({"turns": [{"when": "slow", "steps": slow}, {"when": "open", "steps": open}]});
        std::fs::write(path("script.json"), turns.to_string()).expect("written");
        let settings = format!("[tools.deliver]\nurl = '{}'\nallow_private = true\napproval = 'never'\n", endpoint.url);
        std::fs::write(path("h.toml"), settings).expect("written");
        let model = format!("script:{}", path("script.json"));
        let server = start(&["--ephemeral", "--config", &path("h.toml"), "--model", &model]);
        Self { server, endpoint, _folder: folder }
    }

    /// Begins the turn, and waits until its endpoint has the request.
    async fn run(&self) -> TcpStream {
        let running = say(&self.server, "slow");
        self.endpoint.gate.arrived().await;
        running
    }

    /// Waits until it takes no new connections: it has seen the signal.
    fn closed(&self) {
        block_until("the listener is closed", || TcpStream::connect(&self.server.address).is_err());
    }
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

/// What only waits ends while the running turn still runs, which it does until the end of this test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_closes_the_listener_at_once_and_ends_waiting_responses() {
    let mut slow = Slow::start().await;
    let running = slow.run().await;
    let server = &slow.server;
    let mut waiting = say(server, "open");
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

    server.signal();
    slow.closed();
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
    assert!(slow.server.child.try_wait().expect("a status").is_none(), "the running turn may finish");
    slow.endpoint.gate.open();
    let answer = rest(running);
    assert!(answer.contains("finished") && answer.contains("[DONE]"), "{answer}");
    assert_eq!(slow.server.child.wait().expect("ends").code(), Some(0));
}

/// The exit code says that it was the second signal: after the time that turns have to finish, it would be 0.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_at_once() {
    let mut slow = Slow::start().await;
    let _running = slow.run().await;
    slow.server.signal();
    slow.closed();
    assert!(slow.server.child.try_wait().expect("a status").is_none(), "the running turn may finish");
    slow.server.signal();
    assert_eq!(slow.server.child.wait().expect("ends").code(), Some(128 + 15));
}
