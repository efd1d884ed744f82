//! The transaction of a group of appends, in two round trips whatever their number, and the other writes.

use std::time::Duration;

use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use tokio_postgres::{Row, types::Type};
use uuid::Uuid;

use super::{
    audit,
    connection::{Connection, Parameter, Sql},
    error::Failure,
    grants::{self, Claims},
    group::{self, Locked, Plan},
    lease::millis,
    reader,
};
use crate::{Append, AppendResult, Deletion};
use holdpoint_core::subject::Subject;

/// A row for each chat that may begin now. It is nobody's, and in no list, until the group sets it. Two nodes that do this
/// wait for each other in the order of the ids.
const MAKE: Sql = Sql {
    text: "INSERT INTO @.chats (id, subject, len, is_open, updated_at, head, deleted_at)
           SELECT id, '', 0, false, 0, '', 0 FROM unnest($1) AS new (id) ORDER BY id
           ON CONFLICT (id) DO NOTHING",
    types: &[Type::BYTEA_ARRAY],
};
const LOCK: Sql = Sql {
    text: "SELECT id, number, len, owner, subject, hash FROM @.chats WHERE id = ANY($1) ORDER BY id FOR UPDATE",
    types: &[Type::BYTEA_ARRAY],
};
const SET_CHATS: Sql = Sql {
    text: "UPDATE @.chats AS chats
           SET len = new.len, updated_at = new.updated_at, head = new.head, subject = new.subject,
               is_open = new.is_open, owner = new.owner, hash = new.hash, deleted_at = NULL
           FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
               AS new (number, len, updated_at, head, subject, is_open, owner, hash)
           WHERE chats.number = new.number",
    types: &[
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BOOL_ARRAY,
        Type::UUID_ARRAY,
        Type::BYTEA_ARRAY,
    ],
};
const ADD_BATCHES: Sql = Sql {
    text: "INSERT INTO @.batches (chat, first, count, append_id, payload, owner, previous_hash)
           SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)",
    types: &[
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::UUID_ARRAY,
        Type::BYTEA_ARRAY,
        Type::UUID_ARRAY,
        Type::BYTEA_ARRAY,
    ],
};
const ADD_DIGESTS: Sql = Sql {
    text: "INSERT INTO @.digests (chat, first, data) SELECT * FROM unnest($1, $2, $3)",
    types: &[Type::INT8_ARRAY, Type::INT8_ARRAY, Type::BYTEA_ARRAY],
};
const SET_KEYS: Sql = Sql {
    text: "INSERT INTO @.keys (subject, key, chat, at)
           SELECT * FROM unnest($1, $2, $3, $4) AS new (subject, key, chat, at) ORDER BY subject, key
           ON CONFLICT (subject, key) DO UPDATE SET chat = excluded.chat, at = excluded.at
           WHERE (keys.chat, keys.at) IS DISTINCT FROM (excluded.chat, excluded.at)",
    types: &[Type::BYTEA_ARRAY, Type::BYTEA_ARRAY, Type::INT8_ARRAY, Type::INT8_ARRAY],
};
const CLOSE_HOLDS: Sql = Sql {
    text: "DELETE FROM @.holds AS holds USING unnest($1, $2) AS old (chat, call)
           WHERE holds.chat = old.chat AND holds.call = old.call",
    types: &[Type::INT8_ARRAY, Type::BYTEA_ARRAY],
};
const OPEN_HOLDS: Sql = Sql {
    text: "INSERT INTO @.holds (chat, call, subject, tool, approval, since, due_at, data)
           SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
           ON CONFLICT (chat, call) DO UPDATE
           SET subject = excluded.subject, tool = excluded.tool, approval = excluded.approval,
               since = excluded.since, due_at = excluded.due_at, data = excluded.data",
    types: &[
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
    ],
};
const CLEAR_APPROVERS: Sql = Sql {
    text: "DELETE FROM @.approvers AS approvers USING unnest($1, $2) AS old (chat, call)
           WHERE approvers.chat = old.chat AND approvers.call = old.call",
    types: &[Type::INT8_ARRAY, Type::BYTEA_ARRAY],
};
const SET_APPROVERS: Sql = Sql {
    text: "INSERT INTO @.approvers (chat, call, kind, name, since)
           SELECT chat, call, new.kind, new.name, holds.since
           FROM unnest($1, $2, $3, $4) AS new (chat, call, kind, name) JOIN @.holds AS holds USING (chat, call)
           ON CONFLICT (chat, call, kind, name) DO UPDATE SET since = excluded.since",
    types: &[Type::INT8_ARRAY, Type::BYTEA_ARRAY, Type::TEXT_ARRAY, Type::BYTEA_ARRAY],
};
const MOVE_HOLDS: Sql = Sql {
    text: "UPDATE @.holds AS holds SET subject = new.subject FROM unnest($1, $2) AS new (chat, subject)
           WHERE holds.chat = new.chat AND holds.subject <> new.subject",
    types: &[Type::INT8_ARRAY, Type::BYTEA_ARRAY],
};
const FIND_REPEATED: Sql = Sql {
    text: "SELECT old.index, batches.first + batches.count
           FROM unnest($1, $2, $3, $4) AS old (index, chat, first, append_id)
           JOIN @.batches AS batches USING (chat, first, append_id)",
    types: &[Type::INT8_ARRAY, Type::INT8_ARRAY, Type::INT8_ARRAY, Type::UUID_ARRAY],
};
/// A node that takes a chat lives. Without this, a node that comes back from an outage could lose what it takes before its
/// next renewal.
const RENEW: Sql = Sql {
    text: "UPDATE @.nodes SET lease_until = clock_timestamp() + $2 * interval '1 ms'
           WHERE id = ANY($1) AND lease_until < clock_timestamp() + $2 / 2 * interval '1 ms'",
    types: &[Type::UUID_ARRAY, Type::FLOAT8],
};
/// One statement, so it is a transaction of its own. The update waits for other writers of the chat, then compares again.
const DELETE: Sql = Sql {
    text: "WITH gone AS (
               UPDATE @.chats
               SET len = len + 1, is_open = false, head = '', owner = NULL, hash = $3, deleted_at = $4
               WHERE id = $1 AND len = $2 AND deleted_at IS NULL
               RETURNING number, subject
           ),
           batches AS (DELETE FROM @.batches AS old USING gone WHERE old.chat = gone.number),
           digests AS (DELETE FROM @.digests AS old USING gone WHERE old.chat = gone.number),
           audit AS (
               UPDATE @.audit AS old SET contents = NULL FROM gone
               WHERE old.chat = gone.number AND old.contents IS NOT NULL
           ),
           deletion AS (
               INSERT INTO @.audit (chat, position, at, owner, tool, actor, data)
               SELECT number, $2, $4, subject, $5, $6, $7 FROM gone
           ),
           keys AS (DELETE FROM @.keys AS old USING gone WHERE old.chat = gone.number),
           holds AS (DELETE FROM @.holds AS old USING gone WHERE old.chat = gone.number),
           approvers AS (DELETE FROM @.approvers AS old USING gone WHERE old.chat = gone.number),
           grants AS (DELETE FROM @.grants AS old USING gone WHERE old.chat = gone.number)
           SELECT subject FROM gone",
    types: &[Type::BYTEA, Type::INT8, Type::BYTEA, Type::INT8, Type::BYTEA, Type::BYTEA, Type::BYTEA],
};
const EXISTS: Sql = Sql { text: "SELECT 1 FROM @.chats WHERE id = $1 AND deleted_at IS NULL", types: &[Type::BYTEA] };
/// Besides a write, it needs what an append needs: the tables, their columns, and the right to change them.
pub(super) const PROBE: Sql = Sql {
    text: "WITH
               chats AS (
                   UPDATE @.chats SET len = len, subject = subject, is_open = is_open, updated_at = updated_at,
                       head = head, owner = owner, hash = hash, deleted_at = deleted_at
                   WHERE false
               ),
               batches AS (
                   INSERT INTO @.batches (chat, first, count, append_id, payload, owner, previous_hash)
                   SELECT 0, 0, 0, gen_random_uuid(), '', NULL, '' WHERE false
               ),
               digests AS (INSERT INTO @.digests (chat, first, data) SELECT 0, 0, '' WHERE false),
               audit AS (
                   INSERT INTO @.audit (chat, position, at, owner, tool, actor, data, contents)
                   SELECT 0, 0, 0, '', '', '', '', '' WHERE false
               ),
               keys AS (INSERT INTO @.keys (subject, key, chat, at) SELECT '', '', 0, 0 WHERE false),
               holds AS (
                   INSERT INTO @.holds (chat, call, subject, tool, approval, since, due_at, data)
                   SELECT 0, '', '', '', '', 0, 0, '' WHERE false
               ),
               approvers AS (
                   INSERT INTO @.approvers (chat, call, kind, name, since) SELECT 0, '', '', '', 0 WHERE false
               ),
               grants AS (UPDATE @.grants SET used = used, revoked_by = revoked_by, position = position WHERE false)
           UPDATE @.holdpoint SET probed_at = clock_timestamp()",
    types: &[],
};

