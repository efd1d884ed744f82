//! Wrong credentials: an address that sends many of them has to wait.
//!
//! A wrong credential is counted for its address. Over the limit, credentials from there are no longer looked at, so
//! that guessing gains nothing, except for those that were right from that address before: people who share an address
//! with whoever guesses, behind a proxy for example, are not locked out.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The number of addresses that are counted on their own. The others are counted together.
const MAX_ADDRESSES: usize = 10_000;
/// The number of right credentials that are remembered.
const MAX_RIGHT: usize = 50_000;
/// How long a right credential is remembered.
const RIGHT_LIFETIME: Duration = Duration::from_secs(3600);

/// A digest of a credential: nothing that could be used.
pub(super) type CredentialDigest = [u8; 32];

/// Wrong credentials by address, within bounded memory.
///
/// It uses system time instead of the injected clock: this is about load, and no client depends on it.
#[derive(Debug)]
pub(super) struct Attempts {
    /// How long a wrong credential counts; `None` means no limit.
    each: Option<Duration>,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Until when the wrong credentials of each address count.
    wrong: HashMap<Option<IpAddr>, Instant>,
    /// When each credential was right last, by address.
    right: HashMap<(IpAddr, CredentialDigest), Instant>,
}

/// The time in which as many wrong credentials as the limit are allowed.
const WINDOW: Duration = Duration::from_secs(60);

impl Attempts {
    /// Allows this many wrong credentials per minute and address; `usize::MAX` means no limit.
    pub(super) fn new(per_minute: usize) -> Self {
        let each = u32::try_from(per_minute).ok().map(|per_minute| WINDOW / per_minute.max(1));
        Self { each, counts: Mutex::default() }
    }

    /// How long the address has to wait before this credential is looked at, if it has to.
    pub(super) fn wait(&self, address: IpAddr, credential: &CredentialDigest) -> Option<Duration> {
        let (each, now) = (self.each?, Instant::now());
        let counts = self.counts();
        let until = *counts.wrong.get(&counts.key(address))?;
        let wait = (until + each).checked_duration_since(now + WINDOW).filter(|wait| !wait.is_zero())?;
        let right = counts.right.get(&(network(address), *credential));
        right.is_none_or(|at| now.duration_since(*at) >= RIGHT_LIFETIME).then_some(wait)
    }

    /// Counts a wrong credential.
    pub(super) fn was_wrong(&self, address: IpAddr) {
        let Some(each) = self.each else { return };
        let now = Instant::now();
        let mut counts = self.counts();
        if counts.wrong.len() >= MAX_ADDRESSES {
            counts.wrong.retain(|_, until| *until > now);
        }
        let key = counts.key(address);
        let until = counts.wrong.entry(key).or_insert(now);
        *until = ((*until).max(now) + each).min(now + WINDOW);
    }

    /// Remembers a right credential.
    pub(super) fn was_right(&self, address: IpAddr, credential: CredentialDigest) {
        if self.each.is_none() {
            return;
        }
        let (key, now) = ((network(address), credential), Instant::now());
        let mut counts = self.counts();
        if counts.right.len() >= MAX_RIGHT && !counts.right.contains_key(&key) {
            counts.right.retain(|_, at| now.duration_since(*at) < RIGHT_LIFETIME);
            // Whoever is forgotten waits at most as everybody else does.
            if counts.right.len() >= MAX_RIGHT {
                counts.right.clear();
            }
        }
        counts.right.insert(key, now);
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// By what an address is counted: `None` if there are too many to count each.
    fn key(&self, address: IpAddr) -> Option<IpAddr> {
        let key = Some(network(address));
        if self.wrong.len() < MAX_ADDRESSES || self.wrong.contains_key(&key) { key } else { None }
    }
}

/// Whoever has an IPv6 address usually has its whole /64.
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

    const ANN: CredentialDigest = [1; 32];
    const GUESS: CredentialDigest = [9; 32];

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[tokio::test(start_paused = true)]
    async fn at_below_and_above_the_limit() {
        let attempts = Attempts::new(10);
        for count in 0..10 {
            assert_eq!(attempts.wait(address(1), &GUESS), None, "after {count}");
            attempts.was_wrong(address(1));
        }
        assert_eq!(attempts.wait(address(1), &GUESS), Some(Duration::from_secs(6)));
        assert_eq!(attempts.wait(address(2), &GUESS), None, "every address has its own count");
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(attempts.wait(address(1), &GUESS), None, "what time has given back");
        // However many were sent, nobody waits longer than for one attempt.
        (0..1000).for_each(|_| attempts.was_wrong(address(1)));
        assert_eq!(attempts.wait(address(1), &GUESS), Some(Duration::from_secs(6)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_key_of_the_same_address_does_not_wait() {
        let attempts = Attempts::new(10);
        attempts.was_right(address(1), ANN);
        (0..20).for_each(|_| attempts.was_wrong(address(1)));
        assert_eq!(attempts.wait(address(1), &ANN), None);
        assert!(attempts.wait(address(1), &GUESS).is_some());
        // It was right from there, and not from elsewhere.
        (0..20).for_each(|_| attempts.was_wrong(address(2)));
        assert!(attempts.wait(address(2), &ANN).is_some());
        tokio::time::advance(RIGHT_LIFETIME).await;
        (0..20).for_each(|_| attempts.was_wrong(address(1)));
        assert!(attempts.wait(address(1), &ANN).is_some(), "it is not remembered for ever");
    }

    #[tokio::test(start_paused = true)]
    async fn an_ipv6_network_is_one_address() {
        let attempts = Attempts::new(2);
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        attempts.was_wrong(ip("2001:db8:1:2::1"));
        attempts.was_wrong(ip("2001:db8:1:2:ffff::9"));
        assert!(attempts.wait(ip("2001:db8:1:2::3"), &GUESS).is_some());
        assert!(attempts.wait(ip("2001:db8:1:3::1"), &GUESS).is_none());
        attempts.was_wrong(ip("::ffff:192.0.2.1"));
        attempts.was_wrong(ip("192.0.2.1"));
        assert!(attempts.wait(address(1), &GUESS).is_some(), "a mapped address is the same");
        assert!(attempts.wait(address(2), &GUESS).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let attempts = Attempts::new(10);
        let ip = |number: usize| IpAddr::from(u32::try_from(number).expect("small").to_be_bytes());
        (0..2 * MAX_ADDRESSES).for_each(|number| attempts.was_wrong(ip(number)));
        // Those that are too many are counted together.
        assert_eq!(attempts.counts().wrong.len(), MAX_ADDRESSES + 1);
        assert!(attempts.wait(ip(3 * MAX_ADDRESSES), &GUESS).is_some());
        assert!(attempts.wait(ip(0), &GUESS).is_none());
        for number in 0..=MAX_RIGHT {
            attempts.was_right(ip(number), ANN);
        }
        assert!(attempts.counts().right.len() <= MAX_RIGHT);
        tokio::time::advance(WINDOW).await;
        attempts.was_wrong(ip(1));
        assert_eq!(attempts.counts().wrong.len(), 1, "what is quiet is forgotten");
        let unlimited = Attempts::new(usize::MAX);
        (0..1000).for_each(|_| unlimited.was_wrong(address(1)));
        assert_eq!(unlimited.wait(address(1), &GUESS), None);
    }
}
