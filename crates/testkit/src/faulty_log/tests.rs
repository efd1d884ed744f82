use futures::poll;
use holdpoint_runtime::log::{AppendId, Index, Log, MemoryLog};

use super::{Append, AppendFault, AppendResult, Arc, ChatId, FaultyLog, Gate, HeadQuery, LogError, ReadFault, Store};
use crate::log_suite::append;

fn logs() -> (Arc<dyn Store>, FaultyLog) {
    let inner: Arc<dyn Store> = Arc::new(MemoryLog::new());
    (Arc::clone(&inner), FaultyLog::new(inner))
}

async fn one(log: &FaultyLog, append: Append) -> AppendResult {
    log.append_many(vec![append]).await[0]
}

#[tokio::test]
async fn unknown_before_and_after_look_the_same_and_are_settled_by_the_same_append() {
    for (fault, written) in [(AppendFault::UnknownBefore, 0), (AppendFault::UnknownAfter, 1)] {
        let (inner, log) = logs();
        log.on_append(fault);
        assert_eq!(one(&log, append("chat", 0, 1)).await, AppendResult::Unknown);
        assert_eq!(inner.read(&"chat".into(), 0, 10).await.expect("it reads").len(), written);
        assert_eq!(one(&log, append("chat", 0, 1)).await, AppendResult::Committed { len: 1 });
        assert_eq!(log.left(), 0);
    }
}

#[tokio::test]
async fn each_append_of_a_call_takes_its_own_fault() {
    let (_, log) = logs();
    log.on_append(AppendFault::Pass).on_append(AppendFault::UnknownAfter);
    let results = log.append_many(["a", "b", "c"].map(|chat| append(chat, 0, 1)).into()).await;
    assert_eq!(
        results,
        [AppendResult::Committed { len: 1 }, AppendResult::Unknown, AppendResult::Committed { len: 1 }]
    );
}

#[tokio::test]
async fn somebody_else_is_first() {
    let (_, log) = logs();
    log.on_append(AppendFault::overtaken(|append| Append { append_id: AppendId(9), count: 3, ..append.clone() }));
    assert_eq!(one(&log, append("chat", 0, 1)).await, AppendResult::Conflict { len: 3 });
}

#[tokio::test]
async fn a_gate_holds_before_or_after_it_is_done() {
    let (inner, log) = logs();
    for (chat, written) in [("before", 0), ("after", 1)] {
        let gate = Gate::new();
        let hold = if written == 0 { AppendFault::HoldBefore } else { AppendFault::HoldAfter };
        log.on_append(hold(gate.clone()));
        let mut appending = log.append_many(vec![append(chat, 0, 1)]);
        assert!(poll!(&mut appending).is_pending());
        gate.arrived().await;
        assert_eq!(inner.read(&chat.into(), 0, 10).await.expect("it reads").len(), written);
        gate.open();
        assert_eq!(appending.await, [AppendResult::Committed { len: 1 }]);
    }
}

#[tokio::test]
async fn reads_fail_as_the_script_says() {
    let (_, log) = logs();
    log.on_read(ReadFault::Error("no disk".into())).on_read(ReadFault::Pass);
    log.on_heads(ReadFault::Error("no list".into()));
    let chat = ChatId::from("chat");
    assert_eq!(log.read(&chat, 0, 1).await, Err(LogError::Failed("no disk".into())));
    assert_eq!(log.read(&chat, 0, 1).await, Ok(vec![]));
    assert_eq!(log.heads(HeadQuery::default(), 1).await, Err(LogError::Failed("no list".into())));
    assert_eq!(log.left(), 0);
}
