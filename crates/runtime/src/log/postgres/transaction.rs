//! The transaction of a group of appends, in two round trips whatever their number, and the other writes.

use std::time::Duration;

use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use tokio_postgres::{Row, types::Type};
use uuid::Uuid;

use super::{
    connection::{Connection, Parameter, Sql},
    error::Failure,
    group::{self, Locked, Plan},
    lease::millis,
};
use crate::{
    log::{Append, AppendResult},
    subject::Subject,
};

/// A row for each chat that may begin now. It is nobody's, and in no list, until the group sets it. Two nodes that do this
/// wait for each other in the order of the ids.
const MAKE: Sql = Sql {
    text: "INSERT INTO @.chats (id, subject, len, is_open, updated_at, head, deleted_at)
           SELECT id, '', 0, false, 0, '', 0 FROM unnest($1) AS new (id) ORDER BY id
           ON CONFLICT (id) DO NOTHING",
    types: &[Type::BYTEA_ARRAY],
};
const LOCK: Sql = Sql {
    text: "SELECT id, number, len, owner, subject FROM @.chats WHERE id = ANY($1) ORDER BY id FOR UPDATE",
    types: &[Type::BYTEA_ARRAY],
};
const SET_CHATS: Sql = Sql {
    text: "UPDATE @.chats AS chats
           SET len = new.len, updated_at = new.updated_at, head = new.head, subject = new.subject,
               is_open = new.is_open, owner = new.owner, deleted_at = NULL
           FROM unnest($1, $2, $3, $4, $5, $6, $7) AS new (number, len, updated_at, head, subject, is_open, owner)
           WHERE chats.number = new.number",
    types: &[
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BOOL_ARRAY,
        Type::UUID_ARRAY,
    ],
};
const ADD_BATCHES: Sql = Sql {
    text: "INSERT INTO @.batches (chat, first, count, append_id, payload, owner)
           SELECT * FROM unnest($1, $2, $3, $4, $5, $6)",
    types: &[
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::UUID_ARRAY,
        Type::BYTEA_ARRAY,
        Type::UUID_ARRAY,
    ],
};
const ADD_DIGESTS: Sql = Sql {
    text: "INSERT INTO @.digests (chat, first, data) SELECT * FROM unnest($1, $2, $3)",
    types: &[Type::INT8_ARRAY, Type::INT8_ARRAY, Type::BYTEA_ARRAY],
};
const SET_KEYS: Sql = Sql {
    text: "INSERT INTO @.keys (subject, key, chat) SELECT * FROM unnest($1, $2, $3) AS new (subject, key, chat)
           ORDER BY subject, key
           ON CONFLICT (subject, key) DO UPDATE SET chat = excluded.chat WHERE keys.chat <> excluded.chat",
    types: &[Type::BYTEA_ARRAY, Type::BYTEA_ARRAY, Type::INT8_ARRAY],
};
const CLOSE_HOLDS: Sql = Sql {
    text: "DELETE FROM @.holds AS holds USING unnest($1, $2) AS old (chat, call)
           WHERE holds.chat = old.chat AND holds.call = old.call",
    types: &[Type::INT8_ARRAY, Type::BYTEA_ARRAY],
};
const OPEN_HOLDS: Sql = Sql {
    text: "INSERT INTO @.holds (chat, call, subject, tool, approval, since, deadline, data)
           SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
           ON CONFLICT (chat, call) DO UPDATE
           SET subject = excluded.subject, tool = excluded.tool, approval = excluded.approval,
               since = excluded.since, deadline = excluded.deadline, data = excluded.data",
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
               SET len = len + 1, is_open = false, head = '', owner = NULL,
                   deleted_at = (extract(epoch FROM clock_timestamp()) * 1000)::int8
               WHERE id = $1 AND len = $2 AND deleted_at IS NULL
               RETURNING number, subject
           ),
           batches AS (DELETE FROM @.batches AS old USING gone WHERE old.chat = gone.number),
           digests AS (DELETE FROM @.digests AS old USING gone WHERE old.chat = gone.number),
           keys AS (DELETE FROM @.keys AS old USING gone WHERE old.chat = gone.number),
           holds AS (DELETE FROM @.holds AS old USING gone WHERE old.chat = gone.number)
           SELECT subject FROM gone",
    types: &[Type::BYTEA, Type::INT8],
};
const EXISTS: Sql = Sql { text: "SELECT 1 FROM @.chats WHERE id = $1 AND deleted_at IS NULL", types: &[Type::BYTEA] };
const PROBE: Sql = Sql { text: "UPDATE @.holdpoint SET probed_at = clock_timestamp()", types: &[] };

