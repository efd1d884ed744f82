//! The log of many nodes: PostgreSQL, 15 or later.
//!
//! A node has one connection that writes, a few that read, one for its lease and one for notifications. The writer
//! commits everything that arrived during the previous commit in one transaction: round trips and the server's `fsync`
//! are the cost, and this way many appends share them. Nodes meet only here: the compare-and-set of an append is a
//! locked row.

mod audit;
mod connection;
mod error;
mod grants;
mod group;
mod hosts;
mod lease;
mod notify;
mod options;
mod pool;
mod reader;
mod restore;
mod schema;
mod tickets;
mod tls;
mod transaction;
mod writer;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use connection::Connector;
use error::Failure;
pub use error::PostgresError;
use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use lease::Leases;
use notify::{Listener, Outbox};
pub use options::PostgresOptions;
use pool::Pool;
use tokio::{
    sync::{broadcast, mpsc, oneshot, watch},
    task::AbortHandle,
    time::timeout,
};
use uuid::Uuid;
use writer::{LastCommit, Reports, Request, Writer};

use super::{
    Append, AppendResult, AuditEntry, AuditQuery, Batch, DeleteResult, Deletion, Digest, Due, Found, GrantQuery,
    HeadQuery, Health, HoldApprover, HoldChanges, HoldCounts, HoldQuery, Listed, ListedHold, Log, LogError, Misfit,
    NodeId, Revocation, Stored, StoredGrant, Usage, WAKEUPS, Wakeup,
};
use holdpoint_core::{clock::Timestamp, identity::Identity, subject::Subject};

/// Requests queued for the writer before callers have to wait.
const QUEUE: usize = 1024;
/// A write this recent makes a probe unnecessary.
const PROBE_VALIDITY: Duration = Duration::from_secs(1);

/// A log in a PostgreSQL database, which any number of nodes can use at once.
///
/// It reconnects by itself when the database was away. Dropping it closes its connections once the queued requests are
/// done, in the background.
pub struct PostgresLog {
    connector: Arc<Connector>,
    requests: mpsc::Sender<Request>,
    readers: Pool,
    leases: Leases,
    listener: Option<AbortHandle>,
    wakeups: broadcast::Sender<Wakeup>,
    commits: Arc<AtomicU64>,
    health: watch::Receiver<Health>,
    last_commit: LastCommit,
    /// Set when a newer program may have changed the tables.
    is_outdated: Arc<AtomicBool>,
}

impl PostgresLog {
    /// Connects, checks the server, and creates or migrates the tables. Must be called in a tokio runtime, which runs
    /// the log's tasks from then on.
    pub async fn open(options: PostgresOptions) -> Result<Self, PostgresError> {
        let connector = Connector::new(&options)?;
        let (connector, schema) = schema::prepare(connector, options.schema.as_deref(), schema::MIGRATIONS).await?;
        let wakeups = broadcast::Sender::new(WAKEUPS);
        let outbox = (!options.poll_only).then(|| Arc::new(Outbox::default()));
        let commits = Arc::default();
        let (requests, waiting) = mpsc::channel(QUEUE);
        let (health_set, health) = watch::channel(Health::default());
        let last_commit = LastCommit::default();
        let reports = Reports {
            wakeups: wakeups.clone(),
            outbox: outbox.clone(),
            commits: Arc::clone(&commits),
            health: health_set,
            last_commit: last_commit.clone(),
        };
        let is_outdated = Arc::<AtomicBool>::default();
        let lease = lease::length(options.lease);
        let mut writer = Writer::new(Arc::clone(&connector), waiting, reports, lease, Arc::clone(&is_outdated));
        writer.start().await?;
        tokio::spawn(writer.run());
        let listener = outbox.map(|outbox| {
            let (connector, wakeups) = (Arc::clone(&connector), wakeups.clone());
            let (channel, from) = (format!("holdpoint_{schema}"), Uuid::new_v4().to_string());
            tokio::spawn(Listener { connector, channel, from, outbox, wakeups }.run()).abort_handle()
        });
        Ok(Self {
            requests,
            readers: Pool::new(Arc::clone(&connector), options.readers, options.request_timeout),
            leases: Leases::new(Arc::clone(&connector), lease),
            is_outdated,
            connector,
            listener,
            wakeups,
            commits,
            health,
            last_commit,
        })
    }

