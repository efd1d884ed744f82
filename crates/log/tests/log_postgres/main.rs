//! The PostgreSQL engine: the log's contract, bad input, outages of the database, and several nodes.

mod bad_input;
mod cost;
mod formats;
mod nodes;
mod outages;
mod proxy;
mod tls;

use std::{sync::Arc, time::Duration};

use holdpoint_log::{AppendResult, PostgresLog, PostgresOptions, Store};
use holdpoint_testkit::{PATIENCE, Postgres, log_contract_suite, until, within};
use tokio::{runtime::Handle, task::block_in_place};

/// Options for a schema of one's own in the shared cluster.
fn options() -> PostgresOptions {
    let mut options = PostgresOptions::new(Postgres::shared().url("postgres"));
    options.schema = Some(Postgres::fresh_name());
    options
}

async fn open(options: &PostgresOptions) -> Arc<PostgresLog> {
    Arc::new(PostgresLog::open(options.clone()).await.expect("it opens"))
}

fn open_now(options: PostgresOptions) -> ((), Arc<dyn Store>) {
    ((), block_in_place(|| Handle::current().block_on(open(&options))))
}

fn new_postgres() -> ((), Arc<dyn Store>) {
    open_now(options())
}

fn new_poll_only() -> ((), Arc<dyn Store>) {
    let mut options = options();
    options.poll_only = true;
    open_now(options)
}

log_contract_suite!(postgres, new_postgres);
log_contract_suite!(poll_only, new_poll_only);

fn committed(len: u64) -> AppendResult {
    AppendResult::Committed { len }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
