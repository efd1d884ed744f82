//! Every limit: below it, at it, above it.

use std::sync::Arc;

use holdpoint_protocol::{chunk::Chunks, ids::ChatId};
use holdpoint_runtime::{
    Limits, Runtime, RuntimeError,
    log::MemoryLog,
    subject::Subject,
    turn::{Answered, Refusal, Rejection},
};
use serde_json::json;

use super::*;

async fn start(limits: Limits, model: Arc<dyn Model>) -> Runtime {
    with_model(model).limits(limits).start().await.expect("starts")
}

fn refused(refusal: Refusal) -> Option<RuntimeError> {
    Some(RuntimeError::Rejected(Rejection::Limit(refusal)))
}

async fn try_say(runtime: &Runtime, subject: &str, chat: &str) -> Option<RuntimeError> {
    try_submit(runtime, subject, said(chat)).await.err()
}

#[tokio::test]
async fn turns_that_run_are_limited_for_each_subject() {
    let limit = 3;
    let limits = Limits { turns_per_subject: limit, ..Limits::default() };
    let runtime = start(limits, Arc::new(Silent)).await;
    // Nobody waits for the responses: the turns run all the same.
    for chat in ["a", "b", "c"] {
        assert_eq!(try_say(&runtime, "ann", chat).await, None);
    }
    assert_eq!(runtime.admin().turns(), limit);
    assert_eq!(try_say(&runtime, "ann", "d").await, refused(Refusal::TurnsOfSubject { limit }));
    assert_eq!(runtime.admin().counts().refused_turns, 1);
    assert_eq!(try_say(&runtime, "ann", "a").await, None, "a message in a chat that runs takes no more");
    assert_eq!(try_say(&runtime, "bob", "e").await, None, "others are not concerned");
    runtime.chats(&Subject::from("ann")).stop(&"b".into(), None).await.expect("stops");
    assert_eq!(try_say(&runtime, "ann", "d").await, None);
    assert_eq!(try_say(&runtime, "ann", "f").await, refused(Refusal::TurnsOfSubject { limit }));
    let chats = runtime.chats(&Subject::from("ann")).list().await.expect("can be listed");
    assert_eq!(chats.len(), 4, "nothing is stored of what was refused");
}

#[tokio::test]
async fn turns_that_run_are_limited_in_all() {
    let limit = 3;
    let runtime = start(Limits { turns: limit, ..Limits::default() }, Arc::new(Silent)).await;
    for subject in ["ann", "bob", "cid"] {
        assert_eq!(try_say(&runtime, subject, subject).await, None);
    }
    assert_eq!(try_say(&runtime, "dan", "dan").await, refused(Refusal::Turns { limit }));
    runtime.chats(&Subject::from("bob")).delete(&"bob".into()).await.expect("is deleted");
    until("the deleted chat's turn is over", async || runtime.admin().turns() == 2).await;
    assert_eq!(try_say(&runtime, "dan", "dan").await, None);
}

/// A turn that waits does not run, and one that has begun goes on: a decision is never refused.
#[tokio::test]
async fn what_has_begun_is_not_refused() {
    let limits = Limits { turns: 1, turns_per_subject: 1, ..Limits::default() };
    let gate = holdpoint_testkit::Gate::new();
    let tools = counting(&Arc::default(), &gate);
    let runtime = builder().tools(tools).limits(limits).start().await.expect("starts");
    let first = asked(&runtime, "a").await;
    let second = asked(&runtime, "b").await;
    assert_eq!(runtime.admin().turns(), 0, "both wait");
    for approval in [&first[0], &second[0]] {
        let decided = runtime.inbox(Subject::local()).decide(approval.clone(), true).await;
        assert_eq!(decided, Ok(Answered::Taken));
    }
    assert_eq!(runtime.admin().turns(), 2);
    assert_eq!(try_say(&runtime, "local", "c").await, refused(Refusal::Turns { limit: 1 }));
    gate.open();
    until("both are done", async || runtime.admin().turns() == 0).await;
    assert_eq!(try_say(&runtime, "local", "c").await, None);
}

#[tokio::test]
async fn open_chats_are_limited_for_each_subject() {
    let limit = 3;
    let runtime = start(Limits { open_chats_per_subject: limit, ..Limits::default() }, calls(1)).await;
    let first = asked(&runtime, "a").await;
    for chat in ["b", "c"] {
        asked(&runtime, chat).await;
    }
    assert_eq!(try_say(&runtime, "local", "d").await, refused(Refusal::OpenChats { limit }));
    assert_eq!(try_say(&runtime, "local", "b").await, None, "this one is open already");
    assert_eq!(try_say(&runtime, "ann", "e").await, None, "others are not concerned");
    assert_eq!(runtime.inbox(Subject::local()).decide(first[0].clone(), false).await, Ok(Answered::Taken));
    until("nothing is open in the first chat", async || runtime.admin().turns() == 0).await;
    assert_eq!(try_say(&runtime, "local", "d").await, None);
}

