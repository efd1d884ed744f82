//! Reads: each is one statement on the primary, which sees everything committed before it began.

use std::{collections::HashMap, fmt::Write, sync::Arc};

use bytes::Bytes;
use holdpoint_protocol::ids::{ApprovalId, ChatId, ToolCallId};
use tokio_postgres::{Row, types::Type};
use uuid::Uuid;

use super::{
    connection::{Connector, Parameter, Sql},
    error::Failure,
    pool::Pool,
};
use crate::{
    Batch, BatchHash, Digest, Due, Found, Head, HeadOrder, HeadQuery, HoldApprover, HoldCount, HoldCounts, HoldQuery,
    HoldRow, HoldsOf, Listed, ListedHold, Misfit, NodeId, PAGE_BYTES, Stored, Usage,
    misfits::{CHECKS, Check},
};
use holdpoint_core::{approvers::Approver, clock::Timestamp, subject::Subject};

/// `after` may be inside a batch: start with the last batch that begins at or before it.
const BATCHES: Sql = Sql {
    text: "SELECT first, count, payload, owner, previous_hash FROM @.batches
           WHERE chat = (SELECT number FROM @.chats WHERE id = $1)
               AND first >= coalesce(
                   (SELECT max(first) FROM @.batches
                    WHERE chat = (SELECT number FROM @.chats WHERE id = $1) AND first <= $2), 0)
               AND first + count > $2
           ORDER BY first LIMIT $3",
    types: &[Type::BYTEA, Type::INT8, Type::INT8],
};
const DIGESTS: Sql = Sql {
    text: "SELECT first, data FROM @.digests
           WHERE chat = (SELECT number FROM @.chats WHERE id = $1) AND first >= $2 ORDER BY first LIMIT $3",
    types: &[Type::BYTEA, Type::INT8, Type::INT8],
};
const STORED: Sql = Sql {
    text: "SELECT id, len, subject, is_open, updated_at, head, deleted_at, hash
           FROM @.chats WHERE id = $1",
    types: &[Type::BYTEA],
};
const LENGTHS: Sql = Sql { text: "SELECT id, len FROM @.chats WHERE id = ANY($1)", types: &[Type::BYTEA_ARRAY] };
const APPROVERS: Sql = Sql {
    text: "SELECT call, kind, name FROM @.approvers WHERE chat = (SELECT number FROM @.chats WHERE id = $1)",
    types: &[Type::BYTEA],
};
const FIND: Sql = Sql {
    text: "SELECT id, at FROM @.keys AS keys JOIN @.chats AS chats ON number = chat
           WHERE keys.subject = $1 AND key = $2",
    types: &[Type::BYTEA, Type::BYTEA],
};
const DEADLINES: Sql = Sql {
    text: "SELECT due_at, (SELECT id FROM @.chats WHERE number = chat), call FROM @.holds
           WHERE due_at <= $1 ORDER BY due_at, chat, call LIMIT $2",
    types: &[Type::INT8, Type::INT8],
};
const COUNT_HOLDS: Sql = Sql {
    text: "SELECT tool, approval IS NOT NULL, age, count(*), min(since)
           FROM (SELECT tool, approval, since,
                     (SELECT count(*) FROM unnest($1) AS times (time) WHERE since <= time) AS age
                 FROM @.holds) AS holds
           GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
    types: &[Type::INT8_ARRAY],
};
const COUNT_CHATS: Sql = Sql { text: "SELECT count(DISTINCT chat) FROM @.holds", types: &[] };
const USAGE: Sql = Sql {
    text: "SELECT count(*), count(owner)
           FROM (SELECT owner FROM @.chats WHERE subject = $1 AND is_open AND owner IS DISTINCT FROM $2 LIMIT $3)
               AS counted",
    types: &[Type::BYTEA, Type::UUID, Type::INT8],
};

type Result<T> = std::result::Result<T, Failure>;

/// See [`crate::Log::read`].
pub(super) async fn batches(pool: &Pool, chat: &ChatId, after: u64, limit: usize) -> Result<Vec<Batch>> {
    let rows = pool.run(BATCHES, &[&chat.as_str().as_bytes(), &number(after), &most(limit)]).await?;
    let batch = |row: &Row| {
        Ok(Batch {
            first: unsigned(row, 0)?,
            count: u32::try_from(row.try_get::<_, i64>(1)?).map_err(|error| Failure::Damaged(error.to_string()))?,
            payload: bytes(row, 2)?,
            owner: row.try_get::<_, Option<Uuid>>(3)?.map(|owner| NodeId(owner.as_u128())),
            previous_hash: hash(row, 4)?,
        })
    };
    rows.iter().map(batch).collect()
}

