//! The writer: one task with one connection. It takes all queued requests, writes the appends among them in one
//! transaction, and replies once that is committed.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use holdpoint_protocol::ids::ChatId;
use tokio::{
    sync::{broadcast, mpsc, oneshot, watch},
    time::{Instant, timeout},
};

use super::{
    connection::{Connection, Connector},
    error::{Failure, PostgresError, Reach},
    notify::Outbox,
    schema,
    transaction::{Appends, Delete, Deleted, PREPARED, Probe, Transaction},
};
use crate::{Append, AppendResult, ChatChange, DeleteResult, Deletion, Health, Wakeup};

/// Requests per group, bounded so that the first does not wait too long for the last.
const MAX_GROUP_REQUESTS: usize = 512;
/// Appends per transaction.
const MAX_APPENDS: usize = 2048;
/// Bytes of facts per transaction, unless a single append has more.
const MAX_BYTES: usize = 8 << 20;
/// A transaction with many bytes has more time.
const BYTES_PER_SECOND: usize = 4 << 20;
/// How often a group is tried while other transactions are in its way.
const MAX_TRIES: usize = 8;
/// The time between two attempts to connect, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// A request to the writer.
pub(super) enum Request {
    Append { appends: Vec<Append>, answer: oneshot::Sender<Vec<AppendResult>> },
    Delete { chat: ChatId, deletion: Deletion, answer: oneshot::Sender<Result<DeleteResult, Failure>> },
    Probe { answer: oneshot::Sender<Health> },
}

/// The time of the last commit.
#[derive(Clone, Default)]
pub(super) struct LastCommit(Arc<Mutex<Option<Instant>>>);

impl LastCommit {
    fn set(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether the last commit is at most this old.
    pub(super) fn is_within(&self, age: Duration) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| at.elapsed() < age)
    }
}

/// Where the writer reports its work.
pub(super) struct Reports {
    pub(super) wakeups: broadcast::Sender<Wakeup>,
    /// The wakeups for other nodes; `None` if they only poll.
    pub(super) outbox: Option<Arc<Outbox>>,
    pub(super) commits: Arc<AtomicU64>,
    pub(super) health: watch::Sender<Health>,
    pub(super) last_commit: LastCommit,
}

/// The state of the writer's task.
pub(super) struct Writer {
    connector: Arc<Connector>,
    connection: Option<Connection>,
    /// The time before which no connection is attempted, and the wait after the next failure.
    retry: Option<(Instant, Duration)>,
    waiting: mpsc::Receiver<Request>,
    reports: Reports,
    /// The length of a lease.
    lease: Duration,
    /// Set when a newer program may have changed the tables.
    is_outdated: Arc<AtomicBool>,
}

impl Writer {
    /// A writer that has not started.
    pub(super) fn new(
        connector: Arc<Connector>,
        waiting: mpsc::Receiver<Request>,
        reports: Reports,
        lease: Duration,
        is_outdated: Arc<AtomicBool>,
    ) -> Self {
        Self { connector, connection: None, retry: None, waiting, reports, lease, is_outdated }
    }

    /// Connects ahead of the first request.
    pub(super) async fn start(&mut self) -> Result<(), PostgresError> {
        match self.connected().await {
            Ok(_) => Ok(()),
            Err(Failure::Connect(error)) => Err(error),
            Err(Failure::Statement(error)) => Err(PostgresError::of(&self.connector.place, error)),
            Err(_) => Err(PostgresError::timed_out(&self.connector.place)),
        }
    }

    /// Writes until all senders are gone and all requests are done.
    pub(super) async fn run(mut self) {
        let mut group = Vec::new();
        loop {
            // While it fails, it tries by itself, so that its health tells when the database is back.
            let pause = self.retry.map(|(at, _)| at.saturating_duration_since(Instant::now()));
            let receiving = self.waiting.recv_many(&mut group, MAX_GROUP_REQUESTS);
            let received = match pause {
                Some(pause) => timeout(pause, receiving).await.ok(),
                None => Some(receiving.await),
            };
            match received {
                Some(0) => return,
                Some(_) => self.settle(std::mem::take(&mut group)).await,
                None => drop(self.probe().await),
            }
        }
    }

