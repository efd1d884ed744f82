//! The runtime, for embedding in a Rust program: agents whose turns stop at holds, wait, and continue exactly once.

mod backoff;
pub mod clock;
pub mod driver;
pub mod fact;
pub mod log;
mod metrics;
pub mod model;
#[cfg(test)]
mod notation;
pub mod project;
pub mod redact;
pub mod subject;
pub mod tool;
pub mod turn;
pub mod value;
