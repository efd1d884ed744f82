//! The rule checker: reports, chunk by chunk, what would break a client. Its memory is bounded by what is open.
//!
//! [`Checker`] reads the bytes of a capture in any of its three formats. [`StreamChecker`] takes single chunks, for a
//! test that already has them.

mod adk;
mod auto_send;
mod blocks;
mod calls;
mod fast_path;
mod input;
mod rule;
mod schema;
mod stream;
mod tools;
mod transcript;

use serde::Serialize;

pub use input::{Checker, MAX_EVENT, Unreadable};
pub use rule::Rule;
pub use stream::StreamChecker;

/// The profile that the stream is written for.
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

/// Options of the checker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The profile.
    pub profile: Profile,
    /// The client asked for progressive text (adk).
    pub progressive_text: bool,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The line of the capture at fault, from 1.
    pub line: u64,
    /// The rule.
    pub rule: Rule,
    /// What is wrong, and how to fix it.
    pub text: String,
    /// The beginning of the offending payload, for display.
    #[serde(skip)]
    pub payload: String,
}

/// The client versions that read the stream: any over HTTP, 7 on the SDK's WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Any,
    Sdk7,
}
