//! The log in PostgreSQL: appends, reads and deletions.

use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use tokio::{
    sync::{broadcast, watch},
    time::timeout,
};

use super::{PROBE_VALIDITY, PostgresLog, error::Failure, reader, writer::Request};
use crate::{Append, AppendResult, Batch, DeleteResult, Deletion, Digest, Health, Log, LogError, Stored, Wakeup};

impl Log for PostgresLog {
    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        Box::pin(async move {
            let count = appends.len();
            if count == 0 {
                return Vec::new();
            }
            let answer = self.ask(|answer| Request::Append { appends, answer }).await;
            answer.unwrap_or_else(|| vec![AppendResult::Unknown; count])
        })
    }

    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>> {
        Box::pin(async move {
            let read = reader::batches(&self.readers, chat, after, limit).await;
            read.map_err(|failure| self.named(failure, format_args!("could not read chat {chat}")))
        })
    }

    fn digests<'a>(
        &'a self,
        chat: &'a ChatId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Digest>, LogError>> {
        Box::pin(async move {
            let read = reader::digests(&self.readers, chat, from, limit).await;
            read.map_err(|failure| self.named(failure, format_args!("could not read chat {chat}")))
        })
    }

    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>> {
        Box::pin(async move {
            let stored = reader::stored(&self.readers, chat).await;
            stored.map_err(|failure| self.named(failure, format_args!("could not read chat {chat}")))
        })
    }

    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>> {
        Box::pin(async move {
            let deleted = self.ask(|answer| Request::Delete { chat: chat.clone(), deletion, answer }).await;
            let deleted = deleted.unwrap_or(Err(Failure::Stopped));
            deleted.map_err(|failure| self.named(failure, format_args!("could not delete chat {chat}")))
        })
    }

    fn wakeups(&self) -> broadcast::Receiver<Wakeup> {
        self.wakeups.subscribe()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.clone()
    }

    fn probe(&self) -> BoxFuture<'_, Health> {
        Box::pin(async move {
            if *self.health.borrow() == Health::Writable && self.last_commit.is_within(PROBE_VALIDITY) {
                return Health::Writable;
            }
            // The writer may be busy with a transaction that takes its whole time.
            let probing = self.ask(|answer| Request::Probe { answer });
            let written = timeout(self.connector.request_timeout, probing).await;
            written.ok().flatten().unwrap_or(Health::Failing)
        })
    }
}
