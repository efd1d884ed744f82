//! Server-sent events: chunks to bytes, bytes to events.

mod decode;
mod encode;

pub use decode::{Decoder, Event};
pub use encode::{encode, encode_chunks, encode_comment, encode_done, encode_json, encode_some};

/// The payload that ends a segment over SSE.
pub const DONE: &str = "[DONE]";
