//! Outages of the database and of the way to it: nothing that was acknowledged is lost, unknown fates are settled by
//! repeating, and everything recovers by itself.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use futures::future::{join_all, try_join_all};
use holdpoint_log::{Append, AppendResult, Batch, Cluster, DeleteResult, Health, Log, NodeId};
use holdpoint_protocol::ids::ChatId;
use holdpoint_testkit::{
    Postgres,
    log_suite::{append, deletion},
};
use tokio::time::sleep;

use super::{proxy::Proxy, *};

/// Options with short time limits, for outages that only these end. On a busy machine they also end what would have succeeded, so
/// whatever has to succeed is tried again.
fn hasty(url: String) -> PostgresOptions {
    let mut options = PostgresOptions::new(url);
    options.connect_timeout = millis(2000);
    options.request_timeout = millis(1000);
    options
}

/// Options for what has to succeed at once, or to fail by itself.
fn patient(url: String) -> PostgresOptions {
    let mut options = PostgresOptions::new(url);
    options.connect_timeout = PATIENCE;
    options.request_timeout = PATIENCE;
    options
}

/// The batches of a chat, read until that succeeds.
async fn batches(log: &PostgresLog, chat: &str) -> Vec<Batch> {
    let mut batches = None;
    until("it reads", async || {
        batches = log.read(&chat.into(), 0, usize::MAX).await.ok();
        batches.is_some()
    })
    .await;
    batches.expect("they were read")
}

/// Appends until the result is known. Returns it, and how often it was unknown.
async fn insist(log: &PostgresLog, append: &Append) -> (AppendResult, u64) {
    let mut unknown = 0;
    let known = async {
        loop {
            match log.append_many(vec![append.clone()]).await[0] {
                AppendResult::NotGranted | AppendResult::Unknown => unknown += 1,
                known => return known,
            }
            sleep(millis(20)).await;
        }
    };
    let known = within("the log is back with the database", known).await;
    (known, unknown)
}

/// Writers that never stop, each on its own chat.
struct Load {
    is_done: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
    unknown: Arc<AtomicU64>,
    writers: Vec<tokio::task::JoinHandle<u64>>,
}

impl Load {
    fn start(log: &Arc<PostgresLog>, writers: u64) -> Self {
        let (is_done, written, unknown) = (Arc::new(AtomicBool::new(false)), Arc::default(), Arc::default());
        let writers = (0..writers).map(|writer| {
            let (log, is_done) = (Arc::clone(log), Arc::clone(&is_done));
            let (written, unknown) = (Arc::<AtomicU64>::clone(&written), Arc::<AtomicU64>::clone(&unknown));
            tokio::spawn(async move {
                let mut at = 0;
                let mut is_known = true;
                while !is_done.load(Ordering::Relaxed) || !is_known {
                    let append = append(&format!("chat {writer}"), at, at.into());
                    match log.append_many(vec![append]).await[0] {
                        AppendResult::NotGranted | AppendResult::Unknown => {
                            unknown.fetch_add(1, Ordering::Relaxed);
                            is_known = false;
                            sleep(millis(20)).await;
                        }
                        result => {
                            assert_eq!(result, committed(at + 1), "writer {writer}");
                            written.fetch_add(1, Ordering::Relaxed);
                            (at, is_known) = (at + 1, true);
                        }
                    }
                }
                at
            })
        });
        Self { writers: writers.collect(), is_done, written, unknown }
    }

    /// Waits until this many more are written.
    async fn writes(&self, more: u64) {
        let before = self.written.load(Ordering::Relaxed);
        until("it writes", async || self.written.load(Ordering::Relaxed) >= before + more).await;
    }

    /// Waits until the fate of one more is unknown: an outage is noticed.
    async fn notices(&self) {
        let before = self.unknown.load(Ordering::Relaxed);
        until("the outage is noticed", async || self.unknown.load(Ordering::Relaxed) > before).await;
    }

