//! The writer: one thread that takes all queued requests, writes them in one transaction, and replies once that is
//! durable.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use holdpoint_protocol::ids::ChatId;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::{audit, delete, error::QueryFailure, grants, holds, open::Folder, schema, secrets};
use crate::{
    Append, AppendResult, BatchHash, ChatChange, DeleteResult, Deletion, Health, HoldChanges, Ownership, Revocation,
    StoredSecret, Wakeup,
};
use holdpoint_core::subject::Subject;

/// Requests per transaction, bounded so that the first does not wait too long for the last.
const MAX_GROUP_REQUESTS: usize = 512;

/// A request to the writer, with room for its result. The transaction fills it in, and it is sent after the commit.
pub(super) enum Request {
    Append {
        appends: Vec<Append>,
        results: Vec<AppendResult>,
        answer: oneshot::Sender<Vec<AppendResult>>,
    },
    Delete {
        chat: ChatId,
        deletion: Deletion,
        result: Deleted,
        answer: oneshot::Sender<Result<DeleteResult, QueryFailure>>,
    },
    RestoreHolds {
        chat: ChatId,
        expected: u64,
        holds: HoldChanges,
        is_restored: bool,
        answer: oneshot::Sender<Result<bool, QueryFailure>>,
    },
    Revoke {
        revocation: Revocation,
        answer: oneshot::Sender<Result<(), QueryFailure>>,
    },
    SetSecret {
        secret: StoredSecret,
        expected: Option<Bytes>,
        is_set: bool,
        answer: oneshot::Sender<Result<bool, QueryFailure>>,
    },
    Probe {
        answer: oneshot::Sender<bool>,
    },
}

/// What a deletion found.
pub(super) enum Deleted {
    Nothing,
    Chat(Subject),
    Conflict,
}

impl Request {
    /// See [`crate::Log::append_many`].
    pub(super) fn append(appends: Vec<Append>, answer: oneshot::Sender<Vec<AppendResult>>) -> Self {
        Self::Append { results: Vec::with_capacity(appends.len()), appends, answer }
    }

    /// See [`crate::Log::delete`].
    pub(super) fn delete(
        chat: ChatId,
        deletion: Deletion,
        answer: oneshot::Sender<Result<DeleteResult, QueryFailure>>,
    ) -> Self {
        Self::Delete { chat, deletion, result: Deleted::Nothing, answer }
    }

    /// See [`crate::Log::probe`].
    pub(super) fn probe(answer: oneshot::Sender<bool>) -> Self {
        Self::Probe { answer }
    }
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
    pub(super) commits: Arc<AtomicU64>,
    pub(super) health: watch::Sender<Health>,
    pub(super) last_commit: LastCommit,
}

/// The point at which a transaction failed. None of its requests may be reported as done.
enum Failure {
    /// It could not begin.
    Begin(rusqlite::Error),
    /// One of its requests could not be written.
    Request(rusqlite::Error),
    /// The state on disk is unknown.
    Commit(rusqlite::Error),
}

/// The state of the writer's thread.
pub(super) struct Writer {
    folder: Folder,
    connection: Connection,
    waiting: mpsc::Receiver<Request>,
    reports: Reports,
}

impl Writer {
    /// A writer that has not started.
    pub(super) fn new(
        folder: Folder,
        connection: Connection,
        waiting: mpsc::Receiver<Request>,
        reports: Reports,
    ) -> Self {
        Self { folder, connection, waiting, reports }
    }

    /// Writes until all senders are gone and all requests are done.
    pub(super) fn run(mut self) {
        let mut group = Vec::with_capacity(MAX_GROUP_REQUESTS);
        while self.waiting.blocking_recv_many(&mut group, MAX_GROUP_REQUESTS) > 0 {
            self.settle(&mut group);
        }
    }

    fn settle(&mut self, group: &mut Vec<Request>) {
        match self.commit(group) {
            Ok(()) => {
                if self.set_health(Health::Writable) {
                    tracing::warn!(folder = %self.folder, "the log can be written again");
                }
                group.drain(..).for_each(|request| self.answer(request));
            }
            // A request that can't be written must not fail the others in its group.
            Err(Failure::Request(error)) if group.len() > 1 && !is_shared(&error) => {
                for request in group.drain(..) {
                    self.settle(&mut vec![request]);
                }
            }
            Err(Failure::Request(error)) if !is_shared(&error) => {
                tracing::error!(folder = %self.folder, %error, "a request could not be written to the log");
                group.drain(..).for_each(|request| fail(request, &error));
            }
            Err(Failure::Begin(error) | Failure::Request(error) | Failure::Commit(error)) => {
                // Logged once until a write succeeds again, since callers retry about every second.
                if self.set_health(Health::Failing) {
                    tracing::error!(folder = %self.folder, %error, "the log can't be written; retrying");
                }
                self.reopen();
                group.drain(..).for_each(|request| fail(request, &error));
            }
        }
    }

