//! Grants without HTTP: several nodes, faults of the log, and restarts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use holdpoint_protocol::{
    grants::{GrantMatch, GrantScope, GrantState, Remember},
    ids::{ApprovalId, GrantId},
    request::{ChatRequest, DecisionRequest, Verdict},
};
use holdpoint_runtime::{
    Answered, Next, Runtime, View,
    fact::Cause,
    log::{Append, GrantChanges, Index, MemoryLog, Revocation, Store},
    model::ScriptModel,
    subject::Subject,
    tool::{Tool, ToolContext, ToolSet},
};
use holdpoint_testkit::{AppendFault, FaultyLog, Gate, SharedLog, until, within};
use serde_json::{Value, json};

/// A node whose tool `pay` counts its runs, and waits at a gate.
struct Node {
    runtime: Runtime,
    paid: Arc<AtomicUsize>,
}

fn tools(paid: &Arc<AtomicUsize>, gate: &Gate) -> ToolSet {
    let (paid, gate) = (Arc::clone(paid), gate.clone());
    let pay = Tool::server("pay", "Pays", move |input: Value, _: ToolContext| {
        paid.fetch_add(1, Ordering::SeqCst);
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok(input)
        }
    });
    ToolSet::new([pay.approve_always().idempotent().build().expect("valid")]).expect("one tool")
}

impl Node {
    async fn start(log: Arc<dyn Store>, paid: &Arc<AtomicUsize>, gate: &Gate) -> Self {
        let pay = json!({"toolCall": {"name": "pay", "input": {"amount": 50}}});
        let script = json!({"turns": [{"steps": [[pay], [{"text": ["Done."]}]]}]});
        let model = ScriptModel::from_text(&script.to_string()).expect("a valid script");
        let builder = Runtime::builder(Arc::new(model)).log(log).tools(tools(paid, gate));
        Self { runtime: builder.start().await.expect("starts"), paid: Arc::clone(paid) }
    }

    /// Says something, and reads the response to its end. Returns whether the call ran without a question.
    async fn runs_at_once(&self, chat: &str) -> bool {
        let before = self.paid.load(Ordering::SeqCst);
        let request = ChatRequest::user(chat, "pay");
        let (_, mut response) = self.runtime.submit(&me(), request, View::default()).await.expect("is taken");
        within("the response ends", async {
            let mut written = Vec::new();
            while response.read(&mut written).await == Next::More {}
        })
        .await;
        self.paid.load(Ordering::SeqCst) > before
    }

    async fn approval(&self, chat: &str) -> Option<ApprovalId> {
        let open = self.runtime.inbox(me()).list().await.expect("it lists");
        open.into_iter().find(|open| open.chat_id.as_str() == chat).map(|open| open.approval_id)
    }

    /// Has a call approved and remembered. Returns the grant.
    async fn granted(&self, chat: &str, uses: Option<u32>) -> GrantId {
        assert!(!self.runs_at_once(chat).await);
        let approval = self.approval(chat).await.expect("it waits");
        match self.runtime.inbox(me()).decide(approval, remembered(uses)).await {
            Ok(Answered::Remembered(grant)) => {
                until("it has run", async || self.settled(chat).await == Some(Cause::Ran)).await;
                grant
            }
            other => panic!("{other:?}"),
        }
    }

    /// Why the last call of a chat ended.
    async fn settled(&self, chat: &str) -> Option<Cause> {
        let opened = self.runtime.chats(&me()).open(&chat.into()).await.expect("it opens");
        let holds = opened.holds(Default::default(), &me().into()).await.expect("it lists");
        holds.last().and_then(|hold| hold.outcome.as_ref()).map(|outcome| outcome.cause)
    }

    async fn used(&self, grant: &GrantId) -> u64 {
        let grants = self.runtime.grants(me()).page(None, 100).await.expect("it lists");
        grants.items.iter().find(|listed| listed.id == *grant).map_or(0, |grant| grant.used)
    }
}

fn remembered(uses: Option<u32>) -> DecisionRequest {
    let remember = Remember { scope: GrantScope::Subject, covers: GrantMatch::Input, until: None, uses };
    DecisionRequest { verdict: Verdict::APPROVE, reason: None, remember: Some(remember) }
}

fn me() -> Subject {
    Subject::local()
}

fn open_gate() -> Gate {
    let gate = Gate::new();
    gate.open();
    gate
}