/// All statements that are sent in a pipeline.
pub(super) const PREPARED: &[Sql] = &[
    MAKE,
    LOCK,
    SET_CHATS,
    ADD_BATCHES,
    ADD_DIGESTS,
    audit::ADD,
    SET_KEYS,
    CLOSE_HOLDS,
    OPEN_HOLDS,
    CLEAR_APPROVERS,
    SET_APPROVERS,
    grants::LOCK,
    grants::USE,
    grants::MAKE,
    MOVE_HOLDS,
    FIND_REPEATED,
    RENEW,
    DELETE,
    EXISTS,
    PROBE,
];

/// What a deletion found.
pub(super) enum Deleted {
    Nothing,
    Chat(Subject),
    Conflict,
}

/// Something to write, at once or not at all. It can be repeated.
pub(super) trait Transaction: Sync {
    /// Its result.
    type Done: Send;

    fn run<'a>(&'a self, connection: &'a Connection) -> BoxFuture<'a, Result<Self::Done, Failure>>;
}

/// See [`append`].
pub(super) struct Appends<'a> {
    pub(super) appends: &'a [Append],
    /// The length of a lease.
    pub(super) lease: Duration,
}

impl Transaction for Appends<'_> {
    type Done = Vec<AppendResult>;

    fn run<'a>(&'a self, connection: &'a Connection) -> BoxFuture<'a, Result<Self::Done, Failure>> {
        Box::pin(append(connection, self.appends, self.lease))
    }
}

