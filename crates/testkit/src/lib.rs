//! Test support: a manual clock, a fault-injecting log, and the contract suite for log engines.
//!
//! For tests only: code here panics where a test should fail.
//!
//! ```
//! use std::time::Duration;
//!
//! use holdpoint_runtime::clock::{Clock, Timestamp};
//! use holdpoint_testkit::ManualClock;
//!
//! let clock = ManualClock::new(Timestamp(1_000));
//! clock.advance(Duration::from_secs(5));
//! assert_eq!(clock.now(), Timestamp(6_000));
//! ```

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
