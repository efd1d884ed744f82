//! Exponential backoff.

use std::time::Duration;

/// Delays that double from a first one up to a maximum.
#[derive(Debug, Clone)]
pub struct Backoff {
    next: Duration,
    max: Duration,
}

impl Backoff {
    /// From the first delay up to the maximum.
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { next: first, max }
    }

    /// The next delay.
    pub fn delay(&mut self) -> Duration {
        let delay = self.next;
        self.next = (delay * 2).min(self.max);
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum() {
        let seconds = Duration::from_secs;
        let mut backoff = Backoff::new(seconds(1), seconds(5));
        let delays: Vec<_> = (0..5).map(|_| backoff.delay().as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 5, 5]);
    }
}
