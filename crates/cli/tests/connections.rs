//! Limits on connections: how many there may be, and how long each may keep the server waiting.

mod support;

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::json;
use sha2::{Digest, Sha256};
use support::process::{Running, read_until, start, start_with_descriptors};

/// A server with these limits.
fn limited(limits: &str) -> (Running, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("h.toml"), format!("[limits]\n{limits}\n")).expect("written");
    let long =
        json!({"turns": [{"when": "long", "steps": [[{"text": vec!["x".repeat(64 * 1024); TEXT / (64 * 1024)]}]]}]});
    std::fs::write(path("long.json"), long.to_string()).expect("written");
    let model = format!("script:{}", path("long.json"));
    (start(&["--ephemeral", "--config", &path("h.toml"), "--model", &model]), folder)
}

/// What takes no time, on a busy machine; what takes two seconds, on one.
const SOON: Duration = Duration::from_secs(5);
const LATE: Duration = Duration::from_secs(8);

/// More than the system buffers for a client that does not read.
const TEXT: usize = 8 << 20;

const GET: &str = "GET /api/chats HTTP/1.1\r\nhost: localhost\r\n";

fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    text
}

fn events(server: &Running) -> TcpStream {
    let mut stream = server.request("GET /api/events HTTP/1.1\r\nhost: localhost\r\n\r\n");
    read_until(&mut stream, "ready");
    stream
}

