//! The clock, injected: durable deadlines are wall-clock times, and tests move the clock by hand.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The last time that a log can store: databases have signed numbers.
    pub const LAST: Self = Self(i64::MAX as u64);

    /// The time `duration` later, but not after the [last](Self::LAST).
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))).min(Self::LAST)
    }

    /// ISO 8601, with milliseconds, in UTC.
    pub fn iso8601(self) -> String {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        // Later than the year 9999 is shown as its end.
        let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        format!("{time:.3}")
    }

    /// Reads a time of RFC 3339, such as `2026-11-20T09:30:00Z`. `None` for anything else, and for times before 1970.
    pub fn parse(text: &str) -> Option<Self> {
        let time: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(time.as_millisecond()).ok().map(Self)
    }
}

/// Where time comes from.
pub trait Clock: Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Timestamp;
    /// Completes when `now` has reached the time.
    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()>;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::default().after(since)
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let clock = *self;
        Box::pin(async move {
            // The wall clock can be set while we sleep, so check at least once a minute.
            while let Some(left) = at.0.checked_sub(clock.now().0).filter(|left| *left > 0) {
                tokio::time::sleep(Duration::from_millis(left.min(60_000))).await;
            }
        })
    }
}

/// A clock that follows one that several nodes share. Each node measures by how much its own is off.
pub(crate) struct SharedClock {
    own: Arc<dyn Clock>,
    /// What is added to the node's own time, in milliseconds.
    offset: AtomicI64,
}

impl SharedClock {
    pub(crate) fn new(own: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { own, offset: AtomicI64::new(0) })
    }

    /// The node's own time.
    pub(crate) fn own(&self) -> Timestamp {
        self.own.now()
    }

    /// By how much the shared clock is ahead of the node's own, in milliseconds.
    pub(crate) fn offset(&self) -> i64 {
        self.offset.load(Ordering::Relaxed)
    }

    /// Sets the clock: between these two own times, the shared clock showed `shared`.
    pub(crate) fn set(&self, asked: Timestamp, answered: Timestamp, shared: Timestamp) {
        let uncertain = answered.0.saturating_sub(asked.0) / 2;
        let middle = asked.0 + uncertain;
        let offset = i64::try_from(shared.0).unwrap_or(i64::MAX).saturating_sub_unsigned(middle);
        // A slow answer says little. Without this, the time would go back and forth.
        let difference = offset.saturating_sub(self.offset()).unsigned_abs();
        if difference > uncertain + Self::TOLERANCE_MS {
            self.offset.store(offset, Ordering::Relaxed);
        }
    }

    const TOLERANCE_MS: u64 = 20;
}

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.own.now().0.saturating_add_signed(self.offset()))
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        // Whoever waits for a deadline looks again every second, so a correction meanwhile is not missed.
        self.own.sleep_until(Timestamp(at.0.saturating_add_signed(self.offset().saturating_neg())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_people_expect() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_738_413_296_789, "2025-02-01T12:34:56.789Z"),
            (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
            (u64::MAX, "9999-12-30T22:00:00.999Z"),
        ] {
            assert_eq!(Timestamp(millis).iso8601(), text);
        }
    }

    /// A tool may be given any time limit, and a database stores what comes of it.
    #[test]
    fn no_time_is_later_than_the_last() {
        assert_eq!(Timestamp(5).after(Duration::from_millis(7)), Timestamp(12));
        assert_eq!(Timestamp(5).after(Duration::MAX), Timestamp::LAST);
        assert_eq!(Timestamp::LAST.after(Duration::from_millis(1)), Timestamp::LAST);
    }

    #[test]
    fn a_shared_clock_is_followed_however_far_off_the_own_one_is() {
        struct At(u64);
        impl Clock for At {
            fn now(&self) -> Timestamp {
                Timestamp(self.0)
            }
            fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
                assert_eq!(at, Timestamp(self.0 + 5));
                Box::pin(async {})
            }
        }
        for shared in [3_600_000, 1_000_000, 10] {
            let clock = SharedClock::new(Arc::new(At(1_000_000)));
            clock.set(Timestamp(999_990), Timestamp(1_000_010), Timestamp(shared));
            assert_eq!(clock.now(), Timestamp(shared));
            assert_eq!(futures::FutureExt::now_or_never(clock.sleep_until(Timestamp(shared + 5))), Some(()));
            // As far as can be told from a slow answer, it is the same.
            clock.set(Timestamp(999_000), Timestamp(1_001_000), Timestamp(shared + 900));
            assert_eq!(clock.now(), Timestamp(shared));
        }
    }
}
