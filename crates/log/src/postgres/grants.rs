//! Grants: made and used by appends, listed and revoked.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::ids::{ChatId, GrantId};
use tokio_postgres::{Row, types::Type};

use super::{
    connection::{Parameter, Sql},
    error::Failure,
    pool::Pool,
    reader::{self, Select},
    transaction::PROBE,
};
use crate::{Append, GrantQuery, GrantRow, GrantScope, GrantUse, REVOCATION, Revocation, StoredGrant};
use holdpoint_core::subject::Subject;

/// Locks the grants that a group uses, after its chats. A revocation waits for the group, or the group for it.
pub(super) const LOCK: Sql = Sql {
    text: "SELECT grants.id, grants.subject, chats.id, tool, maker, made_at, expires_at, uses, used, last_used_at,
               revoked_at, revoked_by, data, (SELECT origin.id FROM @.chats AS origin WHERE origin.number = made_in),
               position
           FROM @.grants AS grants LEFT JOIN @.chats AS chats ON number = grants.chat
           WHERE grants.id = ANY($1) ORDER BY grants.id FOR UPDATE OF grants",
    types: &[Type::BYTEA_ARRAY],
};
pub(super) const USE: Sql = Sql {
    text: "UPDATE @.grants AS grants SET used = new.used, last_used_at = new.last_used_at
           FROM unnest($1, $2, $3) AS new (id, used, last_used_at) WHERE grants.id = new.id",
    types: &[Type::BYTEA_ARRAY, Type::INT8_ARRAY, Type::INT8_ARRAY],
};
pub(super) const MAKE: Sql = Sql {
    text: "INSERT INTO @.grants (
               id, subject, chat, tool, maker, made_in, position, made_at, expires_at, uses, used, data
           )
           SELECT id, subject, chat, tool, maker, made_in, position, made_at, expires_at, uses, 0, data
           FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
               AS new (id, subject, chat, tool, maker, made_in, position, made_at, expires_at, uses, data)",
    types: &[
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
    ],
};
/// One statement, so it is a transaction of its own. The update waits for appends that use the grant, then looks again.
const REVOKE: Sql = Sql {
    text: "WITH revoked AS (
               UPDATE @.grants SET revoked_at = $2, revoked_by = $3 WHERE id = $1 AND revoked_at IS NULL
               RETURNING made_in, position, subject, tool
           )
           INSERT INTO @.audit (chat, position, at, owner, tool, actor, data)
           SELECT made_in, position + $4, $2, subject, tool, $3, $5 FROM revoked RETURNING 1",
    types: &[Type::BYTEA, Type::INT8, Type::BYTEA, Type::INT8, Type::BYTEA],
};

/// The ids of all grants that are used, in the order in which they are locked, each once.
pub(super) fn ids(appends: &[Append]) -> Vec<&[u8]> {
    let used = appends.iter().flat_map(|append| &append.grants.used);
    let ids: BTreeSet<&[u8]> = used.map(|used| used.grant.as_str().as_bytes()).collect();
    ids.into_iter().collect()
}

/// The locked grants, with the uses decided so far.
pub(super) struct Claims(BTreeMap<GrantId, (StoredGrant, bool)>);

impl Claims {
    pub(super) fn read(rows: &[Row]) -> Result<Self, Failure> {
        let locked = rows.iter().map(|row| grant(row).map(|grant| (grant.id.clone(), (grant, false))));
        locked.collect::<Result<_, _>>().map(Self)
    }

    /// Claims the uses of an append. Returns whether it could: then all are claimed, and otherwise none.
    pub(super) fn claim(&mut self, append: &Append) -> bool {
        let mut uses: BTreeMap<&GrantId, Vec<&GrantUse>> = BTreeMap::new();
        for used in &append.grants.used {
            uses.entry(&used.grant).or_default().push(used);
        }
        let admits = |(id, uses): (&&GrantId, &Vec<&GrantUse>)| {
            self.0.get(*id).is_some_and(|(grant, _)| grant.admits(uses, &append.chat, &append.head.subject))
        };
        if !uses.iter().all(admits) {
            return false;
        }
        for GrantUse { grant, at } in &append.grants.used {
            if let Some((grant, is_used)) = self.0.get_mut(grant) {
                grant.used += 1;
                grant.last_used_at = grant.last_used_at.max(Some(*at));
                *is_used = true;
            }
        }
        true
    }

    /// The columns of the grants that were used.
    pub(super) fn used(self) -> Used {
        let mut columns = Used::default();
        for (grant, _) in self.0.into_values().filter(|(_, is_used)| *is_used) {
            columns.ids.push(grant.id.as_str().as_bytes().to_vec());
            columns.used.push(grant.used.cast_signed());
            columns.last_used_ats.push(grant.last_used_at.map(|at| at.0.cast_signed()));
        }
        columns
    }
}

/// Columns of grants that were used.
#[derive(Default)]
pub(super) struct Used {
    pub(super) ids: Vec<Vec<u8>>,
    used: Vec<i64>,
    last_used_ats: Vec<Option<i64>>,
}

impl Used {
    /// The parameters of [`USE`].
    pub(super) fn parameters(&self) -> [Parameter<'_>; 3] {
        [&self.ids, &self.used, &self.last_used_ats]
    }
}

/// Columns of new grants.
#[derive(Default)]
pub(super) struct Made<'a> {
    pub(super) ids: Vec<&'a [u8]>,
    subjects: Vec<&'a [u8]>,
    chats: Vec<Option<i64>>,
    tools: Vec<&'a [u8]>,
    makers: Vec<&'a [u8]>,
    made_in: Vec<i64>,
    positions: Vec<i64>,
    made_ats: Vec<i64>,
    expires_ats: Vec<Option<i64>>,
    uses: Vec<Option<i64>>,
    data: Vec<&'a [u8]>,
}

