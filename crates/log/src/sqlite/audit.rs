//! The record: written with appends, and listed.

use std::fmt::Write;

use bytes::Bytes;
use holdpoint_protocol::ids::ChatId;
use rusqlite::{Connection, Row, Transaction, params_from_iter, types::Value};

use super::reader::{time, unsigned};
use crate::{AuditEntry, AuditQuery, AuditRow, PAGE_BYTES};
use holdpoint_core::subject::Subject;

/// Writes what an append or a deletion at a position adds.
pub(super) fn add(
    transaction: &Transaction<'_>,
    number: i64,
    first: u64,
    owner: &str,
    rows: &[AuditRow],
) -> rusqlite::Result<()> {
    for AuditRow { index, at, tool, by, data, contents } in rows {
        transaction
            .prepare_cached(
                "INSERT INTO audit (chat, position, at, owner, tool, actor, data, contents)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute((
                number,
                (first + u64::from(*index)).cast_signed(),
                at.0.cast_signed(),
                owner,
                tool,
                by.as_ref().map(Subject::as_str),
                &data[..],
                contents.as_deref(),
            ))?;
    }
    Ok(())
}

/// See [`crate::Index::audit`].
pub(super) fn list(connection: &Connection, query: &AuditQuery, limit: usize) -> rusqlite::Result<Vec<AuditEntry>> {
    let (sql, parameters) = select(query, limit);
    let mut select = connection.prepare_cached(&sql)?;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    for entry in select.query_map(params_from_iter(parameters), entry)? {
        let entry = entry?;
        bytes += entry.data.len() + entry.contents.as_ref().map_or(0, Bytes::len);
        entries.push(entry);
        if bytes > PAGE_BYTES {
            break;
        }
    }
    Ok(entries)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    Ok(AuditEntry {
        chat: ChatId::from(row.get_ref(0)?.as_str()?),
        position: unsigned(row, 1)?,
        at: time(row, 2)?,
        owner: Subject::from(row.get_ref(3)?.as_str()?),
        tool: row.get_ref(4)?.as_str()?.into(),
        by: row.get_ref(5)?.as_str_or_null()?.map(Subject::from),
        data: row.get::<_, Vec<u8>>(6)?.into(),
        contents: row.get::<_, Option<Vec<u8>>>(7)?.map(Bytes::from),
    })
}

/// The statement for a query. What a subject sees is two lists, each in an index: its chats, and what it did in
/// others. The index of the second has nothing else, so it does not grow with what people decide in their own chats.
pub(super) fn select(query: &AuditQuery, limit: usize) -> (String, Vec<Value>) {
    let mut parameters = Vec::new();
    let text = |text: &str, parameters: &mut Vec<Value>| {
        parameters.push(Value::from(text.to_owned()));
        parameters.len()
    };
    let number = |number: u64, parameters: &mut Vec<Value>| {
        parameters.push(Value::from(i64::try_from(number).unwrap_or(i64::MAX)));
        parameters.len()
    };
    let mut conditions = String::new();
    if let Some(tool) = &query.tool {
        let _ = write!(conditions, " AND tool = ?{}", text(tool, &mut parameters));
    }
    if let Some(since) = query.since {
        let _ = write!(conditions, " AND at >= ?{}", number(since.0, &mut parameters));
    }
    if let Some(until) = query.until {
        let _ = write!(conditions, " AND at < ?{}", number(until.0, &mut parameters));
    }
    if let Some(chat) = &query.chat {
        let chat = text(chat.as_str(), &mut parameters);
        let _ = write!(conditions, " AND audit.chat = (SELECT number FROM chats WHERE id = ?{chat})");
    }
    match (&query.after, &query.chat) {
        (None, _) => {}
        (Some((.., position)), Some(_)) => {
            let _ = write!(conditions, " AND position > ?{}", number(*position, &mut parameters));
        }
        (Some((at, chat, position)), None) => {
            let (at, chat) = (number(at.0, &mut parameters), text(chat.as_str(), &mut parameters));
            let position = number(*position, &mut parameters);
            let chat = format!("(SELECT number FROM chats WHERE id = ?{chat})");
            let _ = write!(conditions, " AND (at, audit.chat, position) > (?{at}, {chat}, ?{position})");
        }
    }
    let order = if query.chat.is_some() { "position" } else { "at, audit.chat, position" };
    let limit = number(limit as u64, &mut parameters);
    let subjects: Vec<usize> =
        query.seen_by.iter().chain(&query.subject).map(|subject| text(subject.as_str(), &mut parameters)).collect();
    let list = |condition: &str| {
        format!("SELECT * FROM audit WHERE true{conditions}{condition} ORDER BY {order} LIMIT ?{limit}")
    };
    let rows = match subjects[..] {
        [] => list(""),
        [first, ref others @ ..] => {
            let others: String =
                others.iter().map(|other| format!(" AND (owner = ?{other} OR actor = ?{other})")).collect();
            let own = list(&format!(" AND owner = ?{first}{others}"));
            let done = list(&format!(" AND actor = ?{first} AND actor <> owner{others}"));
            format!("SELECT * FROM ({own}) UNION ALL SELECT * FROM ({done})")
        }
    };
    let sql = format!(
        "SELECT id, position, at, audit.owner, tool, actor, data, contents
         FROM ({rows}) AS audit JOIN chats ON number = audit.chat ORDER BY {order} LIMIT ?{limit}"
    );
    (sql, parameters)
}
