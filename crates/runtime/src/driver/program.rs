//! What a program that embeds the runtime needs besides the endpoints: the end of a turn, the shutdown.

use std::{fmt, time::Duration};

use holdpoint_protocol::ids::ChatId;

use super::{Limits, Runtime, RuntimeError};
use crate::{subject::Subject, tool::CANCELLATION_GRACE};

/// Nothing of what it holds: conversations and keys are in no log.
impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("node", &self.inner.node).finish_non_exhaustive()
    }
}

impl Runtime {
    /// The limits.
    pub fn limits(&self) -> Limits {
        self.inner.limits
    }

    /// By how many milliseconds this node's clock is behind the one that the nodes share, which is followed; negative if it is
    /// ahead. `None` if this node alone uses the log.
    pub fn clock_offset_ms(&self) -> Option<i64> {
        self.inner.shared_clock.as_ref().map(|clock| clock.offset())
    }

    /// The name of the model that chats have unless they are given another.
    pub fn model_version(&self) -> String {
        self.inner.model.version().to_owned()
    }

    /// What people should know of the tools with this model, such as tools that it is not offered. The log has it too.
    pub fn model_warnings(&self) -> Vec<String> {
        self.inner.model.warnings(&self.tools().offered_specs())
    }

    /// Completes when nothing runs in a chat: its turn has ended, or waits at a hold.
    pub async fn idle(&self, subject: &Subject, chat: &ChatId) -> Result<(), RuntimeError> {
        loop {
            let mut reader = self.reader(subject, chat, false).await?;
            let mut state = reader.origin().clone();
            reader.after(0).iter().for_each(|fact| state.apply(fact));
            while state.is_running() {
                match reader.next(state.len).await {
                    Some(facts) => facts.iter().for_each(|fact| state.apply(fact)),
                    // The task of the chat has ended. The next one continues the turn.
                    None => break,
                }
            }
            if !state.is_running() {
                return Ok(());
            }
        }
    }

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
