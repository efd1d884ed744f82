//! What following a chat promises, on every engine.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::{StreamExt, poll};
use holdpoint_runtime::log::{LogError, tail};

use super::{Shared, append, append_events, must};
use crate::{FaultyLog, Gate, ReadFault};

/// So long that a test that needs it hangs.
const NEVER: Duration = Duration::from_secs(100_000);

/// First what is there, from any place, then what comes, each batch once.
pub async fn a_tail_gives_what_is_there_and_what_comes(log: Shared) {
    for at in 0..150 {
        must(&*log, append_events("chat", at * 2, at.into(), 2)).await;
    }
    for (after, first) in [(0, 0), (1, 0), (2, 2), (299, 298), (300, 300)] {
        let mut tail = pin!(tail(Arc::clone(&log), "chat".into(), after, NEVER));
        for expected in (first..300).step_by(2) {
            assert_eq!(tail.next().await.expect("no end").expect("it reads").first, expected);
        }
        assert!(poll!(tail.next()).is_pending());
    }
    let mut tails: Vec<_> = (0..3).map(|_| Box::pin(tail(Arc::clone(&log), "live".into(), 0, NEVER))).collect();
    for at in 0..50 {
        for tail in &mut tails {
            assert!(poll!(tail.next()).is_pending());
        }
        must(&*log, append("other", at, 1)).await;
        must(&*log, append("live", at, 1)).await;
        for tail in &mut tails {
            assert_eq!(tail.next().await.expect("no end").expect("it reads").first, at);
        }
    }
}

/// More wakeups than an engine keeps, no wakeups at all, reads that fail: it goes on where it was.
pub async fn a_tail_survives_lost_wakeups_and_failed_reads(log: Shared) {
    let mut slow = pin!(tail(Arc::clone(&log), "chat".into(), 0, NEVER));
    assert!(poll!(slow.next()).is_pending());
    for round in 0..10 {
        let noise = (0..500).map(|at| append(&format!("noise {at}"), round, 1));
        log.append_many(noise.chain([append("chat", round, 1)]).collect()).await;
    }
    for at in 0..10 {
        assert_eq!(slow.next().await.expect("no end").expect("it reads").first, at);
    }

    let deaf = Arc::new(FaultyLog::without_wakeups(Arc::clone(&log)));
    let mut polling = pin!(tail(deaf.clone(), "chat".into(), 10, Duration::from_millis(1)));
    assert!(poll!(polling.next()).is_pending());
    must(&*log, append("chat", 10, 1)).await;
    assert_eq!(polling.next().await.expect("no end").expect("it reads").first, 10);

    deaf.on_read(ReadFault::Error("no disk".into())).on_read(ReadFault::Error("still none".into()));
    must(&*log, append("chat", 11, 1)).await;
    assert_eq!(polling.next().await, Some(Err(LogError("no disk".into()))));
    assert_eq!(polling.next().await, Some(Err(LogError("still none".into()))));
    assert_eq!(polling.next().await.expect("no end").expect("it reads").first, 11);

    // What is committed while a read is under way is not lost between the read and the next wakeup.
    let gate = Gate::new();
    let held = Arc::new(FaultyLog::new(Arc::clone(&log)));
    held.on_read(ReadFault::Hold(gate.clone()));
    let mut reading = pin!(tail(held, "chat".into(), 12, NEVER));
    assert!(poll!(reading.next()).is_pending());
    must(&*log, append("chat", 12, 1)).await;
    gate.open();
    assert_eq!(reading.next().await.expect("no end").expect("it reads").first, 12);
}

/// Readers who come and go while writers write see each event once and in order.
pub async fn a_tail_sees_everything_once_across_reconnects(log: Shared) {
    const EVENTS: u64 = 600;
    let writers = ["a", "b"].map(|chat| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            let mut at = 0;
            while at < EVENTS {
                let count = u32::try_from(at % 3 + 1).expect("small");
                must(&*log, append_events(chat, at, at.into(), count)).await;
                at += u64::from(count);
            }
            at
        })
    });
    let readers = (1..6u64).map(|stay| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            let mut seen = 0;
            while seen < EVENTS {
                let mut tail = pin!(tail(Arc::clone(&log), "a".into(), seen, Duration::from_millis(5)));
                for _ in 0..stay * 7 {
                    if seen >= EVENTS {
                        break;
                    }
                    let batch = tail.next().await.expect("no end").expect("it reads");
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
