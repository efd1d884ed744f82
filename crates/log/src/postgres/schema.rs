//! The tables, and how those of older formats are migrated.
//!
//! Ids are `bytea`: they are compared and ordered by their bytes, whatever the collation and the encoding of the
//! database, and may contain NUL, which `text` refuses.

use std::sync::Arc;

use tokio_postgres::{Error, types::Type};

use super::{
    connection::{Connection, Connector, quoted},
    error::{Failure, PostgresError},
};
use crate::FORMAT;

/// The migrations, each from one format to the next, with the oldest format whose programs can go on using the tables
/// afterwards. Never change a released one: add another.
pub(super) const MIGRATIONS: &[Migration] = &[Migration { sql: FORMAT_1, compatible: 1 }];

/// The newest format that this program knows. A format of what the runtime stores is a format of the tables too, so a new
/// one adds a migration, be it without a statement.
pub(super) const KNOWN: i64 = FORMAT as i64;
const _: () = assert!(MIGRATIONS.len() == FORMAT as usize);

/// One migration.
pub(super) struct Migration {
    pub(super) sql: &'static str,
    /// Nodes of this format and later may work on the migrated tables, so that nodes can be upgraded one by one.
    pub(super) compatible: i64,
}

const MINIMUM_VERSION: i32 = 150_000;

/// Together with the schema's number, the advisory lock of migrations.
const LOCK: i32 = 0x686f_6c64;

