//! Retention: deletes chats that have not changed for a long time, a few at a time.
//!
//! A chat in which something waits or runs is never deleted, however old: somebody still has to answer, and would not
//! learn that it is gone. Such chats are counted and logged, and deleted once nothing in them is open.

use std::{sync::Arc, time::Duration};

use holdpoint_protocol::ids::ChatId;

use super::{command::Command, runtime::Inner};
use crate::{
    clock::Timestamp,
    log::{HeadOrder, HeadQuery, LogError},
};

/// The time between two batches.
const BATCH_INTERVAL: Duration = Duration::from_secs(60);
/// How many chats a batch checks, and how many it deletes.
const MAX_CHECKED_CHATS: usize = 1000;
const MAX_DELETED_CHATS: usize = 100;

/// Deletes chats older than `age`, until the runtime ends.
pub(super) async fn keep(inner: Arc<Inner>, age: Duration) {
    let mut sweep = Sweep::default();
    loop {
        let next = inner.clock.now().after(BATCH_INTERVAL);
        tokio::select! {
            () = inner.clock.sleep_until(next) => {}
            () = inner.closing.cancelled() => return,
        }
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let before = Timestamp(inner.clock.now().0.saturating_sub(age));
        if let Err(error) = sweep.step(&inner, before).await {
            tracing::warn!(%error, "old chats could not be looked for");
        }
    }
}

/// One pass over all chats, in batches.
#[derive(Debug, Default)]
struct Sweep {
    /// The last chat checked.
    after: Option<ChatId>,
    kept: usize,
}

impl Sweep {
    async fn step(&mut self, inner: &Arc<Inner>, before: Timestamp) -> Result<(), LogError> {
        let query = HeadQuery { order: HeadOrder::Id { after: self.after.clone() }, ..HeadQuery::default() };
        let page = inner.log.heads(query, MAX_CHECKED_CHATS).await?;
        let is_last = page.len() < MAX_CHECKED_CHATS;
        let mut removed = 0;
        for (chat, _, head) in page {
            if removed == MAX_DELETED_CHATS {
                return Ok(());
            }
            if head.updated_at < before {
                match !head.is_open && remove(inner, &chat, before).await {
                    true => removed += 1,
                    false => self.kept += 1,
                }
            }
            self.after = Some(chat);
        }
        if is_last {
            inner.metrics.retention_kept(self.kept);
            if self.kept > 0 {
                let kept = self.kept;
                tracing::warn!(kept, "old chats are kept because something waits or runs in them, or somebody looks");
            }
            *self = Self::default();
        }
        Ok(())
    }
}

/// Deletes a chat and returns whether it did. The chat's own task decides, since the chat may have changed since.
async fn remove(inner: &Arc<Inner>, chat: &ChatId, before: Timestamp) -> bool {
    match inner.send(chat, |_, reply| Command::Retire { before, reply }).await {
        Ok(is_removed) => {
            if is_removed {
                inner.metrics.retention_removed();
                tracing::info!(%chat, "a chat was removed because of its age");
            }
            is_removed
        }
        Err(error) => {
            tracing::warn!(%chat, %error, "an old chat could not be removed");
            false
        }
    }
}