/// How many bytes a chat has.
async fn size(log: &MemoryLog, chat: &str) -> usize {
    use holdpoint_runtime::log::Log;
    let batches = log.read(&ChatId::from(chat), 0, 1000).await.expect("can be read");
    batches.iter().map(|batch| batch.payload.len()).sum()
}

#[tokio::test]
async fn a_full_chat_takes_no_new_message_and_every_outcome() {
    let log = Arc::new(MemoryLog::default());
    let runtime = builder().log(log.clone()).start().await.expect("starts");
    asked(&runtime, "c").await;
    let bytes = size(&log, "c").await;
    for (limit, is_full) in [(bytes + 1, false), (bytes, true), (bytes - 1, true)] {
        let log = Arc::new(MemoryLog::default());
        let limits = Limits { chat_bytes: limit, ..Limits::default() };
        let runtime = builder().log(log.clone()).limits(limits).start().await.expect("starts");
        let approvals = asked(&runtime, "c").await;
        assert_eq!(size(&log, "c").await, bytes);
        let again = try_say(&runtime, "local", "c").await;
        assert_eq!(again, if is_full { refused(Refusal::FullChat { limit }) } else { None });
        if is_full {
            let decided = runtime.inbox(Subject::local()).decide(approvals[0].clone(), true).await;
            assert_eq!(decided, Ok(Answered::Taken));
            until("the turn ends", async || runtime.admin().turns() == 0).await;
            let text = history(&runtime, "c").await;
            assert!(text.contains(r#""output":{"count":1}"#) && text.contains("done"), "{text}");
        }
    }
}

#[tokio::test]
async fn loaded_chats_are_limited() {
    let log = Arc::new(MemoryLog::default());
    let runtime = builder().log(log.clone()).start().await.expect("starts");
    asked(&runtime, "c").await;
    until("it sleeps", async || runtime.admin().awake() == 0).await;
    assert_eq!(runtime.admin().counts().loaded_bytes, 0, "a chat that sleeps takes none");
    let opened = runtime.chats(&Subject::local()).open(&"c".into()).await.expect("is there");
    let weight = runtime.admin().counts().loaded_bytes;
    assert!(weight > size(&log, "c").await, "more than its text");
    drop(opened);
    // A little more is reserved while it is read.
    for (limit, is_loaded) in [(4 * weight, true), (weight - 1, false)] {
        let limits = Limits { loaded_bytes: limit, ..Limits::default() };
        let runtime = builder().log(log.clone()).limits(limits).start().await.expect("starts");
        let messages = runtime.chats(&Subject::local()).messages(&"c".into()).await;
        match is_loaded {
            true => assert!(messages.is_ok(), "{messages:?}"),
            false => assert!(matches!(messages, Err(RuntimeError::Busy)), "{messages:?}"),
        }
        assert_eq!(runtime.admin().counts().refused_loads, u64::from(!is_loaded));
    }
}

/// A model that makes calls of `look`, which runs in the browser, with this input, then says "done".
fn looking(calls: usize, input: &Value) -> RuntimeBuilder {
    let call = json!({"toolCall": {"name": "look", "input": input}});
    let script = json!({"turns": [{"steps": [vec![call; calls], [{"text": ["done"]}]]}]});
    let model = ScriptModel::from_text(&script.to_string()).expect("a valid script");
    let look = Tool::frontend::<Value>("look", "Looks").build().expect("a valid tool");
    Runtime::builder(Arc::new(model)).tools([look].into_iter().collect::<ToolSet>())
}

async fn acked(runtime: &Runtime, call: &str, output: Value) -> Result<Answered, RuntimeError> {
    let raw = json!({"toolCallId": call, "status": "success", "output": output, "requestedAt": "2026-01-01T00:00:00Z"});
    let ack = serde_json::from_value(raw.clone()).expect("an ack");
    runtime.chats(&Subject::local()).ack(ack, raw).await
}

/// A short text can take much memory once it is parsed: results count as what they take.
#[tokio::test]
async fn results_of_many_small_values_are_limited() {
    let limits = Limits { loaded_bytes_per_subject: 2_500_000, ..Limits::default() };
    let runtime = looking(4, &json!({})).limits(limits).start().await.expect("starts");
    let mut response = submit(&runtime, "c").await;
    let mut written = Vec::new();
    let mut calls = Vec::new();
    while calls.len() < 4 {
        assert_eq!(response.read(&mut written).await, Next::More {});
        std::mem::take(&mut written).into_iter().for_each(|written| {
            written.for_each(|chunk| {
                if let Chunk::ToolInputAvailable(call) = chunk {
                    calls.push(call.tool_call_id.to_string());
                }
            });
        });
    }
    drop(response);
    let many = json!(vec![1; 5_000]);
    assert_eq!(acked(&runtime, &calls[0], many.clone()).await, Ok(Answered::Taken));
    assert_eq!(acked(&runtime, &calls[1], many.clone()).await, Ok(Answered::Taken));
    assert_eq!(acked(&runtime, &calls[2], many).await, Err(RuntimeError::Busy), "20 KB that take 0.8 MB");
    assert_eq!(acked(&runtime, &calls[2], json!(1)).await, Ok(Answered::Taken), "a small one always has room");
    assert_eq!(acked(&runtime, &calls[3], json!(1)).await, Ok(Answered::Taken));
    until("the turn ends", async || runtime.admin().turns() == 0).await;
    assert!(history(&runtime, "c").await.contains("done"));
}

/// A turn that runs does not grow over the share of its subject: a call with an input that does not fit fails, and the
/// model goes on.
#[tokio::test]
async fn inputs_that_do_not_fit_are_refused() {
    let limits = Limits { loaded_bytes_per_subject: 700_000, ..Limits::default() };
    let runtime = looking(1, &json!({"values": vec![1; 5_000]})).limits(limits).start().await.expect("starts");
    read(submit(&runtime, "c").await).await;
    let text = history(&runtime, "c").await;
    assert!(text.contains("does not fit into the memory") && text.contains("done"), "{text}");
}

/// What the model writes has an end too.
#[tokio::test]
async fn an_answer_that_does_not_fit_is_stopped() {
    let limits = Limits { loaded_bytes_per_subject: 900_000, ..Limits::default() };
    let deltas = vec!["x".repeat(1000); 1000];
    let script = json!({"turns": [{"steps": [[{"text": deltas}]]}]});
    let model = ScriptModel::from_text(&script.to_string()).expect("a valid script");
    let runtime = with_model(Arc::new(model)).limits(limits).start().await.expect("starts");
    submit(&runtime, "c").await;
    until("the turn ends", async || runtime.admin().turns() == 0).await;
    let written = history(&runtime, "c").await.len();
    assert!(written > 10_000 && written < 900_000, "{written}");
}

#[tokio::test]
async fn ids_are_limited() {
    let runtime = builder().start().await.expect("starts");
    let limit = Limits::default().id_bytes;
    for (length, what) in [(limit - 1, None), (limit, None), (limit + 1, Some("id"))] {
        let refused = try_say(&runtime, "local", &"x".repeat(length)).await;
        let expected = what.map(|what| RuntimeError::Rejected(Rejection::LongId { what, limit }));
        assert_eq!(refused, expected, "a chat's id of {length} bytes");
    }
    for (length, is_long) in [(limit, false), (limit + 1, true)] {
        let id = "é".repeat(length / 2) + &"x".repeat(length % 2);
        for (number, body) in [
            json!({"messages": [{"id": id, "role": "user", "content": "go"}]}),
            json!({"messages": [{"id": id, "role": "assistant", "parts": []}, {"role": "user", "content": "go"}]}),
            json!({"messages": [{"role": "user", "content": "go"}], "messageId": id}),
        ]
        .into_iter()
        .enumerate()
        {
            let mut request: ChatRequest = serde_json::from_value(body).expect("a valid body");
            request.id = Some(ChatId::from(&*format!("chat {length} {number}")));
            let refused = try_submit(&runtime, "local", request).await.err();
            let expected = is_long.then_some(RuntimeError::Rejected(Rejection::LongId { what: "messages", limit }));
            assert_eq!(refused, expected, "a message's id of {length} bytes, {number}");
        }
    }
    for id in ["", ".", ".."] {
        let refused = try_say(&runtime, "local", id).await;
        assert_eq!(refused, Some(RuntimeError::Rejected(Rejection::UnusableId(id.to_owned()))));
    }
}

/// What a client does not read is not made: a replay comes in pieces, and is whole in the end.
#[tokio::test]
async fn a_long_replay_is_made_in_pieces() {
    use holdpoint_runtime::{Profile, wire::Resume};
    let piece = "~".repeat(16 * 1024);
    // Each is a fact of its own, since the model waits in between.
    let text = (0..40).flat_map(|_| [json!({"text": [piece]}), json!({"waitMs": 1})]);
    let events: Vec<_> = text.chain([json!({"waitMs": 600_000}), json!({"text": ["late"]})]).collect();
    let script = json!({"turns": [{"steps": [events]}]});
    let model = Arc::new(ScriptModel::from_text(&script.to_string()).expect("a valid script"));
    // By the clock of the system: the model writes by itself.
    let runtime = Runtime::builder(model).tools(holdpoint_demo::demo_tools()).start().await.expect("starts");
    let view = View { profile: Profile::AiSdk, ..View::default() };
    let mut own = runtime.submit(&Subject::local(), said("c"), view).await.expect("is taken").1;
    let length = |chunks: &[Chunks]| format!("{chunks:?}").matches('~').count();
    let mut seen = Vec::new();
    while length(&seen) < 40 * piece.len() {
        assert_eq!(own.read(&mut seen).await, Next::More);
    }
    let resumed = runtime.chats(&Subject::local()).resume(&"c".into(), view, Resume::Message).await.expect("it reads");
    let mut resumed = resumed.expect("it is being written");
    let (mut shown, mut most) = (Vec::new(), 0);
    while length(&shown) < 40 * piece.len() {
        let before = length(&shown);
        assert_eq!(resumed.read(&mut shown).await, Next::More);
        most = most.max(length(&shown) - before);
    }
    assert_eq!(length(&shown), 40 * piece.len(), "each piece once");
    assert!(most <= 128 * 1024, "{most} bytes at once");
}
