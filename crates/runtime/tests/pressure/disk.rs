//! A disk that is full or locked for a while. Time is paused: pauses take none.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use holdpoint_runtime::{
    Runtime, RuntimeError,
    fact::Fact,
    log::{MemoryLog, NodeId, Ownership, Store},
    subject::Subject,
    turn::Answered,
};
use holdpoint_testkit::{AppendFault, FaultyLog, Gate};

use super::*;

struct Setup {
    runtime: Runtime,
    log: Arc<FaultyLog>,
    memory: Arc<dyn Store>,
    ran: Arc<AtomicUsize>,
    gate: Gate,
}

async fn setup(calls: usize, gate: Gate) -> Setup {
    let ran = Arc::default();
    let memory: Arc<dyn Store> = Arc::new(MemoryLog::default());
    let log = Arc::new(FaultyLog::new(Arc::clone(&memory)));
    let builder = with_model(super::calls(calls)).log(log.clone()).tools(counting(&ran, &gate));
    Setup { runtime: builder.start().await.expect("starts"), log, memory, ran, gate }
}

impl Setup {
    async fn decide(&self, approval: &ApprovalId, approved: bool) -> Result<Answered, RuntimeError> {
        self.runtime.inbox(Subject::local()).decide(approval.clone(), approved).await
    }

    /// The facts on disk, without asking the chat.
    async fn facts(&self, chat: &str) -> Vec<Fact> {
        holdpoint_testkit::facts(&*self.memory, chat).await
    }

    async fn has_ended(&self, chat: &str) -> bool {
        self.facts(chat).await.iter().any(|fact| matches!(fact, Fact::TurnEnded { .. }))
    }
}

