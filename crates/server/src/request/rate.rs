//! Request rates, per subject and per address.
//!
//! Our own: see `docs/adr/0028-what-one-client-can-take.md` for the comparison with a crate.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The number of keys at which idle ones are removed.
const MAX_KEYS: usize = 10_000;

/// Admits this many requests per second, and as many at once after a quiet second.
///
/// It uses system time instead of the injected clock: this is about load, and no client depends on it.
#[derive(Debug)]
pub(crate) struct Rate<K> {
    /// How long one request counts; `None` means no limit.
    each: Option<Duration>,
    /// The time until which the requests of each key count.
    counted: Mutex<HashMap<K, Instant>>,
}

impl<K: Hash + Eq + Clone> Rate<K> {
    /// `usize::MAX` means no limit.
    pub(crate) fn new(per_second: usize) -> Self {
        let each = match u32::try_from(per_second) {
            Ok(per_second) => Some(Duration::from_secs(1) / per_second.max(1)),
            Err(_) => None,
        };
        Self { each, counted: Mutex::default() }
    }

    /// Whether one more request is admitted now. An admitted request is counted.
    pub(crate) fn admits(&self, key: &K) -> bool {
        let Some(each) = self.each else { return true };
        let now = Instant::now();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= MAX_KEYS {
            counted.retain(|_, until| *until > now);
        }
        // Too many keys are active to count each: new ones are admitted.
        if counted.len() >= MAX_KEYS && !counted.contains_key(key) {
            return true;
        }
        let until = counted.entry(key.clone()).or_insert(now);
        let next = (*until).max(now) + each;
        let is_admitted = next <= now + Duration::from_secs(1);
        if is_admitted {
            *until = next;
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn at_below_and_above() {
        let rate = Rate::new(10);
        let admitted = |count: usize| (0..count).filter(|_| rate.admits(&"ann")).count();
        assert_eq!(admitted(9), 9, "below");
        assert_eq!(admitted(1), 1, "at");
        assert_eq!(admitted(5), 0, "above");
        assert!(rate.admits(&"bob"), "everybody has a count of their own");
        tokio::time::advance(Duration::from_millis(300)).await;
        assert_eq!(admitted(5), 3, "what time has given back");
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(admitted(20), 10, "no more than a second's worth at once");
        assert!((0..100_000).all(|_| Rate::new(usize::MAX).admits(&"ann")), "no limit");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_quiet_is_forgotten() {
        let rate = Rate::new(10);
        assert!((0..2 * MAX_KEYS).all(|key| rate.admits(&key)));
        tokio::time::advance(Duration::from_secs(1)).await;
        rate.admits(&0);
        assert_eq!(rate.counted.lock().unwrap_or_else(PoisonError::into_inner).len(), 1);
    }
}
