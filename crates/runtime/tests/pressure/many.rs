//! Very many holds whose time has come, and very many turns that were cut off: few chats are woken at a time.

use std::{sync::Arc, time::Duration};

use holdpoint_runtime::{
    Limits, Runtime,
    clock::Timestamp,
    log::{MemoryLog, Store},
    subject::Subject,
};
use holdpoint_testkit::ManualClock;

use super::*;

const MANY: usize = 400;
/// What the server wakes by itself at a time, for deadlines and for recovery.
const AT_ONCE: usize = 16;

/// Looks how many chats are awake until there is nothing left to do.
async fn most_awake(runtime: &Runtime, is_done: impl AsyncFn() -> bool) -> usize {
    let mut most = 0;
    for _ in 0..1_000_000 {
        most = most.max(runtime.admin().awake());
        if is_done().await && runtime.admin().awake() == 0 {
            return most;
        }
        tokio::task::yield_now().await;
    }
    panic!("{:?} holds are left, {} chats are awake", runtime.admin().holds().await, runtime.admin().awake());
}

#[tokio::test]
async fn overdue_holds_are_settled_a_few_at_a_time() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::default());
    let runtime = builder().log(Arc::clone(&log)).start().await.expect("starts");
    for number in 0..MANY {
        asked(&runtime, &format!("c{number}")).await;
    }
    runtime.shutdown(Duration::ZERO).await;
    drop(runtime);

    let tomorrow = Arc::new(ManualClock::new(Timestamp(NOW.0 + 86_400_000)));
    let runtime = builder().log(log).clock(tomorrow).start().await.expect("starts");
    assert_eq!(runtime.admin().holds().await, Ok(MANY as u64), "the start does not wait for them");
    let most = most_awake(&runtime, async || runtime.admin().holds().await == Ok(0)).await;
    assert!(most <= AT_ONCE, "{most} chats were awake at once");
    let text = history(&runtime, "c0").await;
    assert!(text.contains("Approval request timed out"), "{text}");
}

#[tokio::test]
async fn turns_that_were_cut_off_are_recovered_a_few_at_a_time_and_within_the_limit() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::default());
    let roomy = Limits { turns: 10_000, turns_per_subject: 10_000, ..Limits::default() };
    let runtime = with_model(Arc::new(Silent)).log(Arc::clone(&log)).limits(roomy);
    let runtime = runtime.start().await.expect("starts");
    for number in 0..MANY {
        submit(&runtime, &format!("c{number}")).await;
    }
    assert_eq!(runtime.admin().turns(), MANY);
    runtime.shutdown(Duration::ZERO).await;
    drop(runtime);

    let script = r#"{"turns":[{"steps":[[{"text":["done"]}]]}]}"#;
    let model = Arc::new(holdpoint_runtime::model::ScriptModel::from_text(script).expect("a valid script"));
    let limits = Limits { turns: 5, ..roomy };
    let runtime = with_model(model).log(log).limits(limits).start().await.expect("starts");
    let mut most_turns = 0;
    for _ in 0..1_000_000 {
        most_turns = most_turns.max(runtime.admin().turns());
        let chats = runtime.chats(&Subject::local()).list().await.expect("can be listed");
        if chats.iter().all(|chat| !chat.is_running) {
            break;
        }
        tokio::task::yield_now().await;
    }
    // A few more may be on their way when the last place is taken.
    assert!(most_turns <= 5 + AT_ONCE, "{most_turns} turns ran at once");
    for number in [0, MANY / 2, MANY - 1] {
        let text = history(&runtime, &format!("c{number}")).await;
        assert!(text.contains("done"), "{text}");
    }
}
