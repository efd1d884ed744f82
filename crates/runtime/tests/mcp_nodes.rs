//! A prompt of an MCP server of protocol 2026-07-28 survives the node that runs the call: another one takes it over.
#![cfg(feature = "mcp")]

use std::{path::Path, sync::Arc, time::Duration};

use holdpoint_protocol::{
    ids::{ChatId, ToolCallId},
    request::{AckStatus, ChatRequest},
};
use holdpoint_runtime::{
    Runtime,
    fact::{Caller, Fact},
    log::{MemoryLog, Store},
    model::ScriptModel,
    subject::Subject,
    tool::{
        ApprovalPolicy, Secret, ToolSet,
        mcp::{McpServers, McpSettings, McpTransport},
    },
    turn::{Answered, FrontendResult},
    wire::View,
};
use holdpoint_testkit::{AppendFault, FaultyLog, Gate, PATIENCE, SharedLog, facts, until};
use serde_json::json;

const LEASE: Duration = Duration::from_millis(600);

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

async fn node(log: Arc<dyn Store>, mcp: &McpServers) -> Runtime {
    let steps = json!([[{"toolCall": {"name": "new_ask", "input": {}}}], [{"text": ["all done"]}]]);
    let model = ScriptModel::from_text(&json!({"turns": [{"steps": steps}]}).to_string()).expect("a valid script");
    let tools = mcp.with(&ToolSet::default());
    Runtime::builder(Arc::new(model)).log(log).tools(tools).start().await.expect("starts")
}

fn starts(facts: &[Fact], of: &str) -> usize {
    facts.iter().filter(|fact| matches!(fact, Fact::Started { call, .. } if call.as_str() == of)).count()
}

/// Two nodes and their MCP servers, with a prompt that the first has shown.
struct Nodes {
    folder: tempfile::TempDir,
    log: Arc<SharedLog>,
    /// The log as the first node has it.
    cut: Arc<FaultyLog>,
    a: Runtime,
    b: Runtime,
    _mcp: [McpServers; 2],
    prompt: ToolCallId,
    call: ToolCallId,
}

impl Nodes {
    async fn prompting() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let told = folder.path().join("log");
        let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
        let cut = Arc::new(FaultyLog::new(Arc::clone(&log) as _));
        let mcp = [mcp(&told).await, mcp(&told).await];
        let a = node(Arc::clone(&cut) as _, &mcp[0]).await;
        let b = node(Arc::clone(&log) as _, &mcp[1]).await;
        let body = json!({"id": "c", "messages": [{"role": "user", "content": "go"}]});
        let request: ChatRequest = serde_json::from_value(body).expect("a body");
        drop(a.submit(&me(), request, View::default()).await.expect("is taken"));
        let is_saved = async || facts(&*log, chat()).await.iter().any(|fact| matches!(fact, Fact::Resumable { .. }));
        until("the prompt is shown", is_saved).await;
        let asked = facts(&*log, chat()).await.into_iter().find_map(|fact| match fact {
            Fact::Called { call, by: Caller::Tool(by), .. } => Some((call, by)),
            _ => None,
        });
        let (prompt, call) = asked.expect("a prompt");
        Self { folder, log, cut, a, b, _mcp: mcp, prompt, call }
    }

    async fn taken_over(&self) {
        until("it is taken over", async || starts(&facts(&*self.log, chat()).await, self.call.as_str()) == 2).await;
    }

    /// The turn ends on the second node, and the answer was sent to the server once.
    async fn sent_once(&self) {
        until("it goes on", async || {
            let messages = self.b.chats(&me()).messages(&chat()).await.expect("it is there");
            serde_json::to_string(&messages).expect("JSON").contains("all done")
        })
        .await;
        // Whoever comes back has time to do harm.
        tokio::time::sleep(LEASE).await;
        let told = std::fs::read_to_string(self.folder.path().join("log")).expect("a log");
        let count = |line: &str| told.lines().filter(|told| *told == line).count();
        assert_eq!((count("call ask"), count("call ask again"), count("effect ask")), (1, 1, 1), "{told}");
    }
}

async fn answer(node: &Runtime, prompt: &ToolCallId) {
    let output = Some(json!({"action": "accept", "content": {"name": "Ada"}}));
    let result = FrontendResult { status: AckStatus::Success, output, error_text: None, ack: None };
    assert_eq!(node.live(me()).result(prompt.clone(), result).await, Ok(Answered::Taken));
}

#[tokio::test]
async fn a_prompt_of_a_node_that_is_gone_is_taken_over() {
    let mut nodes = Nodes::prompting().await;
    nodes.a = nodes.b.clone();
    nodes.taken_over().await;
    answer(&nodes.b, &nodes.prompt).await;
    nodes.sent_once().await;
}

#[tokio::test]
async fn a_node_that_was_cut_off_at_a_prompt_does_no_harm() {
    let nodes = Nodes::prompting().await;
    nodes.cut.fill_disk();
    nodes.taken_over().await;
    answer(&nodes.b, &nodes.prompt).await;
    nodes.cut.free_disk();
    nodes.sent_once().await;
}

/// The first node has the answer, and is cut off before the log says that it makes the call with it. So it does not.
#[tokio::test]
async fn a_call_is_made_with_the_answer_by_one_node() {
    let nodes = Nodes::prompting().await;
    let gate = Gate::new();
    nodes.cut.on_append(AppendFault::Pass).on_append(AppendFault::HoldBefore(gate.clone()));
    answer(&nodes.a, &nodes.prompt).await;
    gate.arrived().await;
    nodes.cut.fill_disk();
    nodes.taken_over().await;
    nodes.cut.free_disk();
    gate.open();
    nodes.sent_once().await;
}
