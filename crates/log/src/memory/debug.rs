//! What `{:?}` shows: how much there is, and nothing of it. Whoever prints a log prints no conversations.

use std::fmt;

use super::MemoryLog;

impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLog").field("chats", &self.chats().by_id.len()).finish_non_exhaustive()
    }
}
