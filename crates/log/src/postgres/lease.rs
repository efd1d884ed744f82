//! The leases of nodes, by the database's clock. They decide only who may be waited for; what a node may write is
//! decided by the compare-and-set of its appends.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use holdpoint_protocol::ids::ChatId;
use tokio::time::Instant;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::{
    connection::{Connector, Parameter, Sql},
    error::Failure,
    pool::Pool,
    reader, schema,
};
use crate::NodeId;
use holdpoint_core::clock::Timestamp;

/// How often rows of nodes that are gone are removed.
const CLEANING: Duration = Duration::from_secs(60);

/// The least time for a renewal, a new connection included.
const SHORTEST_LIMIT: Duration = Duration::from_millis(500);

/// More time for a renewal that needs a new connection.
const TIME_TO_CONNECT: Duration = Duration::from_secs(3);

/// A node that can't use the tables any more gets no lease, so that others take over what it ran. Returns whether it has got
/// one, the format of the tables, and the oldest one that a node may know.
const RENEW: Sql = Sql {
    text: "WITH renewed AS (
               INSERT INTO @.nodes (id, lease_until, version, format)
               SELECT $1, clock_timestamp() + $2 * interval '1 ms', $3, $4 FROM @.holdpoint WHERE compatible <= $4
               FOR KEY SHARE
               ON CONFLICT (id) DO UPDATE
               SET lease_until = excluded.lease_until, version = excluded.version, format = excluded.format
               RETURNING id
           )
           SELECT EXISTS (SELECT 1 FROM renewed), format, compatible FROM @.holdpoint",
    types: &[Type::UUID, Type::FLOAT8, Type::TEXT, Type::INT8],
};
/// The rows of nodes that own a chat are kept: a chat whose owner has no row is taken over at once.
const CLEAN: Sql = Sql {
    text: "DELETE FROM @.nodes AS nodes
           WHERE lease_until < clock_timestamp() - $1 * interval '1 ms'
               AND NOT EXISTS (SELECT 1 FROM @.chats AS chats WHERE chats.owner = nodes.id)",
    types: &[Type::FLOAT8],
};
const HAS_LEASE: Sql =
    Sql { text: "SELECT 1 FROM @.nodes WHERE id = $1 AND lease_until > clock_timestamp()", types: &[Type::UUID] };
/// Goes from one owner to the next in the index, so that chats of living nodes cost nothing.
const ABANDONED: Sql = Sql {
    text: "WITH RECURSIVE owners (owner) AS (
               (SELECT owner FROM @.chats WHERE owner IS NOT NULL ORDER BY owner LIMIT 1)
               UNION ALL
               SELECT (SELECT chats.owner FROM @.chats AS chats WHERE chats.owner > owners.owner
                       ORDER BY chats.owner LIMIT 1)
               FROM owners WHERE owners.owner IS NOT NULL
           )
           SELECT owned.id FROM owners
           CROSS JOIN LATERAL (
               SELECT chats.id FROM @.chats AS chats WHERE chats.owner = owners.owner ORDER BY chats.id LIMIT $2
           ) AS owned
           WHERE owners.owner <> $1
               AND NOT EXISTS (
                   SELECT 1 FROM @.nodes AS nodes
                   WHERE nodes.id = owners.owner AND lease_until > clock_timestamp()
               )
           LIMIT $2",
    types: &[Type::UUID, Type::INT8],
};

const TIME: Sql = Sql { text: "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint", types: &[] };

/// The length of a lease with which the turns of a node that dies are taken over within this time: others have to find that
/// it has lapsed, and to load and write the chats.
pub(super) fn length(taken_over_within: Duration) -> Duration {
    taken_over_within * 2 / 3
}

/// The leases.
pub(super) struct Leases {
    /// A connection of their own: a lease must not lapse because reads are slow.
    pool: Pool,
    connector: Arc<Connector>,
    pub(super) length: Duration,
    last_cleaning: Mutex<Option<Instant>>,
}

impl Leases {
    pub(super) fn new(connector: Arc<Connector>, length: Duration) -> Self {
        // A connection that stalls is replaced while there is still time to renew.
        let limit = (length / 3).clamp(SHORTEST_LIMIT.min(connector.request_timeout), connector.request_timeout);
        let pool = Pool::new(Arc::clone(&connector), 1, limit).with_time_to_connect(TIME_TO_CONNECT);
        Self { pool, connector, length, last_cleaning: Mutex::default() }
    }

    /// See [`crate::Cluster::renew`].
    pub(super) async fn renew(&self, node: NodeId) -> Result<u32, Failure> {
        let parameters: [Parameter<'_>; 4] =
            [&uuid(node), &millis(self.length), &env!("CARGO_PKG_VERSION"), &schema::KNOWN];
        let rows = self.pool.run(RENEW, &parameters).await?;
        let Some(row) = rows.first() else { return Err(Failure::Damaged("the table holdpoint is empty".to_owned())) };
        let (is_renewed, found, compatible): (bool, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        if !is_renewed {
            return Err(Failure::Connect(self.connector.newer(found)));
        }
        if self.is_to_clean()
            && let Err(failure) = self.pool.run(CLEAN, &[&millis(self.length * 10)]).await
        {
            // The lease is renewed all the same.
            tracing::debug!(%failure, "the rows of nodes that are gone could not be removed");
        }
        if compatible < schema::KNOWN
            && let Err(failure) = self.pool.query(&raise(schema::KNOWN), &[], &[]).await
        {
            tracing::debug!(%failure, "the oldest format that a node may know could not be raised");
        }
        Ok(u32::try_from(compatible.min(schema::KNOWN)).unwrap_or_default())
    }

    fn is_to_clean(&self) -> bool {
        let mut last = self.last_cleaning.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() > CLEANING);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }

    /// See [`crate::Cluster::is_gone`].
    pub(super) async fn is_gone(&self, node: NodeId) -> Result<bool, Failure> {
        Ok(self.pool.run(HAS_LEASE, &[&uuid(node)]).await?.is_empty())
    }

    /// See [`crate::Cluster::time`].
    pub(super) async fn time(&self) -> Result<Timestamp, Failure> {
        let rows = self.pool.run(TIME, &[]).await?;
        let Some(row) = rows.first() else { return Err(Failure::Damaged("the database tells no time".to_owned())) };
        Ok(Timestamp(u64::try_from(row.try_get::<_, i64>(0)?).unwrap_or_default()))
    }

    /// See [`crate::Index::abandoned`].
    pub(super) async fn abandoned(&self, node: NodeId, limit: usize) -> Result<Vec<ChatId>, Failure> {
        let rows = self.pool.run(ABANDONED, &[&uuid(node), &reader::most(limit)]).await?;
        rows.iter().map(|row| Ok(ChatId::from(reader::text(row, 0)?))).collect()
    }
}

/// From now on, no node that does not know this format gets a lease, unless there is one now. The lock is for a node that gets its first lease at this moment; each statement sees what was committed
/// before it.
fn raise(format: i64) -> String {
    format!(
        "DO $raise$ BEGIN
             PERFORM 1 FROM @.holdpoint FOR UPDATE;
             UPDATE @.holdpoint SET compatible = {format}
             WHERE compatible < {format} AND NOT EXISTS (
                 SELECT 1 FROM @.nodes WHERE lease_until > clock_timestamp() AND format < {format}
             );
         END $raise$"
    )
}

fn uuid(node: NodeId) -> Uuid {
    Uuid::from_u128(node.0)
}

pub(super) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
