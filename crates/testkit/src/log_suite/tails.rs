//! The contract of tails, on every engine.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, poll, stream::BoxStream};
use holdpoint_runtime::log::{Batch, LogError};

use super::{Shared, append, append_facts, must};
use crate::{FaultyLog, Gate, ReadFault, tail};

/// Longer than any test waits.
const NEVER: Duration = Duration::from_secs(100_000);

type Tail = BoxStream<'static, Result<Batch, LogError>>;

fn follow(log: &Shared, chat: &str, after: u64, poll: Duration) -> Tail {
    tail(Arc::clone(log), chat.into(), after, poll).boxed()
}

/// The next batch, which must come soon.
async fn next(tail: &mut Tail) -> Result<Batch, LogError> {
    let next = tokio::time::timeout(Duration::from_secs(30), tail.next()).await;
    next.expect("the tail misses something").expect("a tail has no end")
}

/// The position of the next batch.
async fn first(tail: &mut Tail) -> u64 {
    next(tail).await.expect("it reads").first
}

/// A tail yields existing batches from any position, then new ones, each once.
pub async fn a_tail_gives_what_is_there_and_what_comes(log: Shared) {
    for at in 0..150 {
        must(&*log, append_facts("chat", at * 2, at.into(), 2)).await;
    }
    for (after, begin) in [(0, 0), (1, 0), (2, 2), (299, 298), (300, 300)] {
        let mut tail = follow(&log, "chat", after, NEVER);
        for expected in (begin..300).step_by(2) {
            assert_eq!(first(&mut tail).await, expected);
        }
        assert!(poll!(tail.next()).is_pending());
    }
    let mut tails: Vec<_> = (0..3).map(|_| follow(&log, "live", 0, NEVER)).collect();
    for at in 0..50 {
        for tail in &mut tails {
            assert!(poll!(tail.next()).is_pending());
        }
        must(&*log, append("other", at, 1)).await;
        must(&*log, append("live", at, 1)).await;
        for tail in &mut tails {
            assert_eq!(first(tail).await, at);
        }
    }
}

/// A tail continues despite overflowing wakeups, missing wakeups and failed reads.
pub async fn a_tail_survives_lost_wakeups_and_failed_reads(log: Shared) {
    let mut slow = follow(&log, "chat", 0, NEVER);
    assert!(poll!(slow.next()).is_pending());
    log.append_many((0..10).map(|at| append("chat", at, 1)).collect()).await;
    for round in 0..10 {
        log.append_many((0..500).map(|at| append(&format!("noise {at}"), round, 1)).collect()).await;
    }
    for at in 0..10 {
        assert_eq!(first(&mut slow).await, at);
    }

    let deaf = Arc::new(FaultyLog::without_wakeups(Arc::clone(&log)));
    let mut polling = follow(&(deaf.clone() as Shared), "chat", 10, Duration::from_millis(1));
    assert!(poll!(polling.next()).is_pending());
    must(&*log, append("chat", 10, 1)).await;
    assert_eq!(first(&mut polling).await, 10);

    deaf.on_read(ReadFault::Error("no disk".into())).on_read(ReadFault::Error("still none".into()));
    must(&*log, append("chat", 11, 1)).await;
    assert_eq!(next(&mut polling).await, Err(LogError::Failed("no disk".into())));
    assert_eq!(next(&mut polling).await, Err(LogError::Failed("still none".into())));
    assert_eq!(first(&mut polling).await, 11);

    // A commit during a read is not lost between that read and the next wakeup.
    let gate = Gate::new();
    let held = Arc::new(FaultyLog::new(Arc::clone(&log)));
    held.on_read(ReadFault::Hold(gate.clone()));
    let mut reading = follow(&(held as Shared), "chat", 12, NEVER);
    assert!(poll!(reading.next()).is_pending());
    must(&*log, append("chat", 12, 1)).await;
    gate.open();
    assert_eq!(first(&mut reading).await, 12);
}

/// Readers that reconnect while writers write see each fact once and in order.
pub async fn a_tail_sees_everything_once_across_reconnects(log: Shared) {
    const FACTS: u64 = 600;
    let writers = ["a", "b"].map(|chat| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            let mut at = 0;
            while at < FACTS {
                let count = u32::try_from(at % 3 + 1).expect("small");
                must(&*log, append_facts(chat, at, at.into(), count)).await;
                at += u64::from(count);
            }
            at
        })
    });
    let readers = (1..6u64).map(|stay| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            let mut seen = 0;
            while seen < FACTS {
                let mut tail = follow(&log, "a", seen, Duration::from_millis(5));
                for _ in 0..stay * 7 {
                    if seen >= FACTS {
                        break;
                    }
                    let batch = next(&mut tail).await.expect("it reads");
                    assert_eq!(batch.first, seen);
                    seen += u64::from(batch.count);
                }
            }
            seen
        })
    });
    let readers = super::join(readers.collect()).await;
    let [written, _] = super::join(writers.into()).await[..] else { panic!("two writers") };
    assert_eq!(readers, [written; 5]);
}