/// See [`crate::Log::digests`].
pub(super) async fn digests(pool: &Pool, chat: &ChatId, from: u64, limit: usize) -> Result<Vec<Digest>> {
    let rows = pool.run(DIGESTS, &[&chat.as_str().as_bytes(), &number(from), &most(limit)]).await?;
    rows.iter().map(|row| Ok((row.try_get::<_, i64>(0)?.cast_unsigned(), bytes(row, 1)?))).collect()
}

/// See [`crate::Index::heads`].
pub(super) async fn heads(pool: &Pool, query: &HeadQuery, limit: usize) -> Result<Vec<Listed>> {
    let mut select =
        Select::new("SELECT id, len, subject, is_open, updated_at, head FROM @.chats WHERE deleted_at IS NULL");
    if query.only_open {
        select.and(" AND is_open");
    }
    if let Some(subject) = &query.subject {
        let subject = select.bytes(subject.as_str());
        select.and(format_args!(" AND subject = ${subject}"));
    }
    let order = match &query.order {
        HeadOrder::Id { after } => {
            if let Some(after) = after {
                let after = select.bytes(after.as_str());
                select.and(format_args!(" AND id > ${after}"));
            }
            "id"
        }
        HeadOrder::Newest { after } => {
            if let Some((at, id)) = after {
                let (at, id) = (select.number(number(at.0)), select.bytes(id.as_str()));
                // The first condition is for the index, which has the two in different orders.
                select.and(format_args!(" AND updated_at <= ${at} AND (updated_at < ${at} OR id > ${id})"));
            }
            "updated_at DESC, id"
        }
    };
    select.order(order, limit);
    select.run(pool).await?.iter().map(listed).collect()
}

/// See [`crate::Log::stored`].
pub(super) async fn stored(pool: &Pool, chat: &ChatId) -> Result<Option<Stored>> {
    let rows = pool.run(STORED, &[&chat.as_str().as_bytes()]).await?;
    let stored = |row: &Row| {
        let ((_, len, head), hash) = (listed(row)?, hash(row, 7)?);
        Ok(match optional_time(row, 6)? {
            Some(deleted_at) => Stored::Tombstone { len, subject: head.subject, deleted_at, hash },
            None => Stored::Chat { len, head, hash },
        })
    };
    rows.first().map(stored).transpose()
}

/// See [`crate::Index::ids`].
pub(super) async fn ids(pool: &Pool, after: Option<&ChatId>, limit: usize) -> Result<Vec<ChatId>> {
    let mut select = Select::new("SELECT id FROM @.chats");
    if let Some(after) = after {
        let after = select.bytes(after.as_str());
        select.and(format_args!(" WHERE id > ${after}"));
    }
    select.order("id", limit);
    select.run(pool).await?.iter().map(|row| Ok(ChatId::from(text(row, 0)?))).collect()
}

/// See [`crate::Index::approvers`].
pub(super) async fn approvers(pool: &Pool, chat: &ChatId) -> Result<Vec<HoldApprover>> {
    let rows = pool.run(APPROVERS, &[&chat.as_str().as_bytes()]).await?;
    let approver = |row: &Row| {
        Ok((ToolCallId::from(text(row, 0)?), Approver::of_parts(row.try_get::<_, &str>(1)?, text(row, 2)?)))
    };
    rows.iter().map(approver).collect()
}

/// See [`crate::Index::misfits`]. It has a connection of its own, and no time limit: a table may be large.
pub(super) async fn misfits(connector: &Arc<Connector>) -> Result<Vec<Misfit>> {
    let connection = connector.connect().await.map_err(Failure::Connect)?;
    connection.execute("SET statement_timeout = 0").await?;
    let mut found = Vec::new();
    for Check { table, what, sql } in CHECKS {
        for row in connection.query(sql, &[], &[]).await? {
            let chat = row.try_get::<_, Option<&[u8]>>(0)?.map(utf8).transpose()?.map(ChatId::from);
            found.push(Misfit { table, what, chat, rows: row.try_get::<_, i64>(1)?.cast_unsigned() });
        }
    }
    Ok(found)
}

/// See [`crate::Index::lengths`].
pub(super) async fn lengths(pool: &Pool, chats: &[ChatId]) -> Result<Vec<u64>> {
    let ids: Vec<&[u8]> = chats.iter().map(|chat| chat.as_str().as_bytes()).collect();
    let rows = pool.run(LENGTHS, &[&ids]).await?;
    let mut lengths = HashMap::with_capacity(rows.len());
    for row in &rows {
        lengths.insert(row.try_get::<_, &[u8]>(0)?, row.try_get::<_, i64>(1)?.cast_unsigned());
    }
    Ok(ids.iter().map(|id| lengths.get(id).copied().unwrap_or(0)).collect())
}

