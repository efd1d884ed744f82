//! Both engines keep the log's contract, and so does one in front of which a test can put faults.

use std::sync::Arc;

use holdpoint_runtime::log::{Log, MemoryLog, SqliteLog};
use holdpoint_testkit::{FaultyLog, log_contract_suite};
use tempfile::TempDir;

fn new_memory() -> ((), Arc<dyn Log>) {
    ((), Arc::new(MemoryLog::new()))
}

fn new_sqlite() -> (TempDir, Arc<dyn Log>) {
    let dir = TempDir::new().expect("a temporary folder");
    let log = SqliteLog::open(&dir.path().join("data")).expect("it opens");
    (dir, Arc::new(log))
}

fn new_faulty() -> ((), Arc<dyn Log>) {
    ((), Arc::new(FaultyLog::new(Arc::new(MemoryLog::new()))))
}

log_contract_suite!(memory, new_memory);
log_contract_suite!(sqlite, new_sqlite);
log_contract_suite!(faulty_without_faults, new_faulty);