/// Connections that say nothing, more of them than there are descriptors, keep nobody waiting.
#[test]
fn silent_connections_do_not_block_requests() {
    let server = start_with_descriptors(64, &["--ephemeral"]);
    let silent: Vec<TcpStream> = (0..200).map(|_| server.connect()).collect();
    // Half a header is as good as none.
    for mut stream in silent.iter().skip(1).step_by(2) {
        let _ = stream.write_all(b"GET /api/chats HTTP/1.1\r\n");
    }
    for path in ["/health", "/api/chats"] {
        let begun = Instant::now();
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        assert!(begun.elapsed() < SOON, "{path} took {:?}", begun.elapsed());
    }
    let begun = Instant::now();
    let turn = server.posted("/stream", r#"{"messages":[{"role":"user","content":"hello"}]}"#);
    assert!(turn.contains("[DONE]"), "{turn}");
    assert!(begun.elapsed() < SOON, "a turn took {:?}", begun.elapsed());
}

/// Below the limit, at it, and above it; and what is served all the same.
#[test]
fn requests_over_the_limit_are_refused_and_the_inbox_is_not() {
    let (server, _folder) = limited("connections = 3\nreserved_connections = 2");
    let mut open: Vec<TcpStream> = (0..2).map(|_| events(&server)).collect();
    assert!(server.get("/api/chats").starts_with("HTTP/1.1 200"), "below the limit");
    open.push(events(&server));
    let refused = server.get("/api/chats");
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 1"), "{refused}");
    let refused = server.posted("/stream", r#"{"messages":[{"role":"user","content":"hello"}]}"#);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    for path in ["/health", "/ready", "/api/approvals"] {
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    let decided = server.posted("/api/approvals/nobodys", r#"{"approved":true}"#);
    assert!(decided.starts_with("HTTP/1.1 404"), "{decided}");
    drop(open.pop());
    let begun = Instant::now();
    while !server.get("/api/chats").starts_with("HTTP/1.1 200") {
        // That a client is gone is noticed at the next write at the latest: a ping.
        assert!(begun.elapsed() < Duration::from_secs(18), "the place is free again");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One of several subjects takes a part of the connections, by whatever keeps a request open.
#[test]
fn one_subject_does_not_take_all_connections() {
    let key = |subject: &str| {
        let digest: String = Sha256::digest(subject).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("[[auth.keys]]\nkey_sha256 = \"{digest}\"\nsubject = \"{subject}\"\n")
    };
    let settings = format!("connections = 12\n{}{}", key("ann"), key("bob"));
    let (server, _folder) = limited(&settings);
    let begin = |who: &str, request: &str| {
        server.request(&format!("{request}host: localhost\r\nauthorization: Bearer {who}\r\n"))
    };
    let get = |who: &str, path: &str| {
        let mut stream = begin(who, &format!("GET {path} HTTP/1.1\r\n"));
        stream.write_all(b"connection: close\r\n\r\n").expect("sent");
        answer(stream)
    };
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut events = begin("ann", "GET /api/events HTTP/1.1\r\n");
        events.write_all(b"\r\n").expect("sent");
        read_until(&mut events, "ready");
        open.push(events);
    }
    assert!(get("ann", "/api/me").starts_with("HTTP/1.1 200"), "below the limit");
    // A body that does not come.
    let mut body = begin("ann", "POST /api/chat HTTP/1.1\r\n");
    body.write_all(b"content-type: application/json\r\ncontent-length: 5\r\n\r\n{").expect("sent");
    let begun = Instant::now();
    while !get("ann", "/api/me").starts_with("HTTP/1.1 429") {
        assert!(begun.elapsed() < SOON, "a quarter of 12 are in use");
    }
    let refused = get("ann", "/api/chats");
    assert!(refused.contains("retry-after: 1") && refused.contains("3 connections of this subject"), "{refused}");
    assert!(get("ann", "/api/approvals").starts_with("HTTP/1.1 200"), "the subject can still decide");
    assert!(get("bob", "/api/me").starts_with("HTTP/1.1 200"), "others have theirs");
    body.write_all(b"}   ").expect("sent");
    read_until(&mut body, "HTTP/1.1 4");
    let begun = Instant::now();
    while !get("ann", "/api/me").starts_with("HTTP/1.1 200") {
        assert!(begun.elapsed() < SOON, "one is free again");
    }
}

/// Whoever has used up a limit can get below it again: what ends or frees work is served, and nothing else.
#[test]
fn requests_that_free_work_are_served_at_the_limit_of_a_subject() {
    let digest: String = Sha256::digest("ann").iter().map(|byte| format!("{byte:02x}")).collect();
    let (server, _folder) = limited(&format!(
        "connections = 100\nconnections_per_subject = 2\n[[auth.keys]]\nkey_sha256 = \"{digest}\"\nsubject = \"ann\"\n"
    ));
    let send = |method: &str, path: &str| {
        let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ann\r\n");
        answer(server.request(&format!("{head}content-length: 2\r\nconnection: close\r\n\r\n{{}}")))
    };
    let _open: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut events =
                server.request("GET /api/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ann\r\n\r\n");
            read_until(&mut events, "ready");
            events
        })
        .collect();
    let frees = [
        ("GET", "/api/approvals", 200),
        ("GET", "/api/approvals/none", 404),
        ("GET", "/api/approvals/none/record", 404),
        ("POST", "/api/approvals/none", 422),
        ("POST", "/api/tools/ack", 422),
        ("POST", "/api/chat/none/stop", 404),
        ("DELETE", "/api/chat/none", 404),
        ("DELETE", "/api/chat/ws", 404),
        ("DELETE", "/api/chat/", 404),
        ("GET", "/api/grants", 200),
        ("DELETE", "/api/grants/none", 404),
    ];
    for (method, path, status) in frees {
        let answer = send(method, path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{method} {path}: {answer}");
    }
    for (method, path) in [
        ("GET", "/api/me"),
        ("GET", "/api/chats"),
        ("POST", "/api/chat"),
        ("POST", "/stream"),
        ("GET", "/api/chat/none/messages"),
        ("GET", "/api/chat/none/stream"),
        ("POST", "/api/ticket"),
    ] {
        let answer = send(method, path);
        assert!(answer.starts_with("HTTP/1.1 429"), "{method} {path}: {answer}");
    }
}

/// Nor does a flood of other requests keep anybody from ending work.
#[test]
fn requests_that_free_work_have_their_own_rate_limit() {
    let (server, _folder) = limited("requests_per_subject = 1");
    for (path, status) in [("/api/tools/ack", "422"), ("/api/chat/none/stop", "404"), ("/api/approvals/none", "422")] {
        // The one before counts too.
        std::thread::sleep(Duration::from_millis(1100));
        let begun = Instant::now();
        while !server.get("/api/me").starts_with("HTTP/1.1 429") {
            assert!(begun.elapsed() < Duration::from_secs(60), "one a second is the limit");
        }
        let answer = server.posted(path, "{}");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
    }
}

/// When every connection has a request, also those of the reserve, a new one is told so.
#[test]
fn a_connection_too_many_is_refused() {
    let (server, _folder) = limited("connections = 2\nreserved_connections = 1");
    let _open: Vec<TcpStream> = (0..2).map(|_| events(&server)).collect();
    // A decision whose body does not come takes the reserve.
    let decision = "POST /api/approvals/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\n{";
    let mut decision = server.request(decision);
    std::thread::sleep(Duration::from_millis(200));
    let refused = answer(server.connect());
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 1"), "{refused}");
    decision.write_all(b"}   ").expect("sent");
    read_until(&mut decision, "HTTP/1.1 422");
    assert!(server.get("/health").starts_with("HTTP/1.1 200"), "one is free again");
}

#[test]
fn a_slow_header_is_not_waited_for() {
    let (server, _folder) = limited("header_sec = 2");
    let begun = Instant::now();
    let mut slow = server.request(GET);
    std::thread::sleep(Duration::from_millis(1000));
    slow.write_all(b"connection: close\r\n\r\n").expect("sent");
    assert!(answer(slow).starts_with("HTTP/1.1 200"), "below the limit");
    assert!(begun.elapsed() < Duration::from_secs(2));
    for begin in [GET, ""] {
        let begun = Instant::now();
        let closed = answer(server.request(begin));
        assert!(!closed.starts_with("HTTP/1.1 200"), "{closed}");
        let took = begun.elapsed();
        assert!((Duration::from_millis(1900)..LATE).contains(&took), "{begin:?}: {took:?}");
    }
}

#[test]
fn a_slow_body_is_not_waited_for() {
    let (server, _folder) = limited("body_sec = 2");
    let post = |path: &str| {
        server.request(&format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 10\r\n\r\n{{"
        ))
    };
    let mut slow = post("/api/tools/ack");
    std::thread::sleep(Duration::from_millis(1000));
    slow.write_all(b"}        ").expect("sent");
    assert!(answer(slow).starts_with("HTTP/1.1 422"), "below the limit, it is read");
    for path in ["/stream", "/api/chat", "/api/tools/ack", "/api/approvals/x", "/api/check"] {
        let begun = Instant::now();
        let mut stalled = post(path);
        if path == "/stream" {
            // Coming in drops makes it no quicker.
            for _ in 0..3 {
                std::thread::sleep(Duration::from_millis(500));
                stalled.write_all(b" ").expect("sent");
            }
        }
        let refused = answer(stalled);
        assert!(refused.starts_with("HTTP/1.1 408") && refused.contains("2 s"), "{path}: {refused}");
        let took = begun.elapsed();
        assert!((Duration::from_millis(1900)..LATE).contains(&took), "{path}: {took:?}");
    }
}

/// A client that does not read its stream loses it, and its place with it.
#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let (server, _folder) = limited("write_sec = 2\nstreams_per_subject = 1");
    let say = r#"{"messages":[{"role":"user","content":"long"}]}"#;
    let frame = {
        let text = r#"{"type":"message","messages":[{"role":"user","content":"long"}]}"#;
        [&[0x81, 0x80 | u8::try_from(text.len()).expect("short"), 0, 0, 0, 0], text.as_bytes()].concat()
    };
    let live = "GET /live?text=progressive HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    for kind in ["stream", "socket"] {
        let unread = match kind {
            "stream" => server.post("/api/chat", &say.replacen('{', r#"{"id":"unread","#, 1)),
            _ => {
                let mut socket = server.request(live);
                read_until(&mut socket, "\r\n\r\n");
                socket.write_all(&frame).expect("sent");
                socket
            }
        };
        // Time for it to begin, and to fill what the system buffers.
        std::thread::sleep(Duration::from_millis(1000));
        let other = server.get("/api/events?");
        assert!(other.starts_with("HTTP/1.1 429"), "{kind}: it has the only place: {other}");
        let begun = Instant::now();
        loop {
            let mut stream = server.request("GET /api/events HTTP/1.1\r\nhost: localhost\r\n\r\n");
            let mut begin = [0; 12];
            stream.read_exact(&mut begin).expect("an answer");
            if begin == *b"HTTP/1.1 200" {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{kind}: it is never given up");
            std::thread::sleep(Duration::from_millis(50));
        }
        drop(unread);
        std::thread::sleep(Duration::from_millis(200));
    }
    // Whoever reads slowly, but reads, gets all of it.
    let mut slow = server.post("/api/chat", &say.replacen('{', r#"{"id":"slow","#, 1));
    let (mut read, mut piece) = (0, vec![0; 128 * 1024]);
    let mut end = Vec::new();
    loop {
        let some = slow.read(&mut piece).expect("more");
        read += some;
        end.extend_from_slice(&piece[..some]);
        end.drain(..end.len().saturating_sub(64));
        if String::from_utf8_lossy(&end).contains("[DONE]") {
            break;
        }
        assert!(some > 0, "it broke off after {read} bytes");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(read > TEXT, "{read}");
}
