//! The runtime as a program embeds it: its own tools with their limits and checks, without HTTP.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::StreamExt;
use holdpoint_protocol::{
    chunk::Chunk,
    ids::ChatId,
    request::{ChatRequest, DecisionRequest},
};
use holdpoint_runtime::{
    Identity, Runtime, RuntimeBuilder, StartError,
    approvers::Approvers,
    clock::Timestamp,
    fact::Fact,
    identity::Role,
    log::{Log, MemoryLog},
    model::ScriptModel,
    subject::Subject,
    tool::{ApprovalContext, DuplicateTool, Prompt, Tool, ToolBuilder, ToolContext, ToolError, ToolSet},
    turn::Answered,
    wire::View,
};
use holdpoint_testkit::ManualClock;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(20);

/// A model that calls the tool `act` once with this input.
fn calling(input: &Value) -> Arc<ScriptModel> {
    let steps = json!([[{"toolCall": {"name": "act", "input": input}}], [{"text": ["done"]}]]);
    let script = json!({"turns": [{"steps": steps}, {"steps": steps}]});
    Arc::new(ScriptModel::from_text(&script.to_string()).expect("a valid script"))
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp(1_000_000)))
}

fn builder(tool: ToolBuilder, input: &Value) -> RuntimeBuilder {
    let tools = ToolSet::new([tool.build().expect("a valid tool")]).expect("one name");
    Runtime::builder(calling(input)).tools(tools).clock(clock())
}

async fn say(runtime: &Runtime) -> Vec<Chunk> {
    let request = ChatRequest::user("c", "go");
    let (_, response) = runtime.submit(&Subject::local(), request, View::default()).await.expect("is taken");
    tokio::time::timeout(PATIENCE, response.collect()).await.expect("the response ends")
}

fn chat() -> ChatId {
    ChatId::from("c")
}

/// The JSON of all chunks, to look into.
fn text(chunks: &[Chunk]) -> String {
    chunks.iter().map(|chunk| serde_json::to_string(chunk).expect("json")).collect::<Vec<_>>().join("\n")
}

async fn facts(log: &MemoryLog) -> Vec<Fact> {
    let batches = log.read(&chat(), 0, 1000).await.expect("it reads");
    batches.iter().flat_map(|batch| serde_json::from_slice::<Vec<Fact>>(&batch.payload).expect("facts")).collect()
}

/// A tool that is checked against the limit of its user.
fn limited(checks: &Arc<AtomicUsize>) -> ToolBuilder {
    let checks = Arc::clone(checks);
    let act = Tool::server("act", "Acts", |input: Value, _: ToolContext| async move { Ok(input) });
    act.approvers(Approvers::new(["self", "subject:boss"]).expect("names")).approve_if(
        move |input: Value, context: ApprovalContext| {
            checks.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::task::yield_now().await;
                let limit = if context.subject == Subject::local() { 100.0 } else { 0.0 };
                match input["amount"].as_f64() {
                    Some(amount) => Ok((amount > limit).then(|| format!("over {limit}"))),
                    None => Err(ToolError::new("no amount")),
                }
            }
        },
    )
}

#[tokio::test]
async fn a_check_decides_whether_a_person_is_asked() {
    let checks = Arc::new(AtomicUsize::new(0));
    let runtime = builder(limited(&checks), &json!({"amount": 100})).start().await.expect("starts");
    assert!(text(&say(&runtime).await).contains(r#""output":{"amount":100}"#));
    assert_eq!(checks.load(Ordering::SeqCst), 1);

    let runtime = builder(limited(&checks), &json!({"amount": 101})).start().await.expect("starts");
    say(&runtime).await;
    let open = runtime.inbox(Subject::local()).list().await.expect("it lists");
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].reason.as_deref(), Some("over 100"));

    // A check that fails does not let the call through.
    let runtime = builder(limited(&checks), &json!({"amount": "much"})).start().await.expect("starts");
    say(&runtime).await;
    let reason = runtime.inbox(Subject::local()).list().await.expect("it lists")[0].reason.clone();
    assert_eq!(reason.as_deref(), Some("It could not be checked whether this call needs approval: no amount"));
}

#[tokio::test]
async fn a_check_that_panics_or_hangs_requires_approval() {
    let panics = |_: Value, _: ApprovalContext| async { panic!("at the disco") };
    let act = || Tool::server("act", "Acts", |input: Value, _: ToolContext| async move { Ok(input) });
    let runtime = builder(act().approve_if(panics), &json!({})).start().await.expect("starts");
    say(&runtime).await;
    assert_eq!(runtime.inbox(Subject::local()).list().await.expect("it lists").len(), 1);

    tokio::time::pause();
    let hangs = |_: Value, _: ApprovalContext| std::future::pending();
    let runtime = builder(act().approve_if(hangs), &json!({})).start().await.expect("starts");
    say(&runtime).await;
    let reason = runtime.inbox(Subject::local()).list().await.expect("it lists")[0].reason.clone().expect("a reason");
    assert!(reason.ends_with("it took longer than 10 s"), "{reason}");
}

