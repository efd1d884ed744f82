//! One log for several nodes, with leases.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{
    clock::{Clock, Timestamp},
    log::{Append, AppendResult, Cluster, FORMAT, ForwardLog, LogError, NodeId, Ownership, Store, TicketRow},
};
use tokio::time::Instant;

use crate::ManualClock;

/// Leases around a log of one process, so that several runtimes can share it as nodes do.
#[derive(Debug)]
pub struct SharedLog {
    inner: Arc<dyn Store>,
    lease: Duration,
    leases: Mutex<HashMap<NodeId, Instant>>,
    clock: Option<Arc<ManualClock>>,
}

impl SharedLog {
    /// A log whose nodes have leases of this length.
    pub fn new(inner: Arc<dyn Store>, lease: Duration) -> Self {
        Self { inner, lease, leases: Mutex::default(), clock: None }
    }

    /// With a clock that all nodes share.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<ManualClock>) -> Self {
        self.clock = Some(clock);
        self
    }

    fn leases(&self) -> MutexGuard<'_, HashMap<NodeId, Instant>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn owner(&self, chat: &ChatId) -> Result<Option<NodeId>, LogError> {
        Ok(self.inner.read(chat, 0, usize::MAX).await?.last().and_then(|batch| batch.owner))
    }
}

fn taker(append: &Append) -> Option<NodeId> {
    match append.ownership {
        Ownership::Take(node) => Some(node),
        Ownership::Release | Ownership::Keep => None,
    }
}

impl ForwardLog for SharedLog {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn cluster(&self) -> &dyn Cluster {
        self
    }

    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        let takers: Vec<Option<NodeId>> = appends.iter().map(taker).collect();
        Box::pin(async move {
            let results = self.inner.append_many(appends).await;
            for (taker, result) in takers.into_iter().zip(&results) {
                if let (Some(node), AppendResult::Committed { .. }) = (taker, result) {
                    self.leases().insert(node, Instant::now() + self.lease);
                }
            }
            results
        })
    }

    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        Box::pin(async move {
            let mut abandoned = Vec::new();
            for chat in self.inner.abandoned(node, usize::MAX).await? {
                let owner = self.owner(&chat).await?;
                let is_live = |owner| self.leases().get(&owner).is_some_and(|until| *until > Instant::now());
                if owner.is_some_and(|owner| !is_live(owner)) {
                    abandoned.push(chat);
                }
            }
            abandoned.truncate(limit);
            Ok(abandoned)
        })
    }
}

impl Cluster for SharedLog {
    fn lease(&self) -> Option<Duration> {
        Some(self.lease)
    }

    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<u32, LogError>> {
        self.leases().insert(node, Instant::now() + self.lease);
        Box::pin(async { Ok(FORMAT) })
    }

    fn is_gone(&self, node: NodeId) -> BoxFuture<'_, Result<bool, LogError>> {
        let is_live = self.leases().get(&node).is_some_and(|until| *until > Instant::now());
        Box::pin(async move { Ok(!is_live) })
    }

    fn time(&self) -> BoxFuture<'_, Result<Option<Timestamp>, LogError>> {
        let time = self.clock.as_ref().map(|clock| clock.now());
        Box::pin(async move { Ok(time) })
    }

    fn hears_other_nodes(&self) -> bool {
        self.inner.cluster().hears_other_nodes()
    }

    fn keep_ticket(&self, ticket: TicketRow) -> BoxFuture<'_, Result<bool, LogError>> {
        self.inner.cluster().keep_ticket(ticket)
    }

    fn redeem_ticket<'a>(&'a self, digest: &'a [u8], now: Timestamp) -> BoxFuture<'a, Result<Option<Bytes>, LogError>> {
        self.inner.cluster().redeem_ticket(digest, now)
    }
}
