//! Several nodes on one log: any of them takes any request, whichever runs the turn.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use holdpoint_protocol::{
    chunk::{Chunk, Chunks},
    ids::ChatId,
    request::ChatRequest,
};
use holdpoint_runtime::{
    Change, Next, ResponseStream, Runtime, RuntimeError,
    approvers::Approvers,
    clock::Timestamp,
    fact::Fact,
    identity::{Identity, Role},
    log::{FORMAT, Log, LogError, MemoryLog, Store, Stored, Wakeup},
    model::ScriptModel,
    subject::Subject,
    tool::{Tool, ToolContext, ToolSet},
    turn::Answered,
    wire::{Event, Resume, View},
};
use holdpoint_testkit::{AppendFault, FaultyLog, Gate, ManualClock, ReadFault, SharedLog, until, within};
use serde_json::{Value, json};

const LEASE: Duration = Duration::from_millis(600);

/// Two nodes on one log, and what their tools have done.
struct Nodes {
    log: Arc<SharedLog>,
    a: Runtime,
    b: Runtime,
    paid: Arc<AtomicUsize>,
    slow: Gate,
}

/// `pay` and `wire` need approval and count their runs, `wire` that of two people; `slow` waits at a gate.
fn tools(paid: &Arc<AtomicUsize>, slow: &Gate) -> ToolSet {
    let (paid, wired, slow) = (Arc::clone(paid), Arc::clone(paid), slow.clone());
    let wire = Tool::server("wire", "Pays", move |_: Value, _: ToolContext| {
        let count = wired.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(json!({"count": count})) }
    });
    let approvers = Approvers::new(["group:finance"]).expect("a group").quorum(2);
    let approvers = approvers.escalating(Duration::from_secs(1), ["group:directors"]).expect("a group");
    let wire = wire.approve_always().approvers(approvers).build().expect("valid");
    let pay = Tool::server("pay", "Pays", move |_: Value, _: ToolContext| {
        let count = paid.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(json!({"count": count})) }
    });
    let slow = Tool::server("slow", "Takes its time", move |_: Value, _: ToolContext| {
        let slow = slow.clone();
        async move {
            slow.pass().await;
            Ok(json!("slow is over"))
        }
    });
    [pay.approve_always().build().expect("valid"), wire, slow.build().expect("valid")].into_iter().collect()
}

async fn node(log: Arc<dyn Store>, steps: &Value, tools: ToolSet) -> Runtime {
    let script =
        json!({"turns": [{"when": "something else", "steps": [[{"text": ["second answer"]}]]}, {"steps": steps}]});
    let model = ScriptModel::from_text(&script.to_string()).expect("a valid script");
    Runtime::builder(Arc::new(model)).log(log).tools(tools).start().await.expect("starts")
}

impl Nodes {
    async fn start(steps: Value) -> Self {
        let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
        Self::on(Arc::clone(&log), log.clone(), log, steps).await
    }

    async fn on(log: Arc<SharedLog>, of_a: Arc<dyn Store>, of_b: Arc<dyn Store>, steps: Value) -> Self {
        let (paid, slow) = (Arc::new(AtomicUsize::new(0)), Gate::new());
        let a = node(of_a, &steps, tools(&paid, &slow)).await;
        let b = node(of_b, &steps, tools(&paid, &slow)).await;
        Self { log, a, b, paid, slow }
    }

    fn paid(&self) -> usize {
        self.paid.load(Ordering::SeqCst)
    }

    async fn facts(&self) -> Vec<Fact> {
        holdpoint_testkit::facts(&*self.log, chat()).await
    }
}

fn chat() -> ChatId {
    "c".into()
}

fn me() -> Subject {
    Subject::local()
}

fn call(name: &str) -> Value {
    json!({"toolCall": {"name": name, "input": {}}})
}

fn said(text: &str) -> ChatRequest {
    serde_json::from_value(json!({"id": "c", "messages": [{"role": "user", "content": text}]})).expect("a body")
}

async fn submit(runtime: &Runtime, text: &str) -> ResponseStream {
    runtime.submit(&me(), said(text), View::default()).await.expect("is taken").1
}

/// The text of all chunks to the end of the response.
async fn read(mut response: ResponseStream) -> String {
    within("the response ends", async {
        let mut written = Vec::new();
        while response.read(&mut written).await == Next::More {}
        text(written)
    })
    .await
}

fn text(written: Vec<Chunks>) -> String {
    let mut chunks: Vec<Chunk> = Vec::new();
    written.into_iter().for_each(|written| written.for_each(|chunk| chunks.push(chunk)));
    chunks.iter().map(|chunk| serde_json::to_string(chunk).expect("JSON") + "\n").collect()
}