    /// Ends it, and checks that every append is there, once. Returns their number and how many were unknown at first.
    async fn end(self, log: &PostgresLog) -> (u64, u64) {
        self.writes(1).await;
        self.is_done.store(true, Ordering::Relaxed);
        let lengths = try_join_all(self.writers).await.expect("every writer ends");
        for (writer, len) in lengths.iter().enumerate() {
            let batches = batches(log, &format!("chat {writer}")).await;
            assert_eq!(batches.len() as u64, *len);
            for (at, batch) in (0..).zip(batches) {
                assert_eq!(
                    (batch.first, batch.payload),
                    (at, append(&format!("chat {writer}"), at, at.into()).payload)
                );
            }
        }
        (lengths.iter().sum(), self.unknown.load(Ordering::Relaxed))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_crashes_under_load() {
    let server = Postgres::start(&[]);
    let log = open(&hasty(server.url("postgres"))).await;
    let load = Load::start(&log, 16);
    for is_noticed in [false, true, true] {
        load.writes(100).await;
        block_in_place(|| server.crash());
        if is_noticed {
            load.notices().await;
        }
        block_in_place(|| server.resume_after_stop());
    }
    load.writes(100).await;
    let (written, unknown) = load.end(&log).await;
    println!("{written} appends, {unknown} times unknown");
    assert!(written >= 400 && unknown >= 2, "{written}, {unknown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_is_lost_and_replaced_by_its_standby() {
    fail_over(Postgres::crash).await;
}

/// New connections to it are accepted, and never answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_hangs_and_is_replaced_by_its_standby() {
    fail_over(Postgres::pause).await;
}

/// The standby is away, and an operator ends the wait for it. PostgreSQL then commits on the primary alone, and says so in a
/// warning. Nothing of that is acknowledged, however often it is repeated, until a standby has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_the_standby_does_not_have_is_not_acknowledged() {
    let primary = Postgres::start(&[]);
    let standby = block_in_place(|| primary.standby());
    block_in_place(|| primary.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'"));
    block_in_place(|| primary.sql("postgres", "SELECT pg_reload_conf()"));
    let synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    until("the standby is synchronous", async || block_in_place(|| primary.sql("postgres", synchronous)) == "1").await;
    // Only the operator ends a wait.
    let log = open(&patient(primary.url("postgres"))).await;
    let chat = |id: &str| ChatId::from(id);
    for id in ["kept", "deleted"] {
        assert_eq!(log.append_many(vec![append(id, 0, 1)]).await, [AppendResult::Committed { len: 1 }]);
    }
    block_in_place(|| standby.crash());
    // An operator who ends every wait.
    let (primary, goes_on, cancelled) = (Arc::new(primary), Arc::new(()), Arc::new(AtomicU32::new(0)));
    let operator = tokio::task::spawn_blocking({
        let (primary, goes_on, cancelled) = (Arc::clone(&primary), Arc::downgrade(&goes_on), Arc::clone(&cancelled));
        move || {
            let cancel = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
            // Also if the test fails.
            while goes_on.strong_count() > 0 {
                let more = primary.sql("postgres", cancel).trim().parse::<u32>().expect("a number");
                cancelled.fetch_add(more, Ordering::Relaxed);
                std::thread::sleep(millis(20));
            }
        }
    });
    while cancelled.load(Ordering::Relaxed) < 4 {
        let appended = log.append_many(vec![append("kept", 1, 1)]).await;
        assert_eq!(appended, [AppendResult::Unknown], "it is on the primary alone");
        let deleted = log.delete(&chat("deleted"), deletion(1)).await;
        assert!(deleted.is_err(), "{deleted:?}");
        // After a failure, the writer waits for a moment.
        sleep(millis(500)).await;
    }
    drop(goes_on);
    operator.await.expect("no panic");
    // It is there, which says nothing.
    assert_eq!(log.read(&chat("kept"), 1, 10).await.expect("it reads").len(), 1);
    block_in_place(|| standby.resume_after_stop());
    until("it is acknowledged", async || {
        log.append_many(vec![append("kept", 1, 1)]).await == [AppendResult::Committed { len: 2 }]
            && log.delete(&chat("deleted"), deletion(1)).await == Ok(DeleteResult::Deleted)
    })
    .await;
    block_in_place(|| primary.crash());
    block_in_place(|| standby.promote());
    let log = open(&patient(standby.url("postgres"))).await;
    assert_eq!(log.read(&chat("kept"), 0, 10).await.expect("it reads").len(), 2);
    assert_eq!(log.read(&chat("deleted"), 0, 10).await.expect("it reads").len(), 0);
}

async fn fail_over(lose: fn(&Postgres)) {
    let primary = Postgres::start(&[]);
    let standby = block_in_place(|| primary.standby());
    // From now on, a commit is acknowledged once the standby has it too.
    block_in_place(|| primary.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'"));
    block_in_place(|| primary.sql("postgres", "SELECT pg_reload_conf()"));
    let synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    until("the standby is synchronous", async || block_in_place(|| primary.sql("postgres", synchronous)) == "1").await;
    let one = primary.url("postgres");
    let both =
        one.replace(&format!(":{}/", primary.port()), &format!(":{},127.0.0.1:{}/", primary.port(), standby.port()));
    assert_ne!(one, both);
    let log = open(&hasty(both)).await;
    let load = Load::start(&log, 16);
    load.writes(100).await;
    block_in_place(|| lose(&primary));
    load.notices().await;
    block_in_place(|| standby.promote());
    let health = log.health();
    until("the standby takes writes", async || *health.borrow() == Health::Writable).await;
    until("the lease is renewed", async || log.renew(NodeId(1)).await.is_ok()).await;
    load.writes(100).await;
    let (written, unknown) = load.end(&log).await;
    println!("{written} appends, {unknown} times unknown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_follows_the_database_by_itself() {
    let server = Postgres::start(&[]);
    let log = open(&patient(server.url("postgres"))).await;
    assert_eq!(log.probe().await, Health::Writable);
    let health = log.health();
    block_in_place(|| server.crash());
    assert_eq!(log.append_many(vec![append("chat", 0, 1)]).await, [AppendResult::Unknown]);
    assert_eq!(*health.borrow(), Health::Failing);
    assert_eq!(log.probe().await, Health::Failing);
    assert!(log.read(&"chat".into(), 0, 1).await.is_err());
    assert!(log.renew(holdpoint_log::NodeId(1)).await.is_err());
    block_in_place(|| server.resume_after_stop());
    // Nobody writes.
    until("it is writable again", async || *health.borrow() == Health::Writable).await;
    assert_eq!(log.append_many(vec![append("chat", 0, 1)]).await, [committed(1)]);
    assert_eq!(log.read(&"chat".into(), 0, 9).await.expect("it reads").len(), 1);
    assert_eq!(log.probe().await, Health::Writable);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_that_was_lost_costs_nothing() {
    let server = Postgres::start(&[]);
    let log = open(&patient(server.url("postgres"))).await;
    assert_eq!(log.append_many(vec![append("chat", 0, 1)]).await, [committed(1)]);
    log.read(&"chat".into(), 0, 1).await.expect("it reads");
    block_in_place(|| server.crash());
    block_in_place(|| server.resume_after_stop());
    assert_eq!(log.append_many(vec![append("chat", 1, 2)]).await, [committed(2)]);
    assert_eq!(log.read(&"chat".into(), 0, 9).await.expect("it reads").len(), 2);
    // Closed by the administrator, in the middle of things.
    let log_after = Arc::clone(&log);
    let writing = tokio::spawn(async move {
        for at in 2..300 {
            assert_eq!(insist(&log_after, &append("chat", at, at.into())).await.0, committed(at + 1));
        }
    });
    for _ in 0..5 {
        block_in_place(|| {
            server.sql(
                "postgres",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdpoint'",
            )
        });
    }
    writing.await.expect("it writes");
    assert_eq!(log.read(&"chat".into(), 0, 999).await.expect("it reads").len(), 300);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_does_not_answer() {
    let server = Postgres::start(&[]);
    let log = open(&hasty(server.url("postgres"))).await;
    assert_eq!(insist(&log, &append("chat", 0, 1)).await.0, committed(1));
    server.pause();
    // It would take until the database goes on, which is below.
    assert_eq!(log.append_many(vec![append("chat", 1, 2)]).await, [AppendResult::Unknown]);
    assert_eq!(*log.health().borrow(), Health::Failing);
    assert_eq!(log.probe().await, Health::Failing);
    assert!(log.read(&"chat".into(), 0, 9).await.is_err());
    server.unpause();
    assert_eq!(insist(&log, &append("chat", 1, 2)).await.0, committed(2));
    until("it is writable", async || *log.health().borrow() == Health::Writable).await;
    until("it reads", async || log.read(&"chat".into(), 0, 9).await.is_ok_and(|batches| batches.len() == 2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_to_the_database_that_stalls_or_breaks() {
    let server = Postgres::shared();
    let proxy = Proxy::start(server.port()).await;
    let schema = Some(Postgres::fresh_name());
    let mut options = hasty(server.url_on_port("postgres", proxy.port));
    options.schema = schema;
    let log = open(&options).await;
    let load = Load::start(&log, 8);
    for round in 0..6 {
        load.writes(20).await;
        if round % 2 == 0 {
            proxy.stall()
        } else {
            proxy.cut()
        }
        until("the outage is noticed", async || *log.health().borrow() == Health::Failing).await;
        proxy.forward();
        until("it is writable again", async || *log.health().borrow() == Health::Writable).await;
    }
    let (written, unknown) = load.end(&log).await;
    println!("{written} appends, {unknown} times unknown");
    assert!(unknown > 0);
}

/// As after a firewall has forgotten its connections: they are never closed, and new ones work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_outlives_connections_that_stall() {
    let server = Postgres::shared();
    let proxy = Proxy::start(server.port()).await;
    let mut options = hasty(server.url_on_port("postgres", proxy.port));
    // A statement is given up after a third of the lease, long before the limit for others.
    (options.schema, options.lease) = (Some(Postgres::fresh_name()), millis(6000));
    options.request_timeout = 10 * PATIENCE;
    let log = open(&options).await;
    let node = holdpoint_log::NodeId(1);
    log.renew(node).await.expect("it renews");
    for patience in [PATIENCE, millis(600)] {
        proxy.lose();
        // A caller whose patience is shorter than ours must not get the same connection again and again.
        until("the lease is renewed", async || {
            matches!(tokio::time::timeout(patience, log.renew(node)).await, Ok(Ok(_)))
        })
        .await;
    }
}

/// A node that is cut off in the middle of a transaction leaves locked chats behind. The server must free them soon.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_cut_off_holds_up_no_other() {
    let server = Postgres::shared();
    let proxy = Proxy::start(server.port()).await;
    let schema = Some(Postgres::fresh_name());
    let (mut there, mut here) = (hasty(server.url_on_port("postgres", proxy.port)), hasty(server.url("postgres")));
    (there.schema, here.schema) = (schema.clone(), schema);
    // The cut-off node does not give up by itself within the test.
    (there.request_timeout, here.request_timeout) = (10 * PATIENCE, PATIENCE);
    let (there, here) = (open(&there).await, open(&here).await);
    for round in 0..4u64 {
        let chats: Vec<_> = (0..20).map(|chat| format!("{round} {chat}")).collect();
        let busy: Vec<_> = chats
            .iter()
            .cloned()
            .map(|chat| {
                let there = Arc::clone(&there);
                tokio::spawn(async move {
                    for at in 0.. {
                        there.append_many(vec![append(&chat, at, at.into())]).await;
                    }
                })
            })
            .collect();
        sleep(millis(300 + round * 7)).await;
        proxy.stall();
        let taken = chats.iter().map(|chat| {
            let here = Arc::clone(&here);
            async move {
                let mut at = 0;
                loop {
                    match here.append_many(vec![append(chat, at, u128::MAX)]).await[0] {
                        AppendResult::Committed { .. } => return,
                        AppendResult::Conflict { len } => at = len,
                        AppendResult::NotGranted | AppendResult::Unknown => panic!("it is held up"),
                    }
                }
            }
        });
        within("the chats are free, though the other node is still there", join_all(taken)).await;
        busy.iter().for_each(tokio::task::JoinHandle::abort);
        proxy.cut();
        sleep(millis(50)).await;
        proxy.forward();
        until("it is back", async || there.probe().await == Health::Writable).await;
    }
}
