//! The log of many nodes: PostgreSQL, 15 or later.
//!
//! A node has one connection that writes, a few that read, one for its lease and one for notifications. The writer
//! commits everything that arrived during the previous commit in one transaction: round trips and the server's `fsync`
//! are the cost, and this way many appends share them. Nodes meet only here: the compare-and-set of an append is a
//! locked row.

mod audit;
mod cluster;
mod connection;
mod error;
mod grants;
mod group;
mod hosts;
mod index;
mod lease;
mod log;
mod notify;
mod options;
mod pool;
mod reader;
mod restore;
mod schema;
mod secrets;
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
use lease::Leases;
use notify::{Listener, Outbox};
pub use options::PostgresOptions;
use pool::Pool;
use tokio::{
    sync::{broadcast, mpsc, oneshot, watch},
    task::AbortHandle,
};
use uuid::Uuid;
use writer::{LastCommit, Reports, Request, Writer};

use super::{Cluster, Health, LogError, Store, WAKEUPS, Wakeup};

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

impl Store for PostgresLog {
    fn cluster(&self) -> &dyn Cluster {
        self
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
