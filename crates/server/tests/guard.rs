//! Foreign pages: what a browser sends for a page of another origin is refused, wherever the router is mounted; what it sends for our
//! own page, for a front end of this machine and for a configured origin is served.

mod support;

use axum::Router;
use holdpoint_server::{AuthKey, Keys, Server, ServerBuilder};
use reqwest::{Method, header::HeaderMap};
use sha2::{Digest, Sha256};

const KEY: &str = "a key of alice";
const BODY: &str = r#"{"id":"c1","messages":[{"role":"user","content":"hello"}]}"#;

/// A server on a port of its own, below `/agent` as in the example.
struct Mounted {
    authority: String,
    client: reqwest::Client,
    server: Server,
}

async fn mount(has_key: bool, change: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Mounted {
    let hash: String = Sha256::digest(KEY).iter().map(|byte| format!("{byte:02x}")).collect();
    let key = AuthKey { key_sha256: hash, subject: "alice".to_owned(), roles: Vec::new(), groups: Vec::new() };
    let keys = if has_key { Keys::new(&[key]).expect("a hash") } else { Keys::default() };
    let runtime = holdpoint_demo::builder().start().await.expect("starts");
    let server = change(Server::builder(runtime).keys(keys)).build();
    let app = Router::new().nest("/agent", server.router());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let authority = format!("127.0.0.1:{}", listener.local_addr().expect("an address").port());
    tokio::spawn(async move { axum::serve(listener, app).await.expect("serves") });
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    Mounted { authority, client, server }
}

impl Mounted {
    /// Sends a request with these headers; `host` and others may stand among them.
    async fn status(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &'static str) -> u16 {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let name = reqwest::header::HeaderName::from_bytes(name.as_bytes()).expect("a name");
            all.append(name, value.parse().expect("a value"));
        }
        let request = self.client.request(method, format!("http://{}/agent{path}", self.authority));
        request.headers(all).body(body).send().await.expect("an answer").status().as_u16()
    }

    /// The status of a WebSocket's handshake: 101 when it is open.
    async fn socket(&self, path: &str, headers: &[(&str, &str)]) -> u16 {
        support::handshake(&format!("ws://{}/agent{path}", self.authority), headers).await
    }

    fn chats(&self) -> usize {
        self.server.runtime().admin().awake()
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");

/// Every way in which a page can reach the server, for every kind of page, on a server without keys.
#[tokio::test]
async fn only_pages_of_this_machine_use_a_server_without_keys() {
    let mounted = mount(false, |server| server).await;
    let own = format!("http://{}", mounted.authority);
    let origins = [
        (None, true),
        (Some(own.as_str()), true),
        (Some("http://localhost:3000"), true),
        (Some("http://127.0.0.1:5173"), true),
        (Some("https://app.localhost"), true),
        (Some("https://evil.example"), false),
        (Some("http://localhost.evil.example"), false),
        (Some("http://127.0.0.1.evil.example:8787"), false),
        (Some("null"), false),
        (Some(""), false),
        // No browser sends these.
        (Some("http://localhost:1@evil.example"), false),
        (Some("http://evil.example@localhost"), false),
        (Some("chrome-extension://localhost"), false),
        (Some("http://localhost:3000, https://evil.example"), false),
        (Some("http://localhost:3000/path"), false),
        (Some("http://localhost:port"), false),
        (Some("http://localhost:99999"), false),
        (Some("http://[::1"), false),
        (Some("http://[::1]evil.example"), false),
        (Some("http://.localhost"), false),
        (Some("http://a b.localhost"), false),
    ];
    for (origin, is_served) in origins {
        let origin: Vec<(&str, &str)> = origin.map(|origin| ("origin", origin)).into_iter().collect();
        let with = |more: &[(&'static str, &'static str)]| [origin.as_slice(), more].concat();
        let expect = |served: u16| if is_served { served } else { 403 };
        let posted = mounted.status(Method::POST, "/stream", &with(&[JSON]), BODY).await;
        assert_eq!(posted, expect(200), "POST /stream, {origin:?}");
        let decided = mounted.status(Method::POST, "/api/approvals/x", &with(&[JSON]), r#"{"approved":true}"#).await;
        assert_eq!(decided, expect(404), "a decision, {origin:?}");
        let acked = mounted.status(Method::POST, "/api/tools/ack", &with(&[JSON]), "{}").await;
        assert_eq!(acked, expect(422), "an ack, {origin:?}");
        let deleted = mounted.status(Method::DELETE, "/api/chat/nobodys", &with(&[]), "").await;
        assert_eq!(deleted, expect(404), "DELETE, {origin:?}");
        let listed = mounted.status(Method::GET, "/api/approvals", &with(&[]), "").await;
        assert_eq!(listed, expect(200), "the inbox, {origin:?}");
        for path in ["/live", "/api/chat/ws"] {
            assert_eq!(mounted.socket(path, &with(&[])).await, expect(101), "{path}, {origin:?}");
        }
    }
    // A name of somebody else's that leads here, whatever the page says of itself.
    for host in [
        "evil.example",
        "evil.example:8787",
        "10.0.0.1",
        "localhost.evil.example",
        "[::2]:1",
        "localhost:1@evil.example",
        "localhost,evil.example",
        "[::1]evil.example",
        "localhost:http",
    ] {
        let page = format!("http://{host}");
        for headers in [vec![("host", host)], vec![("host", host), ("origin", page.as_str())]] {
            let listed = mounted.status(Method::GET, "/api/approvals", &headers, "").await;
            assert_eq!(listed, 403, "{headers:?}");
            assert_eq!(mounted.socket("/live", &headers).await, 403, "{headers:?}");
        }
    }
    // What a page loads as a picture takes a stream's place. A link that is followed does not come from a script.
    let picture = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")];
    assert_eq!(mounted.status(Method::GET, "/api/events", &picture, "").await, 403);
    let link = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    assert_eq!(mounted.status(Method::GET, "/api/approvals", &link, "").await, 200);
    let front_end = [("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors"), ("origin", "http://localhost:3000")];
    assert_eq!(mounted.status(Method::GET, "/api/approvals", &front_end, "").await, 200);
}

/// What a form can send is refused, also where no origin is said.
#[tokio::test]
async fn requests_that_an_html_form_can_send_are_refused() {
    for has_key in [false, true] {
        let mounted = mount(has_key, |server| server).await;
        let refused = [
            "text/plain",
            "text/plain;charset=UTF-8",
            "Text/Plain ; charset=utf-8",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
        ];
        let served = ["application/json", "application/json; charset=utf-8", "application/problem+json"];
        for (kinds, is_refused) in [(refused.as_slice(), true), (served.as_slice(), false)] {
            for kind in kinds {
                let headers = [("content-type", *kind), ("x-api-key", KEY)];
                let posts = [
                    ("/stream", BODY, 200),
                    ("/api/chat", BODY, 200),
                    ("/api/tools/ack", "{}", 422),
                    ("/api/ticket", "", 200),
                ];
                for (path, body, status) in posts {
                    let got = mounted.status(Method::POST, path, &headers, body).await;
                    assert_eq!(got, if is_refused { 415 } else { status }, "{path}, {kind}");
                }
                // A capture to be checked is a text, and changes nothing.
                assert_eq!(
                    mounted.status(Method::POST, "/api/check", &headers, "data: [DONE]\n\n").await,
                    200,
                    "{kind}"
                );
            }
        }
        let bare = mounted.status(Method::POST, "/stream", &[("x-api-key", KEY)], BODY).await;
        assert_eq!(bare, 200, "no type at all is taken for JSON");
    }
}

#[tokio::test]
async fn with_keys_a_foreign_page_reads_nothing_and_changes_nothing() {
    let mounted = mount(true, |server| server.origins(["https://app.example"])).await;
    let own = format!("https://{}", mounted.authority);
    let pages = [
        ("https://app.example", true),
        (own.as_str(), true),
        ("http://app.example", false),
        ("https://app.example.evil.example", false),
        ("https://evil.example", false),
        // With keys the machine is not what is trusted.
        ("http://localhost:3000", false),
    ];
    for (origin, is_served) in pages {
        let headers = [("origin", origin), ("x-api-key", KEY), JSON];
        let expect = |served: u16| if is_served { served } else { 403 };
        assert_eq!(mounted.status(Method::POST, "/stream", &headers, BODY).await, expect(200), "{origin}");
        assert_eq!(mounted.status(Method::DELETE, "/api/chat/x", &headers, "").await, expect(404), "{origin}");
        assert_eq!(mounted.socket("/live", &headers).await, expect(101), "{origin}");
        // Whether the answer may be looked at is for the browser to decide, by the headers of the answer.
        let listed = mounted.client.get(format!("http://{}/agent/api/approvals", mounted.authority));
        let listed = listed.header("origin", origin).header("x-api-key", KEY).send().await.expect("an answer");
        let allowed = listed.headers().get("access-control-allow-origin").map(|value| value.as_bytes());
        assert_eq!(allowed, (origin == "https://app.example").then_some(origin.as_bytes()), "{origin}");
    }
    // Any name may lead to a server with keys.
    let headers = [("host", "holdpoint.example"), ("x-api-key", KEY)];
    assert_eq!(mounted.status(Method::GET, "/api/approvals", &headers, "").await, 200);
}

#[tokio::test]
async fn a_program_names_its_hosts_or_turns_the_guard_off() {
    let headers = [("host", "app.example:443"), ("origin", "https://app.example:443"), JSON];
    let evil = [("host", "app.example:443"), ("origin", "https://evil.example"), JSON];
    let named = mount(false, |server| server.hosts(["app.example"])).await;
    assert_eq!(named.status(Method::POST, "/stream", &headers, BODY).await, 200);
    assert_eq!(named.status(Method::POST, "/stream", &evil, BODY).await, 403);
    assert_eq!(named.chats(), 0, "a refused request wakes nothing, and the other one is over");
    let off = mount(false, ServerBuilder::without_origin_guard).await;
    assert_eq!(off.status(Method::POST, "/stream", &evil, BODY).await, 200);
    assert_eq!(off.socket("/live", &[("origin", "https://evil.example")]).await, 101);
}

/// A ticket is good for a WebSocket, and for nothing else that says `Upgrade`.
#[tokio::test]
async fn a_ticket_opens_sockets_only() {
    let mounted = mount(true, |server| server).await;
    let ticket = async || {
        let request = mounted.client.post(format!("http://{}/agent/api/ticket", mounted.authority));
        let request = request.header("x-api-key", KEY);
        let issued: serde_json::Value = request.send().await.expect("an answer").json().await.expect("JSON");
        issued["ticket"].as_str().expect("a ticket").to_owned()
    };
    let upgrade = [("upgrade", "websocket"), ("connection", "upgrade")];
    for (method, path) in [
        (Method::GET, "/api/approvals"),
        (Method::GET, "/api/chats"),
        (Method::GET, "/api/tools"),
        (Method::GET, "/api/events"),
        (Method::GET, "/api/chat/live/messages"),
        (Method::GET, "/api/chat/x/stream"),
        (Method::POST, "/api/chat/x/stop"),
        (Method::DELETE, "/api/chat/live"),
        (Method::POST, "/stream"),
        (Method::POST, "/api/ticket"),
    ] {
        let path = format!("{path}?ticket={}", ticket().await);
        assert_eq!(mounted.status(method.clone(), &path, &upgrade, "").await, 401, "{method} {path}");
    }
    for path in ["/live", "/api/chat/ws"] {
        let path = format!("{path}?ticket={}", ticket().await);
        assert_eq!(mounted.socket(&path, &[]).await, 101);
        assert_eq!(mounted.socket(&path, &[]).await, 401, "it is for one use");
        assert_eq!(mounted.socket(path.split('?').next().expect("a path"), &[]).await, 401);
    }
}