async fn messages(runtime: &Runtime) -> String {
    serde_json::to_string(&runtime.chats(&me()).messages(&chat()).await.expect("it is there")).expect("JSON")
}

async fn the_approval(runtime: &Runtime) -> holdpoint_protocol::ids::ApprovalId {
    until("an approval is requested", async || !runtime.inbox(me()).list().await.expect("it lists").is_empty()).await;
    runtime.inbox(me()).list().await.expect("it lists").remove(0).approval_id
}

#[tokio::test]
async fn what_waits_is_decided_on_any_node_and_shown_on_all() {
    let nodes = Nodes::start(json!([[call("pay")], [{"text": ["all done"]}]])).await;
    let asked = read(submit(&nodes.a, "go").await).await;
    assert!(asked.contains("tool-approval-request"), "{asked}");
    let approval = the_approval(&nodes.b).await;
    let watched = nodes.a.live(me()).follow_from_now(&chat(), View::default()).await.expect("it follows");
    assert_eq!(nodes.b.inbox(me()).decide(approval.clone(), true).await, Ok(Answered::Taken));
    until("both show it", async || {
        messages(&nodes.a).await.contains("all done") && messages(&nodes.b).await.contains("all done")
    })
    .await;
    drop(watched);
    assert_eq!(nodes.paid(), 1);
    assert_eq!(nodes.a.inbox(me()).decide(approval.clone(), true).await, Ok(Answered::Again));
    assert_eq!(nodes.a.inbox(me()).decide(approval, false).await, Ok(Answered::Contradicts));
}

/// Whichever node notices that it is time, those of the escalation are added once, and hear of it on any node.
#[tokio::test]
async fn an_escalation_takes_place_once_and_votes_count_on_any_node() {
    let nodes = Nodes::start(json!([[call("wire")], [{"text": ["Done."]}]])).await;
    let approver = |name: &str, group: &str| Identity::new(name).with_roles([Role::Approver]).with_groups([group]);
    let (bob, dora) = (approver("bob", "finance"), approver("dora", "directors"));
    let mut heard = nodes.b.changes(&dora);
    read(submit(&nodes.a, "wire it").await).await;
    let waiting = nodes.b.inbox(&bob).list().await.expect("can be read");
    let approval = waiting.first().expect("it waits").approval_id.clone();
    assert!(nodes.b.inbox(&dora).list().await.expect("can be read").is_empty());
    assert_eq!(nodes.b.inbox(&dora).decide(approval.clone(), true).await, Ok(Answered::Unknown));
    let voted = Answered::Voted { votes: 1, quorum: 2 };
    assert_eq!(nodes.b.inbox(&bob).decide(approval.clone(), true).await, Ok(voted));
    assert_eq!(nodes.a.inbox(&bob).decide(approval.clone(), true).await, Ok(Answered::Again));
    let told = within("the word of the escalation", heard.next()).await;
    assert_eq!(told, Some(Change::Approvals { chat: chat() }));
    for node in [&nodes.a, &nodes.b] {
        until("it is in the inbox", async || !node.inbox(&dora).list().await.expect("can be read").is_empty()).await;
    }
    assert_eq!(nodes.paid(), 0);
    let (a, b) = (nodes.a.inbox(&dora), nodes.b.inbox(&dora));
    let (here, there) = tokio::join!(a.decide(approval.clone(), true), b.decide(approval.clone(), true));
    let mut answers = [here, there];
    answers.sort_by_key(|answer| *answer != Ok(Answered::Taken));
    assert_eq!(answers, [Ok(Answered::Taken), Ok(Answered::Again)]);
    until("it is paid", async || messages(&nodes.a).await.contains("Done.")).await;
    assert_eq!(nodes.paid(), 1);
    let escalated = nodes.facts().await.iter().filter(|fact| matches!(fact, Fact::Escalated { .. })).count();
    assert_eq!(escalated, 1);
}

#[tokio::test]
async fn a_decision_reaches_the_node_that_runs_the_turn() {
    for approved in [true, false] {
        let nodes = Nodes::start(json!([[call("slow"), call("pay")], [{"text": ["all done"]}]])).await;
        let response = submit(&nodes.a, "go").await;
        nodes.slow.arrived().await;
        let approval = the_approval(&nodes.b).await;
        let decision = holdpoint_protocol::request::DecisionRequest {
            verdict: approved.into(),
            reason: Some("because".into()),
            remember: None,
        };
        assert_eq!(nodes.b.inbox(me()).decide(approval, decision).await, Ok(Answered::Taken));
        until("the owner acts on it", async || {
            nodes.facts().await.iter().filter(|fact| matches!(fact, Fact::Settled { .. })).count() == 1
        })
        .await;
        assert_eq!(nodes.paid(), usize::from(approved));
        nodes.slow.open();
        let shown = read(response).await;
        assert!(shown.contains("slow is over") && shown.contains("all done"), "{shown}");
        assert!(approved || shown.contains("because"), "{shown}");
        assert_eq!(nodes.paid(), usize::from(approved));
    }
}

