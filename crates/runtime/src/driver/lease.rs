//! This node's lease. Nodes that share a log take over the chats of one whose lease has lapsed.
//!
//! The lease is not what keeps the log right: an owner that was replaced can't append. It keeps two nodes from running
//! the same tool, so a tool is started only under a valid lease, by this node's monotonic clock.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use holdpoint_protocol::ids::ChatId;
use tokio::{
    sync::Notify,
    time::{self, Instant},
};

use super::runtime::Inner;
use crate::{
    backoff::{self, Backoff},
    fact::Fact,
    log::{FORMAT, LogError, NodeId, Stored},
};

/// How often the first lease is asked for, and the delay after the first failure.
const FIRST_ATTEMPTS: u32 = 6;
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// The least time for a renewal. The log has its own limits, and a renewal that is given up begins anew.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(5);
/// The difference between this node's clock and the shared one from which on it is off. Without a person's doing, clocks
/// differ by less.
const CLOCK_TOLERANCE_MS: u64 = 1000;
/// A renewal is repeated this often within a lease.
const RENEWALS_PER_LEASE: u32 = 3;

/// The lease of this node.
#[derive(Debug)]
pub(super) struct Lease {
    /// `None` if one node at a time uses the log.
    length: Option<Duration>,
    times: Mutex<Times>,
    renewed: Notify,
    /// The newest format that may be written, as of the last renewal.
    format: AtomicU32,
}

#[derive(Debug, Clone, Copy)]
struct Times {
    /// Since when it has been valid without a gap.
    since: Instant,
    until: Instant,
}

impl Lease {
    /// A lease that was renewed just now.
    pub(super) fn new(length: Option<Duration>) -> Self {
        let now = Instant::now();
        let times = Mutex::new(Times { since: now, until: now + length.unwrap_or_default() });
        // Nodes that share the log have to agree.
        let format = AtomicU32::new(if length.is_some() { 0 } else { FORMAT });
        Self { length, times, renewed: Notify::new(), format }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether other nodes use the log.
    pub(super) fn is_shared(&self) -> bool {
        self.length.is_some()
    }

    pub(super) fn is_valid(&self) -> bool {
        self.length.is_none() || Instant::now() < self.times().until
    }

    /// Whether it is valid, and has been without a gap since then: what was this node's then still is.
    pub(super) fn is_valid_since(&self, then: Instant) -> bool {
        let times = *self.times();
        self.length.is_none() || (times.since <= then && Instant::now() < times.until)
    }

    /// Completes while the lease is valid.
    pub(super) async fn valid(&self) {
        loop {
            let renewed = self.renewed.notified();
            if self.is_valid() {
                return;
            }
            renewed.await;
        }
    }

    /// Whether other nodes have had time to renew theirs: after an outage of the database, all are late, and none is
    /// gone.
    pub(super) fn may_take_over(&self) -> bool {
        let now = Instant::now();
        let times = *self.times();
        self.length.is_none_or(|length| now < times.until && now >= times.since + length)
    }

    fn renew(&self, asked_at: Instant, format: u32) {
        self.format.store(format, Ordering::Relaxed);
        let mut times = self.times();
        let until = asked_at + self.length.unwrap_or_default();
        if times.until < Instant::now() {
            times.since = asked_at;
        }
        times.until = times.until.max(until);
        drop(times);
        self.renewed.notify_waiters();
    }
}

impl Inner {
    /// Fails if a node with a lease could not read one of these facts. See [`Cluster::renew`](crate::log::Cluster::renew).
    pub(super) fn must_be_readable(&self, facts: &[&Fact]) -> Result<(), LogError> {
        let readable = self.lease.format.load(Ordering::Relaxed);
        match facts.iter().map(|fact| fact.format()).max() {
            Some(needed) if needed > readable => Err(LogError::Failed(format!(
                "not written, since a node that reads up to format {readable} uses the log, and this is format {needed}: upgrade that node"
            ))),
            _ => Ok(()),
        }
    }

    /// Whether this node owns a chat, according to the log. While the log can't be read, it waits.
    pub(super) async fn owns(&self, chat: &ChatId) -> bool {
        let mut backoff = Backoff::new(FIRST_BACKOFF, FIRST_BACKOFF * 8);
        loop {
            match self.owner(chat).await {
                Ok(owner) => return owner == Some(self.node),
                Err(error) => tracing::warn!(%chat, %error, "the owner of a chat can't be read; retrying"),
            }
            backoff::wait(&mut backoff).await;
        }
    }

