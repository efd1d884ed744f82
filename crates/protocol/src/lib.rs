//! What Holdpoint says and hears on the wire, and nothing else: no clock, no I/O, no async.
//!
//! - [`chunk`]: the chunks of the AI SDK's UI message stream; [`message`]: the messages that a client builds from them.
//! - [`sse`]: both ways between chunks and bytes.
//! - [`reduce`]: chunks to messages, part for part what the SDK's own client builds.
//! - [`check`]: the rules that keep a client from throwing, hanging, doubling or looping.
//! - [`holds`]: the calls that wait for somebody, and what was decided about them.
//! - [`problem`]: errors over HTTP.
//! - [`request`], [`skim`]: what a client sends over HTTP, whole or without what is known already.
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
pub mod skim;
pub mod sse;
#[cfg(feature = "typescript")]
pub mod typescript;
pub mod websocket;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The name under which a running tool's question to the user stands on the wire: a call of the browser's, with the input
/// `{message, schema, from}` and the output `{action: "accept" | "decline" | "cancel", content?}`.
pub const ASK_USER: &str = "ask_user";
