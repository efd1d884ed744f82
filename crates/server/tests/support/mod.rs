//! A real server on a real socket, with a clock that the test moves, and clients that check everything they are sent.
#![allow(dead_code, unused_imports, reason = "each test file uses its own part")]

mod client;
pub(crate) mod issuer;
mod live;

use std::{net::SocketAddr, sync::Arc, time::Duration};

pub(crate) use client::{Answer, Chat, Sse, types};
use holdpoint_demo::{DemoModel, demo_tools};
use holdpoint_runtime::{
    Runtime, RuntimeBuilder,
    clock::Timestamp,
    log::Store,
    model::{Model, ScriptModel},
};
use holdpoint_server::{AuthKey, ConnectionLimits, Keys, Limits, Role, Server, ServerBuilder};
use holdpoint_testkit::ManualClock;
pub(crate) use live::Live;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

/// Longer than anything here takes, shorter than anybody waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// When the clock of a test begins, in milliseconds.
pub(crate) const START: u64 = 1_700_000_000_000;

/// Somebody in a test: the name, the roles and the groups.
pub(crate) type Person = (&'static str, &'static [Role], &'static [&'static str]);

/// A key for each of these people: `key-of-` and the name.
pub(crate) fn keys_of(people: &[Person]) -> Keys {
    let key = |(name, roles, groups): &Person| AuthKey {
        key_sha256: Sha256::digest(format!("key-of-{name}")).iter().map(|byte| format!("{byte:02x}")).collect(),
        subject: (*name).to_owned(),
        roles: roles.to_vec(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    };
    Keys::new(&people.iter().map(key).collect::<Vec<_>>()).expect("good keys")
}

/// The status of a WebSocket's handshake: 101 when it is open.
pub(crate) async fn handshake(url: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = url.into_client_request().expect("a request");
    for (name, value) in headers {
        let name: tungstenite::http::HeaderName = name.parse().expect("a name");
        request.headers_mut().insert(name, value.parse().expect("a value"));
    }
    match tokio_tungstenite::connect_async(request).await {
        Ok(_) => 101,
        Err(tungstenite::Error::Http(response)) => response.status().as_u16(),
        Err(other) => panic!("{other}"),
    }
}

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) server: Server,
    serving: tokio::task::JoinHandle<()>,
}

/// What the server is made of.
pub(crate) struct Setup {
    pub(crate) builder: RuntimeBuilder,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) keys: Keys,
    pub(crate) limits: Limits,
}

impl Setup {
    /// The demo, in memory.
    pub(crate) fn demo() -> Self {
        Self::of(Arc::new(DemoModel))
    }

    /// A scripted model.
    pub(crate) fn script(script: &Value) -> Self {
        let model = ScriptModel::from_text(&script.to_string()).expect("a valid script");
        Self::of(Arc::new(model))
    }

    /// The demo tools with this model.
    pub(crate) fn of(model: Arc<dyn Model>) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp(START)));
        let builder = Runtime::builder(model).tools(demo_tools()).clock(clock.clone());
        Self { builder, clock, keys: Keys::default(), limits: Limits::default() }
    }

    pub(crate) fn log(mut self, log: Arc<dyn Store>) -> Self {
        self.builder = self.builder.log(log);
        self
    }

    pub(crate) async fn start(self) -> TestServer {
        self.start_with(|server| server).await
    }

    /// Starts it with a login of its own.
    pub(crate) async fn start_with(self, build: impl FnOnce(ServerBuilder) -> ServerBuilder) -> TestServer {
        let runtime = self.builder.start().await.expect("the runtime starts");
        let server = build(Server::builder(runtime).keys(self.keys).limits(self.limits)).build();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = server.router();
        let own = server.clone();
        let serving = tokio::spawn(async move {
            own.serve(listener, router, ConnectionLimits::default(), std::future::pending()).await;
        });
        TestServer { address, clock: self.clock, server, serving }
    }
}

impl TestServer {
    pub(crate) async fn demo() -> Self {
        Setup::demo().start().await
    }

    pub(crate) async fn script(script: Value) -> Self {
        Setup::script(&script).start().await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn chat(&self) -> Chat<'_> {
        Chat::new(self)
    }

    /// The process is killed: nothing is told, nothing is finished.
    pub(crate) async fn kill(self) {
        self.serving.abort();
        let _ = self.serving.await;
        self.server.runtime().shutdown(Duration::ZERO).await;
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        let response = client::http().get(self.url(path)).send().await.expect("an answer");
        let status = response.status().as_u16();
        let text = response.text().await.expect("a body");
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let response = client::http().post(self.url(path)).json(body).send().await.expect("an answer");
        let status = response.status().as_u16();
        let text = response.text().await.expect("a body");
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub(crate) async fn ack(&self, call: &str, status: &str, output: Value) -> (u16, Value) {
        let body = serde_json::json!({"toolCallId": call, "status": status, "output": output, "errorText": null, "requestedAt": "2025-02-01T12:34:56.789Z"});
        self.post("/api/tools/ack", &body).await
    }

    /// What waits in the inbox.
    pub(crate) async fn approvals(&self) -> Vec<Value> {
        match self.get("/api/approvals").await {
            (200, Value::Array(approvals)) => approvals,
            other => panic!("the inbox says {other:?}"),
        }
    }
}
