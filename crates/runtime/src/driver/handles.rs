//! The handles of a runtime, one for each topic. Their methods stand beside what they do.

use super::Runtime;
use crate::{identity::Identity, subject::Subject};

/// The chats of one subject: see [`Runtime::chats`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a handle does nothing by itself"]
pub struct Chats<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) owner: &'a Subject,
}

/// A live connection of one identity: see [`Runtime::live`].
#[derive(Debug, Clone)]
#[must_use = "a handle does nothing by itself"]
pub struct Live<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) by: Identity,
}

/// The approval requests that one identity may see: see [`Runtime::inbox`].
#[derive(Debug, Clone)]
#[must_use = "a handle does nothing by itself"]
pub struct Inbox<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) by: Identity,
}

/// The grants that one identity may see: see [`Runtime::grants`].
#[derive(Debug, Clone)]
#[must_use = "a handle does nothing by itself"]
pub struct Grants<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) by: Identity,
}

/// The record, as far as one identity may read it: see [`Runtime::audit`].
#[derive(Debug, Clone)]
#[must_use = "a handle does nothing by itself"]
pub struct Audit<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) by: Identity,
}

/// What operators need: see [`Runtime::admin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a handle does nothing by itself"]
pub struct Admin<'a> {
    pub(super) runtime: &'a Runtime,
}

/// Tickets that the nodes share: see [`Runtime::tickets`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a handle does nothing by itself"]
pub struct Tickets<'a> {
    pub(super) runtime: &'a Runtime,
}

impl Runtime {
    /// The chats of a subject: their list, their messages, and what ends them.
    pub fn chats<'a>(&'a self, owner: &'a Subject) -> Chats<'a> {
        Chats { runtime: self, owner }
    }

    /// What a live connection of this identity does: one chat, turn after turn, in the adk profile.
    pub fn live(&self, by: impl Into<Identity>) -> Live<'_> {
        Live { runtime: self, by: by.into() }
    }

    /// The inbox of an identity: the approval requests that it may decide, and its decisions.
    pub fn inbox(&self, by: impl Into<Identity>) -> Inbox<'_> {
        Inbox { runtime: self, by: by.into() }
    }

    /// The grants that an identity may see and revoke: those that it has made, those for its own chats and, for an admin,
    /// all.
    pub fn grants(&self, by: impl Into<Identity>) -> Grants<'_> {
        Grants { runtime: self, by: by.into() }
    }

    /// The record, as far as an identity may read it: the lines of its own chats and decisions and, for an admin, all.
    pub fn audit(&self, by: impl Into<Identity>) -> Audit<'_> {
        Audit { runtime: self, by: by.into() }
    }

    /// What operators need: the chats of all subjects, the state of this node, verification. It checks no rights.
    pub fn admin(&self) -> Admin<'_> {
        Admin { runtime: self }
    }

    /// Tickets that every node of a shared log may redeem, for a server that logs its WebSockets in with them.
    pub fn tickets(&self) -> Tickets<'_> {
        Tickets { runtime: self }
    }
}
