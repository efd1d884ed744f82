//! The end of a response whose chat is no longer served here.

use holdpoint_protocol::chunk::{Chunk, Error, Finish};

use super::Next;

/// The message for a client whose response ends because the chat is no longer served here.
pub const GONE: &str = "The server is restarting, or the chat has moved to another one. Please try again.";
/// The message for a client whose chat was deleted.
pub const DELETED: &str = "This chat was deleted.";

/// The message for a client whose response ends with [`Next::Gone`] or [`Next::Deleted`]. `None` if it goes on, or ends in
/// order.
pub fn gone_message(next: Next) -> Option<&'static str> {
    match next {
        Next::More | Next::End => None,
        Next::Gone => Some(GONE),
        Next::Deleted => Some(DELETED),
    }
}

/// The last chunks of a response that ends with such a message. `None` if it has not begun: a client takes no chunk before
/// `start`, so break off the connection.
pub fn gone_chunks(message: &str, has_begun: bool) -> Option<[Chunk; 2]> {
    let error = Error { error_text: message.to_owned() };
    has_begun.then(|| [error.into(), Finish { finish_reason: None, message_metadata: None }.into()])
}
