//! One log for several nodes, with leases.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{
    clock::Timestamp,
    identity::Identity,
    log::{
        Append, AppendResult, AuditEntry, AuditQuery, Batch, Deadline, DeleteResult, Deletion, Digest, FORMAT, Found,
        GrantQuery, HeadQuery, Health, HoldApprover, HoldCounts, HoldQuery, Listed, ListedHold, Log, LogError, NodeId,
        Ownership, Revocation, Stored, StoredGrant, Usage, Wakeup,
    },
    subject::Subject,
};
use tokio::{
    sync::{broadcast, watch},
    time::Instant,
};

/// Leases around a log of one process, so that several runtimes can share it as nodes do.
#[derive(Debug)]
pub struct SharedLog {
    inner: Arc<dyn Log>,
    lease: Duration,
    leases: Mutex<HashMap<NodeId, Instant>>,
}

impl SharedLog {
    /// A log whose nodes have leases of this length.
    pub fn new(inner: Arc<dyn Log>, lease: Duration) -> Self {
        Self { inner, lease, leases: Mutex::default() }
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

impl Log for SharedLog {
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

    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>> {
        self.inner.read(chat, after, limit)
    }

    fn digests<'a>(
        &'a self,
        chat: &'a ChatId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Digest>, LogError>> {
        self.inner.digests(chat, from, limit)
    }

    fn wakeups(&self) -> broadcast::Receiver<Wakeup> {
        self.inner.wakeups()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.inner.health()
    }

    fn probe(&self) -> BoxFuture<'_, Health> {
        self.inner.probe()
    }

    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        self.inner.heads(query, limit)
    }

    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>> {
        self.inner.stored(chat)
    }

    fn lengths(&self, chats: Vec<ChatId>) -> BoxFuture<'_, Result<Vec<u64>, LogError>> {
        self.inner.lengths(chats)
    }

    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>> {
        self.inner.find(subject, key)
    }

    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>> {
        self.inner.holds(query, limit)
    }

    fn deadlines(&self, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Deadline>, LogError>> {
        self.inner.deadlines(until, limit)
    }

    fn count_holds(&self, times: Vec<Timestamp>) -> BoxFuture<'_, Result<HoldCounts, LogError>> {
        self.inner.count_holds(times)
    }

    fn usage<'a>(&'a self, subject: &'a Subject, node: NodeId, most: usize) -> BoxFuture<'a, Result<Usage, LogError>> {
        self.inner.usage(subject, node, most)
    }

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

    fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>> {
        self.inner.audit(query, limit)
    }

    fn grants(&self, query: GrantQuery, limit: usize) -> BoxFuture<'_, Result<Vec<StoredGrant>, LogError>> {
        self.inner.grants(query, limit)
    }

    fn revoke(&self, revocation: Revocation) -> BoxFuture<'_, Result<(), LogError>> {
        self.inner.revoke(revocation)
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

    fn keep_ticket<'a>(
        &'a self,
        ticket: &'a [u8],
        identity: &'a Identity,
        expires: Timestamp,
    ) -> BoxFuture<'a, Result<bool, LogError>> {
        self.inner.keep_ticket(ticket, identity, expires)
    }

    fn redeem_ticket<'a>(
        &'a self,
        ticket: &'a [u8],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Identity>, LogError>> {
        self.inner.redeem_ticket(ticket, now)
    }

    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>> {
        self.inner.delete(chat, deletion)
    }

    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        self.inner.ids(after, limit)
    }

    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>> {
        self.inner.approvers(chat)
    }
}
