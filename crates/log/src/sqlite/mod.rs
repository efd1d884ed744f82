//! The embedded log: one SQLite file in its own folder.
//!
//! One thread does all writing. It commits everything that arrived during the previous commit in one transaction: the
//! `fsync` is the cost, and this way many appends share one. Readers have their own threads and never block the writer.

mod audit;
mod delete;
mod error;
mod grants;
mod holds;
mod index;
mod log;
mod open;
mod private;
mod reader;
mod schema;
mod secrets;
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

pub use error::SqliteError;
use futures::future::BoxFuture;
use open::Folder;
pub use private::FolderRights;
use reader::Readers;
use rusqlite::Connection;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use writer::{LastCommit, Reports, Request, Writer};

use super::{Cluster, Health, LogError, OneNode, Store, WAKEUPS, Wakeup};

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

impl Store for SqliteLog {
    fn cluster(&self) -> &dyn Cluster {
        &OneNode
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
