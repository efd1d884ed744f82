//! The wire protocol of Holdpoint, and nothing else: no clock, no I/O, no async.
//!
//! - [`chunk`]: the chunks of the AI SDK's UI message stream; [`message`]: the messages that a client builds from them.
//! - [`sse`]: chunks to bytes and back.
//! - [`reduce`]: chunks to messages, exactly as the SDK's own client builds them.
//! - [`check`]: the rules that keep a client from throwing, hanging, duplicating or looping.
//! - [`holds`]: the holds of a chat and their decisions.
//! - [`grants`]: decisions made in advance.
//! - [`identity`]: roles, and who a request is.
//! - [`problem`]: errors over HTTP.
//! - [`request`], [`skim`]: HTTP request bodies, read in full or without the history that the server has.
//! - [`response`]: lists and events of the server.
//! - [`auto_send`]: when an adk client sends by itself.
//!
//! A stream as a server writes it, read as a client reads it, and checked:
//!
//! ```
//! use holdpoint_protocol::{
//!     check::{Checker, Options, Rule},
//!     ids::MessageId,
//!     message::Part,
//!     reduce::{Reducer, Sdk},
//!     sse::{Decoder, Event},
//! };
//!
//! let stream = concat!(
//!     r#"data: {"type":"start","messageId":"m1"}"#, "\n\n",
//!     r#"data: {"type":"text-start","id":"0"}"#, "\n\n",
//!     r#"data: {"type":"text-delta","id":"0","delta":"Hello"}"#, "\n\n",
//!     r#"data: {"type":"text-end","id":"0"}"#, "\n\n",
//!     r#"data: {"type":"finish"}"#, "\n\n",
//!     "data: [DONE]\n\n",
//! );
//!
//! // As the SDK's client builds it.
//! let mut client = Reducer::new(Sdk::V7, MessageId::from("local"));
//! Decoder::new(1024 * 1024).feed(stream.as_bytes(), |event| {
//!     if let Event::Data { data, .. } = event
//!         && let Ok(chunk) = Sdk::V7.read(data)
//!     {
//!         client.apply_read(&chunk).expect("the client does not throw");
//!     }
//! });
//! assert!(matches!(&client.message().parts[..], [Part::Text(text)] if text.text == "Hello"));
//!
//! // What would break a client: here a delta of a block that was not begun.
//! let mut checker = Checker::new(Options::default());
//! checker.feed(stream.replace("text-start", "text-end").as_bytes());
//! checker.finish();
//! assert_eq!(checker.take_violations()[0].rule, Rule::B1);
//! ```

pub mod ack;
mod approval;
pub mod audit;
pub mod auto_send;
pub mod check;
pub mod chunk;
pub mod grants;
pub mod holds;
pub mod identity;
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
pub mod status;
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