/// All statements that are sent in a pipeline.
pub(super) const PREPARED: &[Sql] = &[
    MAKE,
    LOCK,
    SET_CHATS,
    ADD_BATCHES,
    ADD_DIGESTS,
    SET_KEYS,
    CLOSE_HOLDS,
    OPEN_HOLDS,
    MOVE_HOLDS,
    FIND_REPEATED,
    RENEW,
    DELETE,
    EXISTS,
    PROBE,
];

/// What a deletion found.
pub(super) enum Deletion {
    Nothing,
    Deleted(Subject),
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
pub(super) struct Delete<'a>(pub(super) &'a ChatId, pub(super) u64);

impl Transaction for Delete<'_> {
    type Done = Deletion;

    fn run<'a>(&'a self, connection: &'a Connection) -> BoxFuture<'a, Result<Deletion, Failure>> {
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
    let (make, lock): ([Parameter<'_>; 1], [Parameter<'_>; 1]) = ([&new], [&ids]);
    let (begun, made, locked) = tokio::join!(
        biased;
        connection.begin(),
        unless(new.is_empty(), connection, MAKE, &make),
        connection.run(LOCK, &lock),
    );
    begun?;
    made?;
    let locked = locked?.iter().map(locked_chat).collect::<Result<_, _>>()?;
    let mut plan = group::decide(appends, locked);
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
    };
    Ok((row.try_get(0)?, locked))
}

/// Writes a plan and commits it, all in one round trip. Returns the appends that turned out to be repetitions.
async fn write(connection: &Connection, plan: &Plan<'_>, lease: Duration) -> Result<Vec<Row>, Failure> {
    let Plan { repeated, chats, batches, digests, keys, closed, opened, moved, takers, .. } = plan;
    let takers: Vec<Uuid> = takers.iter().copied().collect();
    let lease = millis(lease);
    let set_chats: [Parameter<'_>; 7] = [
        &chats.numbers,
        &chats.lens,
        &chats.updated_ats,
        &chats.heads,
        &chats.subjects,
        &chats.are_open,
        &chats.owners,
    ];
    let add_batches: [Parameter<'_>; 6] =
        [&batches.chats, &batches.firsts, &batches.counts, &batches.append_ids, &batches.payloads, &batches.owners];
    let open_holds: [Parameter<'_>; 8] = [
        &opened.chats,
        &opened.calls,
        &opened.subjects,
        &opened.tools,
        &opened.approvals,
        &opened.sinces,
        &opened.deadlines,
        &opened.data,
    ];
    let find_repeated: [Parameter<'_>; 4] =
        [&repeated.indexes, &repeated.chats, &repeated.firsts, &repeated.append_ids];
    let add_digests: [Parameter<'_>; 3] = [&digests.chats, &digests.firsts, &digests.data];
    let set_keys: [Parameter<'_>; 3] = [&keys.subjects, &keys.keys, &keys.chats];
    let close_holds: [Parameter<'_>; 2] = [&closed.chats, &closed.calls];
    let move_holds: [Parameter<'_>; 2] = [&moved.numbers, &moved.subjects];
    let renew: [Parameter<'_>; 2] = [&takers, &lease];
    let (chats_set, added, digested, keys_set, holds_closed, holds_opened, holds_moved, renewed, found, committed) = tokio::join!(
        biased;
        unless(chats.numbers.is_empty(), connection, SET_CHATS, &set_chats),
        unless(batches.chats.is_empty(), connection, ADD_BATCHES, &add_batches),
        unless(digests.chats.is_empty(), connection, ADD_DIGESTS, &add_digests),
        unless(keys.keys.is_empty(), connection, SET_KEYS, &set_keys),
        unless(closed.calls.is_empty(), connection, CLOSE_HOLDS, &close_holds),
        unless(opened.calls.is_empty(), connection, OPEN_HOLDS, &open_holds),
        unless(moved.numbers.is_empty(), connection, MOVE_HOLDS, &move_holds),
        unless(takers.is_empty(), connection, RENEW, &renew),
        unless(repeated.indexes.is_empty(), connection, FIND_REPEATED, &find_repeated),
        connection.execute("COMMIT"),
    );
    // After a failed statement the commit "succeeds" as a rollback. So it counts only if none has failed.
    for written in [chats_set, added, digested, keys_set, holds_closed, holds_opened, holds_moved, renewed] {
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
async fn delete(connection: &Connection, chat: &ChatId, expected: u64) -> Result<Deletion, Failure> {
    let id = chat.as_str().as_bytes();
    if let Ok(expected) = i64::try_from(expected)
        && let [gone, ..] = &connection.run(DELETE, &[&id, &expected]).await?[..]
    {
        let subject: &[u8] = gone.try_get(0)?;
        return Ok(Deletion::Deleted(Subject::from(&*String::from_utf8_lossy(subject))));
    }
    let exists = connection.run(EXISTS, &[&id]).await?;
    Ok(if exists.is_empty() { Deletion::Nothing } else { Deletion::Conflict })
}
