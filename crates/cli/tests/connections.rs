//! Limits on connections: how many there may be, and how long each may keep the server waiting.

mod support;

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use holdpoint_server::ConnectionLimits;
use serde_json::json;
use sha2::{Digest, Sha256};
use support::{
    Setup, TestServer, block_until,
    process::{Running, read_until, start, start_with_descriptors},
    until,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A server with these limits.
fn limited(limits: &str) -> (Running, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("h.toml");
    std::fs::write(&settings, format!("[limits]\n{limits}\n")).expect("written");
    (start(&["--ephemeral", "--config", settings.to_str().expect("a path")]), folder)
}

/// A time limit that nothing else in the server has.
const LIMIT: Duration = Duration::from_secs(4001);
const MOMENT: Duration = Duration::from_millis(1);

/// More than the system buffers for a client that does not read.
const TEXT: usize = 8 << 20;

const ME: &str = "GET /api/me HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
const GET: &str = "GET /api/chats HTTP/1.1\r\nhost: localhost\r\n";

fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    text
}

fn events(server: &Running) -> TcpStream {
    let mut stream = accepted(" 200", || server.request("GET /api/events HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    read_until(&mut stream, "ready");
    stream
}

/// A request that is answered with this status. A connection that the client has seen the end of may still be in use for a
/// moment, so one that is refused meanwhile is sent again.
fn accepted(status: &str, request: impl Fn() -> TcpStream) -> TcpStream {
    let mut open = None;
    block_until("a request is accepted", || {
        let (mut stream, mut head) = (request(), [0; "HTTP/1.1 200".len()]);
        stream.read_exact(&mut head).expect("a status");
        let is_accepted = head.ends_with(status.as_bytes());
        open = Some(stream);
        is_accepted
    });
    open.expect("it was accepted")
}

/// Connections that say nothing, more of them than there are descriptors, keep nobody waiting: by themselves they would stay
/// for an hour.
#[test]
fn silent_connections_do_not_block_requests() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("h.toml");
    std::fs::write(&settings, "[limits]\nheader_sec = 3600\n").expect("written");
    let server = start_with_descriptors(64, &["--ephemeral", "--config", settings.to_str().expect("a path")]);
    let silent: Vec<TcpStream> = (0..200).map(|_| server.connect()).collect();
    // Half a header is as good as none.
    for mut stream in silent.iter().skip(1).step_by(2) {
        let _ = stream.write_all(b"GET /api/chats HTTP/1.1\r\n");
    }
    for path in ["/health", "/api/chats"] {
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    let turn = server.posted("/stream", r#"{"messages":[{"role":"user","content":"hello"}]}"#);
    assert!(turn.contains("[DONE]"), "{turn}");
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
    // That a client is gone is noticed at the next write at the latest: a ping.
    block_until("the place is free again", || server.get("/api/chats").starts_with("HTTP/1.1 200"));
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
    // A body that does not come. A quarter of 12 are in use once the server waits for it.
    let mut body = accepted(" 100", || {
        let mut stream = begin("ann", "POST /api/chat HTTP/1.1\r\n");
        let head = b"content-type: application/json\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n";
        stream.write_all(head).expect("sent");
        stream
    });
    let refused = get("ann", "/api/chats");
    assert!(refused.contains("retry-after: 1") && refused.contains("3 connections of this subject"), "{refused}");
    assert!(get("ann", "/api/approvals").starts_with("HTTP/1.1 200"), "the subject can still decide");
    assert!(get("bob", "/api/me").starts_with("HTTP/1.1 200"), "others have theirs");
    body.write_all(b"{}   ").expect("sent");
    read_until(&mut body, "HTTP/1.1 4");
    block_until("one is free again", || get("ann", "/api/me").starts_with("HTTP/1.1 200"));
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
        // Some at a time: one after the other, they could come slower than one a second.
        block_until("one a second is the limit", || {
            let asked: Vec<TcpStream> = (0..8).map(|_| server.request(ME)).collect();
            asked.into_iter().map(answer).filter(|answer| answer.starts_with("HTTP/1.1 429")).count() > 0
        });
        let answer = server.posted(path, "{}");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
    }
}

/// Sends the beginning of something.
async fn begin(server: &TestServer, text: &str) -> tokio::net::TcpStream {
    let mut stream = tokio::net::TcpStream::connect(server.address).await.expect("connects");
    stream.write_all(text.as_bytes()).await.expect("can be sent");
    stream
}

/// Waits until the time limit of a connection begins.
async fn limited_from_now(server: &TestServer) {
    support::within("the time limit begins", server.clock.until_sleeper_for(LIMIT)).await;
}

/// All that comes until the connection is closed.
async fn all(mut stream: tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = support::within("the connection ends", stream.read_to_end(&mut bytes)).await;
    // It may have been reset: what came before is what counts.
    drop(read);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Begins an event stream, and waits until it is served.
async fn events_of(server: &TestServer) -> tokio::net::TcpStream {
    let mut stream = begin(server, "GET /api/events HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("ready") {
        assert!(stream.read_buf(&mut seen).await.expect("can be read") > 0);
    }
    stream
}

/// When every connection has a request, also those of the reserve, a new one is told so.
#[tokio::test]
async fn a_connection_too_many_is_refused() {
    let mut setup = Setup::demo();
    setup.limits.body_time = LIMIT;
    (setup.connections.connections, setup.connections.reserved) = (2, 1);
    let server = setup.start().await;
    let _open = [events_of(&server).await, events_of(&server).await];
    // A decision whose body does not come takes the reserve.
    let mut decision =
        begin(&server, "POST /api/approvals/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\n{").await;
    limited_from_now(&server).await;
    let refused = all(begin(&server, "").await).await;
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 1"), "{refused}");
    decision.write_all(b"}   ").await.expect("can be sent");
    let mut seen = vec![0; 12];
    decision.read_exact(&mut seen).await.expect("an answer");
    assert_eq!(seen, b"HTTP/1.1 422");
    drop(decision);
    until("one is free again", async || server.get("/health").await.0 == 200).await;
}

#[tokio::test]
async fn a_slow_header_is_not_waited_for() {
    let mut setup = Setup::demo();
    setup.connections.header_time = LIMIT;
    let server = setup.start().await;
    let mut slow = begin(&server, GET).await;
    limited_from_now(&server).await;
    server.clock.advance(LIMIT - MOMENT);
    slow.write_all(b"connection: close\r\n\r\n").await.expect("can be sent");
    assert!(all(slow).await.starts_with("HTTP/1.1 200"), "below the limit");
    for sent in [GET, ""] {
        let slow = begin(&server, sent).await;
        limited_from_now(&server).await;
        server.clock.advance(LIMIT);
        let closed = all(slow).await;
        assert!(!closed.starts_with("HTTP/1.1 200"), "{sent:?}: {closed}");
    }
}

#[tokio::test]
async fn a_slow_body_is_not_waited_for() {
    let mut setup = Setup::demo();
    setup.limits.body_time = LIMIT;
    let server = setup.start().await;
    let post = async |path: &str| {
        let head = "host: localhost\r\nconnection: close\r\ncontent-length: 10\r\n\r\n{";
        let stream = begin(&server, &format!("POST {path} HTTP/1.1\r\n{head}")).await;
        limited_from_now(&server).await;
        stream
    };
    let mut slow = post("/api/tools/ack").await;
    server.clock.advance(LIMIT - MOMENT);
    slow.write_all(b"}        ").await.expect("can be sent");
    assert!(all(slow).await.starts_with("HTTP/1.1 422"), "below the limit, it is read");
    for path in ["/stream", "/api/chat", "/api/tools/ack", "/api/approvals/x", "/api/check"] {
        let mut stalled = post(path).await;
        // Coming in drops makes it no longer.
        for _ in 0..3 {
            server.clock.advance(LIMIT / 4);
            stalled.write_all(b" ").await.expect("can be sent");
        }
        server.clock.advance(LIMIT - 3 * (LIMIT / 4));
        let refused = all(stalled).await;
        assert!(refused.starts_with("HTTP/1.1 408") && refused.contains("within 4001 s"), "{path}: {refused}");
    }
}

/// A client that does not read its stream loses it, and its place with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_is_disconnected() {
    let piece = "x".repeat(64 * 1024);
    let steps = json!([[{"text": vec![&piece; TEXT / piece.len()]}]]);
    let mut setup = Setup::script(&json!({"turns": [{"when": "long", "steps": steps}]}));
    setup.connections.write_time = LIMIT;
    setup.limits.streams_per_subject = 1;
    let server = setup.start().await;
    let say = |chat: &str| {
        let body = json!({"id": chat, "messages": [{"role": "user", "content": "long"}]}).to_string();
        format!("POST /api/chat HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    // Sends a request from a socket that takes little, until there is a place for it. That a client before it is gone is noticed
    // at the next ping at the latest.
    let opened = async |request: &str| {
        let open = async {
            loop {
                let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
                socket.set_recv_buffer_size(64 * 1024).expect("can be set");
                let mut stream = socket.connect(server.address).await.expect("connects");
                stream.write_all(request.as_bytes()).await.expect("can be sent");
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.expect("a head"));
                }
                if !head.starts_with(b"HTTP/1.1 429") {
                    return stream;
                }
                server.clock.advance(Duration::from_secs(20));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        support::within("there is a place", open).await
    };
    let live = "GET /live?text=progressive HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    for kind in ["stream", "socket"] {
        let mut unread = opened(if kind == "stream" { say("unread") } else { live.to_owned() }.as_str()).await;
        if kind == "socket" {
            let text = r#"{"type":"message","messages":[{"role":"user","content":"long"}]}"#;
            let head = [0x81, 0x80 | u8::try_from(text.len()).expect("short"), 0, 0, 0, 0];
            unread.write_all(&[&head, text.as_bytes()].concat()).await.expect("can be sent");
        }
        // What the system buffers is full.
        limited_from_now(&server).await;
        let other = async || {
            let mut other = begin(&server, "GET /api/events HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
            let mut status = [0; 12];
            other.read_exact(&mut status).await.expect("an answer");
            String::from_utf8_lossy(&status).into_owned()
        };
        assert_eq!(other().await, "HTTP/1.1 429", "{kind}: it has the only place");
        server.clock.advance(LIMIT);
        until(&format!("{kind}: it is given up"), async || other().await == "HTTP/1.1 200").await;
        drop(unread);
    }
    // Whoever reads slowly, but reads, gets all of it.
    let mut slow = opened(&say("slow")).await;
    let mut read = 0;
    for _ in 0..2 {
        limited_from_now(&server).await;
        server.clock.advance(LIMIT - MOMENT);
        // The system wakes a writer once a good part of what it buffers is gone.
        let mut some = vec![0; 2 << 20];
        read += slow.read_exact(&mut some).await.expect("more");
    }
    let mut end = Vec::new();
    while !String::from_utf8_lossy(&end).contains("[DONE]") {
        let mut piece = vec![0; 128 * 1024];
        let some = slow.read(&mut piece).await.expect("more");
        assert!(some > 0, "it broke off after {read} bytes");
        read += some;
        end.extend_from_slice(&piece[..some]);
        end.drain(..end.len().saturating_sub(64));
    }
    assert!(read > TEXT, "{read}");
}

/// What the settings say is what a connection gets.
#[test]
fn the_time_limits_are_those_of_the_settings() {
    let (server, _folder) = limited("header_sec = 1\nbody_sec = 2");
    let begun = Instant::now();
    let closed = answer(server.request(GET));
    assert!(!closed.starts_with("HTTP/1.1 200"), "{closed}");
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(1) && took < ConnectionLimits::default().header_time, "{took:?}");
    let stalled = "POST /api/tools/ack HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 10\r\n\r\n{";
    let refused = answer(server.request(stalled));
    assert!(refused.starts_with("HTTP/1.1 408") && refused.contains("within 2 s"), "{refused}");
}