const FORMAT_1: &str = "
    -- The format of the tables, and the row that a probe writes.
    CREATE TABLE @.holdpoint (
        is_only    boolean PRIMARY KEY DEFAULT true CHECK (is_only),
        format     bigint NOT NULL,
        compatible bigint NOT NULL,           -- the oldest format whose programs can use the tables
        probed_at  timestamptz
    );
    INSERT INTO @.holdpoint (format, compatible) VALUES (0, 0);

    -- Credentials for one connection each, as digests.
    CREATE TABLE @.tickets (
        digest   bytea PRIMARY KEY,
        subject  bytea NOT NULL,
        expires  bigint NOT NULL,
        data     bytea NOT NULL               -- a code that proves who wrote it, and JSON: subject, roles, groups
    );
    CREATE INDEX tickets_by_subject ON @.tickets (subject, expires);
    CREATE INDEX tickets_by_expiry ON @.tickets (expires);

    -- What a chat looks like from outside.
    CREATE TABLE @.chats (
        number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id         bytea NOT NULL UNIQUE,
        subject    bytea NOT NULL,
        len        bigint NOT NULL,           -- how many facts it has had
        is_open    boolean NOT NULL,          -- whether anything waits or runs in it
        updated_at bigint NOT NULL,           -- milliseconds since 1970, UTC
        head       bytea NOT NULL,            -- JSON
        owner      uuid,                      -- the node in which something runs, if any
        deleted_at bigint,
        hash       bytea                      -- of its last batch; a tombstone keeps it
    );
    CREATE INDEX chats_by_subject ON @.chats (subject, updated_at DESC, id) WHERE deleted_at IS NULL;
    CREATE INDEX chats_open ON @.chats (id) WHERE is_open;
    CREATE INDEX chats_open_by_subject ON @.chats (subject, id, owner) WHERE is_open;
    CREATE INDEX chats_owned ON @.chats (owner, id) WHERE owner IS NOT NULL;

    -- What happened in it, in the pieces in which it was written.
    CREATE TABLE @.batches (
        chat          bigint NOT NULL,        -- its number
        first         bigint NOT NULL,        -- how many facts came before
        count         bigint NOT NULL,
        append_id     uuid NOT NULL,
        payload       bytea NOT NULL,
        owner         uuid,                   -- the owner of the chat after it
        previous_hash bytea,                  -- of the batch before it in its chat
        PRIMARY KEY (chat, first)
    );

    -- By what a subject finds a chat.
    CREATE TABLE @.keys (
        subject bytea NOT NULL,
        key     bytea NOT NULL,
        chat    bigint NOT NULL,              -- its number
        at      bigint NOT NULL,              -- where the turn begins that the key belongs to
        PRIMARY KEY (subject, key)
    );
    CREATE INDEX keys_by_chat ON @.keys (chat);

    -- What waits for a person or a browser.
    CREATE TABLE @.holds (
        chat     bigint NOT NULL,             -- its number
        call     bytea NOT NULL,
        subject  bytea NOT NULL,              -- the chat's
        tool     bytea NOT NULL,
        approval bytea,                       -- the approval request, if it waits for a decision
        since    bigint NOT NULL,             -- milliseconds since 1970, UTC
        due_at   bigint,                      -- when something is to be done about it
        data     bytea NOT NULL,              -- JSON
        PRIMARY KEY (chat, call)
    );
    CREATE INDEX holds_by_subject ON @.holds (subject, since, call);
    CREATE INDEX approvals_by_subject ON @.holds (subject, since, call) WHERE approval IS NOT NULL;
    CREATE INDEX holds_by_due ON @.holds (due_at, chat, call) WHERE due_at IS NOT NULL;

    -- What the runtime reads in place of older batches.
    CREATE TABLE @.digests (
        chat  bigint NOT NULL,                -- its number
        first bigint NOT NULL,                -- the batch that it was written with
        data  bytea NOT NULL,
        PRIMARY KEY (chat, first)
    );

    -- Who may decide: a subject or a group.
    CREATE TABLE @.approvers (
        chat  bigint NOT NULL,
        call  bytea NOT NULL,
        kind  text COLLATE \"C\" NOT NULL,
        name  bytea NOT NULL,
        since bigint NOT NULL,
        PRIMARY KEY (chat, call, kind, name)
    );
    CREATE INDEX approvers_by_name ON @.approvers (kind, name, since, chat, call);

    -- Decisions made in advance.
    CREATE TABLE @.grants (
        id           bytea PRIMARY KEY,
        subject      bytea NOT NULL,                  -- the owner of the chats that it is for
        chat         bigint,                          -- the number of the only chat that it is for
        tool         bytea NOT NULL,
        maker        bytea NOT NULL,
        made_in      bigint NOT NULL,                 -- the number of the chat
        position     bigint NOT NULL,                 -- of the fact that made it
        made_at      bigint NOT NULL,                 -- milliseconds since 1970, UTC
        expires_at   bigint,
        uses         bigint,                          -- how often it can be used
        used         bigint NOT NULL,                 -- how often it was used
        last_used_at bigint,
        revoked_at   bigint,
        revoked_by   bytea,
        data         bytea NOT NULL                   -- JSON
    );
    CREATE INDEX grants_by_time ON @.grants (made_at, id);
    CREATE INDEX grants_by_subject ON @.grants (subject, made_at, id);
    CREATE INDEX grants_by_maker ON @.grants (maker, made_at, id);
    CREATE INDEX grants_usable ON @.grants (subject, tool, made_at, id) WHERE revoked_at IS NULL;
    CREATE INDEX grants_by_chat ON @.grants (chat) WHERE chat IS NOT NULL;

    -- The steps of calls. They stay when a chat is deleted.
    CREATE TABLE @.audit (
        chat     bigint NOT NULL,                     -- its number
        position bigint NOT NULL,                     -- of the fact
        at       bigint NOT NULL,                     -- milliseconds since 1970, UTC
        owner    bytea NOT NULL,                      -- of the chat, at that time
        tool     bytea NOT NULL,
        actor    bytea,                               -- the person who did it, if any
        data     bytea NOT NULL,                      -- JSON
        contents bytea,                               -- JSON; removed with the chat
        PRIMARY KEY (chat, position)
    );
    CREATE INDEX audit_by_time ON @.audit (at, chat, position);
    CREATE INDEX audit_by_owner ON @.audit (owner, at, chat, position);
    CREATE INDEX audit_by_actor ON @.audit (actor, at, chat, position) WHERE actor <> owner;
    CREATE INDEX audit_by_tool ON @.audit (tool, at, chat, position);

    -- The server's own secrets.
    CREATE TABLE @.secrets (
        name       text PRIMARY KEY,
        value      bytea NOT NULL,            -- encrypted, if there is a key
        created_at bigint NOT NULL            -- milliseconds since 1970, UTC
    );

    -- The nodes, as long as they renew their leases or own a chat.
    CREATE TABLE @.nodes (
        id          uuid PRIMARY KEY,
        lease_until timestamptz NOT NULL,
        version     text NOT NULL,
        format      bigint NOT NULL           -- the newest that it can read
    );
