//! Grants, as a log takes and gives them: decisions made in advance, and how often each was used.

use bytes::Bytes;
pub use holdpoint_protocol::grants::{GrantScope, GrantState};
use holdpoint_protocol::ids::{ChatId, GrantId};

use holdpoint_core::{clock::Timestamp, subject::Subject};

/// What an append does to grants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrantChanges {
    /// Grants that it makes.
    pub made: Vec<GrantRow>,
    /// Grants that it uses, one entry for each use. If one of them can't be used, nothing of the append is written:
    /// [`AppendResult::NotGranted`](super::AppendResult::NotGranted).
    pub used: Vec<GrantUse>,
}

/// A grant that an append makes. It is for the owner of the append's chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantRow {
    /// Its id, which no other grant has.
    pub id: GrantId,
    /// Which of the append's facts makes it.
    pub index: u32,
    /// The tool.
    pub tool: Box<str>,
    /// Who makes it.
    pub maker: Subject,
    /// Whether it is for the append's chat only.
    pub scope: GrantScope,
    /// When it is made.
    pub made_at: Timestamp,
    /// When it ends: from this time on it can't be used.
    pub until: Option<Timestamp>,
    /// How often it can be used.
    pub uses: Option<u32>,
    /// Other data: the runtime's own JSON.
    pub data: Bytes,
}

/// A use of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantUse {
    /// The grant.
    pub grant: GrantId,
    /// When.
    pub at: Timestamp,
}

/// A stored grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredGrant {
    /// Its id.
    pub id: GrantId,
    /// The owner of the chats that it is for.
    pub subject: Subject,
    /// The only chat that it is for, if it is not for all of them.
    pub chat: Option<ChatId>,
    /// The tool.
    pub tool: Box<str>,
    /// Who made it.
    pub maker: Subject,
    /// The chat whose fact made it; `None` if somebody has changed that to one that is not there.
    pub made_in: Option<ChatId>,
    /// The position of that fact.
    pub position: u64,
    /// When.
    pub made_at: Timestamp,
    /// When it ends.
    pub until: Option<Timestamp>,
    /// How often it can be used.
    pub uses: Option<u32>,
    /// How often it was used.
    pub used: u64,
    /// When it was used last.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked, and by whom.
    pub revoked: Option<(Timestamp, Subject)>,
    /// The runtime's own JSON.
    pub data: Bytes,
}

impl StoredGrant {
    /// Its state at a time.
    pub fn state(&self, now: Timestamp) -> GrantState {
        if self.revoked.is_some() {
            GrantState::Revoked
        } else if self.uses.is_some_and(|uses| self.used >= u64::from(uses)) {
            GrantState::UsedUp
        } else if self.until.is_some_and(|until| until <= now) {
            GrantState::Expired
        } else {
            GrantState::Active
        }
    }

    /// Whether it can be used this many times more, in a chat of a subject.
    pub(super) fn admits(&self, uses: &[&GrantUse], chat: &ChatId, subject: &Subject) -> bool {
        let is_for = self.subject == *subject && self.chat.as_ref().is_none_or(|only| only == chat);
        let is_within = |limit: u32| self.used.saturating_add(uses.len() as u64) <= u64::from(limit);
        let is_timely = uses.iter().all(|used| self.until.is_none_or(|until| used.at < until));
        is_for && is_timely && self.revoked.is_none() && self.uses.is_none_or(is_within)
    }
}

/// Which grants are listed, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantQuery {
    /// The one with this id.
    One(GrantId),
    /// Those that can be used now in the chats of a subject.
    Usable {
        /// The owner of the chats.
        subject: Subject,
        /// Only those for calls of this tool.
        tool: Option<Box<str>>,
        /// Now.
        now: Timestamp,
    },
    /// All of them, or those that a subject has made or that are for its chats.
    List {
        /// The subject.
        of: Option<Subject>,
        /// Only grants that come after this one, for paging: when it was made, and its id.
        after: Option<(Timestamp, GrantId)>,
    },
}

/// The revocation of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// The grant.
    pub grant: GrantId,
    /// Who revokes it.
    pub by: Subject,
    /// When.
    pub at: Timestamp,
    /// What the record says of it: the data of its entry.
    pub data: Bytes,
}