impl<'a> Made<'a> {
    /// What an append at a position makes.
    pub(super) fn add(&mut self, number: i64, first: u64, append: &'a Append) {
        for GrantRow { id, index, tool, maker, scope, made_at, until, uses, data } in &append.grants.made {
            self.ids.push(id.as_str().as_bytes());
            self.subjects.push(append.head.subject.as_str().as_bytes());
            self.chats.push((*scope == GrantScope::Chat).then_some(number));
            self.tools.push(tool.as_bytes());
            self.makers.push(maker.as_str().as_bytes());
            self.made_in.push(number);
            self.positions.push((first + u64::from(*index)).cast_signed());
            self.made_ats.push(made_at.0.cast_signed());
            self.expires_ats.push(until.map(|until| until.0.cast_signed()));
            self.uses.push(uses.map(i64::from));
            self.data.push(data);
        }
    }

    /// The parameters of [`MAKE`].
    pub(super) fn parameters(&self) -> [Parameter<'_>; 11] {
        [
            &self.ids,
            &self.subjects,
            &self.chats,
            &self.tools,
            &self.makers,
            &self.made_in,
            &self.positions,
            &self.made_ats,
            &self.expires_ats,
            &self.uses,
            &self.data,
        ]
    }
}

/// See [`crate::Index::revoke`].
pub(super) async fn revoke(pool: &Pool, revocation: &Revocation) -> Result<(), Failure> {
    let Revocation { grant, by, at, data } = revocation;
    let (grant, by) = (grant.as_str().as_bytes(), by.as_str().as_bytes());
    let (at, offset) = (reader::number(at.0), REVOCATION.cast_signed());
    if pool.run(REVOKE, &[&grant, &at, &by, &offset, &&data[..]]).await?.is_empty() {
        // If this is the repetition of one that was not confirmed, a later commit has to be.
        pool.run(PROBE, &[]).await?;
    }
    Ok(())
}

/// See [`crate::Index::grants`].
pub(super) async fn list(pool: &Pool, query: &GrantQuery, limit: usize) -> Result<Vec<StoredGrant>, Failure> {
    select(query, limit).run(pool).await?.iter().map(grant).collect()
}

/// The statement for a list. What a subject sees is two lists, each in an index: what is for it, and what it has made.
fn select(query: &GrantQuery, limit: usize) -> Select {
    let mut select = Select::new("");
    let limit = select.number(reader::most(limit));
    let list = |conditions: &str| {
        format!("SELECT * FROM @.grants AS grants WHERE true{conditions} ORDER BY made_at DESC, id DESC LIMIT ${limit}")
    };
    let rows = match query {
        GrantQuery::One(id) => list(&format!(" AND id = ${}", select.bytes(id.as_str()))),
        GrantQuery::Usable { subject, tool, now } => {
            let (subject, now) = (select.bytes(subject.as_str()), select.number(reader::number(now.0)));
            let mut conditions = format!(
                " AND subject = ${subject} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})
                  AND (uses IS NULL OR used < uses)"
            );
            if let Some(tool) = tool {
                conditions += &format!(" AND tool = ${}", select.bytes(tool));
            }
            list(&conditions)
        }
        GrantQuery::List { of, after } => {
            let mut conditions = String::new();
            if let Some((at, id)) = after {
                let (at, id) = (select.number(reader::number(at.0)), select.bytes(id.as_str()));
                conditions += &format!(" AND (made_at, id) < (${at}, ${id})");
            }
            match of.as_ref().map(|of| select.bytes(of.as_str())) {
                None => list(&conditions),
                Some(of) => {
                    let own = list(&format!("{conditions} AND subject = ${of}"));
                    let made = list(&format!("{conditions} AND maker = ${of} AND subject <> ${of}"));
                    format!("({own}) UNION ALL ({made})")
                }
            }
        }
    };
    select.and(format_args!(
        "SELECT grants.id, grants.subject, chats.id, tool, maker, made_at, expires_at, uses, used, last_used_at,
             revoked_at, revoked_by, data, (SELECT origin.id FROM @.chats AS origin WHERE origin.number = made_in),
             position
         FROM ({rows}) AS grants LEFT JOIN @.chats AS chats ON number = grants.chat
         ORDER BY made_at DESC, grants.id DESC LIMIT ${limit}"
    ));
    select
}

fn grant(row: &Row) -> Result<StoredGrant, Failure> {
    let time = |column| reader::optional_time(row, column);
    let text = |column| match row.try_get::<_, Option<&[u8]>>(column)? {
        Some(_) => reader::text(row, column).map(Some),
        None => Ok(None),
    };
    let uses: Option<i64> = row.try_get(7)?;
    Ok(StoredGrant {
        id: GrantId::from(reader::text(row, 0)?),
        subject: Subject::from(reader::text(row, 1)?),
        chat: text(2)?.map(ChatId::from),
        tool: reader::text(row, 3)?.into(),
        maker: Subject::from(reader::text(row, 4)?),
        made_in: text(13)?.map(ChatId::from),
        position: reader::unsigned(row, 14)?,
        made_at: time(5)?.unwrap_or_default(),
        until: time(6)?,
        uses: uses.map(|uses| u32::try_from(uses).unwrap_or(u32::MAX)),
        used: reader::unsigned(row, 8)?,
        last_used_at: time(9)?,
        revoked: time(10)?.zip(text(11)?.map(Subject::from)),
        data: reader::bytes(row, 12)?,
    })
}
