//! The shared log as one node sees it: operations fail, are late or have an unknown result; wakeups are lost and come
//! twice.

use std::{
    future::pending,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{
    clock::Timestamp,
    log::{
        Append, AppendResult, AuditEntry, AuditQuery, Batch, Cluster, DeleteResult, Deletion, Digest, Due, ForwardLog,
        Found, GrantQuery, HeadQuery, Health, HoldApprover, HoldCounts, HoldQuery, Listed, ListedHold, Log, LogError,
        Misfit, NodeId, Revocation, Store, Stored, StoredGrant, TicketRow, Usage, Wakeup,
    },
    subject::Subject,
};
use tokio::{
    sync::{
        broadcast::{self, error::RecvError},
        watch,
    },
    task::AbortHandle,
    time::sleep,
};

use super::{condition::Condition, journal::Journal, random::Random};

/// One node's way to the log.
#[derive(Debug)]
pub(crate) struct NodeLog {
    journal: Arc<Journal>,
    condition: Arc<Condition>,
    random: Mutex<Random>,
    wakeups: broadcast::Sender<Wakeup>,
    health: watch::Sender<Health>,
}

/// What happens to an operation.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    /// It fails and is not done.
    Before,
    /// It is done and reported as failed.
    After,
    /// It is reported as failed and done later.
    Late(Duration),
    /// It is done later.
    SlowBefore(Duration),
    /// Its result comes later.
    SlowAfter(Duration),
}

impl NodeLog {
    /// A node's log, and the task that passes on wakeups.
    pub(crate) fn new(journal: Arc<Journal>, condition: Arc<Condition>, random: Random) -> (Arc<Self>, AbortHandle) {
        let source = Log::wakeups(&journal.log);
        let wakeups_random = Random::new(random.clone().next(), "wakeups");
        let (wakeups, health) = (broadcast::Sender::new(1024), watch::Sender::default());
        let log = Arc::new(Self { journal, condition, random: Mutex::new(random), wakeups, health });
        let passing = tokio::spawn(Arc::clone(&log).pass_wakeups(source, wakeups_random));
        (log, passing.abort_handle())
    }

    async fn pass_wakeups(self: Arc<Self>, mut source: broadcast::Receiver<Wakeup>, mut random: Random) {
        loop {
            let wakeup = match source.recv().await {
                Ok(wakeup) => wakeup,
                Err(RecvError::Lagged(_)) => Wakeup::Any,
                Err(RecvError::Closed) => return,
            };
            self.condition.passes().await;
            let faults = self.condition.faults();
            if self.condition.is_cut() || random.chance(3 * faults) {
                continue;
            }
            if random.chance(faults) {
                sleep(random.millis(300)).await;
            }
            let copies = if random.chance(faults) { 2 } else { 1 };
            for _ in 0..copies {
                let wakeup = if random.chance(faults / 4) { Wakeup::Any } else { wakeup.clone() };
                // Nobody listens while the node starts.
                let _ = self.wakeups.send(wakeup);
            }
        }
    }

    fn fault(&self) -> Fault {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if !random.chance(self.condition.faults()) {
            return Fault::None;
        }
        let most = if random.chance(100) { 4000 } else { 60 };
        match random.below(8) {
            0 => Fault::Before,
            1 => Fault::After,
            2 => Fault::Late(random.millis(most)),
            3..=5 => Fault::SlowBefore(random.millis(most)),
            _ => Fault::SlowAfter(random.millis(most)),
        }
    }

    /// An operation that only reads.
    async fn read_op<T>(&self, op: impl Future<Output = Result<T, LogError>>) -> Result<T, LogError> {
        let failed = || LogError::Failed("a simulated fault".to_owned());
        self.condition.passes().await;
        if self.condition.is_cut() {
            sleep(Duration::from_millis(20)).await;
            return Err(failed());
        }
        let fault = self.fault();
        if let Fault::SlowBefore(time) = fault {
            sleep(time).await;
        }
        let done = op.await;
        if let Fault::SlowAfter(time) = fault {
            sleep(time).await;
        }
        self.condition.passes().await;
        match fault {
            Fault::Before | Fault::After | Fault::Late(_) => Err(failed()),
            _ => done,
        }
    }

    /// An operation that writes. What is under way is done even if the node dies or stops waiting for it.
    async fn write_op<T: Send + 'static>(&self, op: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        self.condition.passes().await;
        if self.condition.is_cut() {
            sleep(Duration::from_millis(20)).await;
            self.condition.passes().await;
            return None;
        }
        let fault = self.fault();
        let done = match fault {
            Fault::None => Some(op()),
            Fault::Before => None,
            Fault::After => {
                op();
                None
            }
            Fault::Late(time) => {
                tokio::spawn(later(time, op));
                None
            }
            Fault::SlowBefore(time) => tokio::spawn(later(time, op)).await.ok(),
            Fault::SlowAfter(time) => {
                let done = op();
                sleep(time).await;
                Some(done)
            }
        };
        self.condition.passes().await;
        done
    }
}

impl ForwardLog for NodeLog {
    fn inner(&self) -> &dyn Store {
        &self.journal.log
    }

