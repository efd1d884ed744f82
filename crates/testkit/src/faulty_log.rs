//! A log that fails on request, in the ways that real logs do.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{
    clock::Timestamp,
    log::{
        Append, AppendResult, AuditEntry, AuditQuery, Batch, Cluster, DeleteResult, Deletion, Digest, ForwardLog,
        HeadQuery, Health, HoldQuery, Listed, ListedHold, LogError, NodeId, Store, Stored, TicketRow, Wakeup,
    },
};
use tokio::sync::{broadcast, watch};

use crate::Gate;

/// The fault of one append.
pub enum AppendFault {
    /// No fault.
    Pass,
    /// The append is not committed, and its result is unknown.
    UnknownBefore,
    /// The append is committed, and its result is unknown.
    UnknownAfter,
    /// The append waits, then is committed.
    HoldBefore(Gate),
    /// The append is committed, and its result waits.
    HoldAfter(Gate),
    /// Another writer appends first.
    Overtaken(Box<dyn FnOnce(&Append) -> Append + Send>),
}

impl AppendFault {
    /// Another writer first appends what `by` makes of the append.
    pub fn overtaken(by: impl FnOnce(&Append) -> Append + Send + 'static) -> Self {
        Self::Overtaken(Box::new(by))
    }
}

impl fmt::Debug for AppendFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "Pass",
            Self::UnknownBefore => "UnknownBefore",
            Self::UnknownAfter => "UnknownAfter",
            Self::HoldBefore(_) => "HoldBefore",
            Self::HoldAfter(_) => "HoldAfter",
            Self::Overtaken(_) => "Overtaken",
        })
    }
}

/// The fault of one read.
#[derive(Debug)]
pub enum ReadFault {
    /// No fault.
    Pass,
    /// The read fails with this text.
    Error(String),
    /// The read waits, then succeeds.
    Hold(Gate),
}

/// A log with scripted faults around another log. Each append, read and list takes the next fault of its script, or
/// passes if none is left.
#[derive(Debug)]
pub struct FaultyLog {
    inner: Arc<dyn Store>,
    script: Mutex<Script>,
    /// A channel of its own for wakeups, if those of the log are dropped.
    silence: Option<broadcast::Sender<Wakeup>>,
    /// Failing while writes are impossible.
    health: watch::Sender<Health>,
    bytes_read: AtomicUsize,
    digest_bytes_read: AtomicUsize,
    lists_read: AtomicUsize,
    format: AtomicU32,
}

#[derive(Debug, Default)]
struct Script {
    appends: VecDeque<AppendFault>,
    reads: VecDeque<ReadFault>,
    heads: VecDeque<ReadFault>,
    stored: VecDeque<ReadFault>,
}

