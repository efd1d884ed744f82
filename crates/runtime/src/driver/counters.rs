//! Counters for the operator.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use super::Limits;
use crate::subject::Subject;

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
    /// Bytes that the chats currently in memory take, as estimated.
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
    /// The part of each subject that has any.
    loaded_by: Mutex<HashMap<Subject, usize>>,
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

    /// Reserves memory for a chat, unless that exceeds a limit. `held` is what the same reservation has already: a
    /// subject's only one may exceed the subject's share, so that a large chat can be read.
    pub(super) fn load(
        &self,
        subject: Option<&Subject>,
        bytes: usize,
        held: usize,
        share: usize,
        limits: &Limits,
    ) -> bool {
        let mut loaded_by = self.loaded_by();
        let own = subject.and_then(|subject| loaded_by.get(subject)).copied().unwrap_or_default();
        let is_within = own <= held || own.saturating_add(bytes) <= share;
        let taken = self.loaded_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |loaded| {
            loaded.checked_add(bytes).filter(|loaded| is_within && *loaded <= limits.loaded_bytes)
        });
        match (taken, subject) {
            (Err(_), _) => count(&self.refused_loads),
            (Ok(_), Some(subject)) if bytes > 0 => *loaded_by.entry(subject.clone()).or_default() += bytes,
            (Ok(_), _) => {}
        }
        taken.is_ok()
    }

    /// Whether a subject has reached its limit, so that it begins nothing new. `held` is what one of its chats has: the
    /// only one may go on.
    pub(super) fn is_full(&self, subject: &Subject, held: usize, limits: &Limits) -> bool {
        let own = self.loaded_by().get(subject).copied().unwrap_or_default();
        own >= limits.loaded_bytes_per_subject && own > held
    }

    /// Counts the growth of a chat.
    pub(super) fn grow(&self, subject: Option<&Subject>, bytes: usize) {
        self.loaded_bytes.fetch_add(bytes, Ordering::Relaxed);
        if let Some(subject) = subject {
            *self.loaded_by().entry(subject.clone()).or_default() += bytes;
        }
    }

    /// Releases the memory of a chat.
    pub(super) fn unload(&self, subject: Option<&Subject>, bytes: usize) {
        self.loaded_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let Some(subject) = subject else { return };
        let mut loaded_by = self.loaded_by();
        if let Some(own) = loaded_by.get_mut(subject) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                loaded_by.remove(subject);
            }
        }
    }

    fn loaded_by(&self) -> MutexGuard<'_, HashMap<Subject, usize>> {
        self.loaded_by.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Stuck<'a>(&'a Counters);

impl Drop for Stuck<'_> {
    fn drop(&mut self) {
        self.0.stuck_appends.fetch_sub(1, Ordering::Relaxed);
    }
}
