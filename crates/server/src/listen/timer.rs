//! The server's clock, as hyper asks for time.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use holdpoint_runtime::clock::Clock;
use hyper::rt::{Sleep, Timer};

/// hyper sleeps until `now` plus a duration, and compares times with nothing else. So `now` stands still here, and what lies
/// between it and a deadline is the duration, which the clock then sleeps.
pub(super) struct ClockTimer {
    clock: Arc<dyn Clock>,
    now: Instant,
}

impl ClockTimer {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, now: Instant::now() }
    }
}

impl Timer for ClockTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(ClockSleep(Mutex::new(self.clock.sleep(duration))))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.sleep(deadline.saturating_duration_since(self.now))
    }

    fn now(&self) -> Instant {
        self.now
    }
}

/// The mutex is never locked: it makes the future `Sync`, as hyper wants it.
struct ClockSleep(Mutex<BoxFuture<'static, ()>>);

impl Future for ClockSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll(cx)
    }
}

impl Sleep for ClockSleep {}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use holdpoint_runtime::clock::Timestamp;
    use holdpoint_testkit::ManualClock;

    use super::*;

    #[test]
    fn a_deadline_is_a_duration_of_the_clock() {
        let clock = Arc::new(ManualClock::new(Timestamp(1000)));
        let timer = ClockTimer::new(Arc::clone(&clock) as _);
        let minute = Duration::from_secs(60);
        let mut until = timer.sleep_until(timer.now() + minute);
        assert!(until.as_mut().now_or_never().is_none());
        clock.advance(minute / 2);
        assert!(until.as_mut().now_or_never().is_none());
        // Put off, as hyper does it for the next request.
        timer.reset(&mut until, timer.now() + minute);
        clock.advance(minute / 2);
        assert!(until.as_mut().now_or_never().is_none());
        clock.advance(minute / 2);
        assert!(until.as_mut().now_or_never().is_some());
        assert!(timer.sleep(Duration::ZERO).as_mut().now_or_never().is_some());
    }
}
