//! Both engines keep the log's contract, and so does one in front of which a test can put faults.

use std::sync::Arc;

use holdpoint_log::{MemoryLog, SqliteLog, Store};
use holdpoint_testkit::{FaultyLog, log_contract_suite, log_suite::races};
use tempfile::TempDir;

fn new_memory() -> ((), Arc<dyn Store>) {
    ((), Arc::new(MemoryLog::new()))
}

fn new_sqlite() -> (TempDir, Arc<dyn Store>) {
    let dir = TempDir::new().expect("a temporary folder");
    let log = SqliteLog::open(&dir.path().join("data")).expect("it opens");
    (dir, Arc::new(log))
}

fn new_faulty() -> ((), Arc<dyn Store>) {
    ((), Arc::new(FaultyLog::new(Arc::new(MemoryLog::new()))))
}

log_contract_suite!(memory, new_memory);
log_contract_suite!(sqlite, new_sqlite);
log_contract_suite!(faulty_without_faults, new_faulty);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_races_in_memory_have_one_winner_each() {
    ten_thousand_races(new_memory().1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_races_in_sqlite_have_one_winner_each() {
    let (_dir, log) = new_sqlite();
    ten_thousand_races(log).await;
}

async fn ten_thousand_races(log: Arc<dyn Store>) {
    let [a, b] = races([Arc::clone(&log), log], 100, 100).await;
    println!("{a} won by one writer, {b} by the other");
    assert!(a > 0 && b > 0, "{a} against {b}");
    assert_eq!(a + b, 10_000);
}
