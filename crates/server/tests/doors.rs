//! What stands before every request: who somebody is, whatever the spelling of the name; a guesser, who slows down nobody else;
//! text that is not Unicode; and the headers of every answer.

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::http::request::Parts;
use futures::{SinkExt, StreamExt};
use holdpoint_runtime::{
    approvers::Approvers,
    subject::Subject,
    tool::{Tool, ToolContext, ToolSet},
};
use holdpoint_server::{AuthKey, IdentityError, Jwt, JwtSettings, Keys, Role};
use jsonwebtoken::Algorithm;
use reqwest::Response;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{
    Setup, TestServer,
    issuer::{AUDIENCE, ISSUER, Issuer, claims, key_set},
};
use tokio_tungstenite::tungstenite::Message;

const NOW_SEC: u64 = support::START / 1000;

fn key(text: &str, subject: &str, roles: &[Role], groups: &[&str]) -> AuthKey {
    AuthKey {
        key_sha256: Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect(),
        subject: subject.to_owned(),
        roles: roles.to_vec(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    }
}

/// A server with these keys, which takes the tokens of an issuer.
async fn with_tokens(issuer: &Issuer, mut setup: Setup, keys: &[AuthKey]) -> TestServer {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), key_set(&[issuer])).expect("it can be written");
    let settings = JwtSettings {
        issuer: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        jwks_file: Some(file.path().to_owned()),
        ..JwtSettings::default()
    };
    let jwt = Jwt::new(&settings).expect("good settings");
    setup.keys = Keys::new(keys).expect("good keys");
    setup.start_with(|server| server.jwt(jwt)).await
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

async fn me(server: &TestServer, credential: &str) -> (u16, Value) {
    let response = client().get(server.url("/api/me")).bearer_auth(credential).send().await.expect("an answer");
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.expect("a body")).unwrap_or_default())
}

async fn post(server: &TestServer, path: &str, credential: &str, body: Vec<u8>) -> Response {
    let request = client().post(server.url(path)).bearer_auth(credential).header("content-type", "application/json");
    request.body(body).send().await.expect("an answer")
}

/// Everybody behind a proxy has one address.
#[tokio::test]
async fn a_guesser_does_not_lock_out_right_credentials() {
    let issuer = Issuer::new("k", Algorithm::EdDSA);
    let mut setup = Setup::demo();
    setup.limits.wrong_keys_per_minute = 5;
    let server = with_tokens(&issuer, setup, &[key("key-of-carol", "carol", &[], &[])]).await;
    let mut statuses = Vec::new();
    for number in 0..20 {
        statuses.push(me(&server, &format!("guess {number}")).await.0);
    }
    assert_eq!(statuses, [vec![401; 5], vec![429; 15]].concat(), "a guesser waits");
    // None of these was seen before.
    assert_eq!(me(&server, "key-of-carol").await.0, 200);
    for number in 0..10 {
        let token = issuer.sign(&claims(&format!("user{number}"), NOW_SEC + 300));
        assert_eq!(me(&server, &token).await.0, 200, "{number}");
        assert_eq!(me(&server, &format!("guess again {number}")).await.0, 429);
    }
    let forged = Issuer::new("k", Algorithm::EdDSA).sign(&claims("carol", NOW_SEC + 300));
    assert_eq!(me(&server, &forged).await.0, 429, "a forged token is a guess");
}

/// An empty header would be that key.
#[test]
fn the_digest_of_an_empty_key_is_refused() {
    let refused = Keys::new(&[key("", "root", &[Role::Admin], &[])]).map(drop).expect_err("refused");
    assert!(refused.to_string().contains("empty"), "{refused}");
}