/// See [`delete`].
pub(super) struct Delete<'a>(pub(super) &'a ChatId, pub(super) &'a Deletion);

impl Transaction for Delete<'_> {
    type Done = Deleted;

    fn run<'a>(&'a self, connection: &'a Connection) -> BoxFuture<'a, Result<Deleted, Failure>> {
        Box::pin(delete(connection, self.0, self.1))
    }
}

/// Something that changes nothing.
pub(super) struct Probe;

impl Transaction for Probe {
    type Done = ();

    fn run<'a>(&'a self, connection: &'a Connection) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            connection.run(PROBE, &[]).await?;
            Ok(())
        })
    }
}

/// Appends in one transaction. After an error nothing is known of it, unless the error is the server's.
async fn append(connection: &Connection, appends: &[Append], lease: Duration) -> Result<Vec<AppendResult>, Failure> {
    let (ids, new) = (group::ids(appends), group::new_ids(appends));
    let grants = grants::ids(appends);
    let [make, lock, lock_grants]: [[Parameter<'_>; 1]; 3] = [[&new], [&ids], [&grants]];
    let (begun, made, locked, granted) = tokio::join!(
        biased;
        connection.begin(),
        unless(new.is_empty(), connection, MAKE, &make),
        connection.run(LOCK, &lock),
        unless(grants.is_empty(), connection, grants::LOCK, &lock_grants),
    );
    begun?;
    made?;
    let locked = locked?.iter().map(locked_chat).collect::<Result<_, _>>()?;
    let mut plan = group::decide(appends, locked, Claims::read(&granted?)?);
    let repeated = write(connection, &plan, lease).await?;
    for row in repeated {
        plan.found(row.try_get(0)?, row.try_get(1)?);
    }
    Ok(plan.results)
}

fn locked_chat(row: &Row) -> Result<(Vec<u8>, Locked), Failure> {
    let locked = Locked {
        number: row.try_get(1)?,
        len: row.try_get::<_, i64>(2)?.cast_unsigned(),
        owner: row.try_get(3)?,
        subject: row.try_get(4)?,
        hash: reader::hash(row, 5)?,
    };
    Ok((row.try_get(0)?, locked))
}

/// Writes a plan and commits it, all in one round trip. Returns the appends that turned out to be repetitions.
async fn write(connection: &Connection, plan: &Plan<'_>, lease: Duration) -> Result<Vec<Row>, Failure> {
    let Plan {
        repeated,
        chats,
        batches,
        digests,
        audit,
        keys,
        closed,
        opened,
        cleared,
        approvers,
        moved,
        takers,
        made,
        used,
        ..
    } = plan;
    let takers: Vec<Uuid> = takers.iter().copied().collect();
    let lease = millis(lease);
    let set_chats: [Parameter<'_>; 8] = [
        &chats.numbers,
        &chats.lens,
        &chats.updated_ats,
        &chats.heads,
        &chats.subjects,
        &chats.are_open,
        &chats.owners,
        &chats.hashes,
    ];
    let add_batches: [Parameter<'_>; 7] = [
        &batches.chats,
        &batches.firsts,
        &batches.counts,
        &batches.append_ids,
        &batches.payloads,
        &batches.owners,
        &batches.previous_hashes,
    ];
    let open_holds: [Parameter<'_>; 8] = [
        &opened.chats,
        &opened.calls,
        &opened.subjects,
        &opened.tools,
        &opened.approvals,
        &opened.sinces,
        &opened.due_ats,
        &opened.data,
    ];
    let find_repeated: [Parameter<'_>; 4] =
        [&repeated.indexes, &repeated.chats, &repeated.firsts, &repeated.append_ids];
    let add_digests: [Parameter<'_>; 3] = [&digests.chats, &digests.firsts, &digests.data];
    let set_keys: [Parameter<'_>; 4] = [&keys.subjects, &keys.keys, &keys.chats, &keys.ats];
    let close_holds: [Parameter<'_>; 2] = [&closed.chats, &closed.calls];
    let clear_approvers: [Parameter<'_>; 2] = [&cleared.chats, &cleared.calls];
    let set_approvers: [Parameter<'_>; 4] = [&approvers.chats, &approvers.calls, &approvers.kinds, &approvers.names];
    let move_holds: [Parameter<'_>; 2] = [&moved.numbers, &moved.subjects];
    let add_audit = audit.parameters();
    let (make_grants, use_grants) = (made.parameters(), used.parameters());
    let renew: [Parameter<'_>; 2] = [&takers, &lease];
    let (
        chats_set,
        added,
        digested,
        recorded,
        keys_set,
        holds_closed,
        holds_opened,
        approvers_cleared,
        approvers_set,
        holds_moved,
        grants_used,
        grants_made,
        renewed,
        found,
        committed,
    ) = tokio::join!(
        biased;
        unless(chats.numbers.is_empty(), connection, SET_CHATS, &set_chats),
        unless(batches.chats.is_empty(), connection, ADD_BATCHES, &add_batches),
        unless(digests.chats.is_empty(), connection, ADD_DIGESTS, &add_digests),
        unless(audit.chats.is_empty(), connection, audit::ADD, &add_audit),
        unless(keys.keys.is_empty(), connection, SET_KEYS, &set_keys),
        unless(closed.calls.is_empty(), connection, CLOSE_HOLDS, &close_holds),
        unless(opened.calls.is_empty(), connection, OPEN_HOLDS, &open_holds),
        unless(cleared.calls.is_empty(), connection, CLEAR_APPROVERS, &clear_approvers),
        unless(approvers.calls.is_empty(), connection, SET_APPROVERS, &set_approvers),
        unless(moved.numbers.is_empty(), connection, MOVE_HOLDS, &move_holds),
        unless(used.ids.is_empty(), connection, grants::USE, &use_grants),
        unless(made.ids.is_empty(), connection, grants::MAKE, &make_grants),
        unless(takers.is_empty(), connection, RENEW, &renew),
        unless(repeated.indexes.is_empty(), connection, FIND_REPEATED, &find_repeated),
        connection.execute("COMMIT"),
    );
    // After a failed statement the commit "succeeds" as a rollback. So it counts only if none has failed.
    let held = [holds_closed, holds_opened, approvers_cleared, approvers_set, holds_moved];
    let granted = [grants_used, grants_made];
    for written in [chats_set, added, digested, recorded, keys_set, renewed].into_iter().chain(held).chain(granted) {
        written?;
    }
    let found = found?;
    committed?;
    Ok(found)
}

async fn unless(
    is_empty: bool,
    connection: &Connection,
    sql: Sql,
    parameters: &[Parameter<'_>],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    if is_empty { Ok(Vec::new()) } else { connection.run(sql, parameters).await }
}

/// Deletes a chat of this length, and leaves its tombstone.
async fn delete(connection: &Connection, chat: &ChatId, deletion: &Deletion) -> Result<Deleted, Failure> {
    let id = chat.as_str().as_bytes();
    let Deletion { expected, hash, row } = deletion;
    let (hash, at, tool, data) = (&hash.as_bytes()[..], row.at.0.cast_signed(), row.tool.as_bytes(), &row.data[..]);
    let by = row.by.as_ref().map(|by| by.as_str().as_bytes());
    if let Ok(expected) = i64::try_from(*expected)
        && let [gone, ..] = &connection.run(DELETE, &[&id, &expected, &hash, &at, &tool, &by, &data]).await?[..]
    {
        let subject: &[u8] = gone.try_get(0)?;
        return Ok(Deleted::Chat(Subject::from(&*String::from_utf8_lossy(subject))));
    }
    if !connection.run(EXISTS, &[&id]).await?.is_empty() {
        return Ok(Deleted::Conflict);
    }
    // If this is the repetition of one that was not confirmed, a later commit has to be.
    connection.run(PROBE, &[]).await?;
    Ok(Deleted::Nothing)
}
