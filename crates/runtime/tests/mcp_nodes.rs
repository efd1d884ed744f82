//! A prompt of an MCP server of protocol 2026-07-28 survives the node that runs the call: another one takes it over.
#![cfg(feature = "mcp")]

use std::{path::Path, sync::Arc, time::Duration};

use holdpoint_protocol::{ids::ChatId, request::ChatRequest};
use holdpoint_runtime::{
    driver::Runtime,
    internals::{
        fact::Fact,
        project::View,
        turn::{Answered, FrontendResult},
    },
    log::{Log, MemoryLog},
    model::ScriptModel,
    subject::Subject,
    tool::{
        ApprovalPolicy, Secret, ToolSet,
        mcp::{McpServers, McpSettings, McpTransport},
    },
};
use holdpoint_testkit::{FaultyLog, SharedLog};
use serde_json::json;

const LEASE: Duration = Duration::from_millis(600);
const PATIENCE: Duration = Duration::from_secs(30);

fn chat() -> ChatId {
    "c".into()
}

fn me() -> Subject {
    Subject::local()
}

async fn mcp(told: &Path) -> McpServers {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/modern.mjs");
    let command = vec!["node".to_owned(), script.display().to_string()];
    let env = vec![("FAKE_LOG".to_owned(), Secret::new(told.display().to_string()))];
    let settings = McpSettings::new("new", McpTransport::Command { command, env });
    let settings = McpSettings { approval: ApprovalPolicy::Never, start_wait: PATIENCE, ..settings };
    McpServers::start([settings]).await.expect("starts")
}

async fn node(log: Arc<dyn Log>, mcp: &McpServers) -> Runtime {
    let steps = json!([[{"toolCall": {"name": "new_ask", "input": {}}}], [{"text": ["all done"]}]]);
    let model = ScriptModel::from_text(&json!({"turns": [{"steps": steps}]}).to_string()).expect("a valid script");
    let tools = mcp.with(&ToolSet::default());
    Runtime::builder().log(log).tools(tools).model(Arc::new(model)).start().await.expect("starts")
}

async fn facts(log: &SharedLog) -> Vec<Fact> {
    let batches = log.read(&chat(), 0, 1000).await.expect("can be read");
    let read = |payload: &[u8]| serde_json::from_slice::<Vec<Fact>>(payload).expect("facts");
    batches.iter().flat_map(|batch| read(&batch.payload)).collect()
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let waited = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waited).await.unwrap_or_else(|_| panic!("in vain: {what}"));
}

fn starts(facts: &[Fact], of: &str) -> usize {
    facts.iter().filter(|fact| matches!(fact, Fact::Started { call, .. } if call.as_str() == of)).count()
}

/// The node is gone, or it is only cut off and comes back when another one has the call. Either way the answer is sent to
/// the server once.
#[tokio::test]
async fn a_prompt_is_taken_over_by_another_node() {
    for is_gone in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let told = folder.path().join("log");
        let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
        let cut = Arc::new(FaultyLog::new(Arc::clone(&log) as _));
        let (of_a, of_b) = (mcp(&told).await, mcp(&told).await);
        let a = node(Arc::clone(&cut) as _, &of_a).await;
        let b = node(Arc::clone(&log) as _, &of_b).await;
        let body = json!({"id": "c", "messages": [{"role": "user", "content": "go"}]});
        let request: ChatRequest = serde_json::from_value(body).expect("a body");
        drop(a.submit(&me(), request, View::default()).await.expect("is taken"));
        until("the prompt is shown", async || {
            facts(&log).await.iter().any(|fact| matches!(fact, Fact::Resumable { .. }))
        })
        .await;
        let known = facts(&log).await;
        let asked = known.iter().find_map(|fact| match fact {
            Fact::Called { call, asked_by: Some(by), .. } => Some((call.clone(), by.clone())),
            _ => None,
        });
        let (prompt, call) = asked.expect("a prompt");
        let mut kept = Some(a);
        if is_gone {
            drop(kept.take());
        } else {
            cut.fill_disk();
        }
        until("it is taken over", async || starts(&facts(&log).await, call.as_str()) == 2).await;
        let output = Some(json!({"action": "accept", "content": {"name": "Ada"}}));
        let status = holdpoint_protocol::request::AckStatus::Success;
        let result = FrontendResult { status, output, error_text: None, ack: None };
        let answered = b.result(&me(), prompt, result).await;
        assert_eq!(answered, Ok(Answered::Taken));
        cut.free_disk();
        until("it goes on", async || {
            let messages = b.messages(&me(), &chat()).await.expect("it is there");
            serde_json::to_string(&messages).expect("JSON").contains("all done")
        })
        .await;
        // Whoever comes back has time to do harm.
        tokio::time::sleep(LEASE).await;
        let told = std::fs::read_to_string(&told).expect("a log");
        let count = |line: &str| told.lines().filter(|told| *told == line).count();
        assert_eq!((count("call ask"), count("call ask again"), count("effect ask")), (1, 1, 1), "{is_gone}: {told}");
    }
}
