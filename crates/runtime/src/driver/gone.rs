//! The end of a response whose chat is no longer served here.

use holdpoint_protocol::chunk::{Chunk, Error, Finish};

/// The message for a client whose response ends because the chat is no longer served here.
pub const GONE: &str = "The server is restarting, or the chat was deleted. Please try again.";

/// The last chunks of a response that ends with [`Next::Gone`](super::Next::Gone). `None` if it has not begun: a client
/// takes no chunk before `start`, so break off the connection.
pub fn gone_chunks(has_begun: bool) -> Option<[Chunk; 2]> {
    let error = Error { error_text: GONE.to_owned() };
    has_begun.then(|| [error.into(), Finish { finish_reason: None, message_metadata: None }.into()])
}
