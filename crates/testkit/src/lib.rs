//! What tests need: a clock moved by hand, a log that fails on request, the suites that every log engine must pass.
//!
//! For tests only: things panic where a test should fail.

mod clock;
mod faulty_log;
mod gate;
pub mod log_suite;

pub use clock::ManualClock;
pub use faulty_log::{AppendFault, FaultyLog, ReadFault};
pub use gate::Gate;
