//! Readers: a few threads, each with its own connection.
//!
//! A statement sees everything committed before it began, so reads are linearizable.

use std::{
    fmt::Write,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use bytes::Bytes;
use holdpoint_protocol::ids::{ApprovalId, ChatId, ToolCallId};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter, types::Value};
use tokio::sync::{mpsc, oneshot};

use super::{
    error::{QueryFailure, SqliteError},
    open::Folder,
};
use crate::{
    Batch, BatchHash, Digest, Due, Found, Head, HeadOrder, HeadQuery, HoldApprover, HoldCount, HoldCounts, HoldQuery,
    HoldRow, HoldsOf, Listed, ListedHold, Misfit, NodeId, PAGE_BYTES, Stored, Usage,
    misfits::{CHECKS, Check},
};
use holdpoint_core::{approvers::Approver, clock::Timestamp, subject::Subject};

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

/// See [`crate::Log::read`].
pub(super) fn batches(
    connection: &Connection,
    chat: &ChatId,
    after: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Batch>> {
    // `after` may be inside a batch: start with the last batch that begins at or before it.
    let mut select = connection.prepare_cached(
        "WITH this AS (SELECT number FROM chats WHERE id = ?1)
         SELECT first, count, payload, owner, previous_hash FROM batches
         WHERE chat = (SELECT number FROM this)
             AND first >= coalesce(
                 (SELECT max(first) FROM batches WHERE chat = (SELECT number FROM this) AND first <= ?2), 0)
             AND first + count > ?2
         ORDER BY first LIMIT ?3",
    )?;
    let batch = |row: &Row<'_>| {
        let owner = row.get::<_, Option<[u8; 16]>>(3)?.map(|id| NodeId(u128::from_be_bytes(id)));
        let first = unsigned(row, 0)?;
        Ok(Batch { first, count: row.get(1)?, payload: bytes(row, 2)?, owner, previous_hash: hash(row, 4)? })
    };
    select.query_map((chat.as_str(), number(after), most(limit)), batch)?.collect()
}

/// See [`crate::Index::ids`].
pub(super) fn ids(connection: &Connection, after: Option<&ChatId>, limit: usize) -> rusqlite::Result<Vec<ChatId>> {
    let id = |row: &Row<'_>| Ok(ChatId::from(row.get_ref(0)?.as_str()?));
    match after {
        None => {
            let mut select = connection.prepare_cached("SELECT id FROM chats ORDER BY id LIMIT ?1")?;
            select.query_map([most(limit)], id)?.collect()
        }
        Some(after) => {
            let mut select = connection.prepare_cached("SELECT id FROM chats WHERE id > ?1 ORDER BY id LIMIT ?2")?;
            select.query_map((after.as_str(), most(limit)), id)?.collect()
        }
    }
}

/// See [`crate::Index::approvers`].
pub(super) fn approvers(connection: &Connection, chat: &ChatId) -> rusqlite::Result<Vec<HoldApprover>> {
    let mut select = connection.prepare_cached(
        "SELECT call, kind, name FROM approvers WHERE chat = (SELECT number FROM chats WHERE id = ?1)",
    )?;
    let approver = |row: &Row<'_>| {
        let approver = Approver::of_parts(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
        Ok((ToolCallId::from(row.get_ref(0)?.as_str()?), approver))
    };
    select.query_map([chat.as_str()], approver)?.collect()
}

/// See [`crate::Index::misfits`].
pub(super) fn misfits(connection: &Connection) -> rusqlite::Result<Vec<Misfit>> {
    let mut found = Vec::new();
    for Check { table, what, sql } in CHECKS {
        let mut select = connection.prepare(&sql.replace("@.", ""))?;
        let misfit = |row: &Row<'_>| {
            let chat = row.get_ref(0)?.as_str_or_null()?.map(ChatId::from);
            Ok(Misfit { table, what, chat, rows: row.get::<_, i64>(1)?.cast_unsigned() })
        };
        for misfit in select.query_map([], misfit)? {
            found.push(misfit?);
        }
    }
    Ok(found)
}