/// The result of a check is in the log: a restart asks the same person for the same reason, and checks nothing again.
#[tokio::test]
async fn a_restart_does_not_check_again() {
    let checks = Arc::new(AtomicUsize::new(0));
    let log = Arc::new(MemoryLog::default());
    let runtime = builder(limited(&checks), &json!({"amount": 101})).log(log.clone()).start().await.expect("starts");
    say(&runtime).await;
    runtime.shutdown(Duration::ZERO).await;
    let called = |fact: &Fact| matches!(fact, Fact::Called { checked: Some(checked), needs_approval: true, .. } if checked.reason.as_deref() == Some("over 100"));
    assert!(facts(&log).await.iter().any(called));

    let runtime = builder(limited(&checks), &json!({"amount": 101})).log(log.clone()).start().await.expect("starts");
    let open = runtime.inbox(Subject::local()).list().await.expect("it lists");
    assert_eq!((open.len(), open[0].reason.as_deref()), (1, Some("over 100")));
    let approval = open[0].approval_id.clone();
    // Another subject decides, and the log says who it was.
    let boss = Subject::from("boss");
    let yes = DecisionRequest::from(true);
    assert_eq!(runtime.inbox(&boss).decide(approval.clone(), yes.clone()).await, Ok(Answered::Unknown));
    let approver = Identity::new(boss.clone()).with_roles([Role::Approver]);
    assert_eq!(runtime.inbox(&approver).list().await.expect("it lists"), open);
    assert_eq!(runtime.inbox(&approver).decide(approval, yes).await, Ok(Answered::Taken));
    tokio::time::timeout(PATIENCE, runtime.chats(&Subject::local()).idle(&chat()))
        .await
        .expect("in time")
        .expect("is there");
    assert_eq!(checks.load(Ordering::SeqCst), 1);
    let facts = facts(&log).await;
    assert!(facts.iter().any(|fact| matches!(fact, Fact::Decided { by, .. } if *by == boss)), "{facts:#?}");
    assert!(matches!(facts.last(), Some(Fact::TurnEnded { .. })), "{facts:#?}");
}

#[tokio::test]
async fn any_error_becomes_the_calls_error() {
    let tool = Tool::server("act", "Acts", |_: Value, _: ToolContext| async move {
        let number: u32 = "many".parse()?;
        Ok(number)
    });
    let runtime = builder(tool, &json!({})).start().await.expect("starts");
    assert!(text(&say(&runtime).await).contains("invalid digit found in string"));
}

#[tokio::test]
async fn two_tools_of_one_name_are_an_error() {
    let tool = |description| {
        Tool::server("act", description, |_: Value, _: ToolContext| async { Ok(()) }).build().expect("a valid tool")
    };
    let twice = DuplicateTool { name: "act".to_owned() };
    assert_eq!(ToolSet::new([tool("one"), tool("two")]).err(), Some(twice.clone()));
    let collected = [tool("one"), tool("two")].into_iter().collect();
    assert_eq!(holdpoint_demo::builder().tools(collected).start().await.err(), Some(StartError::DuplicateTool(twice)));
}

/// How far a tool of [`tidying`] is.
const STARTED: usize = 1;
const TIDIED: usize = 2;

/// A tool that runs until it is cancelled, and then cleans up, which takes a moment.
fn tidying(tidied: &Arc<AtomicUsize>) -> ToolBuilder {
    let tidied = Arc::clone(tidied);
    Tool::server("act", "Acts", move |_: Value, context: ToolContext| {
        let tidied = Arc::clone(&tidied);
        async move {
            tidied.store(STARTED, Ordering::SeqCst);
            context.cancellation.cancelled().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            tidied.store(TIDIED, Ordering::SeqCst);
            Err::<(), _>(ToolError::new("tidied up"))
        }
    })
}

