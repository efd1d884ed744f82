//! Test support: a manual clock, a fault-injecting log, and the contract suite for log engines.
//!
//! For tests only: code here panics where a test should fail.

mod clock;
mod faulty_log;
mod gate;
pub mod log_suite;
#[cfg(unix)]
mod postgres;
mod shared_log;
mod tail;

pub use clock::ManualClock;
pub use faulty_log::{AppendFault, FaultyLog, ReadFault};
pub use gate::Gate;
#[cfg(unix)]
pub use postgres::Postgres;
pub use shared_log::SharedLog;
pub use tail::tail;