#[tokio::test]
async fn a_stop_ends_the_turn_of_another_node() {
    let nodes = Nodes::start(json!([[call("slow")], [{"text": ["never"]}]])).await;
    let response = submit(&nodes.a, "go").await;
    nodes.slow.arrived().await;
    within("the stop is answered", nodes.b.chats(&me()).stop(&chat(), None)).await.expect("it stops");
    let facts = nodes.facts().await;
    assert!(matches!(facts.last(), Some(Fact::TurnEnded { .. })), "{facts:?}");
    let shown = read(response).await;
    assert!(shown.contains("interrupted: outcome unknown"), "{shown}");
    assert_eq!(nodes.a.admin().turns(), 0);
}

#[tokio::test]
async fn a_new_message_supersedes_the_turn_of_another_node() {
    let nodes = Nodes::start(json!([[call("slow")], [{"text": ["never"]}]])).await;
    let first = submit(&nodes.a, "go").await;
    nodes.slow.arrived().await;
    let second = submit(&nodes.b, "something else").await;
    let first = read(first).await;
    assert!(first.contains("superseded"), "{first}");
    until("the next turn ends", async || {
        nodes.facts().await.iter().filter(|fact| matches!(fact, Fact::TurnEnded { .. })).count() == 2
    })
    .await;
    let second = read(second).await;
    assert!(second.contains("second answer") && !second.contains("slow"), "{second}");
    let history = messages(&nodes.b).await;
    assert!(history.contains("something else") && history.contains("second answer"), "{history}");
}

/// A client that repeats its message gets the turn of that message, also while another node still runs the one before.
#[tokio::test]
async fn a_repeated_message_gets_its_own_turn() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let cut = Arc::new(FaultyLog::new(Arc::clone(&log) as _));
    let steps = json!([[call("slow")], [{"text": ["never"]}]]);
    let nodes = Nodes::on(Arc::clone(&log), cut.clone(), log, steps).await;
    drop(submit(&nodes.a, "go").await);
    nodes.slow.arrived().await;
    cut.fill_disk();
    let message = json!({"id": "u2", "role": "user", "parts": [{"type": "text", "text": "something else"}]});
    let request = || serde_json::from_value(json!({"id": "c", "messages": [message]})).expect("a body");
    let first = nodes.b.submit(&me(), request(), View::default()).await.expect("is taken").1;
    let again = nodes.b.submit(&me(), request(), View::default()).await.expect("is taken").1;
    for response in [first, again] {
        let shown = read(response).await;
        assert!(shown.contains("second answer") && !shown.contains("slow"), "{shown}");
    }
}

/// Two nodes begin the same chat at the same time. Its title is the message that the log has first.
#[tokio::test]
async fn a_message_that_comes_second_gives_no_title() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let cut = Arc::new(FaultyLog::new(Arc::clone(&log) as _));
    let nodes = Nodes::on(Arc::clone(&log), cut.clone(), log, json!([[{"text": ["first answer"]}]])).await;
    let gate = Gate::new();
    cut.on_append(AppendFault::HoldBefore(gate.clone()));
    let late = submit(&nodes.a, "late");
    let early = async {
        gate.arrived().await;
        let early = read(submit(&nodes.b, "early").await).await;
        gate.open();
        early
    };
    let (late, early) = tokio::join!(late, early);
    assert!(early.contains("first answer") && read(late).await.contains("first answer"));
    for node in [&nodes.a, &nodes.b] {
        let titles: Vec<_> =
            node.chats(&me()).list().await.expect("can be listed").into_iter().map(|chat| chat.title).collect();
        assert_eq!(titles, ["early"]);
    }
}

/// On a live connection too, the turn that is superseded ends before the next one begins.
#[tokio::test]
async fn a_live_connection_sees_the_end_of_a_superseded_turn() {
    let nodes = Nodes::start(json!([[call("slow")], [{"text": ["never"]}]])).await;
    drop(submit(&nodes.a, "go").await);
    nodes.slow.arrived().await;
    let mut live = nodes.a.live(me()).follow(&chat(), View::default()).await.expect("it follows");
    drop(submit(&nodes.b, "something else").await);
    let mut out = Vec::new();
    within("the next turn is shown", async {
        while !format!("{out:?}").contains("second answer") {
            assert_eq!(live.next(&mut out).await, Next::More);
        }
    })
    .await;
    let kinds: Vec<&str> = out
        .iter()
        .map(|event| match event {
            Event::Start { .. } => "start",
            Event::Aborted { .. } => "abort",
            Event::End => "end",
            _ => "other",
        })
        .filter(|kind| *kind != "other")
        .collect();
    assert_eq!(kinds[..4], ["start", "abort", "end", "start"], "{out:?}");
}

