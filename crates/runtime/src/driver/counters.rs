//! Counters for the operator.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counts since the start of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Heads that could not be decoded. Those chats were folded from their facts instead.
    pub unreadable_heads: u64,
    /// Chats whose facts could not be decoded.
    pub unreadable_chats: u64,
    /// Appends that were repeated because their result was unknown.
    pub repeated_appends: u64,
    /// Requests without an answer in time because the log could not be written.
    pub unanswered: u64,
    /// New turns refused by a limit.
    pub refused_turns: u64,
    /// Chats not loaded because of the limit on loaded bytes.
    pub refused_loads: u64,
    /// Appends that currently wait too long for the log.
    pub stuck_appends: usize,
    /// Bytes of the chats currently in memory, as stored.
    pub loaded_bytes: usize,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) unreadable_heads: AtomicU64,
    pub(super) unreadable_chats: AtomicU64,
    pub(super) repeated_appends: AtomicU64,
    pub(super) unanswered: AtomicU64,
    pub(super) refused_turns: AtomicU64,
    pub(super) refused_loads: AtomicU64,
    stuck_appends: AtomicUsize,
    loaded_bytes: AtomicUsize,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counters {
    pub(super) fn read(&self) -> Counts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            unreadable_heads: load(&self.unreadable_heads),
            unreadable_chats: load(&self.unreadable_chats),
            repeated_appends: load(&self.repeated_appends),
            unanswered: load(&self.unanswered),
            refused_turns: load(&self.refused_turns),
            refused_loads: load(&self.refused_loads),
            stuck_appends: self.stuck_appends(),
            loaded_bytes: self.loaded_bytes.load(Ordering::Relaxed),
        }
    }

    pub(super) fn stuck_appends(&self) -> usize {
        self.stuck_appends.load(Ordering::Relaxed)
    }

    /// Counts a stuck append until the guard is dropped.
    pub(super) fn stuck(&self) -> Stuck<'_> {
        self.stuck_appends.fetch_add(1, Ordering::Relaxed);
        Stuck(self)
    }

    /// Reserves memory for a chat, unless that exceeds the limit.
    pub(super) fn load(&self, bytes: usize, limit: usize) -> bool {
        let taken = self.loaded_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |loaded| {
            loaded.checked_add(bytes).filter(|loaded| *loaded <= limit)
        });
        if taken.is_err() {
            count(&self.refused_loads);
        }
        taken.is_ok()
    }

    /// Counts the growth of a chat.
    pub(super) fn grow(&self, bytes: usize) {
        self.loaded_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Releases the memory of a chat.
    pub(super) fn unload(&self, bytes: usize) {
        self.loaded_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

pub(super) struct Stuck<'a>(&'a Counters);

impl Drop for Stuck<'_> {
    fn drop(&mut self) {
        self.0.stuck_appends.fetch_sub(1, Ordering::Relaxed);
    }
}
