//! A metering wrapper for any log engine.

use std::{sync::Arc, time::Instant};

use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use tokio::sync::{broadcast, watch};

use super::{
    AppendLabels, Metrics, OperationLabels,
    labels::{AppendStatus, Operation},
};
use crate::{
    log::{Append, AppendResult, Batch, Head, HeadQuery, Health, Listed, Log, LogError},
    subject::Subject,
};

/// A log whose operations are measured.
#[derive(Debug)]
pub(crate) struct MeteredLog {
    log: Arc<dyn Log>,
    metrics: Metrics,
}

impl MeteredLog {
    pub(crate) fn new(log: Arc<dyn Log>, metrics: Metrics) -> Self {
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

impl Log for MeteredLog {
    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        Box::pin(async move {
            let since = Instant::now();
            let results = self.log.append_many(appends).await;
            self.metrics.0.append_time.observe(since.elapsed().as_secs_f64());
            for appended in &results {
                let result = match appended {
                    AppendResult::Committed { .. } => AppendStatus::Committed,
                    AppendResult::Conflict { .. } => AppendStatus::Conflict,
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

    fn wakeups(&self) -> broadcast::Receiver<ChatId> {
        self.log.wakeups()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.log.health()
    }

    fn probe(&self) -> BoxFuture<'_, Health> {
        self.log.probe()
    }

    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        self.watch(Operation::List, self.log.heads(query, limit))
    }

    fn head<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<(u64, Head)>, LogError>> {
        self.watch(Operation::Read, self.log.head(chat))
    }

    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<ChatId>, LogError>> {
        self.watch(Operation::Find, self.log.find(subject, key))
    }

    fn delete<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<(), LogError>> {
        self.watch(Operation::Delete, self.log.delete(chat))
    }
}
