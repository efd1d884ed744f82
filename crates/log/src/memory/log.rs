//! The log in memory: appends, reads and deletions.

use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use tokio::sync::{broadcast, watch};

use super::{MemoryLog, end};
use crate::{
    Append, AppendResult, Batch, ChatChange, DeleteResult, Deletion, Digest, Health, Log, LogError, Stored, Wakeup,
};

impl Log for MemoryLog {
    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        Box::pin(async move {
            let mut changed = Vec::new();
            let results = {
                let mut chats = self.chats();
                let append = |append: Append| {
                    let change = ChatChange::of(&append);
                    let result = chats.append(append);
                    if matches!(result, AppendResult::Committed { .. }) {
                        changed.push(change);
                    }
                    result
                };
                appends.into_iter().map(append).collect()
            };
            for change in changed {
                // Having no subscribers is fine.
                let _ = self.wakeups.send(Wakeup::Chat(change));
            }
            results
        })
    }

    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>> {
        Box::pin(async move {
            let chats = self.chats();
            let Some(chat) = chats.by_id.get(chat) else { return Ok(Vec::new()) };
            let start = chat.batches.partition_point(|(_, batch)| end(batch) <= after);
            Ok(chat.batches[start..].iter().take(limit).map(|(_, batch)| batch.clone()).collect())
        })
    }

    fn digests<'a>(
        &'a self,
        chat: &'a ChatId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Digest>, LogError>> {
        Box::pin(async move {
            let chats = self.chats();
            let Some(chat) = chats.by_id.get(chat) else { return Ok(Vec::new()) };
            Ok(chat.digests.range(from..).take(limit).map(|(first, digest)| (*first, digest.clone())).collect())
        })
    }

    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>> {
        Box::pin(async move { Ok(self.chats().stored(chat)) })
    }

    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>> {
        Box::pin(async move {
            let deleted = self.chats().delete(chat, deletion);
            Ok(match deleted {
                Ok(Some(change)) => {
                    let _ = self.wakeups.send(Wakeup::Chat(change));
                    DeleteResult::Deleted
                }
                Ok(None) => DeleteResult::Deleted,
                Err(conflict) => conflict,
            })
        })
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
}
