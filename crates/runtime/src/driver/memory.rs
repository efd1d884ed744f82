//! The memory that chats and responses occupy, by the weight of what is parsed of them.

use std::sync::Arc;

use super::runtime::Inner;
use crate::subject::Subject;

/// What limits a reservation besides the limit of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// The share of its subject. Its only reservation may exceed it.
    Share,
    /// Half of all, for what is read for a moment, by few at a time.
    Half,
    /// Nothing.
    All,
}

/// A chat's share of the limit on loaded bytes.
pub(super) struct Memory {
    inner: Arc<Inner>,
    /// Whose it is; `None` while a chat has no owner yet.
    pub(super) subject: Option<Subject>,
    pub(super) within: Within,
    bytes: usize,
}

impl Memory {
    pub(super) fn new(inner: &Arc<Inner>, subject: Option<&Subject>) -> Self {
        Self { inner: Arc::clone(inner), subject: subject.cloned(), within: Within::Share, bytes: 0 }
    }

    /// The chat has an owner from now on.
    pub(super) fn belongs_to(&mut self, subject: &Subject) {
        if self.subject.is_none() {
            self.inner.counters.unload(None, self.bytes);
            self.inner.counters.grow(Some(subject), self.bytes);
            self.subject = Some(subject.clone());
        }
    }

    /// Raises it to this number of bytes, unless that exceeds a limit.
    pub(super) fn raise(&mut self, bytes: usize) -> bool {
        bytes <= self.bytes || self.load(bytes - self.bytes)
    }

    /// The size of what is loaded, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves more, unless that exceeds a limit. Returns whether there was room.
    pub(super) fn load(&mut self, bytes: usize) -> bool {
        let limits = &self.inner.limits;
        let (held, share) = match self.within {
            Within::Share => (self.bytes, limits.loaded_bytes_per_subject),
            Within::Half => (self.bytes, limits.loaded_bytes_per_subject.max(limits.loaded_bytes / 2)),
            Within::All => (usize::MAX, usize::MAX),
        };
        let is_taken = self.inner.counters.load(self.subject.as_ref(), bytes, held, share, limits);
        self.bytes += if is_taken { bytes } else { 0 };
        is_taken
    }

    /// Reserves room for what is about to be added, within the share of the subject, which this may not exceed even if
    /// there is nothing else. Returns whether there was room.
    pub(super) fn reserve(&mut self, bytes: usize) -> bool {
        let limits = &self.inner.limits;
        let share = limits.loaded_bytes_per_subject;
        let is_taken = self.inner.counters.load(self.subject.as_ref(), bytes, 0, share, limits);
        self.bytes += if is_taken { bytes } else { 0 };
        is_taken
    }

    /// Whether the subject has reached its share, or all have reached theirs.
    pub(super) fn is_over(&self) -> bool {
        let counters = &self.inner.counters;
        self.subject.as_ref().is_some_and(|subject| counters.is_full(subject, 0, &self.inner.limits))
            || counters.read().loaded_bytes >= self.inner.limits.loaded_bytes
    }

    /// Releases a part of what was reserved.
    pub(super) fn give_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.inner.counters.unload(self.subject.as_ref(), bytes);
        self.bytes -= bytes;
    }

    /// Counts what was appended, even over the limit: running work continues.
    pub(super) fn grow(&mut self, bytes: usize) {
        self.inner.counters.grow(self.subject.as_ref(), bytes);
        self.bytes += bytes;
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Memory({})", self.bytes)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.inner.counters.unload(self.subject.as_ref(), self.bytes);
    }
}
