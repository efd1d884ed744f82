//! Test support: a manual clock, a fault-injecting log, and the contract suite for log engines.
//!
//! For tests only: code here panics where a test should fail.

mod clock;
mod faulty_log;
mod gate;
pub mod log_suite;
mod shared_log;
#[cfg(unix)]
mod postgres;

pub use clock::ManualClock;
pub use faulty_log::{AppendFault, FaultyLog, ReadFault};
pub use gate::Gate;
pub use shared_log::SharedLog;
#[cfg(unix)]
pub use postgres::Postgres;