#[tokio::test]
async fn a_chat_that_runs_elsewhere_is_deleted() {
    let nodes = Nodes::start(json!([[call("slow")], [{"text": ["never"]}]])).await;
    let response = submit(&nodes.a, "go").await;
    nodes.slow.arrived().await;
    within("it is deleted", nodes.b.chats(&me()).delete(&chat())).await.expect("it deletes");
    assert!(nodes.facts().await.is_empty());
    read(response).await;
    until("nobody has it", async || nodes.a.chats(&me()).messages(&chat()).await.is_err()).await;
    // Its id may be used again, from the next position on.
    nodes.slow.open();
    let again = read(submit(&nodes.b, "again").await).await;
    assert!(again.contains("slow"), "{again}");
}

#[tokio::test]
async fn a_reader_on_another_node_sees_the_turn_as_it_is_written() {
    let nodes = Nodes::start(json!([[{"text": ["one "]}, call("slow")], [{"text": ["two"]}]])).await;
    let here = submit(&nodes.a, "go").await;
    nodes.slow.arrived().await;
    let view = View { profile: holdpoint_runtime::Profile::AiSdk, ..View::default() };
    let resume = holdpoint_runtime::Resume::Message;
    let there = nodes.b.chats(&me()).resume(&chat(), view, resume).await.expect("it resumes").expect("something runs");
    nodes.slow.open();
    let (here, there) = (read(here).await, read(there).await);
    for part in ["one ", "slow is over", "two"] {
        assert!(here.contains(part) && there.contains(part), "{part}: {here}\n{there}");
    }
}

#[tokio::test]
async fn lost_wakeups_only_delay() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let deaf = |log: &Arc<SharedLog>| Arc::new(FaultyLog::without_wakeups(Arc::clone(log) as _));
    let (a, b) = (deaf(&log), deaf(&log));
    let steps = json!([[call("slow"), call("pay")], [{"text": ["all done"]}]]);
    let nodes = Nodes::on(log, a, b, steps).await;
    let response = submit(&nodes.a, "go").await;
    nodes.slow.arrived().await;
    let approval = the_approval(&nodes.b).await;
    assert_eq!(nodes.b.inbox(me()).decide(approval, true).await, Ok(Answered::Taken));
    until("the owner polls", async || nodes.paid() == 1).await;
    nodes.slow.open();
    assert!(read(response).await.contains("all done"));
}

/// A chat has changed as far as is known, but has no new facts; and when it is asked whether it was deleted, it has. That is
/// no reason to give it up.
#[tokio::test]
async fn a_chat_that_is_appended_to_between_two_reads_is_followed_on() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let deaf = Arc::new(FaultyLog::without_wakeups(Arc::clone(&log) as _));
    let steps = json!([[call("pay")], [{"text": ["all done"]}]]);
    let nodes = Nodes::on(Arc::clone(&log), log, Arc::clone(&deaf) as _, steps).await;
    read(submit(&nodes.a, "go").await).await;
    let mut live = nodes.b.live(me()).follow(&chat(), View::default()).await.expect("it follows");
    let gate = Gate::new();
    deaf.on_stored(ReadFault::Hold(gate.clone()));
    deaf.wake(Wakeup::Any);
    within("it asks", gate.arrived()).await;
    let approval = the_approval(&nodes.a).await;
    assert_eq!(nodes.a.inbox(me()).decide(approval, true).await, Ok(Answered::Taken));
    until("it is paid", async || nodes.paid() == 1).await;
    gate.open();
    let mut out = Vec::new();
    within("the follower sees it", async {
        while !format!("{out:?}").contains("all done") {
            assert_eq!(live.next(&mut out).await, Next::More, "the chat was given up");
        }
    })
    .await;
}

/// The node that has the chat awake does not know yet that it is gone.
#[tokio::test]
async fn a_chat_is_deleted_once() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let deaf = Arc::new(FaultyLog::without_wakeups(Arc::clone(&log) as _));
    let nodes = Nodes::on(Arc::clone(&log), log, deaf, json!([[call("pay")], [{"text": ["all done"]}]])).await;
    read(submit(&nodes.a, "go").await).await;
    let _live = nodes.b.live(me()).follow(&chat(), View::default()).await.expect("it follows");
    assert_eq!(nodes.a.chats(&me()).delete(&chat()).await, Ok(()));
    assert_eq!(nodes.b.chats(&me()).delete(&chat()).await, Err(RuntimeError::NotFound));
    assert_eq!(nodes.a.chats(&me()).delete(&chat()).await, Err(RuntimeError::NotFound));
}

