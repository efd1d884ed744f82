//! Tickets that any node may redeem.

use tokio_postgres::types::Type;

use super::{connection::Sql, error::Failure, pool::Pool};
use holdpoint_core::{clock::Timestamp, identity::Identity};

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
           INSERT INTO @.tickets (digest, subject, expires, identity) VALUES ($1, $2, $3, $5)",
    types: &[Type::BYTEA, Type::BYTEA, Type::INT8, Type::INT8, Type::BYTEA],
};
const REDEEM: Sql =
    Sql { text: "DELETE FROM @.tickets WHERE digest = $1 RETURNING expires, identity", types: &[Type::BYTEA] };

/// See [`crate::Cluster::keep_ticket`].
pub(super) async fn keep(pool: &Pool, ticket: &[u8], identity: &Identity, expires: Timestamp) -> Result<(), Failure> {
    let subject = identity.subject().as_str().as_bytes();
    // This can't fail: all keys are strings.
    let stored = serde_json::to_vec(identity).unwrap_or_default();
    let expires = i64::try_from(expires.0).unwrap_or(i64::MAX);
    pool.run(KEEP, &[&ticket, &subject, &expires, &(MAX_TICKETS - 1), &stored]).await?;
    Ok(())
}

/// See [`crate::Cluster::redeem_ticket`].
pub(super) async fn redeem(pool: &Pool, ticket: &[u8], now: Timestamp) -> Result<Option<Identity>, Failure> {
    let rows = pool.run(REDEEM, &[&ticket]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let expires: i64 = row.try_get(0)?;
    if u64::try_from(expires).unwrap_or_default() <= now.0 {
        return Ok(None);
    }
    // What can't be read is not a ticket of ours, and identifies nobody.
    Ok(serde_json::from_slice(row.try_get(1)?).ok())
}
