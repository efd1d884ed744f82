//! Many models at once that write large inputs: what they have written is counted before it is in the log.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::{StreamExt, future::BoxFuture, stream::BoxStream};
use holdpoint_protocol::chunk::FinishReason;
use holdpoint_runtime::{
    Limits,
    log::{Append, AppendResult, ForwardLog, Log, MemoryLog, Store},
    model::Usage,
};

use super::*;

/// A log in which large appends wait at a gate.
struct Narrow {
    log: MemoryLog,
    gate: Gate,
    /// How many wait, and their bytes.
    waiting: AtomicUsize,
    bytes: AtomicUsize,
}

const LARGE: usize = 100_000;

impl fmt::Debug for Narrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Narrow")
    }
}

impl ForwardLog for Narrow {
    fn inner(&self) -> &dyn Store {
        &self.log
    }

    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        Box::pin(async move {
            let bytes: usize = appends.iter().map(|append| append.payload.len()).sum();
            if bytes > LARGE {
                self.bytes.fetch_add(bytes, Ordering::SeqCst);
                self.waiting.fetch_add(1, Ordering::SeqCst);
                self.gate.pass().await;
            }
            self.log.append_many(appends).await
        })
    }
}

/// The calls of a turn.
const CALLS: usize = 3;

/// A model that makes calls with large inputs.
#[derive(Debug)]
struct Lavish {
    input: usize,
}

impl Model for Lavish {
    fn name(&self) -> &str {
        "lavish"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let input = json!({"what": "x".repeat(self.input)});
        let call = move |at: usize| {
            let (id, name, input) = (at.to_string(), "look".to_owned(), input.clone());
            let begun = ModelEvent::InputStart { id: id.clone(), name: name.clone() };
            let delta = ModelEvent::InputDelta { id: id.clone(), delta: input.to_string() };
            [begun, delta, ModelEvent::Call { id, name, input: Ok(input) }]
        };
        let (usage, reason) = (Usage::default(), FinishReason::ToolCalls);
        let finish = ModelEvent::Finish { usage, reason, version: None, state: None };
        futures::stream::iter((0..CALLS).flat_map(call).chain([finish]).map(Ok)).boxed()
    }
}

#[tokio::test]
async fn what_many_models_write_at_once_is_within_the_share() {
    const TURNS: usize = 40;
    let input = 900_000;
    let (waiting, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let log = Arc::new(Narrow { log: MemoryLog::default(), gate: Gate::new(), waiting, bytes });
    let share = 12 << 20;
    let limits = Limits { loaded_bytes_per_subject: share, ..Limits::default() };
    let look = Tool::frontend::<Value>("look", "Looks").build().expect("a valid tool");
    let runtime = with_model(Arc::new(Lavish { input })).tools([look].into_iter().collect::<ToolSet>());
    let runtime = runtime.log(log.clone()).limits(limits).start().await.expect("starts");
    for number in 0..TURNS {
        submit(&runtime, &format!("c{number}")).await;
    }
    let at_the_log = || log.waiting.load(Ordering::SeqCst);
    until("all wait for the log, or were stopped", async || runtime.admin().turns() == at_the_log()).await;
    let (count, bytes) = (at_the_log(), log.bytes.load(Ordering::SeqCst));
    assert!(count > 3 && count * input <= bytes, "{count} wait with {bytes} bytes");
    assert!(bytes <= share, "{count} wait with {bytes} bytes, and the share is {share}");
    let loaded = runtime.admin().counts().loaded_bytes;
    assert!(loaded > bytes && loaded <= share, "{loaded} are counted, {bytes} wait");

    log.gate.open();
    until("all have ended", async || runtime.admin().turns() == 0).await;
    until("nothing is counted any more", async || runtime.admin().counts().loaded_bytes == 0).await;
    let held = runtime.admin().holds().await.expect("can be counted");
    drop(submit(&runtime, "alone").await);
    until("there is room again", async || runtime.admin().holds().await == Ok(held + CALLS as u64)).await;
}