/// A node that does not know the format of a fact could not read the chat any more.
#[tokio::test]
async fn a_fact_that_another_node_could_not_read_is_not_written() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let beside_older = Arc::new(FaultyLog::new(Arc::clone(&log) as _));
    beside_older.limit_format(FORMAT - 1);
    let nodes = Nodes::on(Arc::clone(&log), Arc::clone(&beside_older) as _, log, json!([[{"text": ["x"]}]])).await;
    let refused = nodes.a.submit(&me(), said("go"), View::default()).await.map(|_| ());
    assert!(matches!(refused, Err(RuntimeError::Log(LogError::Failed(_)))), "{refused:?}");
    assert_eq!(nodes.log.stored(&chat()).await, Ok(None));
    // The other node is gone, and the next renewal of the lease says so.
    beside_older.limit_format(FORMAT);
    until("it is written", async || nodes.a.submit(&me(), said("go"), View::default()).await.is_ok()).await;
    assert!(matches!(nodes.log.stored(&chat()).await, Ok(Some(Stored::Chat { .. }))));
}

#[tokio::test]
async fn the_turn_of_a_node_that_is_gone_is_taken_over() {
    let nodes = Nodes::start(json!([[call("slow"), call("pay")], [{"text": ["all done"]}]])).await;
    let Nodes { log, a, b, paid, slow } = nodes;
    drop(submit(&a, "go").await);
    slow.arrived().await;
    // A follower on the node that takes over, from before.
    let mut live = b.live(me()).follow(&chat(), View::default()).await.expect("it follows");
    drop(a);
    let batches = within("it is taken over", async {
        loop {
            let batches = log.read(&chat(), 0, 1000).await.expect("it reads");
            let text: String =
                batches.iter().map(|batch| String::from_utf8_lossy(&batch.payload).into_owned()).collect();
            if text.contains("interrupted") {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let text = batches.await;
    assert_eq!(text.matches("interrupted: outcome unknown").count(), 1, "{text}");
    let approval = the_approval(&b).await;
    assert_eq!(b.inbox(me()).decide(approval, true).await, Ok(Answered::Taken));
    until("it goes on", async || messages(&b).await.contains("all done")).await;
    assert_eq!(paid.load(Ordering::SeqCst), 1);
    let mut out = Vec::new();
    within("the follower sees it", async {
        while !format!("{out:?}").contains("all done") {
            assert_eq!(live.next(&mut out).await, Next::More);
        }
    })
    .await;
}

/// A node that can't renew its lease or append, and comes back.
#[tokio::test]
async fn a_node_that_was_cut_off_does_no_harm_when_it_comes_back() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let cut = Arc::new(FaultyLog::new(Arc::clone(&log) as _));
    let steps = json!([[call("slow"), call("pay")], [{"text": ["all done"]}]]);
    let nodes = Nodes::on(Arc::clone(&log), cut.clone(), log, steps).await;
    let response = submit(&nodes.a, "go").await;
    nodes.slow.arrived().await;
    let approval = the_approval(&nodes.b).await;
    cut.fill_disk();
    until("it is taken over", async || nodes.facts().await.iter().any(|fact| matches!(fact, Fact::Settled { .. })))
        .await;
    // Its tool ends while it is cut off: the outcome comes too late.
    nodes.slow.open();
    tokio::time::sleep(Duration::from_millis(50)).await;
    cut.free_disk();
    assert_eq!(nodes.b.inbox(me()).decide(approval, true).await, Ok(Answered::Taken));
    until("it goes on", async || messages(&nodes.b).await.contains("all done")).await;
    until("the other one sees it", async || messages(&nodes.a).await.contains("all done")).await;
    let facts = nodes.facts().await;
    let settled = facts.iter().filter(|fact| matches!(fact, Fact::Settled { .. })).count();
    assert_eq!((settled, nodes.paid()), (2, 1), "{facts:?}");
    drop(response);
}

/// Text that a node has shown and could not write is closed on the wire, and shown nowhere once another node has ended
/// the turn.
#[tokio::test]
async fn text_that_was_never_written_is_taken_back() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let cut = Arc::new(FaultyLog::new(Arc::clone(&log) as _));
    let steps = json!([[{"text": ["unwritten"]}, {"waitMs": 60_000}, {"text": ["never"]}]]);
    let nodes = Nodes::on(Arc::clone(&log), cut.clone(), log, steps).await;
    let view = View { profile: holdpoint_runtime::Profile::AiSdk, ..View::default() };
    let mut response = nodes.a.submit(&me(), said("go"), view).await.expect("is taken").1;
    cut.fill_disk();
    let mut shown = Vec::new();
    within("the text is shown", async {
        while !format!("{shown:?}").contains("unwritten") {
            assert_eq!(response.read(&mut shown).await, Next::More);
        }
    })
    .await;
    drop(submit(&nodes.b, "something else").await);
    until("it is taken over", async || messages(&nodes.b).await.contains("second answer")).await;
    // A client that stays keeps the chat awake.
    let watched = nodes.a.live(me()).follow_from_now(&chat(), View::default()).await;
    cut.free_disk();
    within("the response ends", async { while response.read(&mut shown).await == Next::More {} }).await;
    let shown = text(shown);
    assert!(shown.find("text-end") < shown.find("finish-step") && shown.contains("text-end"), "{shown}");
    until("both show the same", async || messages(&nodes.a).await.contains("second answer")).await;
    assert_eq!(messages(&nodes.a).await, messages(&nodes.b).await);
    drop(watched);
}

/// The owner dies in the middle of a step. Whoever follows from another node has its beginning, which the step that is done
/// again would repeat. So the response ends there, and the message is had anew, with each word once.
#[tokio::test]
async fn a_response_with_a_part_of_an_abandoned_step_ends() {
    let steps = json!([[{"reasoning": ["hm"]}, {"text": ["once "]}, {"waitMs": 1500}, {"text": ["and only"]}]]);
    let Nodes { a, b, .. } = Nodes::start(steps).await;
    let view = View { profile: holdpoint_runtime::Profile::AiSdk, ..View::default() };
    let mut own = a.submit(&me(), said("go"), view).await.expect("is taken").1;
    let mut seen = Vec::new();
    within("the text is shown", async {
        while !format!("{seen:?}").contains("once") {
            assert_eq!(own.read(&mut seen).await, Next::More);
        }
    })
    .await;
    let mut response =
        b.chats(&me()).resume(&chat(), view, Resume::Message).await.expect("it reads").expect("it is written");
    let mut live = b.live(me()).follow(&chat(), View { is_progressive: true, ..View::default() }).await.expect("live");
    let (mut shown, mut live_shown) = (Vec::new(), Vec::new());
    within("both follow", async {
        while !format!("{shown:?}").contains("once") {
            assert_eq!(response.read(&mut shown).await, Next::More);
        }
        while !format!("{live_shown:?}").contains("once") {
            assert_eq!(live.next(&mut live_shown).await, Next::More);
        }
    })
    .await;
    drop((own, a));
    within("both end", async {
        while response.read(&mut shown).await == Next::More {}
        while live.next(&mut live_shown).await == Next::More {}
    })
    .await;
    assert_eq!(response.read(&mut shown).await, Next::Gone);
    let shown = text(shown);
    assert_eq!((shown.matches("once").count(), shown.contains("text-end")), (1, true), "{shown}");
    assert_eq!(format!("{live_shown:?}").matches("once").count(), 1, "{live_shown:?}");
    let again = b.chats(&me()).resume(&chat(), view, Resume::Message).await.expect("it reads").expect("it is written");
    let again = read(again).await;
    assert_eq!((again.matches("once").count(), again.matches("and only").count()), (1, 1), "{again}");
    assert!(again.contains("\"finish\""), "{again}");
}

/// A node that can't read the log says so. It does not show less than what another node has confirmed.
#[tokio::test]
async fn a_node_that_cannot_read_shows_nothing_old() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let deaf = Arc::new(FaultyLog::without_wakeups(Arc::clone(&log) as _));
    let nodes = Nodes::on(Arc::clone(&log), log, deaf.clone(), json!([[{"text": ["first answer"]}]])).await;
    read(submit(&nodes.a, "go").await).await;
    let _awake = nodes.b.live(me()).follow(&chat(), View::default()).await.expect("it follows");
    read(submit(&nodes.a, "something else").await).await;
    deaf.on_read(ReadFault::Error("no database".into()));
    if let Ok(shown) = nodes.b.chats(&me()).messages(&chat()).await {
        let shown = serde_json::to_string(&shown).expect("JSON");
        assert!(shown.contains("second answer"), "{shown}");
    }
    assert!(messages(&nodes.b).await.contains("second answer"));
}

/// While the log can't be read, nothing that runs is given up: its outcome is written afterwards.
#[tokio::test]
async fn an_outage_of_the_log_costs_no_outcome() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), Duration::from_secs(60)));
    let cut = Arc::new(FaultyLog::new(Arc::clone(&log) as _));
    let steps = json!([[call("slow"), call("pay")], [{"text": ["all done"]}]]);
    let nodes = Nodes::on(Arc::clone(&log), cut.clone(), log, steps).await;
    drop(submit(&nodes.a, "go").await);
    nodes.slow.arrived().await;
    let approval = the_approval(&nodes.b).await;
    (0..6).for_each(|_| _ = cut.on_read(ReadFault::Error("no database".into())));
    assert_eq!(nodes.b.inbox(me()).decide(approval, true).await, Ok(Answered::Taken));
    nodes.slow.open();
    until("the turn ends", async || messages(&nodes.b).await.contains("all done")).await;
    let history = messages(&nodes.b).await;
    assert!(history.contains("slow is over"), "{history}");
    assert_eq!(nodes.paid(), 1);
}