    async fn settle(&mut self, group: Vec<Request>) {
        let mut appends = Vec::new();
        let mut answers = Vec::new();
        let (mut deletions, mut probes) = (Vec::new(), Vec::new());
        for request in group {
            match request {
                Request::Append { appends: more, answer } => {
                    answers.push((more.len(), answer));
                    appends.extend(more);
                }
                Request::Delete { chat, deletion, answer } => deletions.push((chat, deletion, answer)),
                Request::Probe { answer } => probes.push(answer),
            }
        }
        if !appends.is_empty() {
            let mut results = self.append(&appends).await.into_iter();
            for (count, answer) in answers {
                // A cancelled caller needs no reply.
                let _ = answer.send(results.by_ref().take(count).collect());
            }
        }
        for (chat, deletion, answer) in deletions {
            let _ = answer.send(self.delete(chat, &deletion).await);
        }
        if !probes.is_empty() {
            drop(self.probe().await);
            let health = *self.reports.health.borrow();
            for answer in probes {
                let _ = answer.send(health);
            }
        }
    }

    /// Appends in as few transactions as possible. An append that can't be written is separated from the others.
    async fn append(&mut self, appends: &[Append]) -> Vec<AppendResult> {
        let mut results = vec![AppendResult::Unknown; appends.len()];
        let mut ranges = cut(appends);
        ranges.reverse();
        while let Some(range) = ranges.pop() {
            let part = &appends[range.clone()];
            match self.append_together(part).await {
                Ok(done) => {
                    for (append, result) in part.iter().zip(&done) {
                        // For a repeated append too: if the first result was unknown, no one was woken.
                        if matches!(result, AppendResult::Committed { .. }) && append.count > 0 {
                            self.wake(ChatChange::of(append));
                        }
                    }
                    results[range].copy_from_slice(&done);
                }
                Err(failure) if failure.reach() == Reach::Request && part.len() > 1 => {
                    let middle = range.start + part.len() / 2;
                    ranges.extend([middle..range.end, range.start..middle]);
                }
                Err(failure) if failure.reach() == Reach::Request => {
                    let place = &self.connector.place;
                    tracing::error!(place, %failure, "an append could not be written to the log");
                }
                // The others would fail too.
                Err(_) => break,
            }
        }
        results
    }

    async fn append_together(&mut self, appends: &[Append]) -> Result<Vec<AppendResult>, Failure> {
        let bytes: usize = appends.iter().map(|append| append.payload.len() + append.head.data.len()).sum();
        let more = Duration::from_secs((bytes / BYTES_PER_SECOND).try_into().unwrap_or(u64::MAX));
        self.write(more, &Appends { appends, lease: self.lease }).await
    }

    async fn delete(&mut self, chat: ChatId, deletion: &Deletion) -> Result<DeleteResult, Failure> {
        Ok(match self.write(Duration::ZERO, &Delete(&chat, deletion)).await? {
            Deleted::Conflict => DeleteResult::Conflict,
            Deleted::Nothing => DeleteResult::Deleted,
            Deleted::Chat(subject) => {
                let len = Some(deletion.expected + 1);
                self.wake(ChatChange { chat, subject, len, holds: true, approvers: Vec::new() });
                DeleteResult::Deleted
            }
        })
    }

    async fn probe(&mut self) -> Result<(), Failure> {
        self.write(Duration::ZERO, &Probe).await
    }

