//! What requests cost: not more on large tables, and less when they come together.

use std::time::Instant;

use futures::{future::join_all, poll};
use holdpoint_core::clock::Timestamp;
use holdpoint_log::{HeadOrder, HeadQuery, HoldQuery, HoldsOf, Index, Log, NodeId};
use holdpoint_testkit::{Postgres, log_suite::append};

use super::*;

/// Tables with many rows of others.
const ROWS: &str = "
    INSERT INTO @.chats (id, subject, len, is_open, updated_at, head, owner)
    SELECT ('chat ' || i)::bytea, ('subject ' || i % 500)::bytea, 5, i % 3 = 0, i, '{}',
        CASE WHEN i % 30 = 0 THEN '00000000-0000-0000-0000-000000000001'::uuid END
    FROM generate_series(1, 50000) AS i;
    INSERT INTO @.batches (chat, first, count, append_id, payload)
    SELECT i, j, 1, gen_random_uuid(), '' FROM generate_series(1, 5000) AS i, generate_series(0, 4) AS j;
    INSERT INTO @.batches (chat, first, count, append_id, payload)
    SELECT 50000, j, 1, gen_random_uuid(), '' FROM generate_series(0, 20000) AS j;
    INSERT INTO @.holds SELECT i, 'call', ('subject ' || i % 500)::bytea, 'tool', 'approval', i, i, '{}'
    FROM generate_series(3, 50000, 3) AS i;
    INSERT INTO @.keys SELECT ('subject ' || i % 500)::bytea, ('key ' || i)::bytea, i, 0 FROM generate_series(1, 50000) AS i;
    INSERT INTO @.nodes VALUES ('00000000-0000-0000-0000-000000000001', now() + interval '1 hour', '', 1);
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_reads_a_whole_table() {
    let (server, options) = (Postgres::shared(), options());
    let schema = options.schema.clone().expect("it has one");
    let log = open(&options).await;
    block_in_place(|| server.sql("postgres", &ROWS.replace("@.", &format!("{schema}."))));
    let scans = || {
        let tables = "SELECT coalesce(sum(seq_scan), 0) FROM pg_stat_user_tables WHERE relname <> 'nodes'";
        server.sql("postgres", &format!("{tables} AND relname <> 'holdpoint' AND schemaname = '{schema}'"))
    };
    let before = block_in_place(scans);
    // As long as nothing is analyzed, the database guesses. That is tried too.
    for round in 0..2 {
        if round == 1 {
            let tables = ["chats", "batches", "holds", "keys"].map(|table| format!("{schema}.{table}")).join(", ");
            block_in_place(|| server.sql("postgres", &format!("ANALYZE {tables}")));
        }
        // After a few times, a prepared statement has a plan for any values.
        for at in 0..12 {
            let subject = "subject 7".into();
            assert_eq!(log.read(&"chat 50000".into(), 19_990, 5).await.expect("it reads").len(), 5);
            assert!(log.stored(&"chat 7".into()).await.expect("it reads").is_some());
            assert_eq!(log.find(&subject, "key 7").await, Ok(Some("chat 7".into())));
            for order in
                [HeadOrder::Newest { after: None }, HeadOrder::Newest { after: Some((Timestamp(9999), "".into())) }]
            {
                let query = HeadQuery { subject: Some(subject.clone()), only_open: false, order };
                assert_eq!(log.heads(query, 10).await.expect("it lists").len(), 10);
            }
            for after in [None, Some((Timestamp(3), "call".into(), "".into()))] {
                let query = HoldQuery { of: HoldsOf::Subject(subject.clone()), only_approvals: true, after };
                assert_eq!(log.holds(query, 10).await.expect("it lists").len(), 10);
            }
            let query = HoldQuery { of: HoldsOf::Chat("chat 9".into()), only_approvals: false, after: None };
            assert_eq!(log.holds(query, 10).await.expect("it lists").len(), 1);
            assert_eq!(log.due(Timestamp(u64::MAX), 10).await.expect("it lists").len(), 10);
            assert_eq!(log.usage(&subject, NodeId(9), 10).await.expect("it counts").open, 10);
            assert_eq!(log.abandoned(NodeId(9), 10).await, Ok(vec![]));
            let at = at + round * 12;
            let writes = ["chat 7", "new"].map(|chat| append(chat, if chat == "new" { at } else { at + 5 }, at.into()));
            assert_eq!(log.append_many(writes.into()).await, [committed(at + 6), committed(at + 1)]);
        }
    }
    // A connection reports what it did when it ends.
    drop(log);
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdpoint' AND query LIKE";
    let connections = format!("{connections} '%{schema}%' AND pid <> pg_backend_pid()");
    until("its connections end", async || block_in_place(|| server.sql("postgres", &connections)) == "0").await;
    assert_eq!(block_in_place(scans), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_that_come_together_share_a_commit() {
    let log = open(&options()).await;
    let before = log.commits();
    let mut appending: Vec<_> = (0..200).map(|at| log.append_many(vec![append(&format!("{at}"), 0, at)])).collect();
    for append in &mut appending {
        let _ = poll!(append);
    }
    assert_eq!(join_all(appending).await, vec![[committed(1)]; 200]);
    let commits = log.commits() - before;
    assert!(commits <= 20, "{commits} commits for 200 appends");
}

/// An append that PostgreSQL can't take fails alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_cannot_be_written_fails_alone() {
    let log = open(&options()).await;
    // Longer than an entry of an index may be, and not compressible.
    let endless: String =
        (0..40_000u32).map(|at| char::from(b'a' + (at.wrapping_mul(2_654_435_761) >> 24) as u8 % 26)).collect();
    let appends: Vec<_> = (0..20)
        .map(|at| match at {
            7 | 13 => append(&format!("{at}{endless}"), 0, at),
            _ => append(&format!("{at}"), 0, at),
        })
        .collect();
    let results = log.append_many(appends).await;
    for (at, result) in results.into_iter().enumerate() {
        let expected = if [7, 13].contains(&at) { AppendResult::Unknown } else { committed(1) };
        assert_eq!(result, expected, "append {at}");
    }
    assert_eq!(*log.health().borrow(), holdpoint_log::Health::Writable);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn throughput() {
    let options = options();
    let logs = [open(&options).await, open(&options).await];
    for (nodes, writers, each) in [(1, 1, 300), (1, 64, 100), (1, 512, 40), (2, 256, 40)] {
        let begun = Instant::now();
        let tasks = (0..nodes * writers).map(|writer| {
            let log = Arc::clone(&logs[writer % nodes]);
            let chat = format!("{nodes} {writers} {writer}");
            tokio::spawn(async move {
                for at in 0..each {
                    assert_eq!(log.append_many(vec![append(&chat, at, at.into())]).await, [committed(at + 1)]);
                }
            })
        });
        join_all(tasks.collect::<Vec<_>>()).await.into_iter().for_each(|done| done.expect("it writes"));
        let (count, seconds) = ((nodes * writers) as f64 * each as f64, begun.elapsed().as_secs_f64());
        println!(
            "{nodes} nodes, {writers} writers each: {:.0} appends/s, {:.2} ms each",
            count / seconds,
            seconds * 1000.0 / each as f64
        );
    }
}
