//! The driver over a log that fails, and under a crowd: what is acknowledged is done, once.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use holdpoint_protocol::{
    chunk::{Chunk, Chunks},
    ids::{ApprovalId, ChatId},
    request::{AckStatus, ChatRequest, DecisionRequest, Verdict},
};
use holdpoint_runtime::{
    ApprovalState, Next, ResponseStream, Runtime,
    clock::Timestamp,
    fact::Fact,
    grants::RememberError,
    log::{MemoryLog, Store},
    model::ScriptModel,
    subject::Subject,
    tool::{Decisions, Prompt, Tool, ToolContext, ToolOrigin, ToolSet},
    turn::{Answered, FrontendResult},
    wire::{Listed, View},
};
use holdpoint_testkit::{AppendFault, FaultyLog, ManualClock};
use serde_json::{Value, json};

/// A tool that counts how often it ran.
fn counting(ran: &Arc<AtomicUsize>) -> ToolSet {
    let ran = Arc::clone(ran);
    let tool = Tool::server("count", "Counts", move |_: Value, _: ToolContext| {
        let count = ran.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(json!({"count": count})) }
    });
    [tool.approve_always().build().expect("a valid tool")].into_iter().collect()
}

async fn start(log: Arc<dyn Store>, tools: ToolSet) -> Runtime {
    let script = json!({"turns": [{"steps": [[{"toolCall": {"name": "count", "input": {}}}], [{"text": ["done"]}]]}]});
    let model = ScriptModel::from_text(&script.to_string()).expect("a valid script");
    let clock = Arc::new(ManualClock::new(Timestamp(1_000_000)));
    let builder = Runtime::builder(Arc::new(model)).log(log).tools(tools).clock(clock);
    builder.start().await.expect("starts")
}

fn said(chat: &str) -> ChatRequest {
    serde_json::from_value(json!({"id": chat, "messages": [{"role": "user", "content": "go"}]})).expect("a valid body")
}

async fn submit(runtime: &Runtime, request: ChatRequest) -> ResponseStream {
    runtime.submit(&Subject::local(), request, View::default()).await.expect("is taken").1
}

async fn read(response: &mut ResponseStream) -> Vec<Chunk> {
    let mut written = Vec::new();
    while response.read(&mut written).await == Next::More {}
    let mut chunks = Vec::new();
    written.into_iter().for_each(|written| written.for_each(|chunk| chunks.push(chunk)));
    chunks
}

fn approval(chunks: &[Chunk]) -> ApprovalId {
    let asked = chunks.iter().find_map(|chunk| match chunk {
        Chunk::ToolApprovalRequest(asked) => Some(asked.approval_id.clone()),
        _ => None,
    });
    asked.expect("a question")
}

async fn facts(log: &dyn Store, chat: &str) -> Vec<Fact> {
    let batches = log.read(&ChatId::from(chat), 0, 1000).await.expect("can be read");
    let read = |payload: &[u8]| serde_json::from_slice::<Vec<Fact>>(payload).expect("facts");
    batches.iter().flat_map(|batch| read(&batch.payload)).collect()
}

