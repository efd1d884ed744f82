//! Events that anybody can cause, as often as they like: they are logged now and then, with the number of those left out.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The time in which one is logged.
const PERIOD: Duration = Duration::from_secs(60);

/// When an event of one kind was logged last, and how many were left out since.
///
/// It uses system time instead of the injected clock: no client depends on it.
#[derive(Debug, Default)]
pub(crate) struct Occasional(Mutex<Option<(Instant, u64)>>);

impl Occasional {
    /// The number of events left out since the last one, if this one is to be logged.
    pub(crate) fn next(&self) -> Option<u64> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *last {
            Some((at, left_out)) if at.elapsed() < PERIOD => {
                *left_out += 1;
                None
            }
            last => Some(last.replace((Instant::now(), 0)).map_or(0, |(_, left_out)| left_out)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_in_a_while_says_how_many_there_were() {
        let events = Occasional::default();
        assert_eq!(events.next(), Some(0));
        assert!((0..1000).all(|_| events.next().is_none()));
        tokio::time::advance(PERIOD).await;
        assert_eq!((events.next(), events.next()), (Some(1000), None));
    }
}
