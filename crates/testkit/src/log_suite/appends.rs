//! The contract of appends.

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use futures::poll;
use holdpoint_runtime::{
    clock::Timestamp,
    log::{Append, AppendResult, Head, HeadQuery},
};
use tokio::sync::Barrier;

use super::{Shared, all, append, append_facts, assert_no_gaps, head, join, must, one};

/// Of many appends at the same position, one wins and the others get a conflict.
pub async fn one_of_many_racing_appends_wins(log: Shared) {
    const RACERS: u64 = 32;
    for round in 0..20 {
        let start = Arc::new(Barrier::new(RACERS as usize));
        let racers = (0..RACERS).map(|racer| {
            let (log, start) = (Arc::clone(&log), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                one(&*log, append("race", round, racer.into())).await
            })
        });
        let results = join(racers.collect()).await;
        let winners: Vec<_> = (0..RACERS).filter(|racer| results[*racer as usize] == committed(round + 1)).collect();
        let [winner] = winners[..] else { panic!("{} winners in round {round}: {results:?}", winners.len()) };
        let losers = results.iter().filter(|result| **result == conflict(round + 1)).count();
        assert_eq!(losers as u64, RACERS - 1, "{results:?}");
        let batches = all(&*log, "race").await;
        assert_eq!(batches.len() as u64, round + 1);
        assert_eq!(batches[round as usize].payload, append("race", round, winner.into()).payload);
    }
}

/// Writers that read again after a conflict leave no gaps: every fact is there once, in its writer's order.
pub async fn racing_writers_leave_no_gaps(log: Shared) {
    const EACH: u64 = 25;
    let writers = (0..4u64).map(|writer| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            let mut at = 0;
            for number in 0..EACH {
                let payload = Bytes::from(format!("{writer} {number:02}"));
                let id = u128::from(writer * 1000 + number);
                loop {
                    let count = u32::try_from(number % 3 + 1).expect("small");
                    let next = Append { payload: payload.clone(), ..append_facts("chat", at, id, count) };
                    match one(&*log, next).await {
                        AppendResult::Committed { len } => break at = len,
                        AppendResult::Conflict { len } => at = len,
                        AppendResult::NotGranted | AppendResult::Unknown => panic!("nothing failed"),
                    }
                }
            }
        })
    });
    join(writers.collect()).await;
    let batches = all(&*log, "chat").await;
    assert_eq!(batches.len() as u64, 4 * EACH);
    assert_no_gaps(&batches, 0);
    for writer in 0..4 {
        let prefix = format!("{writer} ");
        let own = batches.iter().filter(|batch| batch.payload.starts_with(prefix.as_bytes()));
        let own: Vec<_> = own.map(|batch| &batch.payload).collect();
        assert_eq!(own.len() as u64, EACH);
        assert!(own.is_sorted(), "{own:?}");
    }
}

/// The same append at the same position is committed once and returns the same result, even after later appends.
pub async fn a_repeated_append_is_done_once(log: Shared) {
    let first = append_facts("chat", 0, 1, 3);
    for _ in 0..2 {
        assert_eq!(one(&*log, first.clone()).await, committed(3));
    }
    must(&*log, append("chat", 3, 2)).await;
    assert_eq!(one(&*log, first.clone()).await, committed(3), "where it ended, not where the chat ends");
    assert_eq!(log.append_many(vec![first.clone(), first]).await, [committed(3); 2]);
    // The same id at another position is another append.
    must(&*log, append("chat", 4, 1)).await;
    must(&*log, append("other", 0, 1)).await;
    // So is another id at the same position.
    assert_eq!(one(&*log, append_facts("chat", 0, 9, 3)).await, conflict(5));
    let batches = all(&*log, "chat").await;
    assert_eq!(batches.iter().map(|batch| batch.count).collect::<Vec<_>>(), [3, 1, 1]);
    // A repetition does not change the head.
    let heads = log.heads(HeadQuery::default(), 10).await.expect("it lists");
    assert_eq!(heads[0], ("chat".into(), 5, head("ann", true, 5)));
}

/// An append at a wrong position (too early, too late, inside a batch) gets the length, and nothing is written.
pub async fn a_conflict_tells_the_length_and_changes_nothing(log: Shared) {
    assert_eq!(one(&*log, append("chat", 1, 1)).await, conflict(0));
    assert_eq!(log.heads(HeadQuery::default(), 10).await.expect("it lists"), []);
    must(&*log, append_facts("chat", 0, 1, 4)).await;
    let before = (all(&*log, "chat").await, log.heads(HeadQuery::default(), 10).await);
    for expected in [0, 1, 3, 5, 1000, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        let late = Append { expected, head: head("bob", false, 99), keys: vec!["key".into()], ..append("chat", 0, 2) };
        assert_eq!(one(&*log, late).await, conflict(4), "at {expected}");
    }
    // The id of the previous append, at another position.
    assert_eq!(one(&*log, append("chat", 2, 1)).await, conflict(4));
    assert_eq!((all(&*log, "chat").await, log.heads(HeadQuery::default(), 10).await), before);
    assert_eq!(log.find(&"bob".into(), "key").await, Ok(None));
}