    /// Runs a transaction, again if another one was in its way, and once more if its connection was lost: every request
    /// can be repeated.
    async fn write<T: Transaction>(&mut self, more_time: Duration, transaction: &T) -> Result<T::Done, Failure> {
        let limit = self.connector.request_timeout + more_time;
        let mut is_second_connection = false;
        for last in (0..MAX_TRIES).rev() {
            let connection = match self.connected().await {
                Ok(connection) => connection,
                Err(failure) => return Err(self.failing(failure)),
            };
            let before = connection.unconfirmed();
            let written = timeout(limit, transaction.run(connection)).await.unwrap_or(Err(Failure::Late(limit)));
            let written = if connection.unconfirmed() == before { written } else { Err(Failure::Unconfirmed) };
            let failure = match written {
                Ok(written) => {
                    self.succeeded();
                    return Ok(written);
                }
                Err(failure) => failure,
            };
            match failure.reach() {
                Reach::Request => {
                    self.roll_back(limit).await;
                    return Err(failure);
                }
                Reach::Again if last > 0 => self.roll_back(limit).await,
                Reach::Connection if !is_second_connection => {
                    is_second_connection = true;
                    self.connection = None;
                }
                _ => return Err(self.failing(failure)),
            }
        }
        Err(Failure::Stopped)
    }

    /// The connection, made anew if it is lost.
    async fn connected(&mut self) -> Result<&Connection, Failure> {
        // The tables are checked on every new connection.
        let is_outdated = self.is_outdated.swap(false, Ordering::Relaxed);
        if is_outdated || self.connection.as_ref().is_some_and(Connection::is_closed) {
            self.connection = None;
        }
        if self.connection.is_none() {
            if let Some((at, _)) = self.retry
                && Instant::now() < at
            {
                return Err(Failure::Waiting);
            }
            let connection = self.connector.connect().await.map_err(Failure::Connect)?;
            let limit = self.connector.request_timeout;
            let prepared = async {
                schema::check(&self.connector, &connection).await?;
                Ok::<_, Failure>(connection.prepare(PREPARED).await?)
            };
            timeout(limit, prepared).await.map_err(|_| Failure::Late(limit))??;
            self.connection = Some(connection);
        }
        self.connection.as_ref().ok_or(Failure::Stopped)
    }

    async fn roll_back(&mut self, limit: Duration) {
        let Some(connection) = &self.connection else { return };
        if !matches!(timeout(limit, connection.execute("ROLLBACK")).await, Ok(Ok(()))) {
            self.connection = None;
        }
    }

    fn succeeded(&mut self) {
        self.retry = None;
        self.reports.commits.fetch_add(1, Ordering::Relaxed);
        self.reports.last_commit.set();
        if self.set_health(Health::Writable) {
            tracing::warn!(place = self.connector.place, "the log can be written again");
        }
    }

    /// No write succeeds at present. The connection may be in any state, so it is dropped.
    fn failing(&mut self, failure: Failure) -> Failure {
        self.connection = None;
        if matches!(failure, Failure::Waiting) {
            // The failure before says why.
            return failure;
        }
        let now = Instant::now();
        let (at, pause) = self.retry.unwrap_or((now, BACKOFF.0));
        if at <= now {
            self.retry = Some((now + pause, (pause * 2).min(BACKOFF.1)));
        }
        // Logged once until a write succeeds again.
        let is_newer = matches!(failure, Failure::Connect(PostgresError::Newer { .. }));
        if self.set_health(if is_newer { Health::Outdated } else { Health::Failing }) {
            tracing::error!(place = self.connector.place, %failure, "the log can't be written; retrying");
        }
        failure
    }

    /// Sets the health. Returns whether it changed.
    fn set_health(&self, health: Health) -> bool {
        self.reports.health.send_if_modified(|before| std::mem::replace(before, health) != health)
    }

    fn wake(&self, change: ChatChange) {
        if let Some(outbox) = &self.reports.outbox {
            outbox.add(&change);
        }
        let _ = self.reports.wakeups.send(Wakeup::Chat(change));
    }
}

/// Cuts appends into transactions that are not too large.
fn cut(appends: &[Append]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, append) in appends.iter().enumerate() {
        let size = append.payload.len() + append.head.data.len();
        if at > start && (bytes + size > MAX_BYTES || at - start >= MAX_APPENDS) {
            ranges.push(start..at);
            (start, bytes) = (at, 0);
        }
        bytes += size;
    }
    ranges.push(start..appends.len());
    ranges
}
