//! Chats of many turns: what a request costs depends on the last turn, and what it gets does not depend on how long ago something was.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use holdpoint_demo::demo_tools;
use holdpoint_protocol::{
    chunk::{Chunk, Chunks},
    ids::{ApprovalId, ChatId},
    request::ChatRequest,
};
use holdpoint_runtime::{
    Listed, Next, Profile, ResponseStream, Resume, Runtime,
    fact::Fact,
    log::{Append, AppendId, Log, MemoryLog, Ownership, Store, Stored},
    model::ScriptModel,
    subject::Subject,
    tool::{Tool, ToolContext, ToolSet},
    turn::Answered,
    wire::View,
};
use holdpoint_testkit::FaultyLog;
use serde_json::{Value, json};

fn me() -> Subject {
    Subject::local()
}

fn chat() -> ChatId {
    "c".into()
}

/// `pay` needs approval, `count` says how often it was called as far as it knows by its last output.
fn tools(paid: &Arc<AtomicUsize>) -> ToolSet {
    let paid = Arc::clone(paid);
    let pay = Tool::server("pay", "Pays", move |_: Value, _: ToolContext| {
        let count = paid.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(json!({"count": count})) }
    });
    let count = Tool::server("count", "Counts", async |_: Value, context: ToolContext| {
        let before = context.last_output.and_then(|output| output["calls"].as_u64()).unwrap_or(0);
        Ok(json!({"calls": before + 1}))
    });
    [pay.approve_always().build().expect("valid"), count.build().expect("valid")].into_iter().collect()
}

struct World {
    log: Arc<FaultyLog>,
    paid: Arc<AtomicUsize>,
    runtime: Runtime,
}

impl World {
    async fn start() -> Self {
        Self::on(Arc::new(MemoryLog::default())).await
    }

    async fn on(log: Arc<dyn Store>) -> Self {
        let log = Arc::new(FaultyLog::new(log));
        let paid = Arc::new(AtomicUsize::new(0));
        let runtime = runtime(&log, &paid).await;
        Self { log, paid, runtime }
    }

    /// Another process on the same log: nothing is in memory.
    async fn restart(&mut self) {
        self.runtime.shutdown(Duration::from_secs(5)).await;
        self.runtime = runtime(&self.log, &self.paid).await;
        self.log.take_bytes_read();
    }