/// See [`crate::Log::digests`].
pub(super) fn digests(
    connection: &Connection,
    chat: &ChatId,
    from: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Digest>> {
    let mut select = connection.prepare_cached(
        "SELECT first, data FROM digests
         WHERE chat = (SELECT number FROM chats WHERE id = ?1) AND first >= ?2 ORDER BY first LIMIT ?3",
    )?;
    let digest = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.cast_unsigned(), Bytes::from(row.get::<_, Vec<u8>>(1)?)));
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    select.query_map((chat.as_str(), from, limit), digest)?.collect()
}

/// See [`crate::Index::heads`].
pub(super) fn heads(connection: &Connection, query: &HeadQuery, limit: usize) -> rusqlite::Result<Vec<Listed>> {
    let (sql, mut parameters) = select_heads(query);
    parameters.push(Value::from(most(limit)));
    let mut select = connection.prepare_cached(&sql)?;
    let rows = select.query_map(params_from_iter(parameters), listed)?;
    rows.collect()
}

/// See [`crate::Log::stored`].
pub(super) fn stored(connection: &Connection, chat: &ChatId) -> rusqlite::Result<Option<Stored>> {
    let mut select = connection.prepare_cached(
        "SELECT id, len, subject, is_open, updated_at, head, deleted_at, hash FROM chats WHERE id = ?1",
    )?;
    let stored = |row: &Row<'_>| {
        let deleted_at = optional_time(row, 6)?;
        let ((_, len, head), hash) = (listed(row)?, hash(row, 7)?);
        Ok(match deleted_at {
            Some(deleted_at) => Stored::Tombstone { len, subject: head.subject, deleted_at, hash },
            None => Stored::Chat { len, head, hash },
        })
    };
    select.query_row([chat.as_str()], stored).optional()
}

fn listed(row: &Row<'_>) -> rusqlite::Result<Listed> {
    let head = Head {
        subject: Subject::from(row.get_ref(2)?.as_str()?),
        is_open: is_true(row, 3)?,
        updated_at: time(row, 4)?,
        data: bytes(row, 5)?,
    };
    Ok((ChatId::from(row.get_ref(0)?.as_str()?), unsigned(row, 1)?, head))
}

/// See [`crate::Index::lengths`].
pub(super) fn lengths(connection: &Connection, chats: &[ChatId]) -> rusqlite::Result<Vec<u64>> {
    let mut select = connection.prepare_cached("SELECT len FROM chats WHERE id = ?1")?;
    let mut length = |chat: &ChatId| select.query_row([chat.as_str()], |row| unsigned(row, 0)).optional();
    chats.iter().map(|chat| Ok(length(chat)?.unwrap_or(0))).collect()
}

/// See [`crate::Index::find`].
pub(super) fn find(connection: &Connection, subject: &Subject, key: &str) -> rusqlite::Result<Option<Found>> {
    connection
        .prepare_cached("SELECT id, at FROM keys JOIN chats ON number = chat WHERE keys.subject = ?1 AND key = ?2")?
        .query_row((subject.as_str(), key), |row| {
            let at = row.get::<_, i64>(1)?.cast_unsigned();
            Ok(Found { chat: ChatId::from(row.get_ref(0)?.as_str()?), at })
        })
        .optional()
}

/// See [`crate::Index::holds`].
pub(super) fn holds(connection: &Connection, query: &HoldQuery, limit: usize) -> rusqlite::Result<Vec<ListedHold>> {
    let (sql, mut parameters) = select_holds(query);
    parameters.push(Value::from(most(limit)));
    let mut select = connection.prepare_cached(&sql)?;
    let hold = |row: &Row<'_>| {
        let hold = HoldRow {
            call: ToolCallId::from(row.get_ref(1)?.as_str()?),
            tool: row.get_ref(2)?.as_str()?.into(),
            approval: row.get_ref(3)?.as_str_or_null()?.map(ApprovalId::from),
            since: time(row, 4)?,
            due_at: optional_time(row, 5)?,
            data: bytes(row, 6)?,
        };
        Ok((ChatId::from(row.get_ref(0)?.as_str()?), hold))
    };
    let (mut holds, mut bytes) = (Vec::new(), 0);
    for row in select.query_map(params_from_iter(parameters), hold)? {
        let row: ListedHold = row?;
        bytes += row.1.data.len();
        holds.push(row);
        if bytes > PAGE_BYTES {
            break;
        }
    }
    Ok(holds)
}

