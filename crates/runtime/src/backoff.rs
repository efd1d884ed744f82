//! Exponential backoff.

use std::time::Duration;

/// Delays that double from a first one up to a maximum.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    next: Duration,
    max: Duration,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, max: Duration) -> Self {
        Self { next: first, max }
    }

    /// The next delay.
    pub(crate) fn next(&mut self) -> Duration {
        let delay = self.next;
        self.next = (delay * 2).min(self.max);
        delay
    }

    /// Sleeps for the next delay. The delay counts once this is polled, even if it is cancelled.
    pub(crate) async fn wait(&mut self) {
        let delay = self.next();
        tokio::time::sleep(delay).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum() {
        let seconds = Duration::from_secs;
        let mut backoff = Backoff::new(seconds(1), seconds(5));
        let delays: Vec<_> = (0..5).map(|_| backoff.next().as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 5, 5]);
    }
}
