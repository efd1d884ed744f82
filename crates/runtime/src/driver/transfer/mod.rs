//! Transfer of chats between logs, as lines of JSON.
//!
//! A chat is a `chat` line, one `facts` line for each batch of its log, and an `end` line. The import rebuilds the
//! rest: the head, and the keys by which the chat is found.

mod export;
mod import;

pub use export::{ExportError, export};
use holdpoint_protocol::ids::ChatId;
pub use import::{ImportError, Imported, Importer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{clock::Timestamp, subject::Subject};

/// The version of the format.
const VERSION: u32 = 1;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum Line {
    /// A chat begins.
    Chat { version: u32, chat: ChatId, subject: Subject, updated_at: Timestamp },
    /// Facts of the chat, from a position on.
    Facts { chat: ChatId, first: u64, facts: Vec<Value> },
    /// The chat is complete.
    End { chat: ChatId, length: u64 },
}

#[cfg(test)]
mod tests;
