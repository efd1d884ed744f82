//! Tickets that any node may redeem.

use tokio_postgres::types::Type;

use super::{connection::Sql, error::Failure, pool::Pool};
use crate::{clock::Timestamp, subject::Subject};

/// How many unused tickets a subject may have. The oldest are dropped.
const MAX_TICKETS: i64 = 100;

/// Adds a ticket, and removes those that have expired or are too many.
const KEEP: Sql = Sql {
    text: "WITH expired AS (DELETE FROM @.tickets WHERE expires <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint),
           surplus AS (
               DELETE FROM @.tickets WHERE digest IN (
                   SELECT digest FROM @.tickets WHERE subject = $2 ORDER BY expires DESC OFFSET $4
               )
           )
           INSERT INTO @.tickets (digest, subject, expires) VALUES ($1, $2, $3)",
    types: &[Type::BYTEA, Type::BYTEA, Type::INT8, Type::INT8],
};
const REDEEM: Sql =
    Sql { text: "DELETE FROM @.tickets WHERE digest = $1 RETURNING subject, expires", types: &[Type::BYTEA] };

/// See [`crate::log::Log::keep_ticket`].
pub(super) async fn keep(pool: &Pool, ticket: &[u8], subject: &Subject, expires: Timestamp) -> Result<(), Failure> {
    let expires = i64::try_from(expires.0).unwrap_or(i64::MAX);
    pool.run(KEEP, &[&ticket, &subject.as_str().as_bytes(), &expires, &(MAX_TICKETS - 1)]).await?;
    Ok(())
}

/// See [`crate::log::Log::redeem_ticket`].
pub(super) async fn redeem(pool: &Pool, ticket: &[u8], now: Timestamp) -> Result<Option<Subject>, Failure> {
    let rows = pool.run(REDEEM, &[&ticket]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let expires: i64 = row.try_get(1)?;
    let subject = super::reader::text(row, 0)?;
    Ok((u64::try_from(expires).unwrap_or_default() > now.0).then(|| Subject::from(subject)))
}
