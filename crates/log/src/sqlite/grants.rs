//! Grants: made and used by appends, listed and revoked.

use std::{collections::BTreeMap, fmt::Write};

use holdpoint_protocol::ids::{ChatId, GrantId};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params_from_iter, types::Value};

use super::reader::{optional_time, unsigned};
use crate::{Append, GrantQuery, GrantRow, GrantScope, GrantUse, REVOCATION, Revocation, StoredGrant};
use holdpoint_core::{clock::Timestamp, subject::Subject};

const COLUMNS: &str = "grants.id, grants.subject, chats.id, tool, maker, made_at, expires_at, uses, used, last_used_at,
     revoked_at, revoked_by, data, (SELECT origin.id FROM chats AS origin WHERE origin.number = made_in), position";

/// Claims the uses of an append. Returns whether it could: then all are claimed, and otherwise none.
pub(super) fn claim(transaction: &Transaction<'_>, append: &Append) -> rusqlite::Result<bool> {
    let mut uses: BTreeMap<&GrantId, Vec<&GrantUse>> = BTreeMap::new();
    for used in &append.grants.used {
        uses.entry(&used.grant).or_default().push(used);
    }
    for (id, uses) in &uses {
        let grant = one(transaction, id)?;
        if !grant.is_some_and(|grant| grant.admits(uses, &append.chat, &append.head.subject)) {
            return Ok(false);
        }
    }
    for GrantUse { grant, at } in &append.grants.used {
        transaction
            .prepare_cached(
                "UPDATE grants SET used = used + 1, last_used_at = max(coalesce(last_used_at, 0), ?2) WHERE id = ?1",
            )?
            .execute((grant.as_str(), at.0.cast_signed()))?;
    }
    Ok(true)
}

/// Writes the grants that an append at a position makes.
pub(super) fn make(transaction: &Transaction<'_>, number: i64, first: u64, append: &Append) -> rusqlite::Result<()> {
    for GrantRow { id, index, tool, maker, scope, made_at, until, uses, data } in &append.grants.made {
        transaction
            .prepare_cached(
                "INSERT INTO grants (
                     id, subject, chat, tool, maker, made_in, position, made_at, expires_at, uses, used, data
                 ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, ?11)",
            )?
            .execute((
                id.as_str(),
                append.head.subject.as_str(),
                (*scope == GrantScope::Chat).then_some(number),
                tool,
                maker.as_str(),
                number,
                (first + u64::from(*index)).cast_signed(),
                made_at.0.cast_signed(),
                until.map(|until| until.0.cast_signed()),
                uses,
                &data[..],
            ))?;
    }
    Ok(())
}

/// See [`crate::Index::revoke`].
pub(super) fn revoke(transaction: &Transaction<'_>, revocation: &Revocation) -> rusqlite::Result<()> {
    let Revocation { grant, by, at, data } = revocation;
    let revoked = transaction
        .prepare_cached("UPDATE grants SET revoked_at = ?2, revoked_by = ?3 WHERE id = ?1 AND revoked_at IS NULL")?
        .execute((grant.as_str(), at.0.cast_signed(), by.as_str()))?;
    if revoked > 0 {
        transaction
            .prepare_cached(
                "INSERT INTO audit (chat, position, at, owner, tool, actor, data)
                 SELECT made_in, position + ?2, ?3, subject, tool, ?4, ?5 FROM grants WHERE id = ?1",
            )?
            .execute((grant.as_str(), REVOCATION.cast_signed(), at.0.cast_signed(), by.as_str(), &data[..]))?;
    }
    Ok(())
}

fn one(connection: &Connection, id: &GrantId) -> rusqlite::Result<Option<StoredGrant>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM grants LEFT JOIN chats ON number = grants.chat WHERE grants.id = ?1"
        ))?
        .query_row([id.as_str()], grant)
        .optional()
}

/// See [`crate::Index::grants`].
pub(super) fn list(connection: &Connection, query: &GrantQuery, limit: usize) -> rusqlite::Result<Vec<StoredGrant>> {
    let (sql, parameters) = match query {
        GrantQuery::One(id) => return Ok(one(connection, id)?.into_iter().take(limit).collect()),
        _ => select(query, limit),
    };
    let mut select = connection.prepare_cached(&sql)?;
    select.query_map(params_from_iter(parameters), grant)?.collect()
}

/// The statement for a list. What a subject sees is two lists, each in an index: what is for it, and what it has made.
fn select(query: &GrantQuery, limit: usize) -> (String, Vec<Value>) {
    let time = |time: Timestamp| Value::from(i64::try_from(time.0).unwrap_or(i64::MAX));
    let text = |text: &str| Value::from(text.to_owned());
    let limit = Value::from(i64::try_from(limit).unwrap_or(i64::MAX));
    let mut parameters = vec![limit];
    let mut parameter = |value: Value| {
        parameters.push(value);
        parameters.len()
    };
    let list = |conditions: &str| {
        format!("SELECT * FROM grants WHERE true{conditions} ORDER BY made_at DESC, id DESC LIMIT ?1")
    };
    let rows = match query {
        GrantQuery::One(id) => list(&format!(" AND id = ?{}", parameter(text(id.as_str())))),
        GrantQuery::Usable { subject, tool, now } => {
            let (subject, now) = (parameter(text(subject.as_str())), parameter(time(*now)));
            let mut conditions = format!(
                " AND subject = ?{subject} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?{now})
                  AND (uses IS NULL OR used < uses)"
            );
            if let Some(tool) = tool {
                let _ = write!(conditions, " AND tool = ?{}", parameter(text(tool)));
            }
            list(&conditions)
        }
        GrantQuery::List { of, after } => {
            let mut conditions = String::new();
            if let Some((at, id)) = after {
                let (at, id) = (parameter(time(*at)), parameter(text(id.as_str())));
                let _ = write!(conditions, " AND (made_at, id) < (?{at}, ?{id})");
            }
            match of.as_ref().map(|of| parameter(text(of.as_str()))) {
                None => list(&conditions),
                Some(of) => {
                    let own = list(&format!("{conditions} AND subject = ?{of}"));
                    let made = list(&format!("{conditions} AND maker = ?{of} AND subject <> ?{of}"));
                    format!("SELECT * FROM ({own}) UNION ALL SELECT * FROM ({made})")
                }
            }
        }
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM ({rows}) AS grants LEFT JOIN chats ON number = grants.chat
         ORDER BY made_at DESC, grants.id DESC LIMIT ?1"
    );
    (sql, parameters)
}

fn grant(row: &Row<'_>) -> rusqlite::Result<StoredGrant> {
    let time = |at: usize| optional_time(row, at);
    let revoked_by = row.get_ref(11)?.as_str_or_null()?.map(Subject::from);
    Ok(StoredGrant {
        id: GrantId::from(row.get_ref(0)?.as_str()?),
        subject: Subject::from(row.get_ref(1)?.as_str()?),
        chat: row.get_ref(2)?.as_str_or_null()?.map(ChatId::from),
        tool: row.get_ref(3)?.as_str()?.into(),
        maker: Subject::from(row.get_ref(4)?.as_str()?),
        made_in: row.get_ref(13)?.as_str_or_null()?.map(ChatId::from),
        position: unsigned(row, 14)?,
        made_at: time(5)?.unwrap_or_default(),
        until: time(6)?,
        uses: row.get(7)?,
        used: unsigned(row, 8)?,
        last_used_at: time(9)?,
        revoked: time(10)?.zip(revoked_by),
        data: row.get::<_, Vec<u8>>(12)?.into(),
    })
}