/// A decision comes in on one node at about the time at which a call ends on the other.
#[tokio::test]
async fn a_decision_while_a_call_ends_is_carried_out_and_shown_at_once() {
    for round in 0..40u64 {
        let nodes = Nodes::start(json!([[call("slow"), call("pay")], [{"text": ["all done"]}]])).await;
        drop(submit(&nodes.a, "go").await);
        nodes.slow.arrived().await;
        let approval = the_approval(&nodes.b).await;
        let slow = nodes.slow.clone();
        let ends = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_micros(round * 20)).await;
            slow.open();
        });
        assert_eq!(nodes.b.inbox(me()).decide(approval, true).await, Ok(Answered::Taken));
        for node in [&nodes.a, &nodes.b] {
            let listed = holdpoint_runtime::Listed::Holds;
            let opened = node.chats(&me()).open(&chat()).await.expect("it opens");
            let holds = opened.holds(listed, &me().into()).await.expect("it lists");
            let states: Vec<_> = holds.iter().map(|hold| hold.state).collect();
            assert!(!states.contains(&holdpoint_protocol::holds::HoldState::Waiting), "{holds:?}");
            assert!(node.inbox(me()).list().await.expect("it lists").is_empty());
        }
        ends.await.expect("no panic");
        until("the turn ends", async || messages(&nodes.b).await.contains("all done")).await;
        assert_eq!(nodes.paid(), 1);
    }
}