";

/// Checks the server, migrates the tables, and gives the connector its schema. Returns the number of the schema.
pub(super) async fn prepare(
    connector: Connector,
    schema: Option<&str>,
    migrations: &[Migration],
) -> Result<(Arc<Connector>, u32), PostgresError> {
    let mut connector = Arc::new(connector);
    let connection = connector.connect().await?;
    let place = connector.place.clone();
    let failed = |error: Error| PostgresError::of(&place, error);
    let rows = connection
        .query("SELECT current_setting('server_version_num')::int4, current_setting('server_version')", &[], &[])
        .await
        .map_err(failed)?;
    let (number, found) = match rows.first() {
        Some(row) => (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?),
        None => (0, String::new()),
    };
    if number < MINIMUM_VERSION {
        return Err(PostgresError::TooOld { place, found });
    }
    if let Some(schema) = schema {
        create(&connection, schema).await.map_err(failed)?;
    }
    let rows = connection
        .query(
            "SELECT nspname::text, oid FROM pg_namespace WHERE nspname = coalesce($1, current_schema())",
            &[Type::TEXT],
            &[&schema],
        )
        .await
        .map_err(failed)?;
    let Some(row) = rows.first() else {
        return Err(no_schema(&connection, place.clone()).await.unwrap_or_else(failed));
    };
    let (schema, number): (String, u32) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
    drop(connection);
    match Arc::get_mut(&mut connector) {
        Some(connector) => connector.set_schema(&schema),
        None => return Err(PostgresError::Failed { place, source: "its connection is still in use".into() }),
    }
    let connection = connector.connect().await?;
    migrate(&connection, migrations, &place, &schema, number).await?;
    Ok((connector, number))
}

/// The error for a search path without a schema that can be used: there is none, or it may not be used.
async fn no_schema(connection: &Connection, place: String) -> Result<PostgresError, Error> {
    // `current_schema` leaves out what the user may not use.
    let found = "SELECT quote_ident(nspname), quote_ident(current_user)
                 FROM unnest(string_to_array(current_setting('search_path'), ',')) WITH ORDINALITY AS path (name, at)
                 JOIN pg_namespace ON nspname = replace(trim(BOTH ' \"' FROM name), '$user', current_user)
                 WHERE NOT has_schema_privilege(pg_namespace.oid, 'USAGE') ORDER BY at LIMIT 1";
    let rows = connection.query(found, &[], &[]).await?;
    Ok(match rows.first() {
        Some(row) => PostgresError::NoUsage { place, schema: row.try_get(0)?, user: row.try_get(1)? },
        None => PostgresError::NoSchema { place },
    })
}

/// Checks on a new connection that this program can use the tables: a newer one may have migrated them meanwhile.
pub(super) async fn check(connector: &Connector, connection: &Connection) -> Result<(), Failure> {
    let rows = connection.query("SELECT format, compatible FROM @.holdpoint", &[], &[]).await?;
    let Some(row) = rows.first() else { return Err(Failure::Damaged("the table holdpoint is empty".to_owned())) };
    let (found, compatible): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    if compatible > KNOWN { Err(Failure::Connect(connector.newer(found))) } else { Ok(()) }
}

/// Creates a schema. Two nodes that do so at once may both try.
async fn create(connection: &Connection, schema: &str) -> Result<(), Error> {
    let exists = connection.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", &[Type::TEXT], &[&schema]).await?;
    if !exists.is_empty() {
        return Ok(());
    }
    let name = quoted(schema);
    connection
        .execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK}, 0); CREATE SCHEMA IF NOT EXISTS {name}; COMMIT"))
        .await
}

