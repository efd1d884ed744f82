//! The rule checker: what would break a client, told chunk by chunk, in memory that is bounded by what is open.
//!
//! [`Checker`] reads the bytes of a capture in any of its three forms. [`StreamChecker`] takes chunks one by one, for a test that
//! has them already.

mod adk;
mod auto_send;
mod blocks;
mod calls;
mod input;
mod quiet;
mod rule;
mod schema;
mod stream;
mod tools;
mod transcript;

use serde::Serialize;

pub use input::{Checker, MAX_EVENT, Unreadable};
pub use rule::Rule;
pub use stream::StreamChecker;

/// How the stream is meant to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// For a stock `useChat`.
    #[default]
    AiSdk,
    /// adk over SSE.
    AdkSse,
    /// adk over WebSocket.
    AdkLive,
}

/// What to check against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The profile.
    pub profile: Profile,
    /// The client asked for text as it comes (adk).
    pub progressive_text: bool,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The line of the capture that gets the blame, from 1.
    pub line: u64,
    /// The rule.
    pub rule: Rule,
    /// What is wrong, and what to do.
    pub text: String,
    /// The beginning of the payload at which it was found, for people to look at.
    #[serde(skip)]
    pub payload: String,
}

/// Which client reads: over HTTP any version, on the SDK's WebSocket 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Any,
    Sdk7,
}
