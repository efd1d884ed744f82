//! Wrong credentials: an address that sends many of them has to wait.
//!
//! A credential is looked at first, and a right one is never counted nor slowed down: people who share an address with
//! a guesser, behind a proxy for example, are not locked out. A wrong one is counted for its address. Beyond the limit,
//! further wrong ones get 429.
//!
//! Our own: see `docs/adr/0028-what-one-client-can-take.md` for the comparison with a crate.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The number of addresses that are counted on their own. The others are counted together.
const MAX_ADDRESSES: usize = 10_000;

/// Wrong credentials by address, within bounded memory.
///
/// It uses system time instead of the injected clock: this is about load, and no client depends on it.
#[derive(Debug)]
pub(super) struct Attempts {
    /// How long a wrong credential counts; `None` means no limit.
    each: Option<Duration>,
    /// Until when the wrong credentials of each address count; `None` is all addresses that are not counted on their own.
    wrong: Mutex<HashMap<Option<IpAddr>, Instant>>,
}

/// The time in which as many wrong credentials as the limit are allowed.
const WINDOW: Duration = Duration::from_secs(60);

impl Attempts {
    /// Allows this many wrong credentials per minute and address; `usize::MAX` means no limit.
    pub(super) fn new(per_minute: usize) -> Self {
        let each = u32::try_from(per_minute).ok().map(|per_minute| WINDOW / per_minute.max(1));
        Self { each, wrong: Mutex::default() }
    }

    /// Counts a wrong credential. Returns how long the address has to wait, if this was one too many.
    pub(super) fn was_wrong(&self, address: IpAddr) -> Option<Duration> {
        let (each, now) = (self.each?, Instant::now());
        let mut wrong = self.counts();
        if wrong.len() >= MAX_ADDRESSES {
            wrong.retain(|_, until| *until > now);
        }
        let own = Some(network(address));
        let key = if wrong.len() < MAX_ADDRESSES || wrong.contains_key(&own) { own } else { None };
        let until = wrong.entry(key).or_insert(now);
        let wait = (*until + each).checked_duration_since(now + WINDOW).filter(|wait| !wait.is_zero());
        *until = ((*until).max(now) + each).min(now + WINDOW);
        wait
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, Instant>> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner of an IPv6 address usually has its whole /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[tokio::test(start_paused = true)]
    async fn at_below_and_above_the_limit() {
        let attempts = Attempts::new(10);
        for count in 0..10 {
            assert_eq!(attempts.was_wrong(address(1)), None, "after {count}");
        }
        assert_eq!(attempts.was_wrong(address(1)), Some(Duration::from_secs(6)));
        assert_eq!(attempts.was_wrong(address(2)), None, "every address has its own count");
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(attempts.was_wrong(address(1)), None, "what time has given back");
        // However many were sent, nobody waits longer than for one attempt.
        for _ in 0..1000 {
            assert_eq!(attempts.was_wrong(address(1)), Some(Duration::from_secs(6)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_ipv6_network_is_one_address() {
        let attempts = Attempts::new(2);
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert!(attempts.was_wrong(ip("2001:db8:1:2::1")).is_none());
        assert!(attempts.was_wrong(ip("2001:db8:1:2:ffff::9")).is_none());
        assert!(attempts.was_wrong(ip("2001:db8:1:2::3")).is_some());
        assert!(attempts.was_wrong(ip("2001:db8:1:3::1")).is_none());
        assert!(attempts.was_wrong(ip("::ffff:192.0.2.1")).is_none());
        assert!(attempts.was_wrong(ip("192.0.2.1")).is_none());
        assert!(attempts.was_wrong(address(1)).is_some(), "a mapped address is the same");
        assert!(attempts.was_wrong(address(2)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let attempts = Attempts::new(10);
        let ip = |number: usize| IpAddr::from(u32::try_from(number).expect("small").to_be_bytes());
        let told = (0..2 * MAX_ADDRESSES).filter(|number| attempts.was_wrong(ip(*number)).is_some()).count();
        assert_eq!(told, MAX_ADDRESSES - 10, "those that share a count have one limit");
        // Those that are too many are counted together.
        assert_eq!(attempts.counts().len(), MAX_ADDRESSES + 1);
        assert!(attempts.was_wrong(ip(3 * MAX_ADDRESSES)).is_some());
        assert!(attempts.was_wrong(ip(0)).is_none());
        tokio::time::advance(WINDOW).await;
        assert!(attempts.was_wrong(ip(1)).is_none());
        assert_eq!(attempts.counts().len(), 1, "what is quiet is forgotten");
        let unlimited = Attempts::new(usize::MAX);
        (0..1000).for_each(|_| assert_eq!(unlimited.was_wrong(address(1)), None));
    }
}