    fn commit(&mut self, group: &mut [Request]) -> Result<(), Failure> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        // Dropping it before the commit rolls it back.
        let transaction = begun.map_err(Failure::Begin)?;
        for request in group {
            write(&transaction, request).map_err(Failure::Request)?;
        }
        transaction.commit().map_err(Failure::Commit)?;
        self.reports.commits.fetch_add(1, Ordering::Relaxed);
        self.reports.last_commit.set();
        Ok(())
    }

    /// Sets the health. Returns whether it changed.
    fn set_health(&self, health: Health) -> bool {
        self.reports.health.send_if_modified(|before| std::mem::replace(before, health) != health)
    }

    /// Replies, and wakes the followers of the chat. A cancelled caller needs no reply.
    fn answer(&self, request: Request) {
        match request {
            Request::Append { appends, results, answer } => {
                for (append, result) in appends.iter().zip(&results) {
                    // For a repeated append too: if the first result was unknown, no one was woken.
                    if matches!(result, AppendResult::Committed { .. }) {
                        self.wake(ChatChange::of(append));
                    }
                }
                let _ = answer.send(results);
            }
            Request::Delete { chat, deletion, result, answer } => {
                let deleted = match result {
                    Deleted::Conflict => DeleteResult::Conflict,
                    Deleted::Nothing => DeleteResult::Deleted,
                    Deleted::Chat(subject) => {
                        self.wake(ChatChange {
                            chat,
                            subject,
                            len: Some(deletion.expected + 1),
                            holds: true,
                            approvers: Vec::new(),
                        });
                        DeleteResult::Deleted
                    }
                };
                let _ = answer.send(Ok(deleted));
            }
            Request::RestoreHolds { is_restored, answer, .. } => drop(answer.send(Ok(is_restored))),
            Request::Revoke { answer, .. } => drop(answer.send(Ok(()))),
            Request::SetSecret { is_set, answer, .. } => drop(answer.send(Ok(is_set))),
            Request::Probe { answer } => drop(answer.send(true)),
        }
    }

    fn wake(&self, change: ChatChange) {
        let _ = self.reports.wakeups.send(Wakeup::Chat(change));
    }

    /// A failed connection may be in any state, so opens a new one. If that fails, the next transaction reports why.
    fn reopen(&mut self) {
        match self.folder.writer() {
            Ok(connection) => self.connection = connection,
            Err(error) => tracing::error!(%error, "the log could not be opened again"),
        }
    }
}

fn fail(request: Request, error: &rusqlite::Error) {
    match request {
        Request::Append { appends, answer, .. } => drop(answer.send(vec![AppendResult::Unknown; appends.len()])),
        Request::Delete { answer, .. } => drop(answer.send(Err(QueryFailure::of(error)))),
        Request::RestoreHolds { answer, .. } => drop(answer.send(Err(QueryFailure::of(error)))),
        Request::Revoke { answer, .. } => drop(answer.send(Err(QueryFailure::of(error)))),
        Request::SetSecret { answer, .. } => drop(answer.send(Err(QueryFailure::of(error)))),
        Request::Probe { answer } => drop(answer.send(false)),
    }
}

/// Whether an error concerns the file, not the request: then other requests would fail too.
fn is_shared(error: &rusqlite::Error) -> bool {
    // A damaged page affects some chats only. The others continue.
    let about_the_request =
        [ErrorCode::ConstraintViolation, ErrorCode::TooBig, ErrorCode::TypeMismatch, ErrorCode::DatabaseCorrupt];
    error.sqlite_error_code().is_some_and(|code| !about_the_request.contains(&code))
}

fn write(transaction: &Transaction<'_>, request: &mut Request) -> rusqlite::Result<()> {
    match request {
        Request::Append { appends, results, .. } => {
            results.clear();
            for one in appends {
                results.push(append(transaction, one)?);
            }
        }
        Request::Delete { chat, deletion, result, .. } => *result = delete::delete(transaction, chat, deletion)?,
        Request::RestoreHolds { chat, expected, holds, is_restored, .. } => {
            *is_restored = holds::restore(transaction, chat, *expected, holds)?;
        }
        Request::Revoke { revocation, .. } => grants::revoke(transaction, revocation)?,
        Request::SetSecret { secret, expected, is_set, .. } => {
            *is_set = secrets::set(transaction, secret, expected.as_ref())?;
        }
        Request::Probe { .. } => schema::touch(transaction)?,
    }
    Ok(())
}