async fn until(what: impl AsyncFn() -> bool) {
    let reached = async {
        while !what().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.expect("it happens");
}

async fn running(runtime: &Runtime) {
    let request = ChatRequest::user("c", "go");
    let (_, mut response) = runtime.submit(&Subject::local(), request, View::default()).await.expect("is taken");
    while let Some(chunk) = response.next().await {
        if matches!(chunk, Chunk::ToolInputAvailable(_)) {
            return;
        }
    }
    panic!("the tool was not called");
}

#[tokio::test]
async fn a_tool_has_a_moment_after_a_stop() {
    let tidied = Arc::new(AtomicUsize::new(0));
    let runtime = builder(tidying(&tidied), &json!({})).start().await.expect("starts");
    running(&runtime).await;
    runtime.chats(&Subject::local()).stop(&chat(), None).await.expect("stops");
    until(async || tidied.load(Ordering::SeqCst) == TIDIED).await;
}

/// The clock of the test does not move.
#[tokio::test]
async fn a_tool_has_a_moment_at_the_shutdown() {
    let tidied = Arc::new(AtomicUsize::new(0));
    let runtime = builder(tidying(&tidied), &json!({})).start().await.expect("starts");
    running(&runtime).await;
    let ended = tokio::time::timeout(PATIENCE, runtime.shutdown(Duration::from_secs(2))).await;
    assert!(ended.is_ok(), "a manual clock holds up the shutdown");
    assert_eq!(tidied.load(Ordering::SeqCst), TIDIED);
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_a_tool_that_ignores_it() {
    let tool = Tool::server("act", "Acts", |_: Value, _: ToolContext| std::future::pending::<Result<(), ToolError>>());
    let runtime = builder(tool, &json!({})).start().await.expect("starts");
    running(&runtime).await;
    let ended = tokio::time::timeout(PATIENCE, runtime.shutdown(Duration::from_millis(100))).await;
    assert!(ended.is_ok());
}

#[tokio::test]
async fn a_handler_is_cancelled_at_its_timeout() {
    let tidied = Arc::new(AtomicUsize::new(0));
    let clock = clock();
    let tool = tidying(&tidied).timeout(Duration::from_secs(30));
    let runtime = builder(tool, &json!({})).clock(clock.clone()).start().await.expect("starts");
    let request = ChatRequest::user("c", "go");
    let (_, mut response) = runtime.submit(&Subject::local(), request, View::default()).await.expect("is taken");
    let mut read = Vec::new();
    while let Some(chunk) = response.next().await {
        let is_called = matches!(chunk, Chunk::ToolInputAvailable(_));
        read.push(chunk);
        if is_called {
            // Its limit is counted from its start.
            until(async || tidied.load(Ordering::SeqCst) == STARTED).await;
            clock.advance(Duration::from_secs(31));
        }
    }
    assert_eq!(tidied.load(Ordering::SeqCst), TIDIED);
    assert!(text(&read).contains("tidied up"), "{}", text(&read));

    // One that does not react is dropped.
    let deaf = Tool::server("act", "Acts", |_: Value, _: ToolContext| std::future::pending::<Result<(), ToolError>>());
    let runtime = builder(deaf.timeout(Duration::ZERO), &json!({})).start().await.expect("starts");
    assert!(text(&say(&runtime).await).contains("The tool did not finish within 0 s and was stopped"));
}

#[tokio::test]
async fn open_holds_include_the_prompts_of_running_tools() {
    let answers = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&answers);
    let tool = Tool::server("act", "Asks", move |_: Value, context: ToolContext| {
        let kept = Arc::clone(&kept);
        async move {
            let prompt = Prompt { message: "Who?".to_owned(), schema: json!({"type": "object"}), timeout: PATIENCE };
            let answer = context.prompt(prompt).await;
            kept.lock().expect("no panic").push(format!("{answer:?}"));
            Ok(())
        }
    });
    let runtime = builder(tool, &json!({})).start().await.expect("starts");
    running(&runtime).await;
    until(async || !runtime.chats(&Subject::local()).open_holds().await.expect("it lists").is_empty()).await;
    let open = runtime.chats(&Subject::local()).open_holds().await.expect("it lists");
    assert_eq!((open.len(), &open[0].chat, &*open[0].hold.name), (1, &chat(), "ask_user"));
    assert!(runtime.chats(&Subject::from("another")).open_holds().await.expect("it lists").is_empty());
    runtime.chats(&Subject::local()).stop(&chat(), None).await.expect("stops");
    until(async || !answers.lock().expect("no panic").is_empty()).await;
}

#[tokio::test]
async fn idle_completes_when_a_turn_waits_or_has_ended() {
    let act = || Tool::server("act", "Acts", |input: Value, _: ToolContext| async move { Ok(input) });
    let runtime = builder(act().approve_always(), &json!({})).start().await.expect("starts");
    let request = ChatRequest::user("c", "go");
    let response = runtime.submit(&Subject::local(), request, View::default()).await.expect("is taken");
    drop(response);
    let idle = async || {
        let (subject, chat) = (Subject::local(), chat());
        let chats = runtime.chats(&subject);
        tokio::time::timeout(PATIENCE, chats.idle(&chat)).await.expect("in time").expect("is there");
    };
    idle().await;
    let open = runtime.inbox(Subject::local()).list().await.expect("it lists");
    let yes = DecisionRequest::from(true);
    assert_eq!(runtime.inbox(Subject::local()).decide(open[0].approval_id.clone(), yes).await, Ok(Answered::Taken));
    idle().await;
    let messages = runtime.chats(&Subject::local()).messages(&chat()).await.expect("is there");
    assert!(serde_json::to_string(&messages).expect("json").contains("done"));
    assert!(runtime.chats(&Subject::from("another")).idle(&chat()).await.is_err());
}
