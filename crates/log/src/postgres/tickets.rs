//! Tickets that any node may redeem.

use bytes::Bytes;
use tokio_postgres::types::Type;

use super::{connection::Sql, error::Failure, pool::Pool};
use crate::TicketRow;
use holdpoint_core::clock::Timestamp;

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
           INSERT INTO @.tickets (digest, subject, expires, data) VALUES ($1, $2, $3, $5)",
    types: &[Type::BYTEA, Type::BYTEA, Type::INT8, Type::INT8, Type::BYTEA],
};
const REDEEM: Sql =
    Sql { text: "DELETE FROM @.tickets WHERE digest = $1 RETURNING expires, data", types: &[Type::BYTEA] };

/// See [`crate::Cluster::keep_ticket`].
pub(super) async fn keep(pool: &Pool, ticket: &TicketRow) -> Result<(), Failure> {
    let TicketRow { digest, subject, expires, data } = ticket;
    let (digest, subject, data) = (&digest[..], subject.as_str().as_bytes(), &data[..]);
    let expires = i64::try_from(expires.0).unwrap_or(i64::MAX);
    pool.run(KEEP, &[&digest, &subject, &expires, &(MAX_TICKETS - 1), &data]).await?;
    Ok(())
}

/// See [`crate::Cluster::redeem_ticket`].
pub(super) async fn redeem(pool: &Pool, digest: &[u8], now: Timestamp) -> Result<Option<Bytes>, Failure> {
    let rows = pool.run(REDEEM, &[&digest]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let expires: i64 = row.try_get(0)?;
    if u64::try_from(expires).unwrap_or_default() <= now.0 {
        return Ok(None);
    }
    Ok(Some(Bytes::copy_from_slice(row.try_get(1)?)))
}
