//! Limits.

use crate::tool::Budget;

/// Limits of a runtime. What exceeds a limit is refused; work in progress continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Steps of a turn.
    pub steps: u32,
    /// Tokens of a turn and of a chat. When they are used up, a person is asked whether to go on.
    pub budget: Budget,
    /// Open holds of a chat.
    pub holds_per_chat: usize,
    /// Running turns of one subject: the model writes, or a tool runs on the server. A turn that waits is not running.
    pub turns_per_subject: usize,
    /// Running turns of all subjects.
    pub turns: usize,
    /// Chats of one subject in which something waits or runs.
    pub open_chats_per_subject: usize,
    /// Grants in force for the chats of one subject. Approvals that would make another are refused.
    pub grants_per_subject: usize,
    /// Bytes of a chat, as stored. A full chat takes no new message; outcomes are always written.
    pub chat_bytes: usize,
    /// Bytes of all chats of one subject, as stored. Beyond it, the subject sends no new message; outcomes are always
    /// written.
    pub stored_bytes_per_subject: usize,
    /// Chats of one subject. Beyond it, the subject begins no new one.
    pub chats_per_subject: usize,
    /// Bytes that all chats in memory take, as estimated: those in which something runs or that somebody follows.
    pub loaded_bytes: usize,
    /// Bytes of the chats of one subject in memory, once more for each response that follows one. A single chat may be
    /// larger.
    pub loaded_bytes_per_subject: usize,
    /// Bytes of a client's id for a chat or a message.
    pub id_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 20,
            budget: Budget::default(),
            holds_per_chat: 100,
            turns_per_subject: 100,
            turns: 1000,
            open_chats_per_subject: 10_000,
            grants_per_subject: 100,
            chat_bytes: 64 * 1024 * 1024,
            stored_bytes_per_subject: 1024 * 1024 * 1024,
            chats_per_subject: 100_000,
            loaded_bytes: 512 * 1024 * 1024,
            loaded_bytes_per_subject: 96 * 1024 * 1024,
            id_bytes: 256,
        }
    }
}
