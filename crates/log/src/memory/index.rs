//! The index in memory.

use futures::future::BoxFuture;
use holdpoint_core::{clock::Timestamp, subject::Subject};
use holdpoint_protocol::ids::ChatId;

use super::MemoryLog;
use crate::{
    AuditEntry, AuditQuery, Due, Found, GrantQuery, HeadQuery, HoldApprover, HoldChanges, HoldCounts, HoldQuery, Index,
    Listed, ListedHold, LogError, Misfit, NodeId, Revocation, StoredGrant, Usage,
};

impl Index for MemoryLog {
    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        Box::pin(async move { Ok(self.chats().heads(&query, limit)) })
    }

    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        Box::pin(async move { Ok(self.chats().ids(after.as_ref(), limit)) })
    }

    fn lengths(&self, chats: Vec<ChatId>) -> BoxFuture<'_, Result<Vec<u64>, LogError>> {
        Box::pin(async move {
            let stored = self.chats();
            Ok(chats.iter().map(|chat| stored.len(chat)).collect())
        })
    }

    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>> {
        Box::pin(
            async move { Ok(self.chats().by_subject.get(subject).and_then(|owned| owned.by_key.get(key)).cloned()) },
        )
    }

    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>> {
        Box::pin(async move { Ok(self.chats().holds(&query, limit)) })
    }

    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>> {
        Box::pin(async move { Ok(self.chats().approvers(chat)) })
    }

    fn due(&self, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Due>, LogError>> {
        Box::pin(async move {
            let chats = self.chats();
            Ok(chats.due.iter().take_while(|(at, ..)| *at <= until).take(limit).cloned().collect())
        })
    }

    fn count_holds(&self, times: Vec<Timestamp>) -> BoxFuture<'_, Result<HoldCounts, LogError>> {
        Box::pin(async move { Ok(self.chats().count_holds(&times)) })
    }

    fn usage<'a>(&'a self, subject: &'a Subject, node: NodeId, most: usize) -> BoxFuture<'a, Result<Usage, LogError>> {
        Box::pin(async move {
            let chats = self.chats();
            let open = chats.by_subject.get(subject).into_iter().flat_map(|owned| &owned.open);
            let others = open.filter(|chat| chats.owned.get(*chat) != Some(&node));
            let running = others.clone().filter(|chat| chats.owned.contains_key(*chat)).take(most).count();
            Ok(Usage { running, open: others.take(most).count() })
        })
    }

    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        Box::pin(async move {
            let chats = self.chats();
            let others = chats.owned.iter().filter(|(_, owner)| **owner != node);
            Ok(others.take(limit).map(|(chat, _)| chat.clone()).collect())
        })
    }

    fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>> {
        Box::pin(async move { Ok(self.chats().record.list(&query, limit)) })
    }

    fn grants(&self, query: GrantQuery, limit: usize) -> BoxFuture<'_, Result<Vec<StoredGrant>, LogError>> {
        Box::pin(async move { Ok(self.chats().grants.list(&query, limit)) })
    }

    fn revoke(&self, revocation: Revocation) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            self.chats().revoke(revocation);
            Ok(())
        })
    }

    fn restore_holds<'a>(
        &'a self,
        chat: &'a ChatId,
        expected: u64,
        holds: HoldChanges,
    ) -> BoxFuture<'a, Result<bool, LogError>> {
        Box::pin(async move { Ok(self.chats().restore_holds(chat, expected, holds)) })
    }

    /// Nobody else writes to it.
    fn misfits(&self) -> BoxFuture<'_, Result<Vec<Misfit>, LogError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
