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

use crate::{clock::Timestamp, log::BatchHash, subject::Subject};

/// The version of the format.
const VERSION: u32 = 1;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum Line {
    /// A chat begins.
    Chat {
        version: u32,
        chat: ChatId,
        subject: Subject,
        updated_at: Timestamp,
        /// Where it begins in its log: after those that had its id before. The hashes are of these positions.
        #[serde(default, skip_serializing_if = "is_zero")]
        position: u64,
    },
    /// Facts of the chat, from a position on.
    Facts {
        chat: ChatId,
        first: u64,
        facts: Vec<Value>,
        /// The hash of the facts before. A damaged log may have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous_hash: Option<BatchHash>,
    },
    /// The chat is complete.
    End {
        chat: ChatId,
        length: u64,
        /// The hash of the last facts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hash: Option<BatchHash>,
    },
}

fn is_zero(position: &u64) -> bool {
    *position == 0
}

#[cfg(test)]
mod tests;
