//! The tables, and how files of older formats are migrated.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::error::SqliteError;
use crate::FORMAT;

/// The migrations, each from one format to the next. Never change a released one: add another.
pub(super) const MIGRATIONS: &[&str] = &[FORMAT_1];

// A program that does not know a format of the facts must not open the file, so a new one adds a migration, be it without
// a statement.
const _: () = assert!(MIGRATIONS.len() == FORMAT as usize);

const FORMAT_1: &str = "
    -- What a chat looks like from outside.
    CREATE TABLE chats (
        number     INTEGER PRIMARY KEY,
        id         TEXT NOT NULL UNIQUE,
        subject    TEXT NOT NULL,
        len        INTEGER NOT NULL,           -- how many facts it has had
        is_open    INTEGER NOT NULL,           -- whether anything waits or runs in it
        updated_at INTEGER NOT NULL,           -- milliseconds since 1970, UTC
        head       BLOB NOT NULL,              -- JSON
        owner      BLOB,                       -- the node in which something runs, if any
        deleted_at INTEGER,
        hash       BLOB                        -- of its last batch; a tombstone keeps it
    ) STRICT;
    CREATE INDEX chats_by_subject ON chats (subject, updated_at DESC, id) WHERE deleted_at IS NULL;
    CREATE INDEX chats_open ON chats (id) WHERE is_open;
    CREATE INDEX chats_open_by_subject ON chats (subject, id, owner) WHERE is_open;
    CREATE INDEX chats_owned ON chats (owner) WHERE owner IS NOT NULL;

    -- What happened in it, in the pieces in which it was written.
    CREATE TABLE batches (
        chat          INTEGER NOT NULL,        -- its number
        first         INTEGER NOT NULL,        -- how many facts came before
        count         INTEGER NOT NULL,
        append_id     BLOB NOT NULL,
        payload       BLOB NOT NULL,
        owner         BLOB,                    -- the owner of the chat after it
        previous_hash BLOB                     -- of the batch before it in its chat
    ) STRICT;
    CREATE UNIQUE INDEX batches_by_chat ON batches (chat, first);

    -- By what a subject finds a chat.
    CREATE TABLE keys (
        subject TEXT NOT NULL,
        key     TEXT NOT NULL,
        chat    INTEGER NOT NULL,              -- its number
        at      INTEGER NOT NULL,              -- where the turn begins that the key belongs to
        PRIMARY KEY (subject, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX keys_by_chat ON keys (chat);

    -- What waits for a person or a browser.
    CREATE TABLE holds (
        chat     INTEGER NOT NULL,             -- its number
        call     TEXT NOT NULL,
        subject  TEXT NOT NULL,                -- the chat's
        tool     TEXT NOT NULL,
        approval TEXT,                         -- the approval request, if it waits for a decision
        since    INTEGER NOT NULL,             -- milliseconds since 1970, UTC
        due_at   INTEGER,                      -- when something is to be done about it
        data     BLOB NOT NULL,                -- JSON
        PRIMARY KEY (chat, call)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX holds_by_subject ON holds (subject, since, call);
    CREATE INDEX approvals_by_subject ON holds (subject, since, call) WHERE approval IS NOT NULL;
    CREATE INDEX holds_by_due ON holds (due_at, chat, call) WHERE due_at IS NOT NULL;

    -- What the runtime reads in place of older batches.
    CREATE TABLE digests (
        chat  INTEGER NOT NULL,                -- its number
        first INTEGER NOT NULL,                -- the batch that it was written with
        data  BLOB NOT NULL,
        PRIMARY KEY (chat, first)
    ) STRICT, WITHOUT ROWID;

    -- Who may decide: a subject or a group.
    CREATE TABLE approvers (
        chat  INTEGER NOT NULL,
        call  TEXT NOT NULL,
        kind  TEXT NOT NULL,
        name  TEXT NOT NULL,
        since INTEGER NOT NULL,
        PRIMARY KEY (chat, call, kind, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX approvers_by_name ON approvers (kind, name, since, chat, call);

    -- Decisions made in advance.
    CREATE TABLE grants (
        id           TEXT PRIMARY KEY,
        subject      TEXT NOT NULL,            -- the owner of the chats that it is for
        chat         INTEGER,                  -- the number of the only chat that it is for
        tool         TEXT NOT NULL,
        maker        TEXT NOT NULL,
        made_in      INTEGER NOT NULL,         -- the number of the chat
        position     INTEGER NOT NULL,         -- of the fact that made it
        made_at      INTEGER NOT NULL,         -- milliseconds since 1970, UTC
        expires_at   INTEGER,
        uses         INTEGER,                  -- how often it can be used
        used         INTEGER NOT NULL,         -- how often it was used
        last_used_at INTEGER,
        revoked_at   INTEGER,
        revoked_by   TEXT,
        data         BLOB NOT NULL             -- JSON
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX grants_by_time ON grants (made_at, id);
    CREATE INDEX grants_by_subject ON grants (subject, made_at, id);
    CREATE INDEX grants_by_maker ON grants (maker, made_at, id);
    CREATE INDEX grants_usable ON grants (subject, tool, made_at, id) WHERE revoked_at IS NULL;
    CREATE INDEX grants_by_chat ON grants (chat) WHERE chat IS NOT NULL;

    -- The steps of calls. They stay when a chat is deleted.
    CREATE TABLE audit (
        chat     INTEGER NOT NULL,             -- its number
        position INTEGER NOT NULL,             -- of the fact
        at       INTEGER NOT NULL,             -- milliseconds since 1970, UTC
        owner    TEXT NOT NULL,                -- of the chat, at that time
        tool     TEXT NOT NULL,
        actor    TEXT,                         -- the person who did it, if any
        data     BLOB NOT NULL,                -- JSON
        contents BLOB,                         -- JSON; removed with the chat
        PRIMARY KEY (chat, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX audit_by_time ON audit (at, chat, position);
    CREATE INDEX audit_by_owner ON audit (owner, at, chat, position);
    CREATE INDEX audit_by_actor ON audit (actor, at, chat, position) WHERE actor <> owner;
    CREATE INDEX audit_by_tool ON audit (tool, at, chat, position);

    -- The server's own secrets.
    CREATE TABLE secrets (
        name       TEXT PRIMARY KEY,
        value      BLOB NOT NULL,              -- encrypted, if there is a key
        created_at INTEGER NOT NULL            -- milliseconds since 1970, UTC
    ) STRICT, WITHOUT ROWID;
";

/// Configures the writing connection. Returns the resulting journal mode.
pub(super) fn set_up_writer(connection: &Connection) -> rusqlite::Result<String> {
    let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    connection.execute_batch(
        "
        -- Every commit is on the disk before it is answered; on macOS too, where a plain fsync does not see to that.
        PRAGMA synchronous = FULL;
        PRAGMA fullfsync = ON;
        PRAGMA checkpoint_fullfsync = ON;
        -- A chat that is deleted must not be found in the file's free pages.
        PRAGMA secure_delete = ON;
        PRAGMA foreign_keys = OFF;
        PRAGMA temp_store = MEMORY;
        PRAGMA cache_size = -8192;
        PRAGMA wal_autocheckpoint = 4000;
        PRAGMA journal_size_limit = 67108864;
        ",
    )?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(mode)
}

/// Migrates a file to the newest format, or leaves it unchanged.
pub(super) fn migrate(connection: &mut Connection, migrations: &[&str], file: &Path) -> Result<(), SqliteError> {
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let failed = |from| {
        move |error: rusqlite::Error| SqliteError::Migration {
            file: file.to_owned(),
            from,
            to: known,
            source: error.into(),
        }
    };
    let found =
        version(connection).map_err(|error| SqliteError::File { file: file.to_owned(), source: error.into() })?;
    let Some(missing) = usize::try_from(found).ok().and_then(|found| migrations.get(found..)) else {
        return Err(SqliteError::Newer { file: file.to_owned(), found, known });
    };
    if missing.is_empty() {
        return Ok(());
    }
    // Our files have a version from their first transaction on.
    let tables = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0));
    if found == 0 && tables.map_err(failed(found))? > 0 {
        return Err(SqliteError::Foreign { file: file.to_owned() });
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed(found))?;
    for migration in missing {
        transaction.execute_batch(migration).map_err(failed(found))?;
    }
    transaction.pragma_update(None, "user_version", known).map_err(failed(found))?;
    transaction.commit().map_err(failed(found))
}

/// Rejects a file of any version but the newest.
pub(super) fn check(connection: &Connection, migrations: &[&str], file: &Path) -> Result<(), SqliteError> {
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let found =
        version(connection).map_err(|error| SqliteError::File { file: file.to_owned(), source: error.into() })?;
    match found.cmp(&known) {
        // Our files have a version from their first transaction on.
        _ if found == 0 => Err(SqliteError::Foreign { file: file.to_owned() }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(SqliteError::Newer { file: file.to_owned(), found, known }),
        std::cmp::Ordering::Less => Err(SqliteError::Older { file: file.to_owned(), found, known }),
    }
}

/// Writes the version that is already there: as demanding as a real write, but it changes nothing.
pub(super) fn touch(connection: &Connection) -> rusqlite::Result<()> {
    let version = version(connection)?;
    connection.pragma_update(None, "user_version", version)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
