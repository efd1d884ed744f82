//! The condition of a node: whether it is alive, paused, cut off, and how often its log fails.

use std::{
    future::pending,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// The condition of one life of a node.
#[derive(Debug)]
pub(crate) struct Condition {
    /// The number of the node.
    pub(crate) node: usize,
    is_dead: AtomicBool,
    times: Mutex<Times>,
    /// How many of a thousand operations of the log fail or are late.
    faults: AtomicU64,
    changed: Notify,
}

#[derive(Debug, Clone, Copy)]
struct Times {
    paused: Instant,
    cut: Instant,
    without_lease: Instant,
}

impl Condition {
    /// A healthy node.
    pub(crate) fn new(node: usize, faults: u64) -> Self {
        let now = Instant::now();
        let times = Mutex::new(Times { paused: now, cut: now, without_lease: now });
        Self { node, is_dead: AtomicBool::new(false), times, faults: AtomicU64::new(faults), changed: Notify::new() }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the node's life: from now on nothing of it does anything.
    pub(crate) fn kill(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::SeqCst)
    }

    /// Pauses the node: what it does with its log takes that much longer.
    pub(crate) fn pause(&self, length: Duration) {
        self.times().paused = Instant::now() + length;
    }

    /// Cuts the node off from the log.
    pub(crate) fn cut(&self, length: Duration) {
        self.times().cut = Instant::now() + length;
    }

    /// Lets the node's renewals fail.
    pub(crate) fn refuse_lease(&self, length: Duration) {
        self.times().without_lease = Instant::now() + length;
    }

    /// Ends all faults.
    pub(crate) fn heal(&self) {
        let now = Instant::now();
        *self.times() = Times { paused: now, cut: now, without_lease: now };
        self.faults.store(0, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    pub(crate) fn faults(&self) -> u64 {
        self.faults.load(Ordering::SeqCst)
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.times().cut > Instant::now()
    }

    pub(crate) fn is_without_lease(&self) -> bool {
        self.is_cut() || self.times().without_lease > Instant::now()
    }

    /// Completes when the node is not paused; never, if it is dead.
    pub(crate) async fn passes(&self) {
        loop {
            if self.is_dead() {
                return pending().await;
            }
            let healed = self.changed.notified();
            let until = self.times().paused;
            if until <= Instant::now() {
                return;
            }
            tokio::select! {
                biased;
                () = healed => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }
}
