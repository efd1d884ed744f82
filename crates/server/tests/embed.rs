//! The example of an embedding program, played: its login, its limit, and what a page of another origin can do.

#[path = "../examples/embed.rs"]
#[allow(dead_code, reason = "its main function is not called")]
mod embed;

use holdpoint_server::{
    AuthKey, ConnectionLimits, Group, Identity, IdentityError, KeyError, Keys, Limits, Role, Server, ServerBuilder,
    protocol::status::McpStatus,
    runtime::{Runtime, model::ScriptModel},
};
use reqwest::{Client, header};
use serde_json::{Value, json};

#[tokio::test]
async fn the_example_has_its_own_login_and_serves_no_foreign_page() {
    let data = tempfile::tempdir().expect("a folder");
    let (app, server) = embed::app(data.path()).await.expect("it starts");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await.expect("serves") });
    let client = Client::builder().no_proxy().build().expect("a client");

    let stream = format!("{base}/agent/stream");
    let body = json!({"id": "c1", "messages": [
        {"role": "user", "content": "use refund {\"order\":\"A1\",\"amount\":250}"}
    ]});
    assert_eq!(client.post(&stream).json(&body).send().await.expect("an answer").status(), 401);

    let login = client.get(format!("{base}/login/ann")).send().await.expect("an answer");
    let cookie =
        login.headers()[header::SET_COOKIE].to_str().expect("text").split(';').next().expect("a cookie").to_owned();
    let post = |url: &str, body: &Value| client.post(url).header(header::COOKIE, &cookie).json(body);

    // The browser sends the cookie for a page of another origin too.
    for origin in ["https://evil.example", "http://localhost:3000", "null"] {
        let driven = post(&stream, &body).header(header::ORIGIN, origin).send().await.expect("an answer");
        assert_eq!(driven.status(), 403, "{origin}");
    }
    let asked = post(&stream, &body).header(header::ORIGIN, &base).send().await.expect("an answer");
    assert_eq!(asked.status(), 200);
    asked.text().await.expect("the whole response");

    let inbox = client.get(format!("{base}/agent/api/approvals")).header(header::COOKIE, &cookie);
    let inbox: Value = inbox.send().await.expect("an answer").json().await.expect("json");
    let open = inbox.pointer("/0").or_else(|| inbox.pointer("/approvals/0")).expect("an approval request");
    assert_eq!(open["reason"], "more than 100 dollars");
    let decide = format!("{base}/agent/api/approvals/{}", open["approvalId"].as_str().expect("an id"));
    let foreign = post(&decide, &json!({"approved": true})).header(header::ORIGIN, "https://evil.example");
    assert_eq!(foreign.send().await.expect("an answer").status(), 403);
    let decided = post(&decide, &json!({"approved": true})).send().await.expect("an answer");
    assert_eq!(decided.status(), 200);
    server.shutdown(std::time::Duration::from_secs(5)).await;
}

#[tokio::test]
async fn shutdown_ends_open_streams_so_that_the_program_s_listener_stops() {
    let data = tempfile::tempdir().expect("a folder");
    let (app, server) = embed::app(data.path()).await.expect("it starts");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stop_server = async move {
        stopped.await.expect("a signal");
        server.shutdown(std::time::Duration::from_secs(5)).await;
    };
    let serving =
        tokio::spawn(
            async move { axum::serve(listener, app).with_graceful_shutdown(stop_server).await.expect("serves") },
        );
    let client = Client::builder().no_proxy().build().expect("a client");
    let login = client.get(format!("{base}/login/ann")).send().await.expect("an answer");
    let cookie = login.headers()[header::SET_COOKIE].to_str().expect("text").split(';').next().expect("a cookie");
    let events = client.get(format!("{base}/agent/api/events")).header(header::COOKIE, cookie);
    let events = events.send().await.expect("an answer");
    assert_eq!(events.status(), 200);
    stop.send(()).expect("it is served");
    let patience = std::time::Duration::from_secs(30);
    let body = tokio::time::timeout(patience, events.text()).await.expect("the stream ends");
    assert!(body.expect("an orderly end").contains("ready"));
    tokio::time::timeout(patience, serving).await.expect("the listener stops").expect("no panic");
}

/// All that a program gives a server, or gets from it, has a name from the root of the crate.
#[tokio::test]
async fn a_program_can_name_what_a_server_takes_and_gives() {
    let model = ScriptModel::from_text(r#"{"turns": []}"#).expect("a valid script");
    let runtime: Runtime = Runtime::builder(std::sync::Arc::new(model)).start().await.expect("starts");
    let key =
        AuthKey { key_sha256: "x".to_owned(), subject: "ann".to_owned(), roles: Role::ALL.into(), groups: vec![] };
    let keys: Result<Keys, KeyError> = Keys::new(&[key]);
    assert!(matches!(keys, Err(KeyError::Hash { .. })));
    let groups: [Group; 1] = ["finance".into()];
    let builder: ServerBuilder = Server::builder(runtime.clone()).limits(Limits::default()).keys(Keys::default());
    let builder = builder.mcp_status(Vec::<McpStatus>::new).identify(move |_| {
        let groups = groups.clone();
        async move { Ok::<Identity, IdentityError>(Identity::new("ann").with_groups(groups)) }
    });
    let server: Server = builder.build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let stop = std::future::ready(());
    server.serve(listener, server.router(), ConnectionLimits::default(), stop).await;
    assert_eq!(server.runtime().admin().turns(), runtime.admin().turns());
}