    fn cluster(&self) -> &dyn Cluster {
        self
    }

    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        Box::pin(async move {
            let mut results = Vec::new();
            for append in appends {
                let (journal, node) = (Arc::clone(&self.journal), self.condition.node);
                let result = self.write_op(move || journal.append(node, append)).await;
                results.push(result.unwrap_or(AppendResult::Unknown));
            }
            results
        })
    }

    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>> {
        Box::pin(self.read_op(self.inner().read(chat, after, limit)))
    }

    fn digests<'a>(
        &'a self,
        chat: &'a ChatId,
        before: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Digest>, LogError>> {
        Box::pin(self.read_op(self.inner().digests(chat, before, limit)))
    }

    fn wakeups(&self) -> broadcast::Receiver<Wakeup> {
        self.wakeups.subscribe()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }

    fn probe(&self) -> BoxFuture<'_, Health> {
        Box::pin(async { Health::Writable })
    }

    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        Box::pin(self.read_op(self.inner().heads(query, limit)))
    }

    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>> {
        Box::pin(self.read_op(self.inner().stored(chat)))
    }

    fn lengths(&self, chats: Vec<ChatId>) -> BoxFuture<'_, Result<Vec<u64>, LogError>> {
        Box::pin(self.read_op(self.inner().lengths(chats)))
    }

    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>> {
        Box::pin(self.read_op(self.inner().find(subject, key)))
    }

    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>> {
        Box::pin(self.read_op(self.inner().holds(query, limit)))
    }

    fn due(&self, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Due>, LogError>> {
        Box::pin(self.read_op(self.inner().due(until, limit)))
    }

    fn count_holds(&self, times: Vec<Timestamp>) -> BoxFuture<'_, Result<HoldCounts, LogError>> {
        Box::pin(self.read_op(self.inner().count_holds(times)))
    }

    fn usage<'a>(&'a self, subject: &'a Subject, node: NodeId, most: usize) -> BoxFuture<'a, Result<Usage, LogError>> {
        Box::pin(self.read_op(self.inner().usage(subject, node, most)))
    }

    fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>> {
        Box::pin(self.read_op(self.inner().audit(query, limit)))
    }

    fn grants(&self, query: GrantQuery, limit: usize) -> BoxFuture<'_, Result<Vec<StoredGrant>, LogError>> {
        Box::pin(self.read_op(self.inner().grants(query, limit)))
    }

    fn revoke(&self, revocation: Revocation) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            let (journal, node) = (Arc::clone(&self.journal), self.condition.node);
            let revoked = self.write_op(move || journal.revoke(node, revocation)).await;
            revoked.ok_or_else(|| LogError::Failed("a simulated fault".to_owned()))
        })
    }

    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        Box::pin(self.read_op(self.inner().abandoned(node, limit)))
    }

    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>> {
        Box::pin(async move {
            let (journal, node, chat) = (Arc::clone(&self.journal), self.condition.node, chat.clone());
            let deleted = self.write_op(move || journal.delete(node, &chat, deletion)).await;
            deleted.unwrap_or_else(|| Err(LogError::Failed("a simulated fault".to_owned())))
        })
    }

    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        Box::pin(self.read_op(self.inner().ids(after, limit)))
    }

    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>> {
        Box::pin(self.read_op(self.inner().approvers(chat)))
    }

    fn misfits(&self) -> BoxFuture<'_, Result<Vec<Misfit>, LogError>> {
        Box::pin(self.read_op(self.inner().misfits()))
    }
}

impl Cluster for NodeLog {
    fn lease(&self) -> Option<Duration> {
        self.inner().cluster().lease()
    }

    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<u32, LogError>> {
        Box::pin(async move {
            if self.condition.is_without_lease() {
                self.condition.passes().await;
                return Err(LogError::Failed("a simulated fault".to_owned()));
            }
            let journal = Arc::clone(&self.journal);
            let renew = move || {
                futures::FutureExt::now_or_never(Cluster::renew(&journal.log, node)).expect("memory does not wait")
            };
            self.write_op(renew).await.unwrap_or_else(|| Err(LogError::Failed("a simulated fault".to_owned())))
        })
    }

    fn is_gone(&self, node: NodeId) -> BoxFuture<'_, Result<bool, LogError>> {
        // When it is asked, not when the future is made.
        Box::pin(self.read_op(async move { self.inner().cluster().is_gone(node).await }))
    }

    fn time(&self) -> BoxFuture<'_, Result<Option<Timestamp>, LogError>> {
        self.inner().cluster().time()
    }

    fn hears_other_nodes(&self) -> bool {
        self.inner().cluster().hears_other_nodes()
    }

    fn keep_ticket(&self, ticket: TicketRow) -> BoxFuture<'_, Result<bool, LogError>> {
        self.inner().cluster().keep_ticket(ticket)
    }

    fn redeem_ticket<'a>(&'a self, digest: &'a [u8], now: Timestamp) -> BoxFuture<'a, Result<Option<Bytes>, LogError>> {
        self.inner().cluster().redeem_ticket(digest, now)
    }
}

async fn later<T>(time: Duration, op: impl FnOnce() -> T) -> T {
    sleep(time).await;
    op()
}

/// Never completes for a dead node.
pub(crate) async fn unless_dead(condition: &Condition) {
    if condition.is_dead() {
        pending::<()>().await;
    }
}
