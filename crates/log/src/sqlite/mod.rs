//! The embedded log: one SQLite file in its own folder.
//!
//! One thread does all writing. It commits everything that arrived during the previous commit in one transaction: the
//! `fsync` is the cost, and this way many appends share one. Readers have their own threads and never block the writer.

mod audit;
mod delete;
mod error;
mod grants;
mod holds;
mod open;
mod private;
mod reader;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use error::QueryFailure;
pub use error::SqliteError;
use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use open::Folder;
pub use private::FolderRights;
use reader::Readers;
use rusqlite::Connection;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use writer::{LastCommit, Reports, Request, Writer};

use super::{
    Append, AppendResult, AuditEntry, AuditQuery, Batch, DeleteResult, Deletion, Digest, Due, Found, GrantQuery,
    HeadQuery, Health, HoldApprover, HoldChanges, HoldCounts, HoldQuery, Listed, ListedHold, Log, LogError, Misfit,
    NodeId, Revocation, Stored, StoredGrant, Usage, WAKEUPS, Wakeup, one_node::one_node,
};
use holdpoint_core::{clock::Timestamp, subject::Subject};

/// Requests queued for the writer before callers have to wait.
const QUEUE: usize = 1024;

/// How long the writer waits for another process that writes. Shorter than when opening the file: all requests wait
/// with it, and a failed append is retried.
const WRITER_BUSY_TIMEOUT: Duration = Duration::from_secs(1);
/// A write this recent makes a probe unnecessary.
const PROBE_VALIDITY: Duration = Duration::from_secs(1);

/// A log in the file `holdpoint.db`.
///
/// Dropping it completes the queued requests and closes the file, which takes as long as a commit.
pub struct SqliteLog {
    /// Dropped before the writer: the connection that closes last checkpoints the file, and only the writer's can.
    readers: Readers,
    /// `None` only during drop: the writer's thread ends when the last sender is gone.
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
    wakeups: broadcast::Sender<Wakeup>,
    commits: Arc<AtomicU64>,
    health: watch::Receiver<Health>,
    last_commit: LastCommit,
    /// Locked as long as anything is written.
    folder: Folder,
}

impl SqliteLog {
    /// Opens the log in a folder, and creates both if missing. Blocks on the disk.
    pub fn open(dir: &Path) -> Result<Self, SqliteError> {
        Self::start(Folder::lock(dir)?)
    }

    /// Opens the log read-only, even while a server writes to it. Nothing is created, and appends fail.
    pub fn open_read_only(dir: &Path) -> Result<Self, SqliteError> {
        let folder = Folder::look(dir)?;
        let readers = Readers::start(&folder)?;
        let (wakeups, commits) = (broadcast::Sender::new(1), Arc::default());
        let (health, last_commit) = (watch::channel(Health::Failing).1, LastCommit::default());
        Ok(Self { readers, requests: None, writer: None, wakeups, commits, health, last_commit, folder })
    }

    /// What other users may do in an existing data folder. Fails if it can't be used because of that.
    pub fn folder_rights(dir: &Path) -> Result<FolderRights, SqliteError> {
        private::rights(dir)
    }

    /// Whether a process is using the folder.
    pub fn is_in_use(dir: &Path) -> bool {
        matches!(Folder::lock_existing(dir), Err(SqliteError::InUse { .. }))
    }

    fn start(mut folder: Folder) -> Result<Self, SqliteError> {
        folder.check()?;
        folder.create()?;
        let connection = folder.writer()?;
        folder.busy_timeout = folder.busy_timeout.min(WRITER_BUSY_TIMEOUT);
        folder.set_busy_timeout(&connection)?;
        let readers = Readers::start(&folder)?;
        let wakeups = broadcast::Sender::new(WAKEUPS);
        let commits = Arc::default();
        let (requests, waiting) = mpsc::channel(QUEUE);
        let (health_set, health) = watch::channel(Health::default());
        let last_commit = LastCommit::default();
        let reports = Reports {
            wakeups: wakeups.clone(),
            commits: Arc::clone(&commits),
            health: health_set,
            last_commit: last_commit.clone(),
        };
        let writer = Writer::new(folder.clone(), connection, waiting, reports);
        let writer = thread::Builder::new()
            .name("log-writer".into())
            .spawn(move || writer.run())
            .map_err(|source| SqliteError::Thread { source })?;
        Ok(Self {
            readers,
            requests: Some(requests),
            writer: Some(writer),
            wakeups,
            commits,
            health,
            last_commit,
            folder,
        })
    }

    /// Number of committed transactions. Fewer than appends if they were grouped.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Runs a query on a reader.
    fn query<'a, T: Send + 'static>(
        &'a self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
        what_failed: impl FnOnce() -> String + Send + 'a,
    ) -> BoxFuture<'a, Result<T, LogError>> {
        Box::pin(async move {
            let read = self.readers.run(query).await;
            read.map_err(|error| error.doing(format_args!("{} in {}", what_failed(), self.folder)))
        })
    }

    /// Sends a request to the writer. Cancelling the wait does not cancel the request.
    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.requests.as_ref()?.send(request(answer)).await.ok()?;
        answered.await.ok()
    }
}

impl Log for SqliteLog {
    one_node!();

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

    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>> {
        self.query(move |connection| reader::heads(connection, &query, limit), || "could not list the chats".to_owned())
    }

    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>> {
        let wanted = chat.clone();
        self.query(move |connection| reader::stored(connection, &wanted), move || format!("could not read chat {chat}"))
    }

    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>> {
        let (whose, wanted) = (subject.clone(), key.to_owned());
        self.query(move |connection| reader::find(connection, &whose, &wanted), move || format!("could not find {key}"))
    }

    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>> {
        self.query(move |connection| reader::holds(connection, &query, limit), || "could not list the holds".to_owned())
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

    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        self.query(
            move |connection| reader::abandoned(connection, node, limit),
            || "could not list the interrupted chats".to_owned(),
        )
    }

    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>> {
        self.query(
            move |connection| reader::ids(connection, after.as_ref(), limit),
            || "could not list the chats".to_owned(),
        )
    }

    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>> {
        let wanted = chat.clone();
        self.query(
            move |connection| reader::approvers(connection, &wanted),
            move || format!("could not read chat {chat}"),
        )
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

    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>> {
        Box::pin(async move {
            let deleted = self.ask(|answer| Request::delete(chat.clone(), deletion, answer)).await;
            let deleted = deleted.unwrap_or_else(|| Err(QueryFailure::stopped("its writer has stopped")));
            deleted.map_err(|error| error.doing(format_args!("could not delete chat {chat} in {}", self.folder)))
        })
    }
}

impl Drop for SqliteLog {
    fn drop(&mut self) {
        self.readers.stop();
        self.requests = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!(folder = %self.folder, "the log's writer ended in a panic");
        }
    }
}

impl fmt::Debug for SqliteLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteLog({})", self.folder)
    }
}
