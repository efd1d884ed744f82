//! The record: written with appends, and listed.

use bytes::Bytes;
use holdpoint_protocol::ids::ChatId;
use tokio_postgres::{Row, types::Type};

use super::{
    connection::{Parameter, Sql},
    error::Failure,
    pool::Pool,
    reader::{self, Select},
};
use crate::{Append, AuditEntry, AuditQuery, AuditRow, PAGE_BYTES};
use holdpoint_core::subject::Subject;

pub(super) const ADD: Sql = Sql {
    text: "INSERT INTO @.audit (chat, position, at, owner, tool, actor, data, contents)
           SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)",
    types: &[
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
    ],
};

/// Columns of new entries.
#[derive(Default)]
pub(super) struct Audit<'a> {
    pub(super) chats: Vec<i64>,
    positions: Vec<i64>,
    ats: Vec<i64>,
    owners: Vec<&'a [u8]>,
    tools: Vec<&'a [u8]>,
    actors: Vec<Option<&'a [u8]>>,
    data: Vec<&'a [u8]>,
    contents: Vec<Option<&'a [u8]>>,
}

impl<'a> Audit<'a> {
    /// What an append at a position adds.
    pub(super) fn add(&mut self, number: i64, first: u64, append: &'a Append) {
        for AuditRow { index, at, tool, by, data, contents } in &append.audit {
            self.chats.push(number);
            self.positions.push((first + u64::from(*index)).cast_signed());
            self.ats.push(at.0.cast_signed());
            self.owners.push(append.head.subject.as_str().as_bytes());
            self.tools.push(tool.as_bytes());
            self.actors.push(by.as_ref().map(|by| by.as_str().as_bytes()));
            self.data.push(data);
            self.contents.push(contents.as_deref());
        }
    }

    /// The parameters of [`ADD`].
    pub(super) fn parameters(&self) -> [Parameter<'_>; 8] {
        [&self.chats, &self.positions, &self.ats, &self.owners, &self.tools, &self.actors, &self.data, &self.contents]
    }
}

/// See [`crate::Index::audit`].
pub(super) async fn list(pool: &Pool, query: &AuditQuery, limit: usize) -> Result<Vec<AuditEntry>, Failure> {
    select(query, limit).run(pool).await?.iter().map(entry).collect()
}

fn entry(row: &Row) -> Result<AuditEntry, Failure> {
    let by: Option<&[u8]> = row.try_get(5)?;
    Ok(AuditEntry {
        chat: ChatId::from(reader::text(row, 0)?),
        position: reader::unsigned(row, 1)?,
        at: reader::time(row, 2)?,
        owner: Subject::from(reader::text(row, 3)?),
        tool: reader::text(row, 4)?.into(),
        by: by.map(|by| Subject::from(&*String::from_utf8_lossy(by))),
        data: reader::bytes(row, 6)?,
        contents: row.try_get::<_, Option<&[u8]>>(7)?.map(Bytes::copy_from_slice),
    })
}

/// The statement for a query. What a subject sees is two lists, each in an index: its chats, and what it did in
/// others. The index of the second has nothing else, so it does not grow with what people decide in their own chats.
fn select(query: &AuditQuery, limit: usize) -> Select {
    let mut select = Select::new("");
    let mut conditions = String::new();
    if let Some(tool) = &query.tool {
        conditions += &format!(" AND tool = ${}", select.bytes(tool));
    }
    if let Some(since) = query.since {
        conditions += &format!(" AND at >= ${}", select.number(reader::number(since.0)));
    }
    if let Some(until) = query.until {
        conditions += &format!(" AND at < ${}", select.number(reader::number(until.0)));
    }
    if let Some(chat) = &query.chat {
        let chat = select.bytes(chat.as_str());
        conditions += &format!(" AND audit.chat = (SELECT number FROM @.chats WHERE id = ${chat})");
    }
    match (&query.after, &query.chat) {
        (None, _) => {}
        (Some((.., position)), Some(_)) => {
            conditions += &format!(" AND position > ${}", select.number(reader::number(*position)));
        }
        (Some((at, chat, position)), None) => {
            let (at, chat) = (select.number(reader::number(at.0)), select.bytes(chat.as_str()));
            let position = select.number(reader::number(*position));
            let chat = format!("(SELECT number FROM @.chats WHERE id = ${chat})");
            conditions += &format!(" AND (at, audit.chat, position) > (${at}, {chat}, ${position})");
        }
    }
    let order = if query.chat.is_some() { "position" } else { "at, audit.chat, position" };
    let limit = select.number(reader::most(limit));
    let subjects: Vec<usize> =
        query.seen_by.iter().chain(&query.subject).map(|subject| select.bytes(subject.as_str())).collect();
    let list = |condition: &str| {
        format!("SELECT * FROM @.audit AS audit WHERE true{conditions}{condition} ORDER BY {order} LIMIT ${limit}")
    };
    let rows = match subjects[..] {
        [] => list(""),
        [first, ref others @ ..] => {
            let others: String =
                others.iter().map(|other| format!(" AND (owner = ${other} OR actor = ${other})")).collect();
            let own = list(&format!(" AND owner = ${first}{others}"));
            let done = list(&format!(" AND actor = ${first} AND actor <> owner{others}"));
            format!("({own}) UNION ALL ({done})")
        }
    };
    // The sizes are summed by the database, so that a page with large inputs does not have to be sent whole.
    let size = "octet_length(data) + coalesce(octet_length(contents), 0)";
    select.and(format_args!(
        "SELECT id, position, at, audit.owner, tool, actor, data, contents
         FROM (SELECT *, sum({size}) OVER (ORDER BY {order} ROWS UNBOUNDED PRECEDING) AS bytes
               FROM (SELECT * FROM ({rows}) AS audit ORDER BY {order} LIMIT ${limit}) AS audit) AS audit
         JOIN @.chats AS chats ON number = audit.chat
         WHERE bytes - ({size}) <= {PAGE_BYTES} ORDER BY {order}"
    ));
    select
}
