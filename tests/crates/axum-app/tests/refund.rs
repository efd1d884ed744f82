//! The shop's own tests: an approval without HTTP, and its login in front of the agent.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use axum_app::{app, database::Database, runtime};
use futures::StreamExt;
use holdpoint_server::{
    protocol::{
        ids::ChatId,
        request::{ChatRequest, DecisionRequest},
    },
    runtime::{
        Runtime, Subject, View,
        clock::Timestamp,
        log::{Store, MemoryLog, SqliteLog},
        model::ScriptModel,
    },
};
use holdpoint_testkit::ManualClock;
use serde_json::{Value, json};
use tower::ServiceExt;

async fn database() -> Database {
    let database = Database::open("sqlite::memory:").await.expect("it opens");
    database.add_user("ann", "secret", 100.0).await.expect("is added");
    database.add_user("bob", "secret", 1000.0).await.expect("is added");
    database
}

/// A runtime whose model refunds this much in every turn, with a clock that the test moves.
async fn refunding(database: &Database, amount: f64) -> (Runtime, Arc<ManualClock>) {
    refunding_with(Arc::new(MemoryLog::new()), database, amount).await
}

/// The same with this log.
async fn refunding_with(log: Arc<dyn Store>, database: &Database, amount: f64) -> (Runtime, Arc<ManualClock>) {
    let steps = json!([[{"toolCall": {"name": "refund", "input": {"amount": amount}}}], [{"text": ["Done."]}]]);
    let script = json!({"turns": [{"steps": steps}, {"steps": steps}]}).to_string();
    let clock = Arc::new(ManualClock::new(Timestamp(1_000_000)));
    let model = Arc::new(ScriptModel::from_text(&script).expect("a valid script"));
    let builder = runtime(database, model).expect("the tools are valid").clock(Arc::clone(&clock) as _).log(log);
    (builder.start().await.expect("starts"), clock)
}

async fn ask(runtime: &Runtime, user: &str) -> Subject {
    let subject = Subject::from(user);
    let request = ChatRequest::user(format!("chat of {user}").as_str(), "Refund my order");
    let (_, response) = runtime.submit(&subject, request, View::default()).await.expect("is taken");
    response.collect::<Vec<_>>().await;
    subject
}

#[tokio::test]
async fn over_the_limit_of_the_user_somebody_approves() {
    let database = database().await;
    let (runtime, _) = refunding(&database, 250.0).await;
    // 250 is within Bob's limit.
    ask(&runtime, "bob").await;
    assert_eq!(database.refunded("bob").await.expect("a sum"), 250.0);
    // It is over Ann's.
    let ann = ask(&runtime, "ann").await;
    assert_eq!(database.refunded("ann").await.expect("a sum"), 0.0);
    let approval = runtime.inbox(&ann).list().await.expect("it lists").remove(0);
    assert_eq!(approval.reason.as_deref(), Some("more than your limit of 100 dollars"));
    runtime.inbox(&ann).decide(approval.approval_id, DecisionRequest::from(true)).await.expect("is decided");
    runtime.chats(&ann).idle(&ChatId::from("chat of ann")).await.expect("is idle");
    assert_eq!(database.refunded("ann").await.expect("a sum"), 250.0);
    runtime.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn an_approval_that_nobody_gives_expires() {
    let database = database().await;
    let (runtime, clock) = refunding(&database, 250.0).await;
    let ann = ask(&runtime, "ann").await;
    clock.advance(Duration::from_secs(301));
    while !runtime.chats(&ann).open_holds().await.expect("it lists").is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(database.refunded("ann").await.expect("a sum"), 0.0);
}

#[tokio::test]
async fn an_approval_waits_in_a_log_in_sqlite_beside_the_shops_own_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database().await;
    let open = || Arc::new(SqliteLog::open(folder.path()).expect("it opens"));
    let log = open();
    let closed = Arc::downgrade(&log);
    let (runtime, _) = refunding_with(log, &database, 250.0).await;
    let ann = ask(&runtime, "ann").await;
    runtime.shutdown(Duration::from_secs(1)).await;
    drop(runtime);
    // Only one may have the folder open.
    while closed.strong_count() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The next start of the program.
    let (runtime, _) = refunding_with(open(), &database, 250.0).await;
    let approval = runtime.inbox(&ann).list().await.expect("it lists").remove(0);
    runtime.inbox(&ann).decide(approval.approval_id, DecisionRequest::from(true)).await.expect("is decided");
    runtime.chats(&ann).idle(&ChatId::from("chat of ann")).await.expect("is idle");
    assert_eq!(database.refunded("ann").await.expect("a sum"), 250.0);
    runtime.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn the_login_of_the_shop_is_the_login_of_the_agent() {
    let database = database().await;
    let (runtime, _) = refunding(&database, 250.0).await;
    let (app, _server) = app(database, runtime);
    let send = async |request: Request<Body>| {
        let response = app.clone().oneshot(request).await.expect("an answer");
        let cookie = response.headers().get(header::SET_COOKIE).cloned();
        (response.status(), cookie, to_bytes(response.into_body(), usize::MAX).await.expect("a body"))
    };
    let post = |path: &str, body: Value| {
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/json").header("host", "localhost");
        request.body(Body::from(body.to_string())).expect("a request")
    };
    let inbox = || Request::get("/agent/api/approvals").header("host", "localhost");

    let (status, ..) = send(inbox().body(Body::empty()).expect("a request")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, ..) = send(post("/login", json!({"name": "ann", "password": "wrong"}))).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, cookie, _) = send(post("/login", json!({"name": "ann", "password": "secret"}))).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let cookie = cookie.expect("a cookie").to_str().expect("text").split(';').next().expect("a session").to_owned();

    let mut request = post("/agent/api/chat", json!({"id": "c", "messages": [
        {"id": "u", "role": "user", "parts": [{"type": "text", "text": "Refund my order"}]}
    ]}));
    request.headers_mut().insert(header::COOKIE, cookie.parse().expect("a header"));
    let (status, _, stream) = send(request).await;
    assert_eq!(status, StatusCode::OK);
    assert!(String::from_utf8_lossy(&stream).contains("tool-approval-request"), "{stream:?}");
    let (_, _, approvals) = send(inbox().header(header::COOKIE, &cookie).body(Body::empty()).expect("a request")).await;
    let approvals: Vec<Value> = serde_json::from_slice(&approvals).expect("json");
    assert_eq!(approvals[0]["input"], json!({"amount": 250.0}));
}