fn append(transaction: &Transaction<'_>, append: &Append) -> rusqlite::Result<AppendResult> {
    let before = find(transaction, append)?;
    let len = before.as_ref().map_or(0, |before| before.len);
    if append.expected != len {
        let done = before.map(|before| done(transaction, before.number, append)).transpose()?.flatten();
        return Ok(done.map_or(AppendResult::Conflict { len }, |len| AppendResult::Committed { len }));
    }
    if append.count == 0 {
        return Ok(AppendResult::Committed { len });
    }
    if !grants::claim(transaction, append)? {
        return Ok(AppendResult::NotGranted);
    }
    let end = len + u64::from(append.count);
    let owner = match append.ownership {
        Ownership::Release => None,
        Ownership::Take(node) => Some(node.0.to_be_bytes()),
        Ownership::Keep => before.as_ref().and_then(|before| before.owner),
    };
    let previous = before.as_ref().and_then(|before| before.hash).map_or(BatchHash::BEGINNING, BatchHash::from);
    let hash = BatchHash::of(&append.chat, len, append.count, &append.payload, previous);
    let number = set_head(transaction, before, append, After { len: end, owner, hash })?;
    transaction
        .prepare_cached(
            "INSERT INTO batches (chat, first, count, append_id, payload, owner, previous_hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((
            number,
            len.cast_signed(),
            append.count,
            append.append_id.0.to_be_bytes(),
            &append.payload[..],
            owner,
            previous.as_bytes(),
        ))?;
    if let Some(digest) = &append.digest {
        transaction.prepare_cached("REPLACE INTO digests (chat, first, data) VALUES (?1, ?2, ?3)")?.execute((
            number,
            len.cast_signed(),
            &digest[..],
        ))?;
    }
    for key in &append.keys {
        transaction.prepare_cached("REPLACE INTO keys (subject, key, chat, at) VALUES (?1, ?2, ?3, ?4)")?.execute((
            key.subject(&append.head),
            &key.id,
            number,
            key.at.cast_signed(),
        ))?;
    }
    holds::change(transaction, number, &append.head.subject, &append.holds)?;
    audit::add(transaction, number, len, append.head.subject.as_str(), &append.audit)?;
    grants::make(transaction, number, len, append)?;
    Ok(AppendResult::Committed { len: end })
}

/// A chat before an append.
struct Before {
    number: i64,
    len: u64,
    owner: Option<[u8; 16]>,
    hash: Option<[u8; 32]>,
    /// The append leaves the indexed columns unchanged, except perhaps the owner.
    keeps_indexes: bool,
    has_subject: bool,
}

/// A chat after an append.
struct After {
    len: u64,
    owner: Option<[u8; 16]>,
    hash: BatchHash,
}

fn find(transaction: &Transaction<'_>, append: &Append) -> rusqlite::Result<Option<Before>> {
    let Append { chat, head, .. } = append;
    transaction
        .prepare_cached(
            "SELECT
                 number, len, owner, hash, subject = ?2,
                 subject = ?2 AND is_open = ?3 AND updated_at = ?4 AND deleted_at IS NULL
             FROM chats WHERE id = ?1",
        )?
        .query_row((chat.as_str(), head.subject.as_str(), head.is_open, head.updated_at.0.cast_signed()), |row| {
            Ok(Before {
                number: row.get(0)?,
                len: row.get::<_, i64>(1)?.cast_unsigned(),
                owner: row.get(2)?,
                hash: row.get(3)?,
                has_subject: row.get(4)?,
                keeps_indexes: row.get(5)?,
            })
        })
        .optional()
}

/// The end of the same append, if it was committed before.
fn done(transaction: &Transaction<'_>, number: i64, append: &Append) -> rusqlite::Result<Option<u64>> {
    transaction
        .prepare_cached("SELECT first + count FROM batches WHERE chat = ?1 AND first = ?2 AND append_id = ?3")?
        .query_row((number, append.expected.cast_signed(), append.append_id.0.to_be_bytes()), |row| {
            Ok(row.get::<_, i64>(0)?.cast_unsigned())
        })
        .optional()
}

/// Writes the chat's head after an append. Returns the chat's number.
fn set_head(
    transaction: &Transaction<'_>,
    before: Option<Before>,
    append: &Append,
    After { len, owner, hash }: After,
) -> rusqlite::Result<i64> {
    let Append { chat, head, .. } = append;
    let (subject, data) = (head.subject.as_str(), &head.data[..]);
    let (len, updated_at, hash) = (len.cast_signed(), head.updated_at.0.cast_signed(), hash.as_bytes());
    match before {
        // SQLite rewrites an index when one of its columns is set, even to the same value.
        Some(Before { number, keeps_indexes: true, owner: before, .. }) if before == owner => {
            transaction
                .prepare_cached("UPDATE chats SET len = ?2, head = ?3, hash = ?4 WHERE number = ?1")?
                .execute((number, len, data, hash))?;
            Ok(number)
        }
        Some(Before { number, has_subject, .. }) => {
            transaction
                .prepare_cached(
                    "UPDATE chats
                     SET len = ?2, updated_at = ?3, head = ?4, subject = ?5, is_open = ?6, owner = ?7, hash = ?8,
                         deleted_at = NULL
                     WHERE number = ?1",
                )?
                .execute((number, len, updated_at, data, subject, head.is_open, owner, hash))?;
            if !has_subject {
                transaction
                    .prepare_cached("UPDATE holds SET subject = ?2 WHERE chat = ?1")?
                    .execute((number, subject))?;
            }
            Ok(number)
        }
        None => transaction
            .prepare_cached(
                "INSERT INTO chats (id, len, updated_at, head, subject, is_open, owner, hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .insert((chat.as_str(), len, updated_at, data, subject, head.is_open, owner, hash)),
    }
}