fn listed(row: &Row) -> Result<Listed> {
    let head = Head {
        subject: Subject::from(text(row, 2)?),
        is_open: row.try_get(3)?,
        updated_at: time(row, 4)?,
        data: bytes(row, 5)?,
    };
    Ok((ChatId::from(text(row, 0)?), unsigned(row, 1)?, head))
}

/// See [`crate::Index::find`].
pub(super) async fn find(pool: &Pool, subject: &Subject, key: &str) -> Result<Option<Found>> {
    let rows = pool.run(FIND, &[&subject.as_str().as_bytes(), &key.as_bytes()]).await?;
    let found = |row: &Row| {
        let at = row.try_get::<_, i64>(1)?.cast_unsigned();
        Ok(Found { chat: ChatId::from(text(row, 0)?), at })
    };
    rows.first().map(found).transpose()
}

/// See [`crate::Index::holds`].
pub(super) async fn holds(pool: &Pool, query: &HoldQuery, limit: usize) -> Result<Vec<ListedHold>> {
    // The sizes are summed by the database, so that a page with large inputs does not have to be sent whole.
    let columns = "SELECT id, call, tool, approval, since, due_at, data
         FROM (SELECT *, sum(octet_length(data)) OVER (ORDER BY since, call, id ROWS UNBOUNDED PRECEDING) AS bytes
               FROM (SELECT id, call, tool, approval, holds.since, due_at, data FROM";
    const HOLDS: &str = "@.holds AS holds JOIN @.chats AS chats ON number = chat WHERE";
    // `first` is the table whose index has the order of the list.
    let (first, from, id) = match &query.of {
        HoldsOf::Subject(subject) => ("holds", format!("{HOLDS} holds.subject = $1"), subject.as_str()),
        HoldsOf::Chat(chat) => ("holds", format!("{HOLDS} chats.id = $1"), chat.as_str()),
        HoldsOf::Approver(approver) => {
            let (kind, name) = approver.parts();
            let from = "@.approvers AS approvers JOIN @.holds AS holds USING (chat, call)
                        JOIN @.chats AS chats ON number = chat";
            ("approvers", format!("{from} WHERE kind = '{kind}' AND name = $1"), name)
        }
    };
    let mut select = Select::new(&format!("{columns} {from}"));
    select.bytes(id);
    if query.only_approvals {
        select.and(" AND approval IS NOT NULL");
    }
    if let Some((since, call, chat)) = &query.after {
        let since = select.number(number(since.0));
        let call = select.bytes(call.as_str());
        let id = select.bytes(chat.as_str());
        // The first condition is for the index, which does not have the chat's id.
        match first {
            "holds" => select.and(format_args!(" AND (holds.since, call) >= (${since}, ${call})")),
            _ => select.and(format_args!(" AND approvers.since >= ${since}")),
        }
        select.and(format_args!(" AND (holds.since, call, id) > (${since}, ${call}, ${id})"));
    }
    select.order(&format!("{first}.since, call, id"), limit);
    select.and(format_args!(
        ") AS page) AS summed WHERE bytes - octet_length(data) <= {PAGE_BYTES} ORDER BY since, call, id"
    ));
    let hold = |row: &Row| {
        let approval: Option<&[u8]> = row.try_get(3)?;
        let hold = HoldRow {
            call: ToolCallId::from(text(row, 1)?),
            tool: text(row, 2)?.into(),
            approval: approval.map(|approval| Ok::<_, Failure>(ApprovalId::from(utf8(approval)?))).transpose()?,
            since: time(row, 4)?,
            due_at: optional_time(row, 5)?,
            data: bytes(row, 6)?,
        };
        Ok((ChatId::from(text(row, 0)?), hold))
    };
    select.run(pool).await?.iter().map(hold).collect()
}

/// See [`crate::Index::due`].
pub(super) async fn due(pool: &Pool, until: Timestamp, limit: usize) -> Result<Vec<Due>> {
    let rows = pool.run(DEADLINES, &[&number(until.0), &most(limit)]).await?;
    rows.iter().map(|row| Ok((time(row, 0)?, ChatId::from(text(row, 1)?), ToolCallId::from(text(row, 2)?)))).collect()
}

/// See [`crate::Index::count_holds`].
pub(super) async fn count_holds(pool: &Pool, times: &[Timestamp]) -> Result<HoldCounts> {
    let times: Vec<_> = times.iter().map(|time| number(time.0)).collect();
    let rows = pool.run(COUNT_HOLDS, &[&times]).await?;
    let count = |row: &Row| {
        Ok(HoldCount {
            tool: text(row, 0)?.into(),
            is_approval: row.try_get(1)?,
            age: usize::try_from(row.try_get::<_, i64>(2)?).unwrap_or_default(),
            count: row.try_get::<_, i64>(3)?.cast_unsigned(),
            oldest: time(row, 4)?,
        })
    };
    let holds = rows.iter().map(count).collect::<Result<_>>()?;
    let chats = pool.run(COUNT_CHATS, &[]).await?;
    let chats = chats.first().map(|row| row.try_get::<_, i64>(0)).transpose()?.unwrap_or_default().cast_unsigned();
    Ok(HoldCounts { chats, holds })
}

/// See [`crate::Index::usage`].
pub(super) async fn usage(pool: &Pool, subject: &Subject, node: NodeId, limit: usize) -> Result<Usage> {
    let node = Uuid::from_u128(node.0);
    let rows = pool.run(USAGE, &[&subject.as_str().as_bytes(), &node, &most(limit)]).await?;
    let Some(row) = rows.first() else { return Ok(Usage::default()) };
    let count = |column| Ok::<_, Failure>(usize::try_from(row.try_get::<_, i64>(column)?).unwrap_or_default());
    Ok(Usage { open: count(0)?, running: count(1)? })
}

/// A statement with conditions that vary. There are few variants, so all stay prepared.
pub(super) struct Select {
    text: String,
    types: Vec<Type>,
    values: Vec<Value>,
}

enum Value {
    Bytes(Vec<u8>),
    Number(i64),
}

impl Select {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), types: Vec::new(), values: Vec::new() }
    }

    pub(super) fn and(&mut self, condition: impl std::fmt::Display) {
        let _ = write!(self.text, "{condition}");
    }

    /// Adds a parameter. Returns its number.
    pub(super) fn bytes(&mut self, text: &str) -> usize {
        self.types.push(Type::BYTEA);
        self.values.push(Value::Bytes(text.as_bytes().to_vec()));
        self.values.len()
    }

    pub(super) fn number(&mut self, number: i64) -> usize {
        self.types.push(Type::INT8);
        self.values.push(Value::Number(number));
        self.values.len()
    }

    fn order(&mut self, order: &str, limit: usize) {
        let limit = self.number(most(limit));
        self.and(format_args!(" ORDER BY {order} LIMIT ${limit}"));
    }

    pub(super) async fn run(&self, pool: &Pool) -> Result<Vec<Row>> {
        let values = self.values.iter().map(|value| -> Parameter<'_> {
            match value {
                Value::Bytes(bytes) => bytes,
                Value::Number(number) => number,
            }
        });
        let values: Vec<_> = values.collect();
        pool.query(&self.text, &self.types, &values).await
    }
}