/// Whatever the nodes know of it when they decide, one of them uses it.
#[tokio::test]
async fn a_grant_for_one_use_is_used_once_on_several_nodes() {
    let log = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), Duration::from_secs(5)));
    let (paid, gate) = (Arc::new(AtomicUsize::new(0)), open_gate());
    let a = Node::start(log.clone(), &paid, &gate).await;
    let b = Node::start(log, &paid, &gate).await;
    for round in 0..10 {
        let grant = a.granted(&format!("first {round}"), Some(1)).await;
        let before = paid.load(Ordering::SeqCst);
        let (here, there) = (format!("a {round}"), format!("b {round}"));
        tokio::join!(a.runs_at_once(&here), b.runs_at_once(&there));
        assert_eq!(paid.load(Ordering::SeqCst), before + 1);
        assert_eq!((a.used(&grant).await, b.used(&grant).await), (1, 1));
        let asked = [a.approval(&here).await, b.approval(&there).await];
        assert_eq!(asked.iter().flatten().count(), 1, "the other one is asked about");
        let revoked = b.runtime.grants(me()).revoke(&grant).await.expect("it is there");
        assert_eq!(revoked.state, GrantState::Revoked);
        for approval in asked.into_iter().flatten() {
            assert_eq!(a.runtime.inbox(me()).decide(approval, false).await, Ok(Answered::Taken));
        }
    }
}

/// A revocation on another node, between what this one has read and what it writes.
#[tokio::test]
async fn a_grant_that_is_revoked_before_it_is_used_asks() {
    let memory: Arc<MemoryLog> = Arc::default();
    let log = Arc::new(FaultyLog::new(memory.clone()));
    let (paid, gate) = (Arc::new(AtomicUsize::new(0)), open_gate());
    let node = Node::start(log.clone(), &paid, &gate).await;
    let grant = node.granted("first", None).await;
    assert!(node.runs_at_once("second").await);
    for _ in 0..10 {
        let (memory, grant) = (Arc::clone(&memory), grant.clone());
        log.on_append(AppendFault::overtaken(move |append| {
            if !append.grants.used.is_empty() {
                let by = Subject::from("somebody else");
                let (at, data) = (append.grants.used[0].at, bytes::Bytes::new());
                let revoked = memory.revoke(Revocation { grant, by, at, data });
                revoked.now_or_never().expect("memory does not wait").expect("it revokes");
            }
            // Of no events, to a chat that nobody has: it changes nothing.
            Append { chat: "-".into(), expected: 0, count: 0, grants: GrantChanges::default(), ..append.clone() }
        }));
    }
    assert!(!node.runs_at_once("third").await);
    assert!(node.approval("third").await.is_some(), "somebody is asked");
    assert_eq!((node.used(&grant).await, paid.load(Ordering::SeqCst)), (1, 2));
}

/// Retrying an append whose result was lost does not count as a second use.
#[tokio::test]
async fn an_append_of_unknown_fate_uses_a_grant_once() {
    for is_committed in [true, false] {
        let log = Arc::new(FaultyLog::new(Arc::new(MemoryLog::default())));
        let (paid, gate) = (Arc::new(AtomicUsize::new(0)), open_gate());
        let node = Node::start(log.clone(), &paid, &gate).await;
        let grant = node.granted("first", Some(1)).await;
        for _ in 0..6 {
            let fault = if is_committed { AppendFault::UnknownAfter } else { AppendFault::UnknownBefore };
            log.on_append(fault).on_append(AppendFault::Pass);
        }
        assert!(node.runs_at_once("second").await);
        until("it is settled", async || node.settled("second").await == Some(Cause::Ran)).await;
        assert_eq!((node.used(&grant).await, paid.load(Ordering::SeqCst)), (1, 2));
        while log.left() > 0 {
            assert!(!node.runs_at_once("third").await);
        }
        assert_eq!(node.used(&grant).await, 1);
    }
}

/// The grant may be revoked by the time the server is back, so nothing is run again on it, idempotent or not.
#[tokio::test]
async fn a_call_that_a_crash_cut_off_is_not_repeated_on_a_grant() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::default());
    let (paid, gate) = (Arc::new(AtomicUsize::new(0)), open_gate());
    let node = Node::start(log.clone(), &paid, &gate).await;
    node.granted("first", None).await;
    drop(node);
    let closed = Gate::new();
    let node = Node::start(log.clone(), &paid, &closed).await;
    let request = ChatRequest::user("second", "pay");
    let (_, response) = node.runtime.submit(&me(), request, View::default()).await.expect("is taken");
    closed.arrived().await;
    drop(response);
    node.runtime.shutdown(Duration::ZERO).await;
    drop(node);
    let node = Node::start(log, &paid, &gate).await;
    until("it is settled", async || node.settled("second").await.is_some()).await;
    assert_eq!((node.settled("second").await, paid.load(Ordering::SeqCst)), (Some(Cause::Interrupted), 2));
}