impl FaultyLog {
    /// Wraps a log, with no faults yet.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            script: Mutex::default(),
            silence: None,
            health: watch::Sender::default(),
            bytes_read: AtomicUsize::new(0),
            digest_bytes_read: AtomicUsize::new(0),
            lists_read: AtomicUsize::new(0),
            format: AtomicU32::new(u32::MAX),
        }
    }

    /// Wraps a log and drops all wakeups.
    pub fn without_wakeups(inner: Arc<dyn Store>) -> Self {
        Self { silence: Some(broadcast::Sender::new(1)), ..Self::new(inner) }
    }

    /// Queues a fault for the next append. Each append of an `append_many` takes one.
    pub fn on_append(&self, fault: AppendFault) -> &Self {
        self.script().appends.push_back(fault);
        self
    }

    /// Queues a fault for the next read.
    pub fn on_read(&self, fault: ReadFault) -> &Self {
        self.script().reads.push_back(fault);
        self
    }

    /// Queues a fault for the next question what is stored of a chat.
    pub fn on_stored(&self, fault: ReadFault) -> &Self {
        self.script().stored.push_back(fault);
        self
    }

    /// Sends a wakeup, if those of the log are dropped.
    pub fn wake(&self, wakeup: Wakeup) {
        if let Some(wakeups) = &self.silence {
            let _ = wakeups.send(wakeup);
        }
    }

    /// Lets nodes write only up to a format.
    pub fn limit_format(&self, format: u32) {
        self.format.store(format, Ordering::Relaxed);
    }

    /// Queues a fault for the next list of heads.
    pub fn on_heads(&self, fault: ReadFault) -> &Self {
        self.script().heads.push_back(fault);
        self
    }

    /// Fills the disk: writes fail, reads still succeed.
    pub fn fill_disk(&self) {
        self.health.send_replace(Health::Failing);
    }

    /// Frees the disk again.
    pub fn free_disk(&self) {
        self.health.send_replace(Health::Writable);
    }

    /// The number of bytes of facts and of digests that were read since the last call.
    pub fn take_bytes_read(&self) -> (usize, usize) {
        (self.bytes_read.swap(0, Ordering::Relaxed), self.digest_bytes_read.swap(0, Ordering::Relaxed))
    }

    /// The number of pages of holds and of the record that were read since the last call.
    pub fn take_lists_read(&self) -> usize {
        self.lists_read.swap(0, Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        *self.health.borrow() == Health::Failing
    }

    /// Number of queued faults that have not happened yet.
    pub fn left(&self) -> usize {
        let script = self.script();
        script.appends.len() + script.reads.len() + script.heads.len() + script.stored.len()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn append(&self, append: Append) -> AppendResult {
        self.inner.append_many(vec![append]).await[0]
    }

    async fn append_with(&self, append: Append, fault: AppendFault) -> AppendResult {
        match fault {
            AppendFault::Pass => self.append(append).await,
            AppendFault::UnknownBefore => AppendResult::Unknown,
            AppendFault::UnknownAfter => {
                self.append(append).await;
                AppendResult::Unknown
            }
            AppendFault::HoldBefore(gate) => {
                gate.pass().await;
                self.append(append).await
            }
            AppendFault::HoldAfter(gate) => {
                let appended = self.append(append).await;
                gate.pass().await;
                appended
            }
            AppendFault::Overtaken(by) => {
                let rival = by(&append);
                self.append(rival).await;
                self.append(append).await
            }
        }
    }
}

impl ForwardLog for FaultyLog {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn cluster(&self) -> &dyn Cluster {
        self
    }

    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        Box::pin(async move {
            if self.is_full() {
                return vec![AppendResult::Unknown; appends.len()];
            }
            let faults: Vec<_> = {
                let mut script = self.script();
                appends.iter().map(|_| script.appends.pop_front().unwrap_or(AppendFault::Pass)).collect()
            };
            if faults.iter().all(|fault| matches!(fault, AppendFault::Pass)) {
                return self.inner.append_many(appends).await;
            }
            let mut results = Vec::with_capacity(appends.len());
            for (append, fault) in appends.into_iter().zip(faults) {
                results.push(self.append_with(append, fault).await);
            }
            results
        })
    }

    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>> {
        Box::pin(async move {
            let fault = self.script().reads.pop_front();
            suffer(fault).await?;
            let batches = self.inner.read(chat, after, limit).await?;
            self.bytes_read.fetch_add(batches.iter().map(|batch| batch.payload.len()).sum(), Ordering::Relaxed);
            Ok(batches)
        })
    }

    fn digests<'a>(
        &'a self,
        chat: &'a ChatId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Digest>, LogError>> {
        Box::pin(async move {
            let fault = self.script().reads.pop_front();
            suffer(fault).await?;
            let digests = self.inner.digests(chat, from, limit).await?;
            self.digest_bytes_read.fetch_add(digests.iter().map(|(_, digest)| digest.len()).sum(), Ordering::Relaxed);
            Ok(digests)
        })
    }

    fn wakeups(&self) -> broadcast::Receiver<Wakeup> {
        self.silence.as_ref().map_or_else(|| self.inner.wakeups(), broadcast::Sender::subscribe)
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }

    fn probe(&self) -> BoxFuture<'_, Health> {
        let health = *self.health.borrow();
        Box::pin(async move { health })
    }

    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        Box::pin(async move {
            let fault = self.script().heads.pop_front();
            suffer(fault).await?;
            self.inner.heads(query, limit).await
        })
    }

    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>> {
        Box::pin(async move {
            let fault = self.script().stored.pop_front();
            suffer(fault).await?;
            self.inner.stored(chat).await
        })
    }

    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>> {
        self.lists_read.fetch_add(1, Ordering::Relaxed);
        self.inner.holds(query, limit)
    }

    fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>> {
        self.lists_read.fetch_add(1, Ordering::Relaxed);
        self.inner.audit(query, limit)
    }

    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>> {
        match self.is_full() {
            true => Box::pin(async { Err(LogError::Failed("the disk is full".to_owned())) }),
            false => self.inner.delete(chat, deletion),
        }
    }
}

impl Cluster for FaultyLog {
    fn lease(&self) -> Option<Duration> {
        self.inner.cluster().lease()
    }

    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<u32, LogError>> {
        match self.is_full() {
            true => Box::pin(async { Err(LogError::Failed("the disk is full".to_owned())) }),
            false => {
                Box::pin(
                    async move { Ok(self.inner.cluster().renew(node).await?.min(self.format.load(Ordering::Relaxed))) },
                )
            }
        }
    }

    fn is_gone(&self, node: NodeId) -> BoxFuture<'_, Result<bool, LogError>> {
        self.inner.cluster().is_gone(node)
    }

    fn time(&self) -> BoxFuture<'_, Result<Option<Timestamp>, LogError>> {
        self.inner.cluster().time()
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

async fn suffer(fault: Option<ReadFault>) -> Result<(), LogError> {
    match fault {
        None | Some(ReadFault::Pass) => Ok(()),
        Some(ReadFault::Error(text)) => Err(LogError::Failed(text)),
        Some(ReadFault::Hold(gate)) => {
            gate.pass().await;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