    async fn say(&self, id: &str, text: &str) -> String {
        let message = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]});
        self.send(json!({"id": "c", "messages": [message]})).await.expect("is taken")
    }

    async fn send(&self, body: Value) -> Result<String, String> {
        let request: ChatRequest = serde_json::from_value(body).expect("a body");
        match self.runtime.submit(&me(), request, view()).await {
            Ok((_, response)) => Ok(read(response).await),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn turns(&self, from: usize, to: usize) {
        for number in from..to {
            self.say(&format!("u{number}"), "chat a little").await;
        }
    }

    async fn approval(&self) -> ApprovalId {
        self.runtime.inbox(me()).list().await.expect("it lists").remove(0).approval_id
    }

    async fn facts(&self) -> Vec<Fact> {
        let batches = self.log.read(&chat(), 0, 100_000).await.expect("can be read");
        let read = |payload: &[u8]| serde_json::from_slice::<Vec<Fact>>(payload).expect("facts");
        batches.iter().flat_map(|batch| read(&batch.payload)).collect()
    }

    async fn messages(&self) -> Vec<Value> {
        let messages = self.runtime.chats(&me()).messages(&chat()).await.expect("it is there");
        messages.iter().map(|message| serde_json::to_value(message).expect("JSON")).collect()
    }

    /// The text that the model was sent last, by a model that repeats it.
    async fn heard(&self) -> String {
        self.messages().await.last().map(|message| message["parts"].to_string()).unwrap_or_default()
    }
}

async fn runtime(log: &Arc<FaultyLog>, paid: &Arc<AtomicUsize>) -> Runtime {
    let script = json!({"turns": [
        {"when": "pay", "steps": [[{"toolCall": {"name": "pay", "input": {}}}], [{"text": ["paid"]}]]},
        {"when": "count", "steps": [[{"toolCall": {"name": "count", "input": {}}}], [{"text": ["counted"]}]]},
        {"steps": [[{"text": ["a little answer"]}]]},
    ]});
    let model = ScriptModel::from_text(&script.to_string()).expect("a valid script");
    Runtime::builder(Arc::new(model)).log(Arc::clone(log) as _).tools(tools(paid)).start().await.expect("starts")
}

fn view() -> View {
    View { profile: Profile::AiSdk, ..View::default() }
}

async fn read(mut response: ResponseStream) -> String {
    let mut written: Vec<Chunks> = Vec::new();
    let reading = async { while response.read(&mut written).await == Next::More {} };
    tokio::time::timeout(Duration::from_secs(20), reading).await.expect("it ends");
    let mut chunks: Vec<Chunk> = Vec::new();
    written.into_iter().for_each(|written| written.for_each(|chunk| chunks.push(chunk)));
    chunks.iter().map(|chunk| serde_json::to_string(chunk).expect("JSON") + "\n").collect()
}

/// What each request reads of a chat of so many turns, after a restart: events, digests.
async fn costs(turns: usize) -> Vec<(&'static str, (usize, usize))> {
    let mut world = World::start().await;
    world.turns(0, turns).await;
    let mut costs = Vec::new();
    world.restart().await;
    world.say("another", "chat a little").await;
    costs.push(("message", world.log.take_bytes_read()));
    world.say("payment", "pay").await;
    let approval = world.approval().await;
    world.restart().await;
    let resumed = world.runtime.chats(&me()).resume(&chat(), view(), Resume::Message).await.expect("it answers");
    costs.push(("resume", world.log.take_bytes_read()));
    drop(resumed);
    world.restart().await;
    assert_eq!(world.runtime.inbox(me()).decide(approval, true).await, Ok(Answered::Taken));
    costs.push(("decision", world.log.take_bytes_read()));
    world.runtime.chats(&me()).idle(&chat()).await.expect("it is there");
    assert_eq!(world.paid.load(Ordering::SeqCst), 1);
    costs
}

#[tokio::test]
async fn what_is_read_does_not_depend_on_the_number_of_turns() {
    let (few, many) = (costs(4).await, costs(60).await);
    for ((what, (few, _)), (_, (many, _))) in few.iter().zip(&many) {
        // The ids are longer, and so are the numbers.
        assert!(*many < few + 200, "{what}: {few} bytes with 4 turns, {many} with 60");
    }
    for (what, (_, digests)) in &many[1..2] {
        assert_eq!(*digests, 0, "{what}: the conversation is read only for the model");
    }
}

/// What each request about the first turn reads of a chat of so many turns, after a restart: events.
async fn costs_of_the_first_turn(turns: usize) -> Vec<(&'static str, usize)> {
    let mut world = World::start().await;
    world.say("first", "pay").await;
    let approval = world.approval().await;
    let call = world.runtime.inbox(me()).list().await.expect("it lists").remove(0).tool_call_id;
    assert_eq!(world.runtime.inbox(me()).decide(approval.clone(), true).await, Ok(Answered::Taken));
    world.runtime.chats(&me()).idle(&chat()).await.expect("it is there");
    world.say("second", "chat a little").await;
    world.turns(0, turns).await;
    let messages = world.messages().await;
    let (answer, second) = (&messages[1]["id"], &messages[3]["id"]);
    let mut costs = Vec::new();

    world.restart().await;
    assert_eq!(world.runtime.inbox(me()).decide(approval.clone(), true).await, Ok(Answered::Again));
    costs.push(("a repeated decision", world.log.take_bytes_read().0));
    world.restart().await;
    assert_eq!(world.runtime.inbox(me()).decide(approval.clone(), false).await, Ok(Answered::Contradicts));
    costs.push(("another decision", world.log.take_bytes_read().0));
    world.restart().await;
    let ack = json!({"toolCallId": call, "status": "success", "output": 1, "requestedAt": "2026-01-01T00:00:00Z"});
    let result = serde_json::from_value(ack.clone()).expect("an ack");
    assert_eq!(world.runtime.chats(&me()).ack(result, ack).await, Ok(Answered::Unknown), "it ran on the server");
    costs.push(("an ack", world.log.take_bytes_read().0));
    let before = world.facts().await.len();
    world.restart().await;
    let told = world.say("first", "pay").await;
    assert!(told.contains("paid") && !told.contains("a little answer"), "{told}");
    costs.push(("a message that is sent again", world.log.take_bytes_read().0));
    let responded = json!({"type": "tool-pay", "toolCallId": call, "state": "approval-responded", "input": {},
        "approval": {"id": approval, "approved": true}});
    let continued =
        |parts: Value| json!({"id": "c", "messages": [{"id": answer, "role": "assistant", "parts": parts}]});
    world.restart().await;
    let told = world.send(continued(json!([responded]))).await.expect("is taken");
    assert!(told.contains("tool-output-available") && told.contains(r#""count":1"#), "{told}");
    costs.push(("a client that continues the answer", world.log.take_bytes_read().0));
    assert_eq!(world.facts().await.len(), before, "nothing is added");
    // A call that never was is not looked for in all turns.
    world.restart().await;
    let strange = json!({"type": "tool-pay", "toolCallId": "strange", "state": "approval-responded", "input": {},
        "approval": {"id": "strange", "approved": true}});
    let mut last = world.messages().await.pop().expect("there are some");
    last["parts"].as_array_mut().expect("a list").push(strange);
    world.restart().await;
    let _ = world.send(json!({"id": "c", "messages": [last]})).await;
    costs.push(("a call that never was", world.log.take_bytes_read().0));
    // These two take away the turns that follow.
    world.restart().await;
    let body = json!({"id": "c", "trigger": "regenerate-message", "messageId": second, "messages": []});
    world.send(body).await.expect("is taken");
    costs.push(("another answer to the second message", world.log.take_bytes_read().0));
    assert_eq!(world.messages().await.len(), 4);
    world.restart().await;
    let message = json!({"id": "first", "role": "user", "parts": [{"type": "text", "text": "something else"}]});
    world.send(json!({"id": "c", "messageId": "first", "messages": [message]})).await.expect("is taken");
    costs.push(("an edit of the first message", world.log.take_bytes_read().0));
    assert_eq!(world.messages().await.len(), 2);
    // A message that was cut is new again.
    world.restart().await;
    let before = world.facts().await.len();
    world.log.take_bytes_read();
    world.say("second", "chat a little").await;
    costs.push(("a message that was cut", world.log.take_bytes_read().0));
    assert!(world.facts().await.len() > before);
    assert_eq!(world.messages().await.len(), 4);
    costs
}

#[tokio::test]
async fn what_a_request_about_an_earlier_turn_reads_does_not_depend_on_the_number_of_turns() {
    let (few, many) = (costs_of_the_first_turn(4).await, costs_of_the_first_turn(60).await);
    for ((what, few), (_, many)) in few.iter().zip(&many) {
        println!("{what}: {few} bytes with 4 turns, {many} with 60");
    }
    for ((what, few), (_, many)) in few.iter().zip(&many) {
        assert!(*many < few + 200, "{what}: {few} bytes with 4 turns, {many} with 60");
    }
}

#[tokio::test]
async fn the_model_is_sent_everything_and_a_client_reads_everything() {
    let mut world = World::start().await;
    world.turns(0, 5).await;
    world.say("p", "pay").await;
    let approval = world.approval().await;
    world.restart().await;
    assert_eq!(world.runtime.inbox(me()).decide(approval, true).await, Ok(Answered::Taken));
    world.runtime.chats(&me()).idle(&chat()).await.expect("it is there");
    world.restart().await;
    world.turns(6, 9).await;
    let (facts, messages) = (world.facts().await, world.messages().await);
    assert_eq!(messages.len(), 2 * 9);
    // What the log has as digests is what the facts say.
    let digests = world.log.digests(&chat(), 0, 1000).await.expect("it reads");
    assert_eq!(digests.len(), 8, "one for each turn that is left behind");
    let told = holdpoint_runtime::wire::conversation(&facts.into_iter().map(Arc::new).collect::<Vec<_>>());
    assert_eq!(told.len(), 2 * 9 + 2, "the payment's step has a call and its result");
    world.restart().await;
    let seen = messages_of_model(&world).await;
    assert_eq!(seen, told.len() + 1, "and the new message");
    let opened = world.runtime.chats(&me()).open(&chat()).await.expect("it opens");
    let holds = opened.holds(Listed::Holds, &me().into()).await.expect("it lists");
    assert_eq!(holds.len(), 1);
}

/// The number of messages that the model gets with another message.
async fn messages_of_model(world: &World) -> usize {
    use holdpoint_protocol::chunk::FinishReason;
    use holdpoint_runtime::model::{Model, ModelError, ModelEvent, ModelRequest, Usage};
    #[derive(Debug)]
    struct Counting(AtomicUsize);
    impl Model for Counting {
        fn name(&self) -> &str {
            "counting"
        }
        fn stream(&self, request: ModelRequest) -> futures::stream::BoxStream<'static, Result<ModelEvent, ModelError>> {
            self.0.store(request.messages.len(), Ordering::SeqCst);
            let end =
                ModelEvent::Finish { usage: Usage::default(), reason: FinishReason::Stop, version: None, state: None };
            Box::pin(futures::stream::iter([Ok(ModelEvent::TextDelta("x".into())), Ok(end)]))
        }
    }
    let model = Arc::new(Counting(AtomicUsize::new(0)));
    let runtime = Runtime::builder(model.clone())
        .tools(demo_tools())
        .log(Arc::clone(&world.log) as _)
        .start()
        .await
        .expect("starts");
    let request = ChatRequest::user("c", "and now?");
    read(runtime.submit(&me(), request, view()).await.expect("is taken").1).await;
    model.0.load(Ordering::SeqCst)
}

#[tokio::test]
async fn earlier_turns_are_known_after_a_restart() {
    let mut world = World::start().await;
    world.say("u0", "pay").await;
    let approval = world.approval().await;
    let call = world.runtime.inbox(me()).list().await.expect("it lists").remove(0).tool_call_id;
    assert_eq!(world.runtime.inbox(me()).decide(approval.clone(), true).await, Ok(Answered::Taken));
    world.runtime.chats(&me()).idle(&chat()).await.expect("it is there");
    world.turns(1, 6).await;
    // A decision that is repeated, and one that contradicts.
    world.restart().await;
    assert_eq!(world.runtime.inbox(me()).decide(approval.clone(), true).await, Ok(Answered::Again));
    assert_eq!(world.runtime.inbox(me()).decide(approval.clone(), false).await, Ok(Answered::Contradicts));
    // A message that was sent before is not another one.
    world.restart().await;
    let before = world.facts().await.len();
    world.say("u2", "chat a little").await;
    assert_eq!(world.facts().await.len(), before, "nothing is added");
    // The payment's message, as a client shows it that missed its outcome.
    world.restart().await;
    let messages = world.messages().await;
    let part = json!({"type": "tool-pay", "toolCallId": call, "state": "approval-responded", "input": {},
        "approval": {"id": approval, "approved": true}});
    let body = json!({"id": "c", "messages": [{"id": messages[1]["id"], "role": "assistant", "parts": [part]}]});
    let told = world.send(body).await.expect("is taken");
    assert!(told.contains("tool-output-available") && told.contains(r#""count":1"#), "{told}");
    assert_eq!(world.paid.load(Ordering::SeqCst), 1);
}

/// A message whose answer is in another turn than the one it was said in.
#[tokio::test]
async fn a_message_that_is_sent_again_gets_its_own_answer() {
    let mut world = World::start().await;
    world.turns(0, 2).await;
    // Its answer is given anew.
    world.send(json!({"id": "c", "trigger": "regenerate-message", "messages": []})).await.expect("is taken");
    // It comes with the decision that the turn before it waits for.
    world.say("u2", "pay").await;
    let approval = world.approval().await;
    let call = world.runtime.inbox(me()).list().await.expect("it lists").remove(0).tool_call_id;
    let part = json!({"type": "tool-pay", "toolCallId": call, "state": "approval-responded", "input": {},
        "approval": {"id": approval, "approved": true}});
    let late = json!({"id": "late", "role": "user", "parts": [{"type": "text", "text": "chat a little"}]});
    let answer = world.messages().await.pop().expect("it is there")["id"].clone();
    let body = json!({"id": "c", "messages": [{"id": answer, "role": "assistant", "parts": [part]}, late]});
    world.send(body).await.expect("is taken");
    world.turns(3, 9).await;
    let messages = world.messages().await;
    let answered = |id: &str| {
        let said = messages.iter().position(|message| message["id"] == id).expect("it is there");
        assert_eq!(messages[said + 1]["role"], "assistant");
        format!(r#""messageId":{}"#, messages[said + 1]["id"])
    };
    for id in ["u0", "u1", "u2", "late", "u3", "u8"] {
        world.restart().await;
        let told = world.say(id, "chat a little").await;
        assert!(told.contains(&answered(id)), "{id}: {told}");
    }
}

#[tokio::test]
async fn earlier_messages_are_edited_and_answered_again_after_a_restart() {
    let mut world = World::start().await;
    world.turns(0, 6).await;
    world.restart().await;
    let ids: Vec<Value> = world.messages().await.iter().map(|message| message["id"].clone()).collect();
    // The answer to the third message, by its id.
    let body = json!({"id": "c", "trigger": "regenerate-message", "messageId": ids[5], "messages": []});
    world.send(body).await.expect("is taken");
    assert_eq!(world.messages().await.len(), 6);
    world.restart().await;
    assert_eq!(messages_of_model(&world).await, 7);
    // The last one, twice.
    for _ in 0..2 {
        world.restart().await;
        world.send(json!({"id": "c", "trigger": "regenerate-message", "messages": []})).await.expect("is taken");
        assert_eq!(world.messages().await.len(), 8);
    }
    // The second message is edited.
    world.restart().await;
    let message = json!({"id": ids[2], "role": "user", "parts": [{"type": "text", "text": "something else"}]});
    world.send(json!({"id": "c", "messageId": ids[2], "messages": [message]})).await.expect("is taken");
    assert_eq!(world.messages().await.len(), 4);
    world.restart().await;
    assert_eq!(messages_of_model(&world).await, 5);
    let nothing = json!({"id": "c", "trigger": "regenerate-message", "messageId": "never", "messages": []});
    world.restart().await;
    world.send(nothing).await.expect("the last one is meant");
}

#[tokio::test]
async fn a_tool_knows_its_last_output_of_an_earlier_turn() {
    let mut world = World::start().await;
    for number in 0..3 {
        world.say(&format!("n{number}"), "count").await;
        world.turns(10 * number, 10 * number + 2).await;
        world.restart().await;
    }
    world.say("last", "count").await;
    let heard = world.heard().await;
    assert!(heard.contains(r#""calls":4"#), "{heard}");
}

/// A chat of the version before has no checkpoint and no digests. It gets them with its next turn.
#[tokio::test]
async fn a_chat_without_a_checkpoint_is_read_whole_once() {
    let world = World::start().await;
    world.turns(0, 30).await;
    // The same events, with the head of that version.
    let old: Arc<dyn Store> = Arc::new(MemoryLog::default());
    let Ok(Some(Stored::Chat { head, .. })) = world.log.stored(&chat()).await else { panic!("it is there") };
    for (number, batch) in (0..).zip(world.log.read(&chat(), 0, 100_000).await.expect("it reads")) {
        let data = r#"{"title":"chat a little","isRunning":false,"holds":0}"#;
        let append = Append {
            chat: chat(),
            expected: batch.first,
            append_id: AppendId(number),
            count: batch.count,
            payload: batch.payload,
            head: holdpoint_runtime::log::Head { data: data.into(), ..head.clone() },
            keys: Vec::new(),
            holds: Default::default(),
            ownership: Ownership::Release,
            digest: None,
            audit: Vec::new(),
            grants: Default::default(),
        };
        old.append_many(vec![append]).await;
    }
    let mut world = World::on(old).await;
    world.restart().await;
    world.say("v", "chat a little").await;
    let (first, _) = world.log.take_bytes_read();
    world.restart().await;
    world.say("w", "chat a little").await;
    let (second, digests) = world.log.take_bytes_read();
    assert!(second * 5 < first && digests > 0, "{first}, then {second} and {digests} of digests");
    world.restart().await;
    let before = world.facts().await.len();
    world.say("u3", "chat a little").await;
    assert_eq!(world.facts().await.len(), before, "its messages are known");
    assert_eq!(messages_of_model(&world).await, 2 * 32 + 1);
}
