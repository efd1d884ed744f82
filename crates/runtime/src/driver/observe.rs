//! Observability of a runtime, for operators.

use std::{sync::PoisonError, time::Duration};

use super::{Counts, Runtime};
use crate::{log::Health, metrics::Waiting};

/// The timeout of a probe of the log.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

impl Runtime {
    /// The number of open holds in all chats.
    pub fn holds(&self) -> usize {
        self.inner.holds.len()
    }

    /// The number of awake chats: something runs in them, or somebody follows them.
    pub fn awake(&self) -> usize {
        self.inner.chats.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Appends the metrics of this runtime in the OpenMetrics text format, without the end marker: a program may add
    /// its own.
    pub fn write_metrics(&self, out: &mut String) {
        let waiting = self.inner.holds.waiting(self.inner.clock.now());
        let now = Waiting { awake: self.awake(), running: self.turns(), ..waiting };
        self.inner.metrics.write(now, self.counts(), out);
    }

    /// The number of running turns: the model writes, or a tool runs on the server.
    pub fn turns(&self) -> usize {
        self.inner.holds.turns()
    }

    /// Counts since the start, for the operator.
    pub fn counts(&self) -> Counts {
        self.inner.counters.read()
    }

    /// Whether the log can be written. Probes it unless something was written a moment ago.
    pub async fn is_writable(&self) -> bool {
        let probed = tokio::time::timeout(PROBE_TIMEOUT, self.inner.log.probe()).await;
        self.inner.is_writable() && probed == Ok(Health::Writable)
    }
}
