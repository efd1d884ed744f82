//! The runtime under pressure: a disk that fails, limits, very many holds, damaged heads. What runs goes on; what is over is refused.

mod disk;
mod heads;
mod limits;
mod many;
mod models;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, stream::BoxStream};
use holdpoint_protocol::{
    chunk::Chunk,
    ids::{ApprovalId, ChatId},
    request::ChatRequest,
};
use holdpoint_runtime::{
    Next, ResponseStream, Runtime, RuntimeBuilder, RuntimeError,
    clock::Timestamp,
    model::{Model, ModelError, ModelEvent, ModelRequest, ScriptModel},
    subject::Subject,
    tool::{Tool, ToolContext, ToolSet},
    wire::View,
};
use holdpoint_testkit::{Gate, ManualClock};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp(1_000_000);

/// A tool that needs approval, counts how often it ran, and waits at a gate before it answers.
fn counting(ran: &Arc<AtomicUsize>, gate: &Gate) -> ToolSet {
    let (ran, gate) = (Arc::clone(ran), gate.clone());
    let tool = Tool::server("count", "Counts", move |_: Value, _: ToolContext| {
        let (count, gate) = (ran.fetch_add(1, Ordering::SeqCst) + 1, gate.clone());
        async move {
            gate.pass().await;
            Ok(json!({"count": count}))
        }
    });
    [tool.approve_always().build().expect("a valid tool")].into_iter().collect()
}

/// A gate that is open.
fn open() -> Gate {
    let gate = Gate::new();
    gate.open();
    gate
}

/// A model that makes that many calls of `count`, then says "done".
fn calls(calls: usize) -> Arc<dyn Model> {
    let call = json!({"toolCall": {"name": "count", "input": {}}});
    let script = json!({"turns": [{"steps": [vec![call; calls], [{"text": ["done"]}]]}]});
    Arc::new(ScriptModel::from_text(&script.to_string()).expect("a valid script"))
}

/// A model that never says anything.
#[derive(Debug)]
struct Silent;

impl Model for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        futures::stream::pending().boxed()
    }
}

fn builder() -> RuntimeBuilder {
    with_model(calls(1))
}

fn with_model(model: Arc<dyn Model>) -> RuntimeBuilder {
    let tools = counting(&Arc::default(), &open());
    Runtime::builder(model).tools(tools).clock(Arc::new(ManualClock::new(NOW)))
}

fn said(chat: &str) -> ChatRequest {
    serde_json::from_value(json!({"id": chat, "messages": [{"role": "user", "content": "go"}]})).expect("a valid body")
}

async fn try_submit(runtime: &Runtime, subject: &str, request: ChatRequest) -> Result<ResponseStream, RuntimeError> {
    runtime.submit(&Subject::from(subject), request, View::default()).await.map(|(_, response)| response)
}

async fn submit(runtime: &Runtime, chat: &str) -> ResponseStream {
    try_submit(runtime, "local", said(chat)).await.expect("is taken")
}

async fn read(mut response: ResponseStream) -> Vec<Chunk> {
    let mut written = Vec::new();
    while response.read(&mut written).await == Next::More {}
    let mut chunks = Vec::new();
    written.into_iter().for_each(|written| written.for_each(|chunk| chunks.push(chunk)));
    chunks
}

fn approvals(chunks: &[Chunk]) -> Vec<ApprovalId> {
    let asked = chunks.iter().filter_map(|chunk| match chunk {
        Chunk::ToolApprovalRequest(asked) => Some(asked.approval_id.clone()),
        _ => None,
    });
    asked.collect()
}

/// Says something, and gives the questions that come of it.
async fn asked(runtime: &Runtime, chat: &str) -> Vec<ApprovalId> {
    approvals(&read(submit(runtime, chat).await).await)
}

/// The history, as text.
async fn history(runtime: &Runtime, chat: &str) -> String {
    let messages = runtime.chats(&Subject::local()).messages(&ChatId::from(chat)).await.expect("the chat is there");
    serde_json::to_string(&messages).expect("JSON")
}

/// Waits until something is so. Nobody asks the chat anything meanwhile.
async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..10_000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("in vain: {what}");
}
