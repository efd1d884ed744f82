//! Run times of tools.

use std::time::Instant;

use super::{
    Metrics, ToolLabels,
    labels::{RunResult, ToolName},
};

/// Measures one run of a tool. Dropped early, it records the run as cancelled or panicked.
#[derive(Debug)]
pub(crate) struct ToolTimer {
    metrics: Metrics,
    tool: ToolName,
    since: Instant,
    result: RunResult,
}

impl Metrics {
    /// Starts measuring a run.
    pub(crate) fn tool(&self, name: &str) -> ToolTimer {
        let tool = self.0.tools.label(name);
        ToolTimer { metrics: self.clone(), tool, since: Instant::now(), result: RunResult::Cancelled }
    }
}

impl ToolTimer {
    /// Ends the measurement.
    pub(crate) fn done(mut self, is_ok: bool) {
        self.result = if is_ok { RunResult::Ok } else { RunResult::Error };
    }
}

impl Drop for ToolTimer {
    fn drop(&mut self) {
        let labels = ToolLabels { tool: self.tool.clone(), result: self.result };
        self.metrics.0.tool_time.get_or_create(&labels).observe(self.since.elapsed().as_secs_f64());
    }
}
