//! The log in SQLite: appends, reads and deletions.

use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use tokio::sync::{broadcast, watch};

use super::{PROBE_VALIDITY, SqliteLog, error::QueryFailure, reader, writer::Request};
use crate::{Append, AppendResult, Batch, DeleteResult, Deletion, Digest, Health, Log, LogError, Stored, Wakeup};

impl Log for SqliteLog {
    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        Box::pin(async move {
            let count = appends.len();
            if count == 0 {
                return Vec::new();
            }
            let answer = self.ask(|answer| Request::append(appends, answer)).await;
            answer.unwrap_or_else(|| vec![AppendResult::Unknown; count])
        })
    }

    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>> {
        let wanted = chat.clone();
        self.query(
            move |connection| reader::batches(connection, &wanted, after, limit),
            move || format!("could not read chat {chat}"),
        )
    }

    fn digests<'a>(
        &'a self,
        chat: &'a ChatId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Digest>, LogError>> {
        let wanted = chat.clone();
        self.query(
            move |connection| reader::digests(connection, &wanted, from, limit),
            move || format!("could not read chat {chat}"),
        )
    }

    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>> {
        let wanted = chat.clone();
        self.query(move |connection| reader::stored(connection, &wanted), move || format!("could not read chat {chat}"))
    }

    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>> {
        Box::pin(async move {
            let deleted = self.ask(|answer| Request::delete(chat.clone(), deletion, answer)).await;
            let deleted = deleted.unwrap_or_else(|| Err(QueryFailure::stopped("its writer has stopped")));
            deleted.map_err(|error| error.doing(format_args!("could not delete chat {chat} in {}", self.folder)))
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
            let written = self.ask(Request::probe).await;
            if written == Some(true) { Health::Writable } else { Health::Failing }
        })
    }
}