/// A number that is never negative, unless something else has written it. Taken for a large one, a list would have no end: it
/// goes on after its last entry.
pub(super) fn unsigned(row: &Row, column: usize) -> Result<u64> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(|_| Failure::Damaged(format!("a position or a time is negative: {number}")))
}

pub(super) fn time(row: &Row, column: usize) -> Result<Timestamp> {
    unsigned(row, column).map(Timestamp)
}

pub(super) fn optional_time(row: &Row, column: usize) -> Result<Option<Timestamp>> {
    row.try_get::<_, Option<i64>>(column)?.map(|_| time(row, column)).transpose()
}

/// The hash of a batch.
pub(super) fn hash(row: &Row, column: usize) -> Result<Option<BatchHash>> {
    let Some(bytes) = row.try_get::<_, Option<&[u8]>>(column)? else { return Ok(None) };
    let bytes: [u8; 32] =
        bytes.try_into().map_err(|_| Failure::Damaged(format!("a hash has {} bytes, not 32", bytes.len())))?;
    Ok(Some(bytes.into()))
}

pub(super) fn bytes(row: &Row, column: usize) -> Result<Bytes> {
    Ok(Bytes::copy_from_slice(row.try_get(column)?))
}

pub(super) fn text(row: &Row, column: usize) -> Result<&str> {
    utf8(row.try_get(column)?)
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    str::from_utf8(bytes).map_err(|error| Failure::Damaged(format!("an id is not UTF-8: {error}")))
}

/// A position as a database integer. None exceeds its range.
pub(super) fn number(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

pub(super) fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
