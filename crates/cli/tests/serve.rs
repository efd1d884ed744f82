//! The binary itself: it starts with nothing configured, says where it is, refuses what is unsafe, and goes when it is told to.

mod support;

use std::{
    io::Read,
    time::{Duration, Instant},
};

use support::process::{fails, read_until, start};

#[test]
fn the_binary_serves_and_stops_on_a_signal() {
    let server = start(&["--ephemeral"]);
    assert!(server.get("/ready").starts_with("HTTP/1.1 200"));
    assert!(server.get("/health").starts_with("HTTP/1.1 200"));
    assert!(server.get("/").contains("Holdpoint"));
    // Also with the console, which answers unknown paths.
    let unknown = server.get("/api/nowhere");
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
    assert!(unknown.contains("no-store") && unknown.contains("nosniff"), "{unknown}");
    assert!(server.get("/nowhere").starts_with("HTTP/1.1 404"));
    // The places of the console are paths of the same page. It does not tell whether an approval request exists.
    for place in ["/inbox", "/inbox/history", "/hold/approval_none", "/status"] {
        let answer = server.get(place);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Holdpoint"), "{place}: {answer}");
    }
    let overview = server.get("/llms.txt");
    assert!(overview.contains("content-type: text/plain") && overview.contains("\n# Holdpoint\n"), "{overview}");
    // Its links are to files of the repository, which a server does not have.
    assert!(overview.contains("/blob/main/docs/getting-started.md)"), "{overview}");
    assert!(!overview.contains("](docs/"), "{overview}");
    // Without keys it is for this machine alone, whatever page its browser visits and whatever name leads here.
    for headers in ["host: evil.example", "host: localhost\r\norigin: https://evil.example"] {
        let mut answer = String::new();
        let text = format!("GET /api/approvals HTTP/1.1\r\n{headers}\r\nconnection: close\r\n\r\n");
        server.request(&text).read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 403"), "{headers}: {answer}");
    }
    // A front end of this machine has a port of its own: its browser asks first.
    for (origin, allowed) in [("http://localhost:3000", true), ("https://evil.example", false)] {
        let mut answer = String::new();
        let text = format!(
            "OPTIONS /api/chat HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\naccess-control-request-method: POST\r\naccess-control-request-headers: content-type\r\nconnection: close\r\n\r\n"
        );
        server.request(&text).read_to_string(&mut answer).expect("an answer");
        let is_allowed = answer.contains(&format!("access-control-allow-origin: {origin}"));
        assert_eq!(is_allowed, allowed, "{origin}: {answer}");
    }
    // A response that waits for a browser is open when the signal comes: it must not hold the server up.
    let mut stream = server.post("/stream", r#"{"messages":[{"role":"user","content":"open https://example.com"}]}"#);
    let mut seen = String::new();
    let mut piece = [0; 4096];
    while !seen.contains("tool-input-available") {
        let read = stream.read(&mut piece).expect("more");
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    let (code, took) = server.terminate();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(9), "{took:?}");
}

/// Every answer says that no cache keeps it and no browser guesses its type, whoever makes it: a handler, the console, or the
/// table of routes itself.
#[test]
fn every_answer_to_every_method_has_its_headers() {
    let server = start(&["--ephemeral"]);
    let api: serde_json::Value =
        serde_json::from_str(server.get("/openapi.json").split_once("\r\n\r\n").expect("a body").1).expect("JSON");
    let described = api["paths"].as_object().expect("paths").keys().map(|path| path.replace(['{', '}'], ""));
    let others = [
        "/",
        "/inbox",
        "/inbox/history",
        "/hold/x",
        "/status",
        "/llms.txt",
        "/favicon.svg",
        "/assets/none.js",
        "/nowhere",
        "/no/where",
        "/api/chat/",
        "//",
        "/api",
    ];
    for path in described.chain(others.map(str::to_owned)) {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
            let answer = read_until(&mut server.request(&head), "\r\n\r\n");
            assert!(answer.contains("x-content-type-options: nosniff\r\n"), "{method} {path}: {answer}");
            assert!(answer.contains("cache-control: "), "{method} {path}: {answer}");
            let status: u16 = answer[9..12].parse().expect("a status");
            assert!(status < 400 || answer.contains("cache-control: no-store\r\n"), "{method} {path}: {answer}");
            assert!(status != 405 || answer.contains("problem+json") || answer.contains("text/plain"), "{answer}");
            assert!(status != 405 || answer.contains("allow: "), "{method} {path}: {answer}");
        }
    }
    // What is no HTTP never reaches a route. The answer is empty, and its statuses are ones that no cache keeps.
    let endless = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(400_000));
    for (wrong, status) in [("nonsense\r\n\r\n", "400"), (endless.as_str(), "431")] {
        let answer = read_until(&mut server.request(wrong), "\r\n\r\n");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains("content-length: 0"), "{answer}");
    }
}