/// Spellings of one name, and what they become; `None` where nobody gets in with them.
const NAMES: [(&str, Option<&str>); 22] = [
    ("bob", Some("bob")),
    ("Bob", Some("bob")),
    ("BOB", Some("bob")),
    ("\u{ff42}\u{ff4f}\u{ff42}", Some("bob")),
    ("jose\u{301}", Some("jos\u{e9}")),
    ("JOS\u{c9}", Some("jos\u{e9}")),
    ("Bob Smith <bob@x.example>", Some("bob smith <bob@x.example>")),
    ("auth0|5F7c8ec7c33c6c004bbafe82", Some("auth0|5f7c8ec7c33c6c004bbafe82")),
    ("\u{418}\u{432}\u{430}\u{43d}", Some("\u{438}\u{432}\u{430}\u{43d}")),
    ("bob ", None),
    (" bob", None),
    ("bob  smith", None),
    ("bob\u{a0}smith", None),
    ("bob\0", None),
    ("bo\tb", None),
    ("bo\u{200b}b", None),
    ("bo\u{ad}b", None),
    ("bob\u{202e}", None),
    ("bob\u{fe0f}", None),
    ("b\u{43e}b", None),
    ("\u{430}\u{441}\u{435}", None),
    ("bo\u{301}\u{301}b", None),
];

#[tokio::test]
async fn spellings_of_one_name_are_one_subject() {
    let issuer = Issuer::new("k", Algorithm::EdDSA);
    let server = with_tokens(&issuer, Setup::demo(), &[]).await;
    for (name, expected) in NAMES {
        let (status, who) = me(&server, &issuer.sign(&claims(name, NOW_SEC + 300))).await;
        assert_eq!((status == 200, who["subject"].as_str()), (expected.is_some(), expected), "token {name:?}");
        let keys = Keys::new(&[key("k", name, &[], &[])]);
        assert_eq!(keys.is_ok(), expected.is_some(), "key {name:?}");
        if let Err(refused) = keys {
            assert!(refused.to_string().contains("subject"), "{refused}");
        }
    }
    // A program's own login.
    let setup = Setup::demo();
    let server = setup
        .start_with(|server| {
            server.identify(|parts: Parts| async move {
                let at: usize = parts.headers["x-user"].to_str().expect("text").parse().expect("a number");
                Ok::<_, IdentityError>(Subject::from(NAMES[at].0))
            })
        })
        .await;
    for (at, (name, expected)) in NAMES.iter().enumerate() {
        let request = client().get(server.url("/api/me")).header("x-user", at.to_string());
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        let who: Value = serde_json::from_str(&response.text().await.expect("a body")).expect("JSON");
        assert_eq!(status, if expected.is_some() { 200 } else { 401 }, "login {name:?}: {who}");
        assert_eq!(who["subject"].as_str(), *expected, "login {name:?}");
    }
}

/// A payment that waits for two of the group, and never for the one who asked.
async fn payment(issuer: &Issuer) -> (TestServer, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let pay = Tool::server("pay", "Pays", move |input: Value, _: ToolContext| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok(input) }
    });
    let approvers = Approvers::new(["group:finance"]).expect("names").excluding_self().quorum(2);
    let pay = pay.schema(json!({"type": "object"})).approve_always().approvers(approvers);
    let script = json!({"turns": [{"steps": [
        [{"toolCall": {"name": "pay", "input": {"amount": 50}}}],
        [{"text": ["Done."]}],
    ]}]});
    let mut setup = Setup::script(&script);
    setup.builder = setup.builder.tools(ToolSet::new([pay.build().expect("a good tool")]).expect("one tool"));
    (with_tokens(issuer, setup, &[]).await, runs)
}

