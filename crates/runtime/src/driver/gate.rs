//! The gate of a running call: it is passed directly before the call's request is sent, or its handler is begun.
//!
//! It knows two things that nothing else can tell: that this node still has the chat at that moment, and whether anything
//! may have been done when the call is cut off. A call that has not passed was certainly not carried out; of any other,
//! nobody knows. While the chat decides whether to end its calls, none passes.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::future::BoxFuture;
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use tokio::{sync::OwnedMutexGuard, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{runtime::Inner, tool_run::End};
use crate::tool::{Gate, NotOurs, ToolError};

pub(super) struct CallGate {
    inner: Weak<Inner>,
    chat: ChatId,
    cancellation: CancellationToken,
    /// The chat was this node's then, and still is if the lease has had no gap since.
    owned_at: Mutex<Instant>,
    /// Whether the call may have been carried out.
    is_begun: Arc<tokio::sync::Mutex<bool>>,
    /// Whether the handler says by itself when it begins.
    is_told: AtomicBool,
}

impl CallGate {
    /// The gate of a call in a chat that was certainly this node's at a time.
    pub(super) fn new(
        inner: &Arc<Inner>,
        chat: &ChatId,
        owned_at: Instant,
        cancellation: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::downgrade(inner),
            chat: chat.clone(),
            cancellation,
            owned_at: Mutex::new(owned_at),
            is_begun: Arc::default(),
            is_told: AtomicBool::new(false),
        })
    }

    fn owned_at(&self) -> Instant {
        *self.owned_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes once the chat is certainly this node's.
    pub(super) async fn ready(&self) -> Result<(), NotOurs> {
        loop {
            let inner = self.inner.upgrade().ok_or(NotOurs)?;
            if inner.lease.is_valid_since(self.owned_at()) {
                return Ok(());
            }
            inner.lease.valid().await;
            let asked_at = Instant::now();
            if !inner.owns(&self.chat).await {
                // Another node has the chat. This one learns it by its next append.
                drop(inner);
                std::future::pending::<()>().await;
            }
            *self.owned_at.lock().unwrap_or_else(PoisonError::into_inner) = asked_at;
        }
    }

    async fn enter(&self) -> Result<(), NotOurs> {
        loop {
            self.ready().await?;
            let mut is_begun = self.is_begun.lock().await;
            if self.cancellation.is_cancelled() {
                return Err(NotOurs);
            }
            let inner = self.inner.upgrade().ok_or(NotOurs)?;
            // Waiting for the chat may have taken long.
            if inner.lease.is_valid_since(self.owned_at()) {
                *is_begun = true;
                return Ok(());
            }
        }
    }

    /// The end of a call whose handler failed after its cancellation: whether it gave up before or after its work was done,
    /// nobody knows.
    pub(super) async fn cut_off(&self, error: ToolError) -> End {
        let may_have_run = *self.is_begun.lock().await;
        // One that knows what it has sent has nothing to add.
        let said = (!self.is_told.load(Ordering::SeqCst)).then_some(error.0);
        End::CutOff { may_have_run, said }
    }

    /// The end of a call whose handler did not come to an end of its own.
    pub(super) async fn given_up(&self, text: String) -> End {
        match *self.is_begun.lock().await {
            true => End::CutOff { may_have_run: true, said: Some(text) },
            false => End::Ran(Err(text)),
        }
    }
}

impl Gate for CallGate {
    fn pass(&self) -> BoxFuture<'_, Result<(), NotOurs>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                passed = self.enter() => passed,
                () = self.cancellation.cancelled() => Err(NotOurs),
            }
        })
    }

    fn back(&self) -> BoxFuture<'_, ()> {
        self.is_told.store(true, Ordering::SeqCst);
        Box::pin(async move { *self.is_begun.lock().await = false })
    }
}

/// Closed gates. They open when this is dropped.
#[derive(Default)]
pub(super) struct ClosedGates {
    /// The calls behind them that have certainly not been carried out.
    pub(super) unsent: BTreeSet<ToolCallId>,
    gates: Vec<OwnedMutexGuard<bool>>,
}

impl ClosedGates {
    /// Closes one more.
    pub(super) async fn close(&mut self, call: &ToolCallId, gate: &CallGate) {
        let is_begun = Arc::clone(&gate.is_begun).lock_owned().await;
        if !*is_begun {
            self.unsent.insert(call.clone());
        }
        self.gates.push(is_begun);
    }
}
