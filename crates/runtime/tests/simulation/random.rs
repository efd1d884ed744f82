//! Numbers that depend on a seed only, and the time of a run.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use futures::future::BoxFuture;
use holdpoint_runtime::clock::{Clock, Timestamp};
use tokio::time::Instant;

/// A sequence of numbers (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence for a purpose. Each purpose has its own, so that one more number here changes nothing there.
    pub(crate) fn new(seed: u64, purpose: impl Hash) -> Self {
        // With fixed keys: the same in every process.
        let mut hasher = DefaultHasher::new();
        (seed, purpose).hash(&mut hasher);
        Self(hasher.finish())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `end - 1`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// An index of something with this length.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("an index")
    }

    /// One of these, if there are any.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.index(from.len())) }
    }

    /// True in so many of a thousand cases.
    pub(crate) fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// A time of up to `most` milliseconds.
    pub(crate) fn millis(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.below(most + 1))
    }
}

/// The simulated time: that of the tokio runtime, which is paused and moves on by itself when nothing is left to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SimulatedClock(Instant);

/// The time at which every run begins.
const BEGIN: Timestamp = Timestamp(1_800_000_000_000);

impl SimulatedClock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    /// Milliseconds since the run began.
    pub(crate) fn millis(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        BEGIN.after(self.0.elapsed())
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let until = self.0 + Duration::from_millis(at.0.saturating_sub(BEGIN.0));
        Box::pin(tokio::time::sleep_until(until))
    }
}
