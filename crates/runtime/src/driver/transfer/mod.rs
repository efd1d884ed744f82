//! Chats as lines of JSON: out of one log, and into another.
//!
//! A chat is a `chat` line, one `facts` line for each batch of its log, and an `end` line. What is not facts is made anew on the way in:
//! the head, and the keys by which the chat is found.

mod export;
mod import;

pub use export::{ExportError, export};
use holdpoint_protocol::ids::ChatId;
pub use import::{ImportError, Imported, Importer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{clock::Timestamp, subject::Subject};

/// The version of the lines.
const VERSION: u32 = 1;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum Line {
    /// A chat begins.
    Chat { version: u32, chat: ChatId, subject: Subject, updated_at: Timestamp },
    /// What happened in it, from a position on.
    Facts { chat: ChatId, first: u64, facts: Vec<Value> },
    /// It is complete.
    End { chat: ChatId, length: u64 },
}

#[cfg(test)]
mod tests;
