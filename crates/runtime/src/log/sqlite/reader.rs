//! Readers: a few threads, each with its own connection.
//!
//! A statement sees everything committed before it began, so reads are linearizable.

use std::{
    fmt::Write,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use bytes::Bytes;
use holdpoint_protocol::ids::ChatId;
use rusqlite::{Connection, OptionalExtension, Row, ToSql};
use tokio::sync::{mpsc, oneshot};

use super::{
    error::{QueryFailure, SqliteError},
    open::Folder,
};
use crate::{
    clock::Timestamp,
    log::{Batch, Head, HeadQuery, Listed},
    subject::Subject,
};

const THREADS: usize = 2;

/// Reads queued for a thread before callers have to wait.
const QUEUE: usize = 256;

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// The reader threads.
pub(super) struct Readers {
    /// `None` once they are to stop.
    jobs: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Opens the connections and starts a thread for each.
    pub(super) fn start(folder: &Folder) -> Result<Self, SqliteError> {
        let (jobs, waiting) = mpsc::channel::<Job>(QUEUE);
        let waiting = Arc::new(Mutex::new(waiting));
        let mut readers = Self { jobs: Some(jobs), threads: Vec::with_capacity(THREADS) };
        for _ in 0..THREADS {
            let connection = folder.reader()?;
            let waiting = Arc::clone(&waiting);
            let thread = thread::Builder::new()
                .name("log-reader".into())
                .spawn(move || {
                    while let Some(job) = next(&waiting) {
                        job(&connection)
                    }
                })
                .map_err(|source| SqliteError::Thread { source })?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs a query, unless the caller was cancelled before it began.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, QueryFailure> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            if !answer.is_closed() {
                let _ = answer.send(query(connection));
            }
        });
        let stopped = || QueryFailure::stopped("its readers have stopped");
        self.jobs.as_ref().ok_or_else(stopped)?.send(job).await.map_err(|_| stopped())?;
        answered.await.map_err(|_| stopped())?.map_err(|error| QueryFailure::of(&error))
    }

    /// Stops the threads and closes their connections.
    pub(super) fn stop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a reader of the log ended in a panic");
            }
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The next job. One thread waits for it and holds the lock; the others wait for the lock.
fn next(waiting: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv()
}

/// See [`crate::log::Log::read`].
pub(super) fn batches(
    connection: &Connection,
    chat: &ChatId,
    after: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Batch>> {
    // `after` may be inside a batch: start with the last batch that begins at or before it.
    let mut select = connection.prepare_cached(
        "WITH this AS (SELECT number FROM chats WHERE id = ?1)
         SELECT first, count, payload FROM batches
         WHERE chat = (SELECT number FROM this)
             AND first >= (SELECT max(first) FROM batches WHERE chat = (SELECT number FROM this) AND first <= ?2)
             AND first + count > ?2
         ORDER BY first LIMIT ?3",
    )?;
    let batch = |row: &Row<'_>| {
        Ok(Batch { first: row.get::<_, i64>(0)?.cast_unsigned(), count: row.get(1)?, payload: bytes(row, 2)? })
    };
    select.query_map((chat.as_str(), number(after), most(limit)), batch)?.collect()
}

/// See [`crate::log::Log::heads`].
pub(super) fn heads(connection: &Connection, query: &HeadQuery, limit: usize) -> rusqlite::Result<Vec<Listed>> {
    let (sql, parameters) = select_heads(query);
    let limit = most(limit);
    let mut parameters: Vec<&dyn ToSql> = parameters.iter().map(|parameter| parameter as &dyn ToSql).collect();
    parameters.push(&limit);
    let mut select = connection.prepare_cached(&sql)?;
    let rows = select.query_map(parameters.as_slice(), listed)?;
    rows.collect()
}

/// See [`crate::log::Log::head`].
pub(super) fn head(connection: &Connection, chat: &ChatId) -> rusqlite::Result<Option<(u64, Head)>> {
    let mut select =
        connection.prepare_cached("SELECT id, len, subject, is_open, updated_at, head FROM chats WHERE id = ?1")?;
    let listed = select.query_row([chat.as_str()], listed).optional()?;
    Ok(listed.map(|(_, len, head)| (len, head)))
}

fn listed(row: &Row<'_>) -> rusqlite::Result<Listed> {
    let head = Head {
        subject: Subject::from(row.get_ref(2)?.as_str()?),
        is_open: row.get(3)?,
        updated_at: Timestamp(row.get::<_, i64>(4)?.cast_unsigned()),
        data: bytes(row, 5)?,
    };
    Ok((ChatId::from(row.get_ref(0)?.as_str()?), row.get::<_, i64>(1)?.cast_unsigned(), head))
}

/// See [`crate::log::Log::find`].
pub(super) fn find(connection: &Connection, subject: &Subject, key: &str) -> rusqlite::Result<Option<ChatId>> {
    connection
        .prepare_cached("SELECT id FROM keys JOIN chats ON number = chat WHERE keys.subject = ?1 AND key = ?2")?
        .query_row((subject.as_str(), key), |row| Ok(ChatId::from(row.get_ref(0)?.as_str()?)))
        .optional()
}

/// The statement for a query, with all its parameters but the limit, which comes last. There are few variants, so all
/// stay prepared.
pub(super) fn select_heads(query: &HeadQuery) -> (String, Vec<&str>) {
    let mut sql = "SELECT id, len, subject, is_open, updated_at, head FROM chats WHERE true".to_owned();
    let mut parameters = Vec::new();
    if query.only_open {
        sql.push_str(" AND is_open");
    }
    let filters = [
        ("subject =", query.subject.as_ref().map(Subject::as_str)),
        ("id >", query.after.as_ref().map(ChatId::as_str)),
    ];
    for (filter, value) in filters {
        if let Some(value) = value {
            parameters.push(value);
            let _ = write!(sql, " AND {filter} ?{}", parameters.len());
        }
    }
    let _ = write!(sql, " ORDER BY id LIMIT ?{}", parameters.len() + 1);
    (sql, parameters)
}

fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Bytes> {
    Ok(Bytes::copy_from_slice(row.get_ref(column)?.as_blob()?))
}

/// A position as an SQLite integer. None exceeds its range.
fn number(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
