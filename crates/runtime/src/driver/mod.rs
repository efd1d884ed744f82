//! The driver: the only place with tasks. It runs what the turn machine's facts ask for, and appends.
//!
//! One task a chat that is doing something (`chat.rs`), none for a chat that only waits; one task that keeps the time (`holds.rs`).
//! Every task is owned by the [`Runtime`] and ends with it.

mod builder;
mod chat;
mod feed;
mod head;
mod holds;
mod journal;
mod retention;
mod runtime;
mod subscribe;
pub mod transfer;
mod unreadable;
mod work;

pub use crate::metrics::Channel;
pub use builder::RuntimeBuilder;
pub use head::Hold;
pub use holds::Change;
pub use runtime::{ChatSummary, Limits, Runtime, RuntimeError};
pub use subscribe::{LiveSubscription, LiveTaken, Next, Subscription};
