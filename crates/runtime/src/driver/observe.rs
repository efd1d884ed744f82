//! Observability of a runtime, for operators.

use std::time::Duration;

use super::{Counts, Runtime, RuntimeError};
use crate::{
    log::{Health, NodeId},
    metrics::Waiting,
};

/// The timeout of a probe of the log.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

impl Runtime {
    /// The number of open holds in all chats, as of a moment ago.
    pub async fn holds(&self) -> Result<u64, RuntimeError> {
        let (_, counts) = self.inner.count_holds().await.map_err(RuntimeError::Log)?;
        Ok(counts.holds.iter().map(|count| count.count).sum())
    }

    /// This node, if others share the log.
    pub fn node(&self) -> Option<NodeId> {
        self.inner.lease.is_shared().then_some(self.inner.node)
    }

    /// The number of awake chats: something runs in them, or somebody follows them.
    pub fn awake(&self) -> usize {
        self.inner.chats.len()
    }

    /// Appends the metrics of this runtime in the OpenMetrics text format, without the end marker: a program may add
    /// its own.
    pub async fn write_metrics(&self, out: &mut String) {
        // While the log can't be read, the metrics of the holds are missing.
        let waiting = self.inner.count_holds().await.map_or_else(|_| Waiting::default(), Waiting::of);
        let now = Waiting { awake: self.awake(), running: self.turns(), ..waiting };
        self.inner.metrics.write(now, self.counts(), out);
    }

    /// The number of running turns: the model writes, or a tool runs on the server.
    pub fn turns(&self) -> usize {
        self.inner.running.turns()
    }

    /// Counts since the start, for the operator.
    pub fn counts(&self) -> Counts {
        self.inner.counters.read()
    }

    /// Whether the log can be written. Probes it unless something was written a moment ago.
    pub async fn is_writable(&self) -> bool {
        self.health().await == Health::Writable
    }

    /// Like `is_writable`, with the reason.
    pub async fn health(&self) -> Health {
        let probed = tokio::time::timeout(PROBE_TIMEOUT, self.inner.log.probe()).await.unwrap_or(Health::Failing);
        if probed == Health::Writable && !self.inner.is_writable() { Health::Failing } else { probed }
    }
}
