//! The record, as a log takes and gives it.

use bytes::Bytes;
use holdpoint_protocol::ids::ChatId;

use holdpoint_core::{clock::Timestamp, subject::Subject};

/// The position of the entry for a revoked grant is that of the fact that made the grant, and this. No chat has as many
/// facts.
pub const REVOCATION: u64 = 1 << 52;

/// One entry of the record: a step of a call. It stays when its chat is deleted, without its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Which of the append's facts it is about.
    pub index: u32,
    /// When it happened.
    pub at: Timestamp,
    /// The tool.
    pub tool: Box<str>,
    /// Who did it, if it was a person.
    pub by: Option<Subject>,
    /// Other data: the runtime's own JSON.
    pub data: Bytes,
    /// What is removed with the chat.
    pub contents: Option<Bytes>,
}

/// An entry of the record in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The chat.
    pub chat: ChatId,
    /// The position of the fact in its chat.
    pub position: u64,
    /// The owner of the chat at that time.
    pub owner: Subject,
    /// When it happened.
    pub at: Timestamp,
    /// The tool.
    pub tool: Box<str>,
    /// Who did it, if it was a person.
    pub by: Option<Subject>,
    /// The runtime's own JSON.
    pub data: Bytes,
    /// `None` if there was nothing, or once the chat is deleted.
    pub contents: Option<Bytes>,
}

impl AuditEntry {
    /// Whether a subject owns the chat or did this.
    pub fn is_of(&self, subject: &Subject) -> bool {
        self.owner == *subject || self.by.as_ref() == Some(subject)
    }
}

/// Filters for the record. Entries are ordered by time, then chat, then position; those of one chat by position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only what this subject may see: its chats, and what it did itself.
    pub seen_by: Option<Subject>,
    /// Only this subject's chats, and what it did itself.
    pub subject: Option<Subject>,
    /// Only this chat.
    pub chat: Option<ChatId>,
    /// Only this tool.
    pub tool: Option<Box<str>>,
    /// Only entries of this time or later.
    pub since: Option<Timestamp>,
    /// Only entries before this time.
    pub until: Option<Timestamp>,
    /// Only entries that come after this one, for paging.
    pub after: Option<(Timestamp, ChatId, u64)>,
}

impl AuditQuery {
    /// Whether an entry is asked for.
    pub fn fits(&self, entry: &AuditEntry) -> bool {
        let place = (entry.at, &entry.chat, entry.position);
        let is_after = |(at, chat, position): &(Timestamp, ChatId, u64)| match &self.chat {
            Some(_) => entry.position > *position,
            None => place > (*at, chat, *position),
        };
        self.seen_by.as_ref().is_none_or(|subject| entry.is_of(subject))
            && self.subject.as_ref().is_none_or(|subject| entry.is_of(subject))
            && self.chat.as_ref().is_none_or(|chat| entry.chat == *chat)
            && self.tool.as_ref().is_none_or(|tool| entry.tool == *tool)
            && self.since.is_none_or(|since| entry.at >= since)
            && self.until.is_none_or(|until| entry.at < until)
            && self.after.as_ref().is_none_or(is_after)
    }
}