#[tokio::test]
async fn two_spellings_of_a_name_cast_one_vote() {
    let issuer = Issuer::new("k", Algorithm::EdDSA);
    let (server, runs) = payment(&issuer).await;
    let token = |name: &str| {
        let mut claims = claims(name, NOW_SEC + 300);
        claims["roles"] = json!(["user", "approver"]);
        claims["groups"] = json!(["finance"]);
        issuer.sign(&claims)
    };
    let asks = json!({"id": "c", "messages": [{"role": "user", "content": "pay"}]}).to_string();
    assert_eq!(post(&server, "/api/chat", &token("alice"), asks.into_bytes()).await.status().as_u16(), 200);
    let inbox = client().get(server.url("/api/approvals")).bearer_auth(token("bob")).send().await.expect("an answer");
    let inbox: Value = serde_json::from_str(&inbox.text().await.expect("a body")).expect("JSON");
    let path = format!("/api/approvals/{}", inbox[0]["approvalId"].as_str().expect("one waits"));
    let approve = async |name: &str| {
        let yes = json!({"approved": true}).to_string().into_bytes();
        post(&server, &path, &token(name), yes).await.status().as_u16()
    };
    assert_eq!(approve("Alice").await, 403, "whoever asked, in other letters");
    for name in ["bob", "Bob", "bob ", "BOB", "b\u{200b}ob", "bob\0", "\u{ff42}ob"] {
        let status = approve(name).await;
        assert!([200, 401].contains(&status), "{name:?}: {status}");
        assert_eq!(runs.load(Ordering::SeqCst), 0, "{name:?} is bob");
    }
    assert_eq!(approve("carol").await, 200);
    for _ in 0..200 {
        if runs.load(Ordering::SeqCst) == 1 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the payment of two people did not run");
}

/// Others are not at the screen all the time.
#[tokio::test]
async fn a_request_for_other_approvers_expires_after_a_day() {
    let issuer = Issuer::new("k", Algorithm::EdDSA);
    let (server, _) = payment(&issuer).await;
    let token = |name: &str| {
        let mut claims = claims(name, NOW_SEC + 200_000);
        claims["roles"] = json!(["user", "approver"]);
        claims["groups"] = json!(["finance"]);
        issuer.sign(&claims)
    };
    let get = async |path: &str| {
        let response = client().get(server.url(path)).bearer_auth(token("bob")).send().await.expect("an answer");
        serde_json::from_str::<Value>(&response.text().await.expect("a body")).expect("JSON")
    };
    assert_eq!(get("/api/tools").await[0]["approvalTimeoutSec"], 86_400);
    let asks = json!({"id": "c", "messages": [{"role": "user", "content": "pay"}]}).to_string();
    post(&server, "/api/chat", &token("alice"), asks.into_bytes()).await.text().await.expect("a response");
    let asked = get("/api/approvals").await[0].clone();
    let expires = holdpoint_runtime::clock::Timestamp(support::START + 86_400_000).iso8601();
    assert_eq!(asked["expiresAt"], json!(expires), "{asked}");
    // Of the tools of the demo, which leave it to whoever asked, nothing changes.
    let demo = TestServer::demo().await;
    let (_, tools) = demo.get("/api/tools").await;
    let pay =
        tools.as_array().expect("tools").iter().find(|tool| tool["name"] == "process_payment").expect("it is there");
    assert_eq!(pay["approvalTimeoutSec"], 300);
}

/// Bodies with the text `X` replaced by something that is not Unicode.
fn broken(body: &str) -> Vec<Vec<u8>> {
    let with = |bad: &[u8]| {
        let (before, after) = body.split_once('X').expect("a place");
        [before.as_bytes(), bad, after.as_bytes()].concat()
    };
    [&b"\xff"[..], b"\xed\xa0\xbd", br"\ud83d", br"\ude00", br"\uD83Dx\uDE00", b"\xc0\xaf"].map(with).to_vec()
}

#[tokio::test]
async fn bodies_that_are_not_unicode_are_refused() {
    let server = TestServer::demo().await;
    for path in ["/stream", "/api/chat"] {
        for body in [
            r#"{"id":"c","messages":[{"role":"user","content":"X"}]}"#,
            r#"{"id":"X","messages":[{"role":"user","content":"hello"}]}"#,
            r#"{"id":"c","messages":[{"id":"X","role":"user","content":"hello"}]}"#,
            r#"{"id":"c","messages":[{"role":"user","content":"hello"}],"X":1}"#,
        ] {
            for bytes in broken(body) {
                let response = post(&server, path, "-", bytes.clone()).await;
                let (status, text) = (response.status().as_u16(), response.text().await.expect("a body"));
                assert_eq!(status, 400, "{}: {text}", bytes.escape_ascii());
                assert!(text.contains("Unicode"), "{}: {text}", bytes.escape_ascii());
            }
        }
    }
    let chats = server.get("/api/chats").await;
    assert_eq!(chats, (200, json!([])), "nothing was made");
    // A pair is text.
    let pair = br#"{"id":"c","messages":[{"role":"user","content":"hi \ud83d\ude00 \\ud83d"}]}"#.to_vec();
    assert_eq!(post(&server, "/api/chat", "-", pair).await.status().as_u16(), 200);
    let (_, messages) = server.get("/api/chat/c/messages").await;
    assert_eq!(messages[0]["parts"][0]["text"], "hi \u{1f600} \\ud83d");
    // In addresses too: three ids would otherwise become one.
    for path in ["/api/chats?after=%ff", "/api/approvals?tool=%ed%a0%bd", "/api/tools?chatId=%c0%af", "/live?id=%ff"] {
        let (status, problem) = server.get(path).await;
        assert!([422, 426].contains(&status) && (status == 426 || problem["detail"].to_string().contains("Unicode")));
        assert!(status == 422 || path.starts_with("/live"), "{path}: {status} {problem}");
    }
    let socket = format!("ws://{}/live?id=%ff", server.address);
    assert_eq!(support::handshake(&socket, &[]).await, 422);
}

/// Ids stand in addresses, lists and logs.
#[tokio::test]
async fn ids_with_invisible_characters_are_refused() {
    let server = TestServer::demo().await;
    for unseen in ["\\u0000", "\\n", "\\u001b", "\\u007f", "\\u0085", "\\u200b", "\\u202e", "\\udb40\\udc41"] {
        for (what, body) in [
            ("/id", format!(r#"{{"id":"a{unseen}b","messages":[{{"role":"user","content":"hello"}}]}}"#)),
            ("/messages", format!(r#"{{"id":"c","messages":[{{"id":"a{unseen}","role":"user","content":"hello"}}]}}"#)),
        ] {
            for path in ["/stream", "/api/chat"] {
                let response = post(&server, path, "-", body.clone().into_bytes()).await;
                let (status, text) = (response.status().as_u16(), response.text().await.expect("a body"));
                assert_eq!(status, 422, "{path} {what} {unseen}: {text}");
                assert!(text.contains("can't be seen"), "{text}");
            }
        }
    }
    for socket in ["/live?id=a%00b", "/live?id=a%E2%80%AE"] {
        let url = format!("ws://{}{socket}", server.address);
        let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("a socket");
        let frame = r#"{"type":"message","messages":[{"role":"user","content":"hello"}]}"#;
        socket.send(Message::text(frame)).await.expect("it is sent");
        let answer = tokio::time::timeout(support::PATIENCE, socket.next()).await.expect("in time");
        let answer = answer.expect("an answer").expect("a frame").into_text().expect("text").to_string();
        assert!(answer.contains("can't be seen"), "{answer}");
    }
    assert_eq!(server.get("/api/chats").await, (200, json!([])), "nothing was made");
}

/// Another program on the way may have read the first of two, and checked that one.
#[tokio::test]
async fn a_body_with_a_duplicate_key_is_refused() {
    let server = TestServer::demo().await;
    let asks = json!({"id": "c", "messages": [{"id": "u", "role": "user", "content": "Send 50 dollars to Hanako"}]});
    post(&server, "/api/chat", "-", asks.to_string().into_bytes()).await.text().await.expect("a response");
    let waiting = server.approvals().await[0].clone();
    let (approval, call) = (&waiting["approvalId"], &waiting["toolCallId"]);
    let answer = format!(
        r#"{{"id":"m","role":"assistant","parts":[{{"type":"tool-process_payment","toolCallId":{call},"state":"approval-responded","approval":{{"id":{approval},"approved":false}}}}]}}"#
    );
    // A long history, which is read in another way.
    let long = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(40_000));
    let user = r#"{"role":"user","content":"hello"}"#;
    for history in ["".to_owned(), format!("{long},"), format!("{user},")] {
        for body in [
            format!(r#"{{"id":"c","id":"d","messages":[{history}{user}]}}"#),
            format!(r#"{{"id":"c","\u0069d":"d","messages":[{history}{user}]}}"#),
            format!(r#"{{"id":"c","messages":[],"messages":[{history}{user}]}}"#),
            format!(
                r#"{{"id":"c","trigger":"submit-message","trigger":"submit-message","messages":[{history}{user}]}}"#
            ),
            format!(r#"{{"id":"c","messages":[{history}{}]}}"#, user.replace("{", r#"{"role":"assistant","#)),
            format!(r#"{{"id":"c","messages":[{history}{}]}}"#, user.replace("{", r#"{"content":"other","#)),
            format!(r#"{{"id":"c","messages":[{history}{}]}}"#, answer.replace("false}", r#"false,"approved":true}"#)),
            format!(r#"{{"id":"c","messages":[{history}{}]}}"#, answer.replace("[{", r#"[{"toolCallId":"x","#)),
            format!(
                r#"{{"id":"c","messages":[{history}{}]}}"#,
                answer.replace("{\"id\":\"m\"", r#"{"id":"m","parts":[]"#)
            ),
        ] {
            for path in ["/stream", "/api/chat"] {
                let response = post(&server, path, "-", body.clone().into_bytes()).await;
                let (status, text) = (response.status().as_u16(), response.text().await.expect("a body"));
                let shown = &body[..body.len().min(300)];
                assert_eq!(status, 400, "{path}, {} bytes, {shown}: {text}", body.len());
                assert!(text.contains("twice"), "{text}");
            }
        }
    }
    assert_eq!(server.approvals().await.len(), 1, "nothing was decided");
    assert_eq!(server.get("/api/chats").await.1.as_array().map(Vec::len), Some(1), "nothing was made");
    for (path, body) in [
        ("/api/tools/ack", r#"{"toolCallId":"a","toolCallId":"b"}"#.to_owned()),
        ("/api/tools/ack", r#"{"output":{"a":{"b":1,"b":2}}}"#.to_owned()),
    ] {
        let response = post(&server, path, "-", body.clone().into_bytes()).await;
        let (status, text) = (response.status().as_u16(), response.text().await.expect("a body"));
        assert!(status == 422 && text.contains("twice"), "{path} {body}: {status} {text}");
    }
    for (path, frame) in [
        ("/live", r#"{"type":"message","type":"message","messages":[{"role":"user","content":"hi"}]}"#),
        ("/live", r#"{"type":"message","messages":[{"role":"user","role":"user","content":"hi"}]}"#),
        (
            "/api/chat/ws",
            r#"{"type":"send","requestId":"r","id":"c","id":"e","trigger":"submit-message","messages":[{"id":"u2","role":"user","parts":[{"type":"text","text":"hi"}]}]}"#,
        ),
    ] {
        let url = format!("ws://{}{path}", server.address);
        let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("a socket");
        socket.send(Message::text(frame)).await.expect("it is sent");
        let answer = tokio::time::timeout(support::PATIENCE, socket.next()).await.expect("in time");
        let answer = answer.expect("an answer").expect("a frame").into_text().expect("text").to_string();
        assert!(answer.contains("twice"), "{path}: {answer}");
    }
}

/// By the standard a request has one host. Another program on the way may have looked at the other of two.
#[tokio::test]
async fn a_request_without_exactly_one_host_is_refused() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut keyed = Setup::demo();
    keyed.keys = Keys::new(&[key("k", "ann", &[], &[])]).expect("good keys");
    for (setup, without_keys) in [(Setup::demo(), true), (keyed, false)] {
        let server = setup.start().await;
        let status = async |version: &str, hosts: &str| {
            let mut stream = tokio::net::TcpStream::connect(server.address).await.expect("connects");
            let head =
                format!("GET /api/me HTTP/{version}\r\n{hosts}authorization: Bearer k\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await.expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("an answer");
            answer[9..12].parse::<u16>().expect("a status")
        };
        for (hosts, expected) in [
            ("host: localhost\r\n", 200),
            ("host: 127.0.0.1:8787\r\n", 200),
            ("", 400),
            ("host: localhost\r\nhost: localhost\r\n", 400),
            ("host: localhost\r\nHost: evil.example\r\n", 400),
            ("host: a.example\r\nhost: localhost\r\n", 400),
        ] {
            assert_eq!(status("1.1", hosts).await, expected, "{hosts:?}, without keys {without_keys}");
        }
        // What names no host at all: a server without keys says that it serves its own machine.
        let expected = if without_keys { 403 } else { 400 };
        for host in ["", "a.example, localhost", "localhost:1@evil.example", "localhost:x", "a..example", "[::1"] {
            assert_eq!(status("1.1", &format!("host: {host}\r\n")).await, expected, "{host:?}");
        }
        // Before 1.1 there was none, and some health checks are of that time.
        assert_eq!(status("1.0", "").await, 200);
        assert_eq!(status("1.0", "host: localhost\r\nhost: localhost\r\n").await, 400);
    }
}

#[tokio::test]
async fn an_edited_input_that_is_not_unicode_is_refused() {
    let server = TestServer::demo().await;
    let asks = json!({"id": "c", "messages": [{"role": "user", "content": "Send 50 dollars to Hanako"}]}).to_string();
    post(&server, "/api/chat", "-", asks.into_bytes()).await.text().await.expect("a response");
    let approval = server.approvals().await[0]["approvalId"].as_str().expect("an id").to_owned();
    let path = format!("/api/approvals/{approval}");
    for body in [
        r#"{"approved":true,"input":{"amount":50,"currency":"USD","recipient":"X"}}"#,
        r#"{"approved":false,"reason":"X"}"#,
    ] {
        for bytes in broken(body) {
            let response = post(&server, &path, "-", bytes.clone()).await;
            let (status, text) = (response.status().as_u16(), response.text().await.expect("a body"));
            assert_eq!(status, 422, "{}: {text}", bytes.escape_ascii());
            assert!(text.contains("Unicode"), "{text}");
        }
    }
    assert_eq!(server.approvals().await.len(), 1, "it still waits");
}

#[tokio::test]
async fn frames_that_are_not_unicode_are_refused() {
    let server = TestServer::demo().await;
    for (path, frame) in [
        ("/live", r#"{"type":"message","messages":[{"role":"user","content":"\ud83d"}]}"#),
        (
            "/api/chat/ws",
            r#"{"type":"send","requestId":"r","id":"c","trigger":"submit-message","messages":[{"id":"u","role":"user","parts":[{"type":"text","text":"\ud83d"}]}]}"#,
        ),
    ] {
        let url = format!("ws://{}{path}", server.address);
        let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("a socket");
        socket.send(Message::text(frame)).await.expect("it is sent");
        let answer = tokio::time::timeout(support::PATIENCE, socket.next()).await.expect("in time");
        let answer = answer.expect("an answer").expect("a frame").into_text().expect("text").to_string();
        assert!(answer.contains("Unicode"), "{path}: {answer}");
    }
    assert_eq!(server.get("/api/chats").await, (200, json!([])));
}

/// No program keeps what is somebody's, and none guesses what it is.
#[tokio::test]
async fn responses_forbid_caching_and_content_sniffing() {
    let server = TestServer::demo().await;
    let header = |response: &Response, name: &str| {
        let values: Vec<String> =
            response.headers().get_all(name).iter().map(|v| v.to_str().expect("text").to_owned()).collect();
        values.join(" | ")
    };
    for path in [
        "/api/me",
        "/api/chats",
        "/api/approvals",
        "/api/tools",
        "/api/status",
        "/health",
        "/api/nothing",
        "/api/chat/none/messages",
    ] {
        let response = client().get(server.url(path)).send().await.expect("an answer");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header(&response, "cache-control"), "no-store", "{path}");
    }
    let refused = post(&server, "/api/chat", "-", b"{".to_vec()).await;
    assert_eq!(
        (header(&refused, "x-content-type-options"), header(&refused, "cache-control")),
        ("nosniff".into(), "no-store".into())
    );
    // A stream is for nobody to change, as the contract says.
    let asks = json!({"id": "c", "messages": [{"role": "user", "content": "hello"}]}).to_string();
    let stream = post(&server, "/api/chat", "-", asks.into_bytes()).await;
    assert_eq!(header(&stream, "cache-control"), "no-cache, no-transform");
    assert_eq!(header(&stream, "x-content-type-options"), "nosniff");
}
