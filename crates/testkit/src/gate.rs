//! A gate that holds up a task until the test opens it.

use std::sync::Arc;

use tokio::sync::watch;

/// Closed at first. Clones share one gate.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<watch::Sender<State>>);

#[derive(Debug, Default)]
struct State {
    arrived: usize,
    is_open: bool,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.0.send_modify(|state| state.is_open = true);
    }

    /// Waits until a task has arrived at the gate.
    pub async fn arrived(&self) {
        self.wait(|state| state.arrived > 0).await;
    }

    /// Waits until the gate is open.
    pub async fn pass(&self) {
        self.0.send_modify(|state| state.arrived += 1);
        self.wait(|state| state.is_open).await;
    }

    async fn wait(&self, condition: impl FnMut(&State) -> bool) {
        // It can't fail: the sender is in `self`.
        let _ = self.0.subscribe().wait_for(condition).await;
    }
}
