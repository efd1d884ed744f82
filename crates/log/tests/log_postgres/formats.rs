//! Nodes of several versions: what each may write, and one whose tables a newer one has changed while it ran.

use holdpoint_log::{BatchHash, Cluster, FORMAT, Health, Log, LogError, NodeId, Walk};
use holdpoint_testkit::{
    Postgres,
    log_suite::{append, deletion, every_change_breaks_the_chain},
};

use super::*;

const NODE: NodeId = NodeId(7);

/// A statement on the tables, `@` being their schema.
fn sql(options: &PostgresOptions, statement: &str) -> String {
    let schema = options.schema.as_deref().expect("it has one");
    block_in_place(|| Postgres::shared().sql("postgres", &statement.replace('@', schema)))
}

async fn probed(log: &PostgresLog, health: Health) {
    until("its health", async || log.probe().await == health).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_node_stops_writing_when_its_tables_become_too_new() {
    let options = options();
    let log = open(&options).await;
    assert!(log.renew(NODE).await.is_ok());
    assert_eq!(log.append_many(vec![append("chat", 0, 1)]).await, [committed(1)]);
    let lease = "SELECT lease_until FROM @.nodes";
    // A newer node has come, and leaves tables that this one can still use.
    sql(&options, "UPDATE @.holdpoint SET format = 99");
    assert!(log.renew(NODE).await.is_ok());
    assert_eq!(log.append_many(vec![append("chat", 1, 2)]).await, [committed(2)]);
    // And now such that it can't.
    sql(&options, "UPDATE @.holdpoint SET compatible = 99");
    let before = sql(&options, lease);
    let Err(LogError::Failed(said)) = log.renew(NODE).await else { panic!("it is too old") };
    assert!(said.contains("written by a newer holdpoint") && said.ends_with("use a newer holdpoint"), "{said}");
    assert_eq!(sql(&options, lease), before, "others take over what it ran");
    let mut health = log.health();
    let outdated = health.wait_for(|health| *health == Health::Outdated);
    within("it learns of it by itself", outdated).await.expect("it runs");
    assert_eq!(log.probe().await, Health::Outdated);
    assert_eq!(log.append_many(vec![append("chat", 2, 3)]).await, [AppendResult::Unknown]);
    assert!(log.delete(&"chat".into(), deletion(2)).await.is_err());
    assert_eq!(sql(&options, "SELECT count(*) FROM @.batches"), "2");
    // The newer node is gone, and has left the tables as they were.
    sql(&options, &format!("UPDATE @.holdpoint SET format = {FORMAT}, compatible = {FORMAT}"));
    probed(&log, Health::Writable).await;
    assert_eq!(log.renew(NODE).await, Ok(FORMAT));
    assert_eq!(log.append_many(vec![append("chat", 2, 3)]).await, [committed(3)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_reconnects_checks_the_tables() {
    let options = options();
    let log = open(&options).await;
    sql(&options, "UPDATE @.holdpoint SET compatible = 99");
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE pid <> pg_backend_pid() AND query LIKE '%@%'";
    sql(&options, end);
    assert_eq!(log.append_many(vec![append("chat", 0, 1)]).await, [AppendResult::Unknown]);
    assert_eq!(*log.health().borrow(), Health::Outdated);
    assert_eq!(sql(&options, "SELECT count(*) FROM @.batches"), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_format_is_written_once_every_node_can_read_it() {
    let options = options();
    let log = open(&options).await;
    // A node of an earlier version.
    let older = "INSERT INTO @.nodes (id, lease_until, version, format)
                 VALUES (gen_random_uuid(), clock_timestamp() + interval '1 hour', '0', 0)";
    sql(&options, &format!("UPDATE @.holdpoint SET compatible = 0; {older}"));
    for _ in 0..3 {
        assert_eq!(log.renew(NODE).await, Ok(0));
    }
    assert_eq!(sql(&options, "SELECT format FROM @.nodes WHERE version <> '0'"), FORMAT.to_string());
    sql(&options, "UPDATE @.nodes SET lease_until = clock_timestamp() WHERE version = '0'");
    until("it is raised", async || log.renew(NODE).await == Ok(FORMAT)).await;
    // From then on, an earlier version is refused.
    assert_eq!(sql(&options, "SELECT compatible FROM @.holdpoint"), FORMAT.to_string());
}

/// A table that is gone, or that may not be written any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_can_not_be_used() {
    let options = options();
    let log = open(&options).await;
    for (broken, mended) in [
        ("ALTER TABLE @.batches RENAME TO other", "ALTER TABLE @.other RENAME TO batches"),
        ("ALTER TABLE @.chats RENAME COLUMN head TO other", "ALTER TABLE @.chats RENAME COLUMN other TO head"),
        ("ALTER TABLE @.holdpoint RENAME TO other", "ALTER TABLE @.other RENAME TO holdpoint"),
    ] {
        probed(&log, Health::Writable).await;
        sql(&options, broken);
        probed(&log, Health::Failing).await;
        sql(&options, mended);
    }
    probed(&log, Health::Writable).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_of_the_tables_breaks_the_chain() {
    let options = options();
    let log = open(&options).await;
    let change = |statement: &str| {
        // Bytes are written in another way here.
        let statement = statement.replace("x'", "'\\x").replace('@', "@.");
        sql(&options, &statement);
    };
    every_change_breaks_the_chain(log, &change).await;
}

/// The first batch of a new database is in the chain, whoever writes it: no node has to have run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_begins_with_the_first_batch() {
    let options = options();
    let log = open(&options).await;
    assert_eq!(log.append_many(vec![append("chat", 0, 1), append("chat", 1, 2)]).await, [committed(1), committed(2)]);
    // A writer that knows nothing of it.
    sql(
        &options,
        "UPDATE @.chats SET len = 3;
         INSERT INTO @.batches (chat, first, count, append_id, payload)
         SELECT number, 2, 1, gen_random_uuid(), '' FROM @.chats",
    );
    assert_eq!(log.append_many(vec![append("chat", 3, 5)]).await, [committed(4)]);
    let batches = log.read(&"chat".into(), 0, 10).await.expect("it reads");
    let chained: Vec<_> = batches.iter().map(|batch| batch.previous_hash.is_some()).collect();
    assert_eq!(chained, [true, true, false, true]);
    assert_eq!(batches[0].previous_hash, Some(BatchHash::BEGINNING));
    let mut walk = Walk::new("chat".into());
    let walked: Vec<_> = batches.iter().map(|batch| walk.batch(batch).map_err(|broken| broken.to_string())).collect();
    assert!(walked[2].as_ref().is_err_and(|said| said.starts_with("position 2: the hash")), "{walked:?}");
    assert_eq!(walked.iter().filter(|walked| walked.is_ok()).count(), 3, "{walked:?}");
}

/// A node may use everything from its first lease on: nobody else can have begun to use a new database with less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_has_the_newest_format_at_once() {
    let options = options();
    let log = open(&options).await;
    assert_eq!(sql(&options, "SELECT compatible FROM @.holdpoint"), FORMAT.to_string());
    assert_eq!(log.renew(NODE).await, Ok(FORMAT), "the first renewal says so");
}

/// A first start that is given up at any point leaves nothing that the next one could not begin with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_start_that_was_cut_off_is_begun_again() {
    for round in 0..12 {
        let options = options();
        let limit = std::time::Duration::from_millis(round * 4);
        let opened = tokio::time::timeout(limit, PostgresLog::open(options.clone())).await;
        drop(opened);
        let log = open(&options).await;
        assert_eq!(log.append_many(vec![append("chat", 0, 1)]).await, [committed(1)], "given up after {limit:?}");
    }
}
