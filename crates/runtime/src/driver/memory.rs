//! The memory that chats and responses occupy, counted in bytes as stored.

use std::sync::Arc;

use super::runtime::Inner;
use crate::subject::Subject;

/// A chat's share of the limit on loaded bytes.
pub(super) struct Memory {
    inner: Arc<Inner>,
    /// Whose it is; `None` while a chat has no owner yet.
    pub(super) subject: Option<Subject>,
    /// Whether the share of the subject does not limit it, but only that of all.
    pub(super) is_exempt: bool,
    bytes: usize,
}

impl Memory {
    pub(super) fn new(inner: &Arc<Inner>, subject: Option<&Subject>) -> Self {
        Self { inner: Arc::clone(inner), subject: subject.cloned(), is_exempt: false, bytes: 0 }
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
        let held = if self.is_exempt { usize::MAX } else { self.bytes };
        let is_taken = self.inner.counters.load(self.subject.as_ref(), bytes, held, &self.inner.limits);
        self.bytes += if is_taken { bytes } else { 0 };
        is_taken
    }

    /// Counts appended bytes, even over the limit: running work continues.
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