    /// Number of committed transactions. Fewer than appends if they were grouped.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Names a failed operation.
    fn named(&self, failure: Failure, what: impl fmt::Display) -> LogError {
        failure.doing(format_args!("{what} in PostgreSQL at {}", self.connector.place))
    }

    /// Sends a request to the writer. Cancelling the wait does not cancel the request.
    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(request(answer)).await.ok()?;
        answered.await.ok()
    }
}

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

    fn wakeups(&self) -> broadcast::Receiver<Wakeup> {
        self.wakeups.subscribe()
    }

    fn hears_other_nodes(&self) -> bool {
        self.listener.is_some()
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

    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        Box::pin(async move {
            let listed = reader::heads(&self.readers, &query, limit).await;
            listed.map_err(|failure| self.named(failure, "could not list the chats"))
        })
    }

    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>> {
        Box::pin(async move {
            let stored = reader::stored(&self.readers, chat).await;
            stored.map_err(|failure| self.named(failure, format_args!("could not read chat {chat}")))
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

    fn keep_ticket<'a>(
        &'a self,
        ticket: &'a [u8],
        identity: &'a Identity,
        expires: Timestamp,
    ) -> BoxFuture<'a, Result<bool, LogError>> {
        Box::pin(async move {
            let kept = tickets::keep(&self.readers, ticket, identity, expires).await;
            kept.map(|()| true).map_err(|failure| self.named(failure, "could not keep a ticket"))
        })
    }

    fn redeem_ticket<'a>(
        &'a self,
        ticket: &'a [u8],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Identity>, LogError>> {
        Box::pin(async move {
            let redeemed = tickets::redeem(&self.readers, ticket, now).await;
            redeemed.map_err(|failure| self.named(failure, "could not redeem a ticket"))
        })
    }

    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>> {
        Box::pin(async move {
            let listed = reader::holds(&self.readers, &query, limit).await;
            listed.map_err(|failure| self.named(failure, "could not list the holds"))
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

    fn lease(&self) -> Option<Duration> {
        Some(self.leases.length)
    }

    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<u32, LogError>> {
        Box::pin(async move {
            let renewed = self.leases.renew(node).await;
            if renewed.as_ref().is_err_and(Failure::may_be_of_newer_tables) {
                // The writer checks them, says so, and tries again from time to time.
                self.is_outdated.store(true, Ordering::Relaxed);
                let (answer, _) = oneshot::channel();
                let _ = self.requests.try_send(Request::Probe { answer });
            }
            renewed.map_err(|failure| self.named(failure, "could not renew the lease"))
        })
    }

    fn is_gone(&self, node: NodeId) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(async move {
            let is_gone = self.leases.is_gone(node).await;
            is_gone.map_err(|failure| self.named(failure, "could not read the lease of a node"))
        })
    }

    fn time(&self) -> BoxFuture<'_, Result<Option<Timestamp>, LogError>> {
        Box::pin(async move {
            let time = self.leases.time().await;
            time.map(Some).map_err(|failure| self.named(failure, "could not read the database's clock"))
        })
    }

    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        Box::pin(async move {
            let listed = self.leases.abandoned(node, limit).await;
            listed.map_err(|failure| self.named(failure, "could not list the interrupted chats"))
        })
    }

    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        Box::pin(async move {
            let listed = reader::ids(&self.readers, after.as_ref(), limit).await;
            listed.map_err(|failure| self.named(failure, "could not list the chats"))
        })
    }

    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>> {
        Box::pin(async move {
            let listed = reader::approvers(&self.readers, chat).await;
            listed.map_err(|failure| self.named(failure, format_args!("could not read chat {chat}")))
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

    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>> {
        Box::pin(async move {
            let deleted = self.ask(|answer| Request::Delete { chat: chat.clone(), deletion, answer }).await;
            let deleted = deleted.unwrap_or(Err(Failure::Stopped));
            deleted.map_err(|failure| self.named(failure, format_args!("could not delete chat {chat}")))
        })
    }
}

impl Drop for PostgresLog {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

impl fmt::Debug for PostgresLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresLog({})", self.connector.place)
    }
}
