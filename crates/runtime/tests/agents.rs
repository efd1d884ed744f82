//! Progress of running tools, and chats with their own tools and models, as a program that embeds the runtime uses them.

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, stream::BoxStream};
use holdpoint_protocol::{
    chunk::Chunk,
    ids::ChatId,
    request::{ChatRequest, DecisionRequest},
};
use holdpoint_runtime::{
    Agent, Runtime,
    fact::Fact,
    log::{Log, MemoryLog, Store},
    model::{Model, ModelError, ModelEvent, ModelRequest, ScriptModel},
    subject::Subject,
    tool::{Instructions, MAX_PROGRESS_BYTES, Tool, ToolBuilder, ToolContext, ToolSet},
    wire::{Resume, View},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

const PATIENCE: Duration = Duration::from_secs(20);

fn calling(tool: &str) -> Arc<ScriptModel> {
    let steps = json!([[{"toolCall": {"name": tool, "input": {}}}], [{"text": ["done"]}]]);
    let script = json!({"turns": [{"steps": steps}, {"steps": steps}]});
    Arc::new(ScriptModel::from_text(&script.to_string()).expect("a valid script"))
}

fn tools(tool: ToolBuilder) -> ToolSet {
    ToolSet::new([tool.build().expect("a valid tool")]).expect("one name")
}

async fn say(runtime: &Runtime, chat: &str) -> Vec<Chunk> {
    let (_, response) =
        runtime.submit(&Subject::local(), ChatRequest::user(chat, "go"), View::default()).await.expect("is taken");
    tokio::time::timeout(PATIENCE, response.collect()).await.expect("the response ends")
}

/// The outputs of a response, and whether each is preliminary.
fn outputs(chunks: &[Chunk]) -> Vec<(Value, bool)> {
    let outputs = chunks.iter().map(|chunk| serde_json::to_value(chunk).expect("json"));
    let outputs = outputs.filter(|chunk| chunk["type"] == "tool-output-available");
    outputs.map(|chunk| (chunk["output"].clone(), chunk["preliminary"] == true)).collect()
}

async fn facts(log: &MemoryLog) -> Vec<Fact> {
    let batches = log.read(&ChatId::from("c"), 0, 10_000).await.expect("it reads");
    batches.iter().flat_map(|batch| serde_json::from_slice::<Vec<Fact>>(&batch.payload).expect("facts")).collect()
}

/// A tool that reports, waits until the test has seen it, and ends.
fn reporting(seen: &Arc<Notify>) -> ToolBuilder {
    let seen = Arc::clone(seen);
    Tool::server("copy", "Copies", move |_: Value, context: ToolContext| {
        let seen = Arc::clone(&seen);
        async move {
            context.progress("1 of 2")?;
            seen.notified().await;
            Ok(json!("2 of 2"))
        }
    })
}

#[tokio::test]
async fn the_client_sees_the_progress_while_the_tool_runs() {
    let seen = Arc::new(Notify::new());
    let runtime = Runtime::builder(calling("copy")).tools(tools(reporting(&seen))).start().await.expect("starts");
    let request = ChatRequest::user("c", "go");
    let (_, mut response) = runtime.submit(&Subject::local(), request, View::default()).await.expect("is taken");
    let mut chunks = Vec::new();
    loop {
        chunks.push(tokio::time::timeout(PATIENCE, response.next()).await.expect("in time").expect("a chunk"));
        if outputs(&chunks) == [(json!("1 of 2"), true)] {
            break;
        }
    }
    // A reload in the middle gets it too.
    let resumed = runtime
        .chats(&Subject::local())
        .resume(&ChatId::from("c"), View::default(), Resume::Message)
        .await
        .expect("is resumed");
    seen.notify_one();
    let resumed: Vec<Chunk> = match resumed {
        Some(resumed) => tokio::time::timeout(PATIENCE, resumed.collect()).await.expect("in time"),
        None => panic!("nothing is being written"),
    };
    chunks.extend(tokio::time::timeout(PATIENCE, response.collect::<Vec<_>>()).await.expect("in time"));
    let expected = [(json!("1 of 2"), true), (json!("2 of 2"), false)];
    assert_eq!(outputs(&chunks), expected);
    assert_eq!(outputs(&resumed), expected);
    // The history has the outcome only.
    let messages = runtime.chats(&Subject::local()).messages(&ChatId::from("c")).await.expect("is there");
    let text = serde_json::to_string(&messages).expect("json");
    assert!(text.contains("2 of 2") && !text.contains("1 of 2") && !text.contains("preliminary"), "{text}");
}

#[tokio::test]
async fn a_tool_that_reports_all_the_time_writes_little() {
    let tool = Tool::server("copy", "Copies", |_: Value, context: ToolContext| async move {
        let begin = tokio::time::Instant::now();
        let mut count = 0_u64;
        while begin.elapsed() < Duration::from_millis(450) {
            count += 1;
            context.progress(count)?;
            tokio::task::yield_now().await;
        }
        Ok(count)
    });
    let log = Arc::new(MemoryLog::default());
    let builder = Runtime::builder(calling("copy")).log(Arc::clone(&log) as _).tools(tools(tool));
    let runtime = builder.start().await.expect("starts");
    let chunks = say(&runtime, "c").await;
    let all = outputs(&chunks);
    let (last, preliminary) = all.split_last().expect("an outcome");
    assert!(!last.1 && (2..=6).contains(&preliminary.len()), "{all:?}");
    let stored = facts(&log).await.iter().filter(|fact| matches!(fact, Fact::Progressed { .. })).count();
    assert_eq!(stored, preliminary.len());
    assert!(last.0.as_u64() > Some(100), "{last:?}");
}

#[tokio::test]
async fn a_preliminary_output_is_limited() {
    let tool = Tool::server("copy", "Copies", |_: Value, context: ToolContext| async move {
        context.progress("x".repeat(MAX_PROGRESS_BYTES))?;
        Ok(1)
    });
    let runtime = Runtime::builder(calling("copy")).tools(tools(tool)).start().await.expect("starts");
    let text = serde_json::to_string(&say(&runtime, "c").await).expect("json");
    assert!(text.contains("a preliminary output has 16386 bytes, more than the limit of 16384"), "{text}");
}

/// Each chat has its own tools and model, at the first message, after an approval and after a restart.
#[tokio::test]
async fn a_chat_has_its_own_agent() {
    let runs = Arc::new(AtomicUsize::new(0));
    let log: Arc<dyn Store> = Arc::new(MemoryLog::default());
    let start = |runs: &Arc<AtomicUsize>| {
        let runs = Arc::clone(runs);
        let common = Tool::server("common", "Runs", |_: Value, _: ToolContext| async { Ok("common") });
        let builder = Runtime::builder(calling("common")).log(Arc::clone(&log)).tools(tools(common));
        builder.agent_for(move |chat, subject| {
            let runs = Arc::clone(&runs);
            let own = Tool::server("own", "Runs", move |_: Value, _: ToolContext| {
                runs.fetch_add(1, Ordering::SeqCst);
                async { Ok("own") }
            });
            let own = own.approve_always().build().expect("a valid tool");
            let is_theirs = chat.as_str() == "special" && *subject == Subject::local();
            is_theirs.then(|| Agent::new([own], calling("own")).expect("one name"))
        })
    };
    let runtime = start(&runs).start().await.expect("starts");
    let text = serde_json::to_string(&say(&runtime, "c").await).expect("json");
    assert!(text.contains(r#""output":"common""#), "{text}");
    let names = |runtime: &Runtime, chat: &str| {
        let tools = runtime.chats(&Subject::local()).tools(&ChatId::from(chat));
        tools.iter().map(|tool| tool.spec.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&runtime, "c"), ["common"]);
    assert_eq!(names(&runtime, "special"), ["own"]);
    let text = serde_json::to_string(&say(&runtime, "special").await).expect("json");
    assert!(text.contains("tool-approval-request"), "{text}");
    drop(runtime);
    let runtime = start(&runs).start().await.expect("starts again");
    let approval = runtime.inbox(Subject::local()).list().await.expect("it lists").remove(0);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    runtime
        .inbox(Subject::local())
        .decide(approval.approval_id, DecisionRequest::from(true))
        .await
        .expect("is decided");
    tokio::time::timeout(PATIENCE, runtime.chats(&Subject::local()).idle(&ChatId::from("special")))
        .await
        .expect("in time")
        .expect("is idle");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let messages = runtime.chats(&Subject::local()).messages(&ChatId::from("special")).await.expect("is there");
    let text = serde_json::to_string(&messages).expect("json");
    assert!(text.contains(r#""output":"own""#) && text.contains("done"), "{text}");
}

/// A script that remembers which tools it was offered in each step.
#[derive(Debug)]
struct Remembering {
    script: ScriptModel,
    offered: Mutex<Vec<Vec<String>>>,
    told: Mutex<Vec<Vec<String>>>,
}

impl Remembering {
    fn new(steps: &Value) -> Arc<Self> {
        let script = json!({"turns": [{"steps": steps}, {"steps": [[{"text": ["Yes?"]}]]}]});
        let script = ScriptModel::from_text(&script.to_string()).expect("a valid script");
        Arc::new(Self { script, offered: Mutex::default(), told: Mutex::default() })
    }

    fn offered(&self) -> Vec<Vec<String>> {
        self.offered.lock().expect("not poisoned").clone()
    }
}

impl Model for Remembering {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let names = request.tools.iter().map(|tool| tool.name.clone()).collect();
        self.offered.lock().expect("not poisoned").push(names);
        let told = request.instructions.iter().map(|said| said.text().to_owned()).collect();
        self.told.lock().expect("not poisoned").push(told);
        self.script.stream(request)
    }
}

fn plain(name: &str) -> Tool {
    Tool::server(name, "Does it", |_: Value, _: ToolContext| async { Ok(json!("it ran")) }).build().expect("valid")
}

/// Tools, and what their server says about them.
fn says(text: &str, tools: impl IntoIterator<Item = Tool>) -> ToolSet {
    tools.into_iter().collect::<ToolSet>().with_instructions(Instructions::new("server", text))
}

/// A list that changes in the middle of a turn is another prompt: thinking that is bound to it would be lost. What is new comes with
/// the next turn, and what is gone fails when it is called.
#[tokio::test]
async fn the_tools_of_a_turn_stay_as_they_were() {
    let call = |name: &str| json!([{"toolCall": {"name": name, "input": {}}}]);
    let model = Remembering::new(&json!([call("change"), call("gone"), [{"text": ["done"]}]]));
    let own: Arc<OnceLock<Runtime>> = Arc::default();
    let changing = Arc::clone(&own);
    let change = Tool::server("change", "Changes the tools", move |_: Value, _: ToolContext| {
        let runtime = changing.get().expect("it has started").clone();
        async move {
            runtime.set_tools(says("after", [plain("change"), plain("new")]));
            Ok(json!("changed"))
        }
    });
    let tools = says("before", [change.build().expect("valid"), plain("gone")]);
    let runtime = Runtime::builder(Arc::clone(&model) as _).tools(tools).start().await.expect("starts");
    assert!(own.set(runtime.clone()).is_ok());
    let chunks = serde_json::to_string(&say(&runtime, "c").await).expect("json");
    assert!(chunks.contains("done") && !chunks.contains("it ran"), "{chunks}");
    assert!(chunks.contains("tool-input-error"), "the model is told: {chunks}");
    say(&runtime, "c").await;
    let (first, next) = (["change", "gone"], ["change", "new"]);
    assert_eq!(model.offered()[..4], [first, first, first, next]);
    // So is what their servers say about them.
    let told = model.told.lock().expect("not poisoned").clone();
    assert_eq!(told[..4], [["before"], ["before"], ["before"], ["after"]]);
}

/// The model of a chat with its own tools is told what is said about those, and nothing else.
#[tokio::test]
async fn an_agent_has_its_own_instructions() {
    let model = Remembering::new(&json!([[{"text": ["done"]}]]));
    let agent = Agent::new([plain("own")], Arc::clone(&model) as _).expect("one name");
    let agent = agent.with_instructions(Instructions::new("server", "own"));
    let builder = Runtime::builder(Arc::clone(&model) as _).tools(says("everybody's", [plain("other")]));
    let runtime = builder.agent_for(move |_, _| Some(agent.clone())).start().await.expect("starts");
    say(&runtime, "c").await;
    assert_eq!(*model.told.lock().expect("not poisoned"), [["own"]]);
}

/// A turn that goes on after a restart, and its MCP server has not answered yet.
#[tokio::test]
async fn a_turn_is_resumed_with_the_tools_that_it_had() {
    let steps = json!([[{"toolCall": {"name": "pay", "input": {}}}], [{"text": ["paid"]}]]);
    for is_listed in [true, false] {
        let log = Arc::new(MemoryLog::default());
        let pay = || {
            let pay = Tool::server("pay", "Pays", |_: Value, _: ToolContext| async { Ok(json!("ok")) });
            pay.approve_always().build().expect("valid")
        };
        let both = || -> ToolSet { [pay(), plain("late")].into_iter().collect() };
        let start = async |tools: ToolSet, model: &Arc<Remembering>| {
            let builder = Runtime::builder(Arc::clone(model) as _).log(Arc::clone(&log) as _).tools(tools);
            builder.start().await.expect("starts")
        };
        let first = start(both(), &Remembering::new(&steps)).await;
        let chunks = say(&first, "c").await;
        let approval = chunks.iter().find_map(|chunk| match chunk {
            Chunk::ToolApprovalRequest(request) => Some(request.approval_id.clone()),
            _ => None,
        });
        first.shutdown(Duration::ZERO).await;
        drop(first);

        let model = Remembering::new(&steps);
        let awaited = if is_listed { PATIENCE } else { Duration::from_millis(100) };
        let only: ToolSet = [pay()].into_iter().collect();
        let second = start(only.with_awaited(Some(awaited)), &model).await;
        second.inbox(Subject::local()).decide(approval.expect("asked"), true).await.expect("taken");
        if is_listed {
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert_eq!(model.offered(), [[""; 0]; 0], "it waits for the tools");
            second.set_tools(both());
        }
        second.chats(&Subject::local()).idle(&ChatId::from("c")).await.expect("it ends");
        // A server that does not answer at all does not hold the turn up for ever.
        let expected: &[&str] = if is_listed { &["late", "pay"] } else { &["pay"] };
        assert_eq!(model.offered(), [expected]);
    }
}