/// Waits until the turn of a chat is over.
async fn ended(runtime: &Runtime, chat: &str) {
    loop {
        let messages = runtime.chats(&Subject::local()).messages(&ChatId::from(chat)).await.expect("the chat is there");
        if serde_json::to_string(&messages).expect("json").contains("done") {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_append_of_unknown_fate_is_done_once() {
    for fault in [AppendFault::UnknownBefore, AppendFault::UnknownAfter] {
        let ran = Arc::new(AtomicUsize::new(0));
        let memory: Arc<dyn Store> = Arc::new(MemoryLog::default());
        let log = Arc::new(FaultyLog::new(Arc::clone(&memory)));
        let runtime = start(log.clone(), counting(&ran)).await;
        let chunks = read(&mut submit(&runtime, said("c")).await).await;
        log.on_append(fault);
        let decided = runtime.inbox(Subject::local()).decide(approval(&chunks), true).await;
        assert_eq!(decided, Ok(Answered::Taken));
        ended(&runtime, "c").await;
        assert_eq!(ran.load(Ordering::SeqCst), 1);
        let facts = facts(&*memory, "c").await;
        assert_eq!(facts.iter().filter(|fact| matches!(fact, Fact::Decided { .. })).count(), 1);
    }
}

/// Another node was first: the decision that stands is theirs, and nothing runs here because of ours.
#[tokio::test]
async fn whoever_loses_the_race_reads_again() {
    let ran = Arc::new(AtomicUsize::new(0));
    let memory: Arc<dyn Store> = Arc::new(MemoryLog::default());
    let log = Arc::new(FaultyLog::new(Arc::clone(&memory)));
    let runtime = start(log.clone(), counting(&ran)).await;
    let chunks = read(&mut submit(&runtime, said("c")).await).await;
    let other = Timestamp(5);
    log.on_append(AppendFault::overtaken(move |ours| {
        let facts: Vec<Fact> = serde_json::from_slice(&ours.payload).expect("facts");
        let Some(Fact::Decided { call, .. }) = facts.first().cloned() else { panic!("a decision: {facts:?}") };
        let theirs = [
            Fact::Decided {
                call: call.clone(),
                verdict: Verdict::Deny,
                reason: None,
                by: Subject::from("them"),
                at: other,
                channel: holdpoint_protocol::audit::AuditChannel::Inbox,
            },
            Fact::Settled {
                call,
                outcome: holdpoint_runtime::fact::Outcome::Denied { reason: None },
                cause: holdpoint_runtime::fact::Cause::Decision,
                at: other,
                channel: None,
                is_repeatable: false,
            },
        ];
        let mut append = ours.clone();
        append.payload = serde_json::to_vec(&theirs).expect("json").into();
        append.count = 2;
        append.append_id.0 ^= 1;
        append
    }));
    let decided = runtime.inbox(Subject::local()).decide(approval(&chunks), true).await;
    assert_eq!(decided, Ok(Answered::Contradicts), "the other answer stands");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_people_answer_at_once() {
    let ran = Arc::new(AtomicUsize::new(0));
    let runtime = start(Arc::new(MemoryLog::default()), counting(&ran)).await;
    let chunks = read(&mut submit(&runtime, said("c")).await).await;
    let approval = approval(&chunks);
    let answers = (0..20).map(|number| {
        let (runtime, approval) = (runtime.clone(), approval.clone());
        tokio::spawn(async move {
            runtime.inbox(Subject::local()).decide(approval, number % 2 == 0).await.expect("an answer")
        })
    });
    let answers: Vec<Answered> =
        futures::future::join_all(answers).await.into_iter().map(|answer| answer.expect("no panic")).collect();
    assert_eq!(answers.iter().filter(|answer| **answer == Answered::Taken).count(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| matches!(answer, Answered::Taken | Answered::Again | Answered::Contradicts)));
    ended(&runtime, "c").await;
    assert!(ran.load(Ordering::SeqCst) <= 1);
}

/// Many chats that wait cost no task; and each still answers.
#[tokio::test]
async fn a_chat_that_waits_sleeps_and_wakes() {
    let ran = Arc::new(AtomicUsize::new(0));
    let runtime = start(Arc::new(MemoryLog::default()), counting(&ran)).await;
    let mut questions = Vec::new();
    for number in 0..200 {
        questions.push(approval(&read(&mut submit(&runtime, said(&format!("c{number}"))).await).await));
    }
    assert_eq!(runtime.admin().holds().await.expect("it counts"), 200);
    assert_eq!(runtime.inbox(Subject::local()).list().await.expect("it lists").len(), 200);
    while runtime.admin().awake() > 0 {
        tokio::task::yield_now().await;
    }
    for approval in questions {
        assert_eq!(runtime.inbox(Subject::local()).decide(approval, true).await, Ok(Answered::Taken));
    }
    for number in 0..200 {
        ended(&runtime, &format!("c{number}")).await;
    }
    assert_eq!((ran.load(Ordering::SeqCst), runtime.admin().holds().await.expect("it counts")), (200, 0));
}

/// A tool that runs asks the user: a call of the browser's that the model knows nothing of. An answer, or none in time, comes back to it.
#[tokio::test]
async fn a_running_tool_asks_the_user() {
    let replies: [(Option<Value>, &str); 4] = [
        (
            Some(json!({"action": "accept", "content": {"name": "Hanako"}})),
            "Accepted(Object {\"name\": String(\"Hanako\")})",
        ),
        (Some(json!({"action": "decline"})), "Declined"),
        (Some(json!({"action": "cancel"})), "Cancelled"),
        (None, "Expired"),
    ];
    for (output, expected) in replies {
        let tool = Tool::server("count", "Asks", async |_: Value, context: ToolContext| {
            let (message, schema) = ("Who?".to_owned(), json!({"type": "object"}));
            let answer = context.prompt(Prompt { message, schema, timeout: Duration::from_secs(30) }).await;
            Ok(json!(format!("{answer:?}")))
        });
        let tools: ToolSet = [tool.build().expect("a valid tool")].into_iter().collect();
        let script =
            json!({"turns": [{"steps": [[{"toolCall": {"name": "count", "input": {}}}], [{"text": ["done"]}]]}]});
        let model = ScriptModel::from_text(&script.to_string()).expect("a valid script");
        let clock = Arc::new(ManualClock::new(Timestamp(1_000_000)));
        let builder = Runtime::builder(Arc::new(model)).tools(tools).clock(clock.clone());
        let runtime = builder.start().await.expect("starts");
        let mut response = submit(&runtime, said("c")).await;
        let mut written = Vec::new();
        let call = loop {
            assert_eq!(response.read(&mut written).await, Next::More);
            let question = written.iter().find_map(|chunks| match chunks {
                Chunks::One(Chunk::ToolInputAvailable(input)) if input.tool_name == "ask_user" => Some(input.clone()),
                _ => None,
            });
            if let Some(question) = question {
                let input = serde_json::to_value(&question.input).expect("json");
                assert_eq!(input, json!({"message": "Who?", "schema": {"type": "object"}, "from": "count"}));
                break question.tool_call_id;
            }
        };
        match output {
            Some(output) => {
                let result =
                    FrontendResult { status: AckStatus::Success, output: Some(output), error_text: None, ack: None };
                assert_eq!(runtime.live(Subject::local()).result(call, result).await, Ok(Answered::Taken));
            }
            None => clock.advance(Duration::from_secs(31)),
        }
        let rest = read(&mut response).await;
        let outputs: Vec<String> = rest
            .iter()
            .filter_map(|chunk| match chunk {
                Chunk::ToolOutputAvailable(output) => Some(serde_json::to_string(&output.output).expect("json")),
                _ => None,
            })
            .collect();
        assert_eq!(outputs.last(), Some(&json!(expected).to_string()), "{rest:#?}");
        ended(&runtime, "c").await;
    }
}

/// An approval is for the tool that was shown, and not for another that has its name by the time somebody answers.
#[tokio::test]
async fn an_approval_does_not_run_another_tool_of_the_same_name() {
    let ran = Arc::new(AtomicUsize::new(0));
    let named = |place: &str| -> ToolSet {
        let ran = Arc::clone(&ran);
        let tool = Tool::server("count", "Counts", move |_: Value, _: ToolContext| {
            ran.fetch_add(1, Ordering::SeqCst);
            async move { Ok(json!({})) }
        });
        [tool.approve_always().origin(ToolOrigin::Program(place.to_owned())).build().expect("a valid tool")]
            .into_iter()
            .collect()
    };
    let runtime = start(Arc::new(MemoryLog::default()), named("one server")).await;
    let chunks = read(&mut submit(&runtime, said("c")).await).await;
    runtime.set_tools(named("another server"));
    assert_eq!(runtime.inbox(Subject::local()).decide(approval(&chunks), true).await, Ok(Answered::Taken));
    ended(&runtime, "c").await;
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    let messages = runtime.chats(&Subject::local()).messages(&ChatId::from("c")).await.expect("the chat is there");
    let text = serde_json::to_string(&messages).expect("json");
    assert!(text.contains("not there any more"), "{text}");
}

/// What a person is asked, and may decide, is what was asked: not what the settings say by the time somebody answers.
#[tokio::test]
async fn an_open_request_does_not_change_with_its_tool() {
    let ran = Arc::new(Mutex::new(Vec::new()));
    let tool = |title: &str, property: &str, decisions: Decisions| -> ToolSet {
        let ran = Arc::clone(&ran);
        let tool = Tool::server("count", "Counts", move |input: Value, _: ToolContext| {
            ran.lock().expect("no panic").push(input);
            async move { Ok(json!({})) }
        });
        let schema =
            json!({"type": "object", "properties": {(property): {"type": "integer"}}, "additionalProperties": false});
        let tool = tool.approve_always().title(title).decisions(decisions).schema(schema);
        [tool.build().expect("a valid tool")].into_iter().collect()
    };
    let (me, chat) = (Subject::local(), ChatId::from("c"));
    let runtime = start(Arc::new(MemoryLog::default()), tool("Count", "n", Decisions::default())).await;
    let asked = approval(&read(&mut submit(&runtime, said("c")).await).await);
    let before = runtime.inbox(&me).list().await.expect("it lists");
    let allowed = ["approve", "deny", "edit", "answer", "remember"];
    assert_eq!(json!(before[0].allowed), json!(allowed));

    // The new tool takes another input, and nobody may edit it. What was asked stands, in the list, by id, and in the chat.
    runtime.set_tools(tool("Something else", "m", Decisions::PLAIN));
    assert_eq!(runtime.inbox(&me).list().await.expect("it lists"), before);
    let open = runtime.inbox(&me).get(&asked).await.expect("it reads");
    assert_eq!(open, Some(ApprovalState::Open(Box::new(before[0].clone()))));
    let opened = runtime.chats(&me).open(&chat).await.expect("it opens");
    let holds = opened.holds(Listed::Holds, &(&me).into()).await.expect("it lists");
    assert_eq!(json!(holds[0].allowed), json!(allowed));

    // An edit has to fit what was asked, and what the tool takes now.
    let edited = |input: Value| DecisionRequest {
        verdict: Verdict::Approve { input: Some(input) },
        reason: None,
        remember: None,
    };
    for (input, why) in
        [(json!({"m": 1}), "it does not fit what was asked"), (json!({"n": 1}), "the tool can't take it")]
    {
        let answered = runtime.inbox(&me).decide(asked.clone(), edited(input)).await.expect("it is answered");
        assert!(matches!(answered, Answered::UnfitInput { .. }), "{why}: {answered:?}");
    }
    // A grant would rely on a tool that nobody was asked about.
    let remember = serde_json::from_value(json!({"scope": "chat", "match": "tool"})).expect("valid");
    let remembered = DecisionRequest { remember: Some(remember), ..DecisionRequest::from(true) };
    let answered = runtime.inbox(&me).decide(asked.clone(), remembered).await;
    assert_eq!(answered, Ok(Answered::NotRemembered(RememberError::Changed)));

    assert_eq!(runtime.inbox(&me).decide(asked, true).await, Ok(Answered::Taken));
    ended(&runtime, "c").await;
    assert_eq!(*ran.lock().expect("no panic"), [json!({})]);
}

/// A tool that is stopped before it was begun does not begin any more: the log says that it was stopped.
#[tokio::test]
async fn a_call_that_is_stopped_before_it_begins_does_not_run() {
    let ran = Arc::new(AtomicUsize::new(0));
    let runtime = start(Arc::new(MemoryLog::default()), counting(&ran)).await;
    let approval = approval(&read(&mut submit(&runtime, said("c")).await).await);
    let (me, chat) = (Subject::local(), ChatId::from("c"));
    // One after the other, before anything else has its turn.
    let (inbox, chats) = (runtime.inbox(&me), runtime.chats(&me));
    let (decided, stopped) = tokio::join!(biased; inbox.decide(approval, true), chats.stop(&chat, None));
    assert_eq!((decided, stopped), (Ok(Answered::Taken), Ok(())));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}