/// A turn that runs when the signal comes is let finish.
#[test]
fn a_running_turn_is_let_finish() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("slow.json");
    let text = r#"{"turns":[{"steps":[[{"reasoning":["hm"]},{"waitMs":700},{"text":["finished"]}]]}]}"#;
    std::fs::write(&script, text).expect("can be written");
    let server = start(&["--ephemeral", "--model", &format!("script:{}", script.display())]);
    let mut stream = server.post("/stream", r#"{"messages":[{"role":"user","content":"go"}]}"#);
    let mut seen = String::new();
    let mut piece = [0; 4096];
    while !seen.contains("reasoning-end") {
        let read = stream.read(&mut piece).expect("more");
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    assert_eq!(server.terminate().0, Some(0));
    stream.read_to_string(&mut seen).expect("the rest");
    assert!(seen.contains("finished") && seen.contains("[DONE]"), "{seen}");
}

#[test]
fn chats_survive_a_restart_in_the_data_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("deep/data");
    let data = data.to_str().expect("a path");
    let server = start(&["--data", data]);
    let answer = server.posted("/stream", r#"{"id":"kept","messages":[{"role":"user","content":"hello"}]}"#);
    assert!(answer.contains("[DONE]"), "{answer}");
    let other = fails(&["--listen", "127.0.0.1:0", "--data", data]);
    assert!(other.contains("deep/data"), "a second server is told whose folder it is: {other}");
    assert_eq!(server.terminate().0, Some(0));
    let server = start(&["--data", data]);
    assert!(server.get("/api/chat/kept/messages").contains("hello"));
    assert_eq!(server.terminate().0, Some(0));
}

/// SIGKILL while a payment waits, and again while its answer is being given: the question, the answer and the one payment stay.
#[test]
fn a_hold_outlives_the_server_being_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("a path");
    let server = start(&["--data", data]);
    let body = r#"{"id":"c","messages":[{"role":"user","content":"send 50 dollars to Hanako"}]}"#;
    let asked = server.posted("/stream", body);
    assert!(asked.contains("tool-approval-request") && asked.contains("[DONE]"), "{asked}");
    server.kill();

    let server = start(&["--data", data]);
    let inbox = server.get("/api/approvals");
    let id = inbox.split("approval_").nth(1).and_then(|rest| rest.split('"').next()).expect("it still waits");
    let path = format!("/api/approvals/approval_{id}");
    let decided = server.posted(&path, r#"{"approved":true}"#);
    assert!(decided.starts_with("HTTP/1.1 200"), "{decided}");
    // The 200 is a promise: whatever was going on at this moment, the decision is on disk.
    server.kill();

    let server = start(&["--data", data]);
    let begun = Instant::now();
    let messages = loop {
        let messages = server.get("/api/chat/c/messages");
        let is_settled = messages.contains("wallet_balance") || messages.contains("outcome unknown");
        if is_settled && messages.contains("\"state\":\"done\"") {
            break messages;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "the turn goes on by itself: {messages}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(messages.matches("\"toolCallId\":").count(), 1, "{messages}");
    let again = server.posted(&path, r#"{"approved":true}"#);
    assert!(again.contains("\"ignored\":true"), "{again}");
    let other = server.posted(&path, r#"{"approved":false}"#);
    assert!(other.starts_with("HTTP/1.1 409"), "{other}");
    assert_eq!(server.terminate().0, Some(0));
}

#[test]
fn a_failed_start_says_why() {
    let server = start(&["--ephemeral"]);
    let text = fails(&["--listen", &server.address, "--ephemeral"]);
    assert!(text.contains("in use") && text.contains("--listen"), "{text}");
    let text = fails(&["--listen", "0.0.0.0:0", "--ephemeral"]);
    assert!(text.contains("keys") && text.contains("127.0.0.1"), "{text}");
    let text = fails(&["--model", "parrot"]);
    assert!(text.contains("parrot") && text.contains("script:FILE"), "{text}");
    let text = fails(&["--model", "script:nowhere.json"]);
    assert!(text.contains("nowhere.json"), "{text}");
    let text = fails(&["--config", "nowhere.toml"]);
    assert!(text.contains("nowhere.toml"), "{text}");
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("h.toml");
    std::fs::write(&config, "[tools.process_payment]\naproval = \"never\"\n").expect("can be written");
    let text = fails(&["--config", config.to_str().expect("a path")]);
    assert!(text.contains("aproval") && text.contains("h.toml"), "{text}");
    let key = format!("[[auth.keys]]\nkey_sha256 = \"{}\"\nsubject = \"alice\"\n", "0".repeat(64));
    let jwt = "[auth.jwt]\nissuer = \"https://login.example\"\naudience = \"holdpoint\"\n";
    for (settings, said) in [
        (format!("{key}roles = [\"root\"]\n"), "string \"root\", expected one of \"user\""),
        (format!("{key}{key}roles = [\"admin\"]\n"), "a key of \"alice\" is listed twice"),
        (jwt.to_owned(), "set either `jwks_file` or `jwks_url`"),
        (format!("{jwt}jwks_url = \"http://login.example/keys\"\n"), "auth.jwt.jwks_url"),
        (format!("{jwt}jwks_file = \"nowhere.json\"\n"), "auth.jwt.jwks_file: nowhere.json"),
    ] {
        std::fs::write(&config, settings).expect("can be written");
        let text = fails(&["--config", config.to_str().expect("a path"), "--ephemeral"]);
        assert!(text.contains(said), "{text}");
    }
    server.terminate();
}
