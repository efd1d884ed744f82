//! The driver: the only place with tasks. It runs what the turn machine's facts ask for, and appends.
//!
//! One task a chat that is doing something (`chat.rs`), none for a chat that only waits; one task that keeps the time and one that
//! recovers turns that were cut off (`recovery.rs`).
//! Every task is owned by the [`Runtime`] and ends with it.

mod append;
mod builder;
mod changes;
mod chat;
mod counters;
mod deadlines;
mod feed;
mod head;
mod holds;
mod journal;
mod limits;
mod load;
mod mailbox;
mod observe;
mod record;
mod recovery;
mod response;
mod retention;
mod runtime;
pub mod transfer;
mod unreadable;
mod work;

pub use crate::metrics::Channel;
pub use builder::RuntimeBuilder;
pub use changes::Change;
pub use counters::Counts;
pub use head::Hold;
pub use limits::Limits;
pub use response::{LiveStream, LiveTaken, Next, ResponseStream, StoredChat};
pub use runtime::{ChatSummary, Runtime, RuntimeError};