    async fn owner(&self, chat: &ChatId) -> Result<Option<NodeId>, LogError> {
        let mut after = 0;
        loop {
            let Some(Stored::Chat { len, .. }) = self.log.stored(chat).await? else { return Ok(None) };
            if len == after {
                return Ok(None);
            }
            // Each batch carries the owner after it, so the last one tells.
            match self.log.read(chat, len - 1, 1).await?.as_slice() {
                [batch] if batch.first + u64::from(batch.count) >= len => return Ok(batch.owner),
                _ => after = len,
            }
        }
    }
}

impl Inner {
    fn is_clock_off(&self) -> bool {
        self.shared_clock.as_ref().is_some_and(|clock| clock.offset().unsigned_abs() > CLOCK_TOLERANCE_MS)
    }

    /// Sets the clock that the nodes share, and tells the operator if this node's own is off.
    async fn set_clock(&self, is_off: &mut bool) {
        let Some(clock) = &self.shared_clock else { return };
        let asked = clock.own();
        match self.log.cluster().time().await {
            Ok(Some(shared)) => clock.set(asked, clock.own(), shared),
            Ok(None) => return,
            // The log has more to say about that elsewhere.
            Err(error) => return tracing::debug!(%error, "the shared clock can't be read"),
        }
        let offset = clock.offset();
        let was_off = std::mem::replace(is_off, self.is_clock_off());
        match (was_off, *is_off) {
            (false, true) => tracing::warn!(
                behind_ms = offset,
                "this node's clock differs from the database's, which is followed for deadlines: synchronize it (NTP)"
            ),
            (true, false) => tracing::warn!("this node's clock agrees with the database's again"),
            _ => {}
        }
    }
}

/// Gets the first lease. A log that is only slow is asked again.
pub(super) async fn begin(inner: &Inner) -> Result<(), LogError> {
    let mut backoff = Backoff::new(FIRST_BACKOFF, FIRST_BACKOFF * 8);
    for _ in 1..FIRST_ATTEMPTS {
        let asked_at = Instant::now();
        if let Ok(format) = inner.log.cluster().renew(inner.node).await {
            inner.lease.renew(asked_at, format);
            inner.set_clock(&mut false).await;
            return Ok(());
        }
        backoff::wait(&mut backoff).await;
    }
    let asked_at = Instant::now();
    let format = inner.log.cluster().renew(inner.node).await?;
    inner.lease.renew(asked_at, format);
    inner.set_clock(&mut false).await;
    Ok(())
}

/// Renews the lease until the runtime ends.
pub(super) async fn keep(inner: Arc<Inner>) {
    let Some(length) = inner.lease.length else { return };
    let interval = length / RENEWALS_PER_LEASE;
    let (mut is_failing, mut is_off) = (false, inner.is_clock_off());
    loop {
        let asked_at = Instant::now();
        let renewed = tokio::select! {
            biased;
            renewed = time::timeout(length.max(RENEWAL_TIMEOUT), inner.log.cluster().renew(inner.node)) => renewed,
            () = inner.closing.cancelled() => return,
        };
        match renewed {
            Ok(Ok(format)) => {
                inner.lease.renew(asked_at, format);
                if std::mem::take(&mut is_failing) {
                    tracing::warn!("this node's lease is renewed again");
                }
                inner.set_clock(&mut is_off).await;
            }
            failed if !is_failing => {
                is_failing = true;
                tracing::warn!(?failed, "this node's lease can't be renewed; retrying");
            }
            _ => {}
        }
        tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            () = time::sleep_until(asked_at + interval) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_gap_puts_off_taking_over() {
        let lease = Lease::new(Some(Duration::from_secs(5)));
        assert!(lease.is_valid() && !lease.may_take_over(), "others may just be starting too");
        for _ in 0..3 {
            time::advance(Duration::from_secs(2)).await;
            lease.renew(Instant::now(), FORMAT);
        }
        assert!(lease.is_valid() && lease.may_take_over());
        time::advance(Duration::from_secs(6)).await;
        assert!(!lease.is_valid() && !lease.may_take_over());
        lease.renew(Instant::now(), FORMAT);
        assert!(lease.is_valid() && !lease.may_take_over(), "after an outage");
        let alone = Lease::new(None);
        time::advance(Duration::from_secs(60)).await;
        assert!(alone.is_valid() && alone.may_take_over());
    }

    /// A node that was paused for longer than its lease may have renewed it before a call looks.
    #[tokio::test(start_paused = true)]
    async fn a_gap_that_is_over_is_still_a_gap() {
        let lease = Lease::new(Some(Duration::from_secs(5)));
        let started = Instant::now();
        time::advance(Duration::from_secs(2)).await;
        lease.renew(Instant::now(), FORMAT);
        assert!(lease.is_valid_since(started));
        time::advance(Duration::from_secs(6)).await;
        assert!(!lease.is_valid_since(started));
        lease.renew(Instant::now(), FORMAT);
        assert!(lease.is_valid() && !lease.is_valid_since(started), "another node may have taken over");
        assert!(lease.is_valid_since(Instant::now()));
    }
}
