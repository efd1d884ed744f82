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
    connection::{Connector, Sql},
    error::Failure,
    pool::Pool,
    reader,
};
use crate::log::NodeId;

/// How often rows of nodes that are gone are removed.
const CLEANING: Duration = Duration::from_secs(60);

const RENEW: Sql = Sql {
    text: "INSERT INTO @.nodes (id, lease_until, version) VALUES ($1, clock_timestamp() + $2 * interval '1 ms', $3)
           ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, version = excluded.version",
    types: &[Type::UUID, Type::FLOAT8, Type::TEXT],
};
/// The rows of nodes that own a chat are kept: a chat whose owner has no row is taken over at once.
const CLEAN: Sql = Sql {
    text: "DELETE FROM @.nodes AS nodes
           WHERE lease_until < clock_timestamp() - $1 * interval '1 ms'
               AND NOT EXISTS (SELECT 1 FROM @.chats AS chats WHERE chats.owner = nodes.id)",
    types: &[Type::FLOAT8],
};
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
                   WHERE nodes.id = owners.owner AND (lease_until > clock_timestamp() OR $3)
               )
           LIMIT $2",
    types: &[Type::UUID, Type::INT8, Type::BOOL],
};

/// The leases, as this log knows them.
pub(super) struct Leases {
    /// A connection of their own: a lease must not lapse because reads are slow.
    pool: Pool,
    pub(super) length: Duration,
    state: Mutex<State>,
}

struct State {
    /// When the database has been in reach without a gap since.
    in_reach_since: Instant,
    last_renewal: Option<Instant>,
    last_cleaning: Option<Instant>,
}

impl Leases {
    pub(super) fn new(connector: Arc<Connector>, length: Duration) -> Self {
        let state = State { in_reach_since: Instant::now(), last_renewal: None, last_cleaning: None };
        Self { pool: Pool::new(connector, 1), length, state: Mutex::new(state) }
    }

    /// See [`crate::log::Log::renew`].
    pub(super) async fn renew(&self, node: NodeId) -> Result<(), Failure> {
        let renewed = self.pool.run(RENEW, &[&uuid(node), &millis(self.length), &env!("CARGO_PKG_VERSION")]).await;
        if !self.note(renewed.is_ok()) {
            return renewed.map(drop);
        }
        self.pool.run(CLEAN, &[&millis(self.length * 10)]).await?;
        Ok(())
    }

    /// Notes a renewal. Returns whether it is time to clean.
    fn note(&self, is_renewed: bool) -> bool {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_late = state.last_renewal.is_some_and(|last| now - last > self.length);
        if !is_renewed || is_late {
            state.in_reach_since = now;
        }
        if !is_renewed {
            return false;
        }
        state.last_renewal = Some(now);
        let is_due = state.last_cleaning.is_none_or(|last| now - last > CLEANING);
        if is_due {
            state.last_cleaning = Some(now);
        }
        is_due
    }

    /// See [`crate::log::Log::abandoned`]. After an outage of the database every lease has lapsed, and the nodes are
    /// only late. So a lapsed lease counts once the database has been in reach for the time of a lease.
    pub(super) async fn abandoned(&self, node: NodeId, limit: usize) -> Result<Vec<ChatId>, Failure> {
        let in_reach_since = self.state.lock().unwrap_or_else(PoisonError::into_inner).in_reach_since;
        let is_too_early = in_reach_since.elapsed() < self.length;
        let rows = self.pool.run(ABANDONED, &[&uuid(node), &reader::most(limit), &is_too_early]).await?;
        rows.iter().map(|row| Ok(ChatId::from(reader::text(row, 0)?))).collect()
    }
}

fn uuid(node: NodeId) -> Uuid {
    Uuid::from_u128(node.0)
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
