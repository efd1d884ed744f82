//! The wire protocol of Holdpoint, and nothing else: no clock, no I/O, no async.
//!
//! - [`chunk`]: the chunks of the AI SDK's UI message stream; [`message`]: the messages that a client builds from them.
//! - [`sse`]: chunks to bytes and back.
//! - [`reduce`]: chunks to messages, exactly as the SDK's own client builds them.
//! - [`check`]: the rules that keep a client from throwing, hanging, duplicating or looping.
//! - [`holds`]: the holds of a chat and their decisions.
//! - [`problem`]: errors over HTTP.
//! - [`request`], [`skim`]: HTTP request bodies, read in full or without the history that the server has.
//! - [`response`]: lists and events of the server.
//! - [`auto_send`]: when an adk client sends by itself.

pub mod auto_send;
pub mod check;
pub mod chunk;
pub mod holds;
pub mod ids;
pub mod json;
pub mod live;
pub mod message;
pub mod problem;
pub mod reduce;
pub mod request;
pub mod response;
pub mod skim;
pub mod sse;
#[cfg(feature = "typescript")]
pub mod typescript;
pub mod websocket;

/// Runs the README's examples as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The wire name of a running tool's prompt to the user. It is a call that the browser answers, with the input
/// `{message, schema, from}` and the output `{action: "accept" | "decline" | "cancel", content?}`.
pub const PROMPT_TOOL: &str = "ask_user";