/// See [`crate::Index::due`].
pub(super) fn due(connection: &Connection, until: Timestamp, limit: usize) -> rusqlite::Result<Vec<Due>> {
    let mut select = connection.prepare_cached(
        "SELECT due_at, id, call FROM holds JOIN chats ON number = chat
         WHERE due_at <= ?1 ORDER BY due_at, chat, call LIMIT ?2",
    )?;
    let due = |row: &Row<'_>| {
        let (chat, call) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
        Ok((time(row, 0)?, ChatId::from(chat), ToolCallId::from(call)))
    };
    select.query_map((number(until.0), most(limit)), due)?.collect()
}

/// See [`crate::Index::count_holds`].
pub(super) fn count_holds(connection: &Connection, times: &[Timestamp]) -> rusqlite::Result<HoldCounts> {
    let age: Vec<String> = times.iter().map(|time| format!("(since <= {})", number(time.0))).collect();
    let age = if age.is_empty() { "0".to_owned() } else { age.join(" + ") };
    let mut select = connection.prepare(&format!(
        "SELECT tool, approval IS NOT NULL, {age} AS age, count(*), min(since) FROM holds GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    ))?;
    let count = |row: &Row<'_>| {
        Ok(HoldCount {
            tool: row.get_ref(0)?.as_str()?.into(),
            is_approval: row.get(1)?,
            age: usize::try_from(row.get::<_, i64>(2)?).unwrap_or_default(),
            count: row.get::<_, i64>(3)?.cast_unsigned(),
            oldest: time(row, 4)?,
        })
    };
    let holds = select.query_map([], count)?.collect::<rusqlite::Result<_>>()?;
    let chats = connection.query_row("SELECT count(DISTINCT chat) FROM holds", [], |row| row.get::<_, i64>(0))?;
    Ok(HoldCounts { chats: chats.cast_unsigned(), holds })
}

/// See [`crate::Index::usage`].
pub(super) fn usage(connection: &Connection, subject: &Subject, node: NodeId, limit: usize) -> rusqlite::Result<Usage> {
    let mut select = connection.prepare_cached(
        "SELECT count(*), count(owner) FROM
             (SELECT owner FROM chats WHERE subject = ?1 AND is_open AND owner IS NOT ?2 LIMIT ?3)",
    )?;
    let parameters = (subject.as_str(), node.0.to_be_bytes(), most(limit));
    select.query_row(parameters, |row| {
        let count = |column| row.get::<_, i64>(column).map(|count| usize::try_from(count).unwrap_or_default());
        Ok(Usage { open: count(0)?, running: count(1)? })
    })
}

/// See [`crate::Index::abandoned`].
pub(super) fn abandoned(connection: &Connection, node: NodeId, limit: usize) -> rusqlite::Result<Vec<ChatId>> {
    let mut select =
        connection.prepare_cached("SELECT id FROM chats WHERE owner IS NOT NULL AND owner <> ?1 LIMIT ?2")?;
    let rows =
        select.query_map((node.0.to_be_bytes(), most(limit)), |row| Ok(ChatId::from(row.get_ref(0)?.as_str()?)))?;
    rows.collect()
}

/// The statement for a query, with all its parameters but the limit, which comes last. There are few variants, so all
/// stay prepared.
pub(super) fn select_heads(query: &HeadQuery) -> (String, Vec<Value>) {
    let mut sql = "SELECT id, len, subject, is_open, updated_at, head FROM chats WHERE deleted_at IS NULL".to_owned();
    let mut parameters = Vec::new();
    if query.only_open {
        sql.push_str(" AND is_open");
    }
    if let Some(subject) = &query.subject {
        parameters.push(Value::from(subject.as_str().to_owned()));
        sql.push_str(" AND subject = ?1");
    }
    let order = match &query.order {
        HeadOrder::Id { after } => {
            if let Some(after) = after {
                parameters.push(Value::from(after.as_str().to_owned()));
                let _ = write!(sql, " AND id > ?{}", parameters.len());
            }
            "id"
        }
        HeadOrder::Newest { after } => {
            if let Some((at, id)) = after {
                parameters.extend([Value::from(number(at.0)), Value::from(id.as_str().to_owned())]);
                let (at, id) = (parameters.len() - 1, parameters.len());
                // The first condition is for the index, which has the two in different orders.
                let _ = write!(sql, " AND updated_at <= ?{at} AND (updated_at < ?{at} OR id > ?{id})");
            }
            "updated_at DESC, id"
        }
    };
    let _ = write!(sql, " ORDER BY {order} LIMIT ?{}", parameters.len() + 1);
    (sql, parameters)
}

/// Like [`select_heads`], for holds.
pub(super) fn select_holds(query: &HoldQuery) -> (String, Vec<Value>) {
    let columns = "SELECT id, holds.call, tool, approval, holds.since, due_at, data FROM";
    // `first` has the index with the order of the list.
    let (first, mut sql, mut parameters) = match &query.of {
        HoldsOf::Subject(subject) => {
            let sql = format!("{columns} holds JOIN chats ON number = chat WHERE holds.subject = ?1");
            ("holds", sql, vec![Value::from(subject.as_str().to_owned())])
        }
        HoldsOf::Chat(chat) => {
            let sql = format!("{columns} holds JOIN chats ON number = chat WHERE id = ?1");
            ("holds", sql, vec![Value::from(chat.as_str().to_owned())])
        }
        HoldsOf::Approver(approver) => {
            let (kind, name) = approver.parts();
            let sql = format!(
                "{columns} approvers CROSS JOIN holds USING (chat, call) JOIN chats ON number = chat
                 WHERE kind = ?1 AND name = ?2"
            );
            ("approvers", sql, vec![Value::from(kind.to_owned()), Value::from(name.to_owned())])
        }
    };
    if query.only_approvals {
        sql.push_str(" AND approval IS NOT NULL");
    }
    if let Some((since, call, chat)) = &query.after {
        let at = parameters.len();
        parameters.extend([
            Value::from(number(since.0)),
            Value::from(call.as_str().to_owned()),
            Value::from(chat.as_str().to_owned()),
        ]);
        let (since, call, id) = (at + 1, at + 2, at + 3);
        // The first condition is for the index, which does not have the chat's id.
        let _ = match first {
            "holds" => write!(sql, " AND (holds.since, holds.call) >= (?{since}, ?{call})"),
            _ => write!(sql, " AND approvers.since >= ?{since}"),
        };
        let _ = write!(sql, " AND (holds.since, holds.call, id) > (?{since}, ?{call}, ?{id})");
    }
    let _ = write!(sql, " ORDER BY {first}.since, holds.call, id LIMIT ?{}", parameters.len() + 1);
    (sql, parameters)
}

/// A number that is never negative, unless something else has written it. Taken for a large one, a list would have no end: it
/// goes on after its last entry.
pub(super) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

/// A condition, which is 0 or 1.
fn is_true(row: &Row<'_>, column: usize) -> rusqlite::Result<bool> {
    match row.get(column)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(rusqlite::Error::IntegralValueOutOfRange(column, other)),
    }
}

pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    unsigned(row, column).map(Timestamp)
}

pub(super) fn optional_time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    row.get::<_, Option<i64>>(column)?.map(|_| time(row, column)).transpose()
}

fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Bytes> {
    Ok(Bytes::copy_from_slice(row.get_ref(column)?.as_blob()?))
}

fn hash(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<BatchHash>> {
    Ok(row.get::<_, Option<[u8; 32]>>(column)?.map(BatchHash::from))
}

/// A position as an SQLite integer. None exceeds its range.
fn number(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
