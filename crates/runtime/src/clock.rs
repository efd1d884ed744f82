//! The clock, injected: durable deadlines are wall-clock times, and tests move the clock by hand.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures::future::BoxFuture;
pub use holdpoint_core::clock::Timestamp;

/// Where time comes from.
pub trait Clock: Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Timestamp;
    /// Completes when `now` has reached the time.
    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()>;
    /// Completes after this time, which is counted from this call. Setting the clock meanwhile makes it neither shorter nor
    /// longer, where there is a time that cannot be set.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.sleep_until(self.now().after(duration))
    }
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

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
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

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.own.sleep(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