/// Two nodes find the turns of a third one at the same time. Each turn is taken over once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_taken_over_once() {
    const TURNS: usize = 30;
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let steps = json!([[{"waitMs": 5_000}, {"text": ["never twice"]}]]);
    let Nodes { log, a, b, paid, slow } = Nodes::on(Arc::clone(&log), log.clone(), log, steps.clone()).await;
    let _c = node(Arc::clone(&log) as _, &steps, tools(&paid, &slow)).await;
    let chats: Vec<String> = (0..TURNS).map(|number| format!("c{number}")).collect();
    for chat in &chats {
        let request = ChatRequest::user(chat.as_str(), "go");
        drop(a.submit(&me(), request, View::default()).await.expect("is taken"));
    }
    drop(a);
    let abandoned = async |chat: &str| {
        let batches = log.read(&chat.into(), 0, 100).await.expect("it reads");
        let text: String = batches.iter().map(|batch| String::from_utf8_lossy(&batch.payload).into_owned()).collect();
        text.matches("step-abandoned").count()
    };
    for chat in &chats {
        until("it is taken over", async || abandoned(chat).await > 0).await;
    }
    // Longer than a lease: whoever would take over a second time has done so.
    tokio::time::sleep(2 * LEASE).await;
    for chat in &chats {
        assert_eq!(abandoned(chat).await, 1, "{chat}");
    }
    drop(b);
}

/// A node that comes back from an outage takes a chat before it has renewed its lease. Nobody takes that from it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_takes_when_it_is_back_stays_its_own() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let cut = Arc::new(FaultyLog::new(Arc::clone(&log) as _));
    let steps = json!([[{"waitMs": 500}, {"text": ["once"]}]]);
    let nodes = Nodes::on(Arc::clone(&log), cut.clone(), log, steps).await;
    for round in 0..6u32 {
        cut.fill_disk();
        tokio::time::sleep(2 * LEASE + LEASE / 20 * round).await;
        cut.free_disk();
        let request = ChatRequest::user(format!("c{round}").as_str(), "go");
        let response = nodes.a.submit(&me(), request, View::default()).await.expect("is taken").1;
        assert!(read(response).await.contains("once"));
    }
    for round in 0..6 {
        let batches = nodes.log.read(&format!("c{round}").as_str().into(), 0, 100).await.expect("it reads");
        let text: String = batches.iter().map(|batch| String::from_utf8_lossy(&batch.payload).into_owned()).collect();
        assert!(!text.contains("step-abandoned"), "{text}");
    }
}

