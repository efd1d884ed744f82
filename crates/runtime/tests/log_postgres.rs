//! The PostgreSQL engine keeps the log's contract.

use std::sync::Arc;

use holdpoint_runtime::log::{Log, PostgresLog, PostgresOptions};
use holdpoint_testkit::{Postgres, log_contract_suite};
use tokio::{runtime::Handle, task::block_in_place};

fn options() -> PostgresOptions {
    let mut options = PostgresOptions::new(Postgres::shared().url("postgres"));
    options.schema = Some(Postgres::fresh_name());
    options
}

fn open(options: PostgresOptions) -> ((), Arc<dyn Log>) {
    let log = block_in_place(|| Handle::current().block_on(PostgresLog::open(options)));
    ((), Arc::new(log.expect("it opens")))
}

fn new_postgres() -> ((), Arc<dyn Log>) {
    open(options())
}

fn new_poll_only() -> ((), Arc<dyn Log>) {
    let mut options = options();
    options.poll_only = true;
    open(options)
}

log_contract_suite!(postgres, new_postgres);
log_contract_suite!(poll_only, new_poll_only);