/// The tool has run, and for a minute nothing can be written: its outcome is not lost, and nobody has to come by.
#[tokio::test(start_paused = true)]
async fn an_outcome_outlives_a_full_disk() {
    let setup = setup(1, Gate::new()).await;
    let approvals = asked(&setup.runtime, "c").await;
    assert_eq!(setup.decide(&approvals[0], true).await, Ok(Answered::Taken));
    setup.gate.arrived().await;
    setup.log.fill_disk();
    setup.gate.open();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!setup.has_ended("c").await);
    setup.log.free_disk();
    until("the turn ends by itself", || setup.has_ended("c")).await;
    let text = history(&setup.runtime, "c").await;
    assert!(text.contains(r#""output":{"count":1}"#) && !text.contains("outcome unknown"), "{text}");
    assert_eq!(setup.ran.load(Ordering::SeqCst), 1);
    assert!(setup.runtime.admin().counts().repeated_appends > 20);
}

/// A 503 may be either, and asking again is safe: what was begun stands, what was not begun is never done.
#[tokio::test(start_paused = true)]
async fn decisions_are_answered_within_five_seconds_and_can_be_repeated() {
    let setup = setup(2, open()).await;
    let approvals = asked(&setup.runtime, "c").await;
    setup.log.fill_disk();
    let begun = tokio::time::Instant::now();
    let (first, second) = tokio::join!(setup.decide(&approvals[0], true), async {
        // It waits behind the first one.
        tokio::time::sleep(Duration::from_millis(10)).await;
        setup.decide(&approvals[1], true).await
    });
    assert!(matches!(first, Err(RuntimeError::Unconfirmed)), "{first:?}");
    assert!(matches!(second, Err(RuntimeError::Unconfirmed)), "{second:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(setup.runtime.admin().counts().unanswered, 2);
    assert_eq!(setup.ran.load(Ordering::SeqCst), 0, "nothing runs before its decision is on disk");

    setup.log.free_disk();
    assert_eq!(setup.decide(&approvals[0], true).await, Ok(Answered::Again), "it was begun, and is in force");
    // Whoever was told that it is not certain may change their mind.
    assert_eq!(setup.decide(&approvals[1], false).await, Ok(Answered::Taken), "it was not begun, and never will be");
    until("the turn ends", || setup.has_ended("c")).await;
    assert_eq!(setup.ran.load(Ordering::SeqCst), 1);
}

/// A disk that neither writes nor says so.
#[tokio::test(start_paused = true)]
async fn a_disk_that_hangs_is_noticed() {
    let setup = setup(1, open()).await;
    let approvals = asked(&setup.runtime, "c").await;
    let hangs = Gate::new();
    setup.log.on_append(AppendFault::HoldBefore(hangs.clone()));
    let begun = tokio::time::Instant::now();
    let decided = setup.decide(&approvals[0], true).await;
    assert!(matches!(decided, Err(RuntimeError::Unconfirmed)), "{decided:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(!setup.runtime.admin().is_writable().await);
    assert_eq!(setup.runtime.admin().counts().stuck_appends, 1);
    hangs.open();
    assert_eq!(setup.decide(&approvals[0], true).await, Ok(Answered::Again));
    assert!(setup.runtime.admin().is_writable().await);
    until("the turn ends", || setup.has_ended("c")).await;
}

#[tokio::test(start_paused = true)]
async fn readiness_follows_the_log() {
    let setup = setup(1, open()).await;
    assert!(setup.runtime.admin().is_writable().await);
    setup.log.fill_disk();
    assert!(!setup.runtime.admin().is_writable().await);
    setup.log.free_disk();
    assert!(setup.runtime.admin().is_writable().await);
}

/// Somebody else was first when a tool had ended. If the chat is still this node's, the outcome is written behind it;
/// if it is another's, the outcome is lost with the race. Either way the turn ends, though nobody asks for it.
#[tokio::test(start_paused = true)]
async fn a_chat_that_was_overtaken_goes_on_by_itself() {
    for (taken_by, outcome) in [(None, "\"count\":1"), (Some(NodeId(7)), "interrupted: outcome unknown")] {
        let setup = setup(1, open()).await;
        let approvals = asked(&setup.runtime, "c").await;
        setup.log.on_append(AppendFault::Pass).on_append(AppendFault::overtaken(move |ours| {
            let mut theirs = ours.clone();
            theirs.payload = serde_json::to_vec(&[Fact::Nothing]).expect("JSON").into();
            theirs.count = 1;
            theirs.append_id.0 ^= 1;
            theirs.ownership = taken_by.map_or(Ownership::Keep, Ownership::Take);
            theirs
        }));
        assert_eq!(setup.decide(&approvals[0], true).await, Ok(Answered::Taken));
        until("the turn ends by itself", || setup.has_ended("c")).await;
        let text = history(&setup.runtime, "c").await;
        assert!(text.contains(outcome), "{taken_by:?}: {text}");
    }
}

/// One append that can't be written, while others can, is given up in the end: it must not hold its chat for ever.
#[tokio::test(start_paused = true)]
async fn an_append_that_alone_fails_is_given_up() {
    let setup = setup(1, open()).await;
    let approvals = asked(&setup.runtime, "c").await;
    for _ in 0..20 {
        setup.log.on_append(AppendFault::UnknownBefore);
    }
    let decided = setup.decide(&approvals[0], true).await;
    assert!(matches!(decided, Err(RuntimeError::Unconfirmed)), "{decided:?}");
    until("it was tried often enough", async || setup.log.left() == 0).await;
    assert_eq!(setup.decide(&approvals[0], false).await, Ok(Answered::Taken));
    assert_eq!(setup.ran.load(Ordering::SeqCst), 0);
}

/// A deletion that can't be written is not confirmed. It takes effect once it can be, and nothing is left that waits.
#[tokio::test(start_paused = true)]
async fn a_delete_that_is_not_confirmed_takes_effect_later() {
    let setup = setup(1, Gate::new()).await;
    let approvals = asked(&setup.runtime, "c").await;
    assert_eq!(setup.decide(&approvals[0], true).await, Ok(Answered::Taken));
    setup.gate.arrived().await;
    setup.log.fill_disk();
    let deleted = setup.runtime.chats(&Subject::local()).delete(&"c".into()).await;
    assert!(matches!(deleted, Err(RuntimeError::Unconfirmed)), "{deleted:?}");
    assert_eq!(setup.runtime.chats(&Subject::local()).list().await.map(|chats| chats.len()), Ok(1));
    setup.log.free_disk();
    setup.gate.open();
    let is_gone = async || setup.runtime.chats(&Subject::local()).list().await.is_ok_and(|chats| chats.is_empty());
    until("the chat is gone", is_gone).await;
}