/// A call was started, its lease lapsed before its tool began, and the log can't be read when it is renewed.
#[tokio::test]
async fn a_call_is_run_although_the_log_failed_when_its_lease_was_renewed() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let cut = Arc::new(FaultyLog::new(Arc::clone(&log) as _));
    let (paid, slow, started) = (Arc::new(AtomicUsize::new(0)), Gate::new(), Gate::new());
    slow.open();
    let steps = json!([[call("slow")], [{"text": ["all done"]}]]);
    let node = node(Arc::clone(&cut) as _, &steps, tools(&paid, &slow)).await;
    cut.on_append(AppendFault::Pass).on_append(AppendFault::HoldAfter(started.clone()));
    let response = submit(&node, "go").await;
    started.arrived().await;
    cut.fill_disk();
    tokio::time::sleep(2 * LEASE).await;
    started.open();
    tokio::time::sleep(Duration::from_millis(50)).await;
    cut.on_read(ReadFault::Error("no database".into()));
    cut.free_disk();
    let shown = read(response).await;
    assert!(shown.contains("slow is over") && shown.contains("all done"), "{shown}");
    assert_eq!(cut.left(), 0, "the log has failed");
}

/// A node that has not heard of the turn yet is asked to stop it.
#[tokio::test]
async fn a_stop_is_not_confirmed_by_a_node_that_has_not_heard_of_the_turn() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), Duration::from_secs(60)));
    let deaf = Arc::new(FaultyLog::without_wakeups(Arc::clone(&log) as _));
    let steps = json!([[call("slow")], [{"text": ["all done"]}]]);
    let nodes = Nodes::on(Arc::clone(&log), log, deaf, steps).await;
    read(submit(&nodes.a, "something else").await).await;
    let watched = nodes.b.live(me()).follow_from_now(&chat(), View::default()).await.expect("it follows");
    drop(submit(&nodes.a, "go").await);
    nodes.slow.arrived().await;
    within("the stop is answered", nodes.b.chats(&me()).stop(&chat(), None)).await.expect("it stops");
    let facts = nodes.facts().await;
    assert!(matches!(facts.last(), Some(Fact::TurnEnded { .. })), "{facts:?}");
    drop(watched);
}

/// A message is sent again on a node that has not heard of the next turn. The request adds nothing, whatever others have added.
#[tokio::test]
async fn a_repeated_message_is_not_new_because_of_what_others_have_added() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), Duration::from_secs(60)));
    let deaf = Arc::new(FaultyLog::without_wakeups(Arc::clone(&log) as _));
    let nodes = Nodes::on(Arc::clone(&log), log, deaf, json!([[{"text": ["first answer"]}]])).await;
    let message = json!({"id": "u1", "role": "user", "parts": [{"type": "text", "text": "go"}]});
    let request = || serde_json::from_value(json!({"id": "c", "messages": [message]})).expect("a body");
    let b = nodes.b.live(me());
    read(nodes.a.submit(&me(), request(), View::default()).await.expect("is taken").1).await;
    let watched = b.follow_from_now(&chat(), View::default()).await.expect("it follows");
    read(submit(&nodes.a, "something else").await).await;
    let known = nodes.facts().await.len();
    let again = within("it is answered", b.submit(&chat(), request(), View::default())).await.expect("is taken");
    assert_eq!((again.is_new, nodes.facts().await.len()), (false, known));
    drop(watched);
}

/// A node whose clock is off by hours neither expires what others have asked, nor asks what the others expire.
#[tokio::test]
async fn deadlines_follow_the_clock_that_the_nodes_share() {
    const HOUR: u64 = 3_600_000;
    let now = 10 * HOUR;
    let common = Arc::new(ManualClock::new(Timestamp(now)));
    let shared = SharedLog::new(Arc::new(MemoryLog::default()), LEASE).with_clock(Arc::clone(&common));
    let shared: Arc<dyn Store> = Arc::new(shared);
    let start = async |own: u64| {
        let (paid, slow) = (Arc::new(AtomicUsize::new(0)), Gate::new());
        let script = json!({"turns": [{"steps": [[call("pay")], [{"text": ["all done"]}]]}]}).to_string();
        let model = Arc::new(ScriptModel::from_text(&script).expect("a script"));
        let builder = Runtime::builder(model).log(Arc::clone(&shared)).tools(tools(&paid, &slow));
        builder.clock(Arc::new(ManualClock::new(Timestamp(own)))).start().await.expect("starts")
    };
    let (right, ahead, behind) = (start(now).await, start(now + 2 * HOUR).await, start(now - 2 * HOUR).await);
    let offsets = [&right, &ahead, &behind].map(|node| node.admin().clock_offset_ms());
    assert_eq!(offsets, [Some(0), Some(-7_200_000), Some(7_200_000)]);
    for (chat, node) in [("a", &right), ("b", &ahead), ("c", &behind)] {
        let request = ChatRequest::user(chat, "go");
        read(node.submit(&me(), request, View::default()).await.expect("is taken").1).await;
    }
    // More than a poll of the deadlines.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let open = right.inbox(me()).list().await.expect("it lists");
    let expire: Vec<Option<String>> = open.iter().map(|approval| approval.expires_at.clone()).collect();
    assert_eq!(expire, vec![Some(Timestamp(now + 300_000).iso8601()); 3], "{open:?}");
}
