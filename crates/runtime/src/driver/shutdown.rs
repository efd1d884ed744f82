//! The shutdown of a runtime, and how it is shown.

use std::{fmt, time::Duration};

use super::Runtime;
use crate::tool::CANCELLATION_GRACE;

/// Nothing of what it holds: conversations and keys are in no log.
impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("node", &self.inner.node).finish_non_exhaustive()
    }
}

impl Runtime {
    /// Lets running turns finish or reach a hold for up to `grace`, then stops everything. Tools that still run are
    /// cancelled [`CANCELLATION_GRACE`] before that, or after half of a shorter `grace`. Interrupted turns are recovered
    /// at the next start.
    ///
    /// The time is that of the process, not of the runtime's clock: under a manual clock it passes too.
    pub async fn shutdown(&self, grace: Duration) {
        self.inner.tasks.close();
        self.inner.ending.cancel();
        let last = CANCELLATION_GRACE.min(grace / 2);
        if tokio::time::timeout(grace.saturating_sub(last), self.inner.tasks.wait()).await.is_err() {
            self.inner.cancelling.cancel();
            let _ = tokio::time::timeout(last, self.inner.tasks.wait()).await;
        }
        self.inner.closing.cancel();
    }
}
