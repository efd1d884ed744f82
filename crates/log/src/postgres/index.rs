//! The index in PostgreSQL.

use futures::future::BoxFuture;
use holdpoint_core::{clock::Timestamp, subject::Subject};
use holdpoint_protocol::ids::ChatId;

use super::{PostgresLog, audit, grants, reader, restore};
use crate::{
    AuditEntry, AuditQuery, Due, Found, GrantQuery, HeadQuery, HoldApprover, HoldChanges, HoldCounts, HoldQuery, Index,
    Listed, ListedHold, LogError, Misfit, NodeId, Revocation, StoredGrant, Usage,
};

impl Index for PostgresLog {
    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        Box::pin(async move {
            let listed = reader::heads(&self.readers, &query, limit).await;
            listed.map_err(|failure| self.named(failure, "could not list the chats"))
        })
    }

    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        Box::pin(async move {
            let listed = reader::ids(&self.readers, after.as_ref(), limit).await;
            listed.map_err(|failure| self.named(failure, "could not list the chats"))
        })
    }

    fn lengths(&self, chats: Vec<ChatId>) -> BoxFuture<'_, Result<Vec<u64>, LogError>> {
        Box::pin(async move {
            let read = reader::lengths(&self.readers, &chats).await;
            read.map_err(|failure| self.named(failure, "could not read the lengths of chats"))
        })
    }

    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>> {
        Box::pin(async move {
            let found = reader::find(&self.readers, subject, key).await;
            found.map_err(|failure| self.named(failure, format_args!("could not find {key}")))
        })
    }

    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>> {
        Box::pin(async move {
            let listed = reader::holds(&self.readers, &query, limit).await;
            listed.map_err(|failure| self.named(failure, "could not list the holds"))
        })
    }

    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>> {
        Box::pin(async move {
            let listed = reader::approvers(&self.readers, chat).await;
            listed.map_err(|failure| self.named(failure, format_args!("could not read chat {chat}")))
        })
    }

    fn due(&self, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Due>, LogError>> {
        Box::pin(async move {
            let due = reader::due(&self.readers, until, limit).await;
            due.map_err(|failure| self.named(failure, "could not list what is due"))
        })
    }

    fn count_holds(&self, times: Vec<Timestamp>) -> BoxFuture<'_, Result<HoldCounts, LogError>> {
        Box::pin(async move {
            let counted = reader::count_holds(&self.readers, &times).await;
            counted.map_err(|failure| self.named(failure, "could not count the holds"))
        })
    }

    fn usage<'a>(&'a self, subject: &'a Subject, node: NodeId, most: usize) -> BoxFuture<'a, Result<Usage, LogError>> {
        Box::pin(async move {
            let counted = reader::usage(&self.readers, subject, node, most).await;
            counted.map_err(|failure| self.named(failure, "could not count the open chats"))
        })
    }

    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        Box::pin(async move {
            let listed = self.leases.abandoned(node, limit).await;
            listed.map_err(|failure| self.named(failure, "could not list the interrupted chats"))
        })
    }

    fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>> {
        Box::pin(async move {
            let listed = audit::list(&self.readers, &query, limit).await;
            listed.map_err(|failure| self.named(failure, "could not read the record"))
        })
    }

    fn grants(&self, query: GrantQuery, limit: usize) -> BoxFuture<'_, Result<Vec<StoredGrant>, LogError>> {
        Box::pin(async move {
            let listed = grants::list(&self.readers, &query, limit).await;
            listed.map_err(|failure| self.named(failure, "could not list the grants"))
        })
    }

    fn revoke(&self, revocation: Revocation) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            let revoked = grants::revoke(&self.readers, &revocation).await;
            revoked.map_err(|failure| self.named(failure, "could not revoke a grant"))
        })
    }

    fn restore_holds<'a>(
        &'a self,
        chat: &'a ChatId,
        expected: u64,
        holds: HoldChanges,
    ) -> BoxFuture<'a, Result<bool, LogError>> {
        Box::pin(async move {
            let restored = restore::holds(&self.readers, chat, expected, &holds).await;
            restored.map_err(|failure| self.named(failure, format_args!("could not write the holds of chat {chat}")))
        })
    }

    fn misfits(&self) -> BoxFuture<'_, Result<Vec<Misfit>, LogError>> {
        Box::pin(async move {
            let found = reader::misfits(&self.connector).await;
            found.map_err(|failure| self.named(failure, "could not compare the tables"))
        })
    }
}
