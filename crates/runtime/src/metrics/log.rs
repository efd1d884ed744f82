//! A metering wrapper for any log engine.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;

use super::{
    AppendLabels, Metrics, OperationLabels,
    labels::{AppendStatus, Operation},
};
use crate::{
    clock::Timestamp,
    log::{
        Append, AppendResult, AuditEntry, AuditQuery, Batch, Cluster, DeleteResult, Deletion, Digest, Due, ForwardLog,
        Found, GrantQuery, HeadQuery, HoldApprover, HoldChanges, HoldCounts, HoldQuery, Listed, ListedHold, LogError,
        Misfit, NodeId, Revocation, Store, Stored, StoredGrant, TicketRow, Usage,
    },
    subject::Subject,
};

/// A log whose operations are measured.
#[derive(Debug)]
pub(crate) struct MeteredLog {
    log: Arc<dyn Store>,
    metrics: Metrics,
}

impl MeteredLog {
    pub(crate) fn new(log: Arc<dyn Store>, metrics: Metrics) -> Self {
        Self { log, metrics }
    }

    fn failed(&self, operation: Operation) {
        self.metrics.0.log_failures.get_or_create(&OperationLabels { operation }).inc();
    }

    /// Counts the failures of an operation.
    fn watch<'a, T: 'a>(
        &'a self,
        operation: Operation,
        future: BoxFuture<'a, Result<T, LogError>>,
    ) -> BoxFuture<'a, Result<T, LogError>> {
        Box::pin(async move {
            let result = future.await;
            if result.is_err() {
                self.failed(operation);
            }
            result
        })
    }
}

impl ForwardLog for MeteredLog {
    fn inner(&self) -> &dyn Store {
        &*self.log
    }

    fn cluster(&self) -> &dyn Cluster {
        self
    }

    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        Box::pin(async move {
            let since = Instant::now();
            let results = self.log.append_many(appends).await;
            self.metrics.0.append_time.observe(since.elapsed().as_secs_f64());
            for appended in &results {
                let result = match appended {
                    AppendResult::Committed { .. } => AppendStatus::Committed,
                    AppendResult::Conflict { .. } => AppendStatus::Conflict,
                    AppendResult::NotGranted => AppendStatus::NotGranted,
                    AppendResult::Unknown => AppendStatus::Unknown,
                };
                self.metrics.0.appends.get_or_create(&AppendLabels { result }).inc();
            }
            if results.contains(&AppendResult::Unknown) {
                self.failed(Operation::Append);
            }
            results
        })
    }

    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>> {
        self.watch(Operation::Read, self.log.read(chat, after, limit))
    }

    fn digests<'a>(
        &'a self,
        chat: &'a ChatId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Digest>, LogError>> {
        self.watch(Operation::Read, self.log.digests(chat, from, limit))
    }

    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        self.watch(Operation::List, self.log.heads(query, limit))
    }

    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>> {
        self.watch(Operation::Read, self.log.stored(chat))
    }

    fn lengths(&self, chats: Vec<ChatId>) -> BoxFuture<'_, Result<Vec<u64>, LogError>> {
        self.watch(Operation::Read, self.log.lengths(chats))
    }

    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>> {
        self.watch(Operation::Find, self.log.find(subject, key))
    }

    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>> {
        self.watch(Operation::List, self.log.holds(query, limit))
    }

    fn due(&self, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Due>, LogError>> {
        self.watch(Operation::List, self.log.due(until, limit))
    }

    fn count_holds(&self, times: Vec<Timestamp>) -> BoxFuture<'_, Result<HoldCounts, LogError>> {
        self.watch(Operation::List, self.log.count_holds(times))
    }

    fn usage<'a>(&'a self, subject: &'a Subject, node: NodeId, most: usize) -> BoxFuture<'a, Result<Usage, LogError>> {
        self.watch(Operation::Read, self.log.usage(subject, node, most))
    }

    fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>> {
        self.watch(Operation::List, self.log.audit(query, limit))
    }

    fn grants(&self, query: GrantQuery, limit: usize) -> BoxFuture<'_, Result<Vec<StoredGrant>, LogError>> {
        self.watch(Operation::List, self.log.grants(query, limit))
    }

    fn revoke(&self, revocation: Revocation) -> BoxFuture<'_, Result<(), LogError>> {
        self.watch(Operation::Revoke, self.log.revoke(revocation))
    }

    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        self.watch(Operation::List, self.log.abandoned(node, limit))
    }

    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>> {
        self.watch(Operation::Delete, self.log.delete(chat, deletion))
    }

    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        self.watch(Operation::List, self.log.ids(after, limit))
    }

    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>> {
        self.watch(Operation::List, self.log.approvers(chat))
    }

    fn restore_holds<'a>(
        &'a self,
        chat: &'a ChatId,
        expected: u64,
        holds: HoldChanges,
    ) -> BoxFuture<'a, Result<bool, LogError>> {
        self.watch(Operation::Append, self.log.restore_holds(chat, expected, holds))
    }

    fn misfits(&self) -> BoxFuture<'_, Result<Vec<Misfit>, LogError>> {
        self.watch(Operation::List, self.log.misfits())
    }
}

impl Cluster for MeteredLog {
    fn lease(&self) -> Option<Duration> {
        self.log.cluster().lease()
    }

    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<u32, LogError>> {
        self.watch(Operation::Renew, self.log.cluster().renew(node))
    }

    fn is_gone(&self, node: NodeId) -> BoxFuture<'_, Result<bool, LogError>> {
        self.watch(Operation::List, self.log.cluster().is_gone(node))
    }

    fn time(&self) -> BoxFuture<'_, Result<Option<Timestamp>, LogError>> {
        self.log.cluster().time()
    }

    fn hears_other_nodes(&self) -> bool {
        self.log.cluster().hears_other_nodes()
    }

    fn keep_ticket(&self, ticket: TicketRow) -> BoxFuture<'_, Result<bool, LogError>> {
        self.watch(Operation::Find, self.log.cluster().keep_ticket(ticket))
    }

    fn redeem_ticket<'a>(&'a self, digest: &'a [u8], now: Timestamp) -> BoxFuture<'a, Result<Option<Bytes>, LogError>> {
        self.watch(Operation::Find, self.log.cluster().redeem_ticket(digest, now))
    }
}