/// Migrates the tables to the newest format, or leaves them unchanged. Nodes that start together wait for each other.
async fn migrate(
    connection: &Connection,
    migrations: &[Migration],
    place: &str,
    schema: &str,
    number: u32,
) -> Result<(), PostgresError> {
    let (known, place, schema) = (count(migrations), place.to_owned(), schema.to_owned());
    let failed = |error: Error| PostgresError::of(&place, error);
    if format(connection, &schema).await.map_err(failed)?.is_some_and(|found| found.format == known) {
        return Ok(());
    }
    let key = number.cast_signed();
    // No time limit: a table may be large.
    let lock = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL statement_timeout = 0;
         SET LOCAL idle_in_transaction_session_timeout = 0; SELECT pg_advisory_xact_lock({LOCK}, {key})"
    );
    connection.execute(&lock).await.map_err(failed)?;
    let found = format(connection, &schema).await.map_err(failed)?;
    let from = found.as_ref().map_or(0, |found| found.format);
    let missing = usize::try_from(from).ok().and_then(|from| migrations.get(from..));
    let outcome = match (found, missing) {
        // A newer node was here. It may have left the tables such that this one can use them.
        (Some(found), None) if found.compatible <= known => Ok(()),
        (_, None) => Err(PostgresError::Newer { place: place.clone(), schema, found: from, known }),
        (Some(_), Some([])) => Ok(()),
        (None, _) if has_tables(connection, &schema).await.map_err(failed)? => {
            Err(PostgresError::Foreign { place: place.clone(), schema })
        }
        (_, Some(missing)) => run(connection, missing, known).await.map_err(|error| match failed(error) {
            PostgresError::Failed { place, source } => PostgresError::Migration { place, from, to: known, source },
            other => other,
        }),
    };
    let end = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = connection.execute(end).await.map_err(failed);
    outcome.and(ended)
}

async fn run(connection: &Connection, missing: &[Migration], known: i64) -> Result<(), Error> {
    for migration in missing {
        connection.execute(migration.sql).await?;
    }
    // Nobody uses new tables yet, so whoever begins to must know all of their format.
    let is_new = count(missing) == known;
    let compatible = missing.iter().map(|migration| migration.compatible).max();
    let compatible = compatible.filter(|_| !is_new).unwrap_or(known);
    let set = "UPDATE @.holdpoint SET format = $1, compatible = greatest(compatible, $2)";
    connection.query(set, &[Type::INT8, Type::INT8], &[&known, &compatible]).await?;
    Ok(())
}

/// The format of the tables.
struct Format {
    format: i64,
    compatible: i64,
}

/// `None` if there are no tables of ours.
async fn format(connection: &Connection, schema: &str) -> Result<Option<Format>, Error> {
    if !has_table(connection, schema, &["holdpoint"]).await? {
        return Ok(None);
    }
    let rows = connection.query("SELECT format, compatible FROM @.holdpoint", &[], &[]).await?;
    rows.first().map(|row| Ok(Format { format: row.try_get(0)?, compatible: row.try_get(1)? })).transpose()
}

/// Whether the schema has a table with the name of one of ours.
async fn has_tables(connection: &Connection, schema: &str) -> Result<bool, Error> {
    let ours = [
        "holdpoint",
        "chats",
        "batches",
        "digests",
        "keys",
        "holds",
        "approvers",
        "grants",
        "audit",
        "secrets",
        "tickets",
        "nodes",
    ];
    has_table(connection, schema, &ours).await
}

async fn has_table(connection: &Connection, schema: &str, names: &[&str]) -> Result<bool, Error> {
    let found = "SELECT 1 FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
                 AND relname = ANY($2) LIMIT 1";
    Ok(!connection.query(found, &[Type::TEXT, Type::TEXT_ARRAY], &[&schema, &names]).await?.is_empty())
}

fn count(migrations: &[Migration]) -> i64 {
    i64::try_from(migrations.len()).unwrap_or(i64::MAX)
}
