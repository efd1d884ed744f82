//! What an operator can see of a runtime.

use std::{sync::PoisonError, time::Duration};

use super::{Counts, Runtime};
use crate::{log::Health, metrics::Waiting};

/// How long a probe of the log may take.
const PROBE: Duration = Duration::from_secs(2);

impl Runtime {
    /// How many calls wait for somebody, over all chats.
    pub fn holds(&self) -> usize {
        self.inner.holds.len()
    }

    /// How many chats are awake: something runs in them, or somebody looks at them.
    pub fn awake(&self) -> usize {
        self.inner.chats.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Appends the metrics of this runtime in the OpenMetrics text format, without its end: a program may add its own.
    pub fn write_metrics(&self, out: &mut String) {
        let waiting = self.inner.holds.waiting(self.inner.clock.now());
        let now = Waiting { awake: self.awake(), running: self.turns(), ..waiting };
        self.inner.metrics.write(now, self.counts(), out);
    }

    /// How many turns run: the model writes, or a tool runs on the server.
    pub fn turns(&self) -> usize {
        self.inner.holds.turns()
    }

    /// What happened since the start that an operator should hear of.
    pub fn counts(&self) -> Counts {
        self.inner.counters.read()
    }

    /// Whether the log can be written, found out by writing where nothing was written a moment ago.
    pub async fn is_writable(&self) -> bool {
        let probed = tokio::time::timeout(PROBE, self.inner.log.probe()).await;
        self.inner.is_writable() && probed == Ok(Health::Writable)
    }
}
