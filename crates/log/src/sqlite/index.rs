//! The index in SQLite.

use futures::future::BoxFuture;
use holdpoint_core::{clock::Timestamp, subject::Subject};
use holdpoint_protocol::ids::ChatId;

use super::{SqliteLog, audit, error::QueryFailure, grants, reader, writer::Request};
use crate::{
    AuditEntry, AuditQuery, Due, Found, GrantQuery, HeadQuery, HoldApprover, HoldChanges, HoldCounts, HoldQuery, Index,
    Listed, ListedHold, LogError, Misfit, NodeId, Revocation, StoredGrant, Usage,
};

impl Index for SqliteLog {
    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        self.query(move |connection| reader::heads(connection, &query, limit), || "could not list the chats".to_owned())
    }

    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        self.query(
            move |connection| reader::ids(connection, after.as_ref(), limit),
            || "could not list the chats".to_owned(),
        )
    }

    fn lengths(&self, chats: Vec<ChatId>) -> BoxFuture<'_, Result<Vec<u64>, LogError>> {
        self.query(
            move |connection| reader::lengths(connection, &chats),
            || "could not read the lengths of chats".to_owned(),
        )
    }

    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>> {
        let (whose, wanted) = (subject.clone(), key.to_owned());
        self.query(move |connection| reader::find(connection, &whose, &wanted), move || format!("could not find {key}"))
    }

    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>> {
        self.query(move |connection| reader::holds(connection, &query, limit), || "could not list the holds".to_owned())
    }

    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>> {
        let wanted = chat.clone();
        self.query(
            move |connection| reader::approvers(connection, &wanted),
            move || format!("could not read chat {chat}"),
        )
    }

    fn due(&self, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Due>, LogError>> {
        self.query(move |connection| reader::due(connection, until, limit), || "could not list what is due".to_owned())
    }

    fn count_holds(&self, times: Vec<Timestamp>) -> BoxFuture<'_, Result<HoldCounts, LogError>> {
        self.query(move |connection| reader::count_holds(connection, &times), || "could not count the holds".to_owned())
    }

    fn usage<'a>(&'a self, subject: &'a Subject, node: NodeId, most: usize) -> BoxFuture<'a, Result<Usage, LogError>> {
        let whose = subject.clone();
        self.query(
            move |connection| reader::usage(connection, &whose, node, most),
            || "could not count the open chats".to_owned(),
        )
    }

    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        self.query(
            move |connection| reader::abandoned(connection, node, limit),
            || "could not list the interrupted chats".to_owned(),
        )
    }

    fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>> {
        self.query(move |connection| audit::list(connection, &query, limit), || "could not read the record".to_owned())
    }

    fn grants(&self, query: GrantQuery, limit: usize) -> BoxFuture<'_, Result<Vec<StoredGrant>, LogError>> {
        self.query(move |connection| grants::list(connection, &query, limit), || "could not list the grants".to_owned())
    }

    fn revoke(&self, revocation: Revocation) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            let revoked = self.ask(|answer| Request::Revoke { revocation, answer }).await;
            let revoked = revoked.unwrap_or_else(|| Err(QueryFailure::stopped("its writer has stopped")));
            revoked.map_err(|error| error.doing(format_args!("could not revoke a grant in {}", self.folder)))
        })
    }

    fn restore_holds<'a>(
        &'a self,
        chat: &'a ChatId,
        expected: u64,
        holds: HoldChanges,
    ) -> BoxFuture<'a, Result<bool, LogError>> {
        Box::pin(async move {
            let (chat, is_restored) = (chat.clone(), false);
            let restored =
                self.ask(|answer| Request::RestoreHolds { chat, expected, holds, is_restored, answer }).await;
            let restored = restored.unwrap_or_else(|| Err(QueryFailure::stopped("its writer has stopped")));
            restored
                .map_err(|error| error.doing(format_args!("could not write the holds of a chat in {}", self.folder)))
        })
    }

    fn misfits(&self) -> BoxFuture<'_, Result<Vec<Misfit>, LogError>> {
        self.query(reader::misfits, || "could not compare the tables".to_owned())
    }
}