/// The appends of one call succeed or fail independently, in order, each with its own result.
pub async fn appends_of_one_call_go_or_fail_by_themselves(log: Shared) {
    assert_eq!(log.append_many(vec![]).await, []);
    must(&*log, append_facts("taken", 0, 1, 2)).await;
    let results = log
        .append_many(vec![
            append("new", 0, 1),
            append("taken", 0, 2),
            append("new", 1, 2),
            append("new", 1, 3),
            append_facts("taken", 2, 3, 5),
            append("gap", 7, 1),
        ])
        .await;
    assert_eq!(results, [committed(1), conflict(2), committed(2), conflict(2), committed(7), conflict(0)]);
    assert_eq!(all(&*log, "new").await.len(), 2);
    assert_eq!(all(&*log, "gap").await.len(), 0);

    let many: Vec<_> = (0..500).map(|chat| append(&format!("many {chat}"), 0, chat)).collect();
    assert_eq!(log.append_many(many.clone()).await, vec![committed(1); 500]);
    for append in many {
        let batches = log.read(&append.chat, 0, 10).await.expect("it reads");
        assert_eq!(batches.iter().map(|batch| &batch.payload).collect::<Vec<_>>(), [&append.payload]);
    }
}

/// An append without facts at the right position succeeds and writes nothing.
pub async fn an_append_of_nothing_changes_nothing(log: Shared) {
    assert_eq!(one(&*log, append_facts("chat", 0, 1, 0)).await, committed(0));
    assert_eq!(log.heads(HeadQuery::default(), 10).await.expect("it lists"), []);
    must(&*log, append("chat", 0, 2)).await;
    assert_eq!(one(&*log, append_facts("chat", 0, 3, 0)).await, conflict(1));
    assert_eq!(one(&*log, append_facts("chat", 1, 4, 0)).await, committed(1));
    must(&*log, append("chat", 1, 5)).await;
    assert_no_gaps(&all(&*log, "chat").await, 0);
}

/// A caller that is cancelled at any moment loses no commit. Repeating the append settles its outcome.
pub async fn whoever_stops_waiting_breaks_nothing(log: Shared) {
    for number in 0..200 {
        let abandoned = append("chat", number, number.into());
        let mut appending = log.append_many(vec![abandoned.clone()]);
        let _ = poll!(&mut appending);
        drop(appending);
        let mut reading = log.read(&abandoned.chat, 0, 10);
        let _ = poll!(&mut reading);
        drop(reading);
        must(&*log, append("other", number, 1)).await;
        must(&*log, abandoned).await;
    }
    let batches = all(&*log, "chat").await;
    assert_eq!(batches.len(), 200);
    assert_no_gaps(&batches, 0);
}

/// Payloads of any size, heads of any kind and ids with any characters are returned unchanged.
pub async fn bytes_are_kept_as_they_are(log: Shared) {
    let every_byte: Bytes = (0..=u8::MAX).collect();
    let megabyte: Bytes = (0..1_048_576u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let payloads = [Bytes::new(), every_byte.clone(), megabyte.clone(), Bytes::from(vec![0; 5_000_000])];
    for (at, payload) in (0..).zip(&payloads) {
        must(&*log, Append { payload: payload.clone(), ..append("sizes", at, at.into()) }).await;
    }
    let read: Vec<_> = all(&*log, "sizes").await.into_iter().map(|batch| batch.payload).collect();
    assert!(read == payloads, "payloads differ");

    let ids = ["", "a\0b", "a'b\"c;--", "チャット", "%_*?", "🦀"];
    for id in ids {
        let mut strange = append(id, 0, u128::MAX);
        strange.head = Head { data: every_byte.clone(), ..head(id, true, Timestamp::LAST.0) };
        strange.keys = vec![id.into()];
        must(&*log, strange.clone()).await;
        assert_eq!(all(&*log, id).await.len(), 1, "{id:?}");
        assert_eq!(log.find(&id.into(), id).await, Ok(Some(id.into())), "{id:?}");
        let query = HeadQuery { subject: Some(id.into()), ..HeadQuery::default() };
        assert_eq!(log.heads(query, 10).await, Ok(vec![(id.into(), 1, strange.head)]), "{id:?}");
    }
    let listed = log.heads(HeadQuery::default(), 100).await.expect("it lists");
    let listed: HashSet<_> = listed.into_iter().map(|(id, ..)| id).collect();
    assert!(ids.iter().all(|id| listed.contains(*id)));
}

fn committed(len: u64) -> AppendResult {
    AppendResult::Committed { len }
}

fn conflict(len: u64) -> AppendResult {
    AppendResult::Conflict { len }
}
