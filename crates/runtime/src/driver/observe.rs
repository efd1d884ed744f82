//! Observability of a runtime, for operators.

use std::time::Duration;

use super::{Admin, Counts, Limits, RuntimeError};
use crate::{
    log::{Health, NodeId},
    metrics::Waiting,
};

/// The timeout of a probe of the log.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

impl Admin<'_> {
    /// The limits.
    pub fn limits(&self) -> Limits {
        self.runtime.inner.limits
    }

    /// By how many milliseconds this node's clock is behind the one that the nodes share, which is followed; negative if it is
    /// ahead. `None` if this node alone uses the log.
    pub fn clock_offset_ms(&self) -> Option<i64> {
        self.runtime.inner.shared_clock.as_ref().map(|clock| clock.offset())
    }

    /// The name of the model that chats have unless they are given another.
    pub fn model_name(&self) -> String {
        self.runtime.inner.model.name().to_owned()
    }

    /// What people should know of the tools with this model, such as tools that it is not offered. The log has it too.
    pub fn model_warnings(&self) -> Vec<String> {
        self.runtime.inner.model.warnings(&self.runtime.tools().offered_specs())
    }

    /// The number of open holds in all chats, as of a moment ago.
    pub async fn holds(&self) -> Result<u64, RuntimeError> {
        let (_, counts) = self.runtime.inner.count_holds().await.map_err(RuntimeError::Log)?;
        Ok(counts.holds.iter().map(|count| count.count).sum())
    }

    /// This node, if others share the log.
    pub fn node(&self) -> Option<NodeId> {
        self.runtime.inner.lease.is_shared().then_some(self.runtime.inner.node)
    }

    /// The number of awake chats: something runs in them, or somebody follows them.
    pub fn awake(&self) -> usize {
        self.runtime.inner.chats.len()
    }

    /// Appends the metrics of this runtime in the OpenMetrics text format, without the end marker: a program may add
    /// its own.
    pub async fn write_metrics(&self, out: &mut String) {
        // While the log can't be read, the metrics of the holds are missing.
        let waiting = self.runtime.inner.count_holds().await.map_or_else(|_| Waiting::default(), Waiting::of);
        let now = Waiting { awake: self.awake(), running: self.turns(), ..waiting };
        self.runtime.inner.metrics.write(now, self.counts(), out);
    }

    /// The number of running turns: the model writes, or a tool runs on the server.
    pub fn turns(&self) -> usize {
        self.runtime.inner.running.turns()
    }

    /// Counts since the start, for the operator.
    pub fn counts(&self) -> Counts {
        self.runtime.inner.counters.read()
    }

    /// Whether the log can be written. Probes it unless something was written a moment ago.
    pub async fn is_writable(&self) -> bool {
        self.health().await == Health::Writable
    }

    /// Like `is_writable`, with the reason.
    pub async fn health(&self) -> Health {
        let probed =
            tokio::time::timeout(PROBE_TIMEOUT, self.runtime.inner.log.probe()).await.unwrap_or(Health::Failing);
        if probed == Health::Writable && !self.runtime.inner.is_writable() { Health::Failing } else { probed }
    }
}
