//! Random turns with random answers over both transports of the adk profile, against the real server.
//!
//! A turn has several steps, a step several calls of every kind. People approve, deny, answer late, twice, one by one or
//! together; the inbox decides before them, the deadline passes, or the turn is stopped at a random place. What the client gets is judged by the rule checker,
//! by "exactly one outcome a call", by the auto-send of the specification and our own, and by what the server has
//! stored.
//!
//! `HOLDPOINT_TURNS=20000` plays more seeds (`cargo xtask full turns`), `HOLDPOINT_TURNS=4000..5000` others, and
//! `HOLDPOINT_TURN=17` plays one and shows it.

mod client;
mod live;
mod predicates;
mod random;
mod script;
mod sse;
#[path = "../support/mod.rs"]
mod support;

use std::{fmt::Write, sync::Arc, time::Duration};

use holdpoint_protocol::ids::ChatId;
use serde_json::{Value, json};
use support::{Setup, TestServer};

/// The seeds that every test run plays.
const SEEDS: u64 = 500;
/// Seeds beyond these that have failed once.
const ONCE_FAILED: [u64; 6] = [523, 626, 658, 755, 820, 1068];
/// How many servers play at the same time. Each has a clock of its own.
const WORKERS: u64 = 4;
/// In how many of a hundred places where a client acts the turn is stopped before it does.
pub(crate) const STOPPED: u64 = 4;
/// How long a client waits until it says that nothing comes.
pub(crate) const WAIT: Duration = Duration::from_secs(15);
/// How many failures are shown in full.
const SHOWN: usize = 3;

/// What a seed failed with, and what was sent and received.
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) trace: Vec<String>,
}

/// The seeds to play: those of every run, or those that were asked for.
fn seeds() -> Vec<u64> {
    let number = |value: &str| value.parse::<u64>().expect("a number");
    if let Ok(seed) = std::env::var("HOLDPOINT_TURN") {
        return vec![number(&seed)];
    }
    match std::env::var("HOLDPOINT_TURNS") {
        Ok(turns) => {
            let (first, end) = turns.split_once("..").unwrap_or(("0", &turns));
            (number(first)..number(end)).collect()
        }
        Err(_) => (0..SEEDS).chain(ONCE_FAILED).collect(),
    }
}

/// A server, and what its clients share.
pub(crate) struct World {
    pub(crate) server: TestServer,
    pub(crate) http: reqwest::Client,
}

impl World {
    async fn start() -> Self {
        let mut setup = Setup::of(Arc::new(script::Playing));
        setup.builder = setup.builder.tools(script::tools());
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { server: setup.start().await, http }
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        Self::read(self.http.get(self.server.url(path))).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        Self::read(self.http.post(self.server.url(path)).json(body)).await
    }

    /// A browser's result, by ack.
    pub(crate) async fn ack(&self, call: &str, status: &str) -> (u16, Value) {
        let body = json!({"toolCallId": call, "status": status, "output": {"seen": call}, "errorText": null, "requestedAt": "2025-02-01T12:34:56.789Z"});
        self.post("/api/tools/ack", &body).await
    }

    async fn read(request: reqwest::RequestBuilder) -> (u16, Value) {
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or_default())
    }
}

/// Plays all seeds, and shows those that failed.
async fn play_all<F>(name: &str, play: impl Fn(Arc<World>, u64) -> F + Clone + Send + 'static)
where
    F: Future<Output = Result<(), Failure>> + Send,
{
    let seeds = seeds();
    let all = seeds.len();
    let workers = (0..WORKERS).map(|worker| {
        let (play, seeds) = (play.clone(), seeds.clone());
        tokio::spawn(async move {
            let mut world = Arc::new(World::start().await);
            let mut failed = Vec::new();
            for seed in seeds.into_iter().filter(|seed| seed % WORKERS == worker) {
                if let Err(failure) = play(Arc::clone(&world), seed).await {
                    failed.push((seed, failure));
                    // Nothing that is left of it gets in the way of the next.
                    world = Arc::new(World::start().await);
                }
            }
            failed
        })
    });
    let mut failed = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        failed.extend(worker.await.expect("a worker ends"));
    }
    failed.sort_by_key(|(seed, _)| *seed);
    let mut report = String::new();
    for (at, (seed, failure)) in failed.iter().enumerate() {
        let _ = writeln!(report, "seed {seed}: {}", failure.what);
        if at < SHOWN {
            let _ = writeln!(report, "{}", failure.trace.join("\n"));
        }
    }
    let count = failed.len();
    assert!(
        failed.is_empty(),
        "{count} of {all} turns over {name} failed (HOLDPOINT_TURN=SEED plays one again)\n{report}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn random_turns_over_sse() {
    play_all("SSE", |world, seed| async move { sse::play(&world, seed).await }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_turns_over_live() {
    play_all("live", |world, seed| async move { live::play(&world, seed).await }).await;
}

/// A chat id that tells in the logs which seed it belongs to.
pub(crate) fn chat_id(transport: &str, seed: u64) -> ChatId {
    format!("{transport}-{seed}").as_str().into()
}
