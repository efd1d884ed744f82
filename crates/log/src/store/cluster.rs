//! The nodes that share a log.

use std::{fmt, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_core::clock::Timestamp;

use crate::{FORMAT, LogError, NodeId, TicketRow};

/// The nodes that share a log: their leases, their clock, and what they keep for each other.
///
/// No method has a default. What one node may leave out would be wrong for several: two nodes would run the same call.
/// [`OneNode`] is the cluster of a log that one node at a time uses.
pub trait Cluster: Send + Sync + fmt::Debug + 'static {
    /// The time after which a node that has not renewed its lease is gone; `None` if one node at a time uses the log.
    fn lease(&self) -> Option<Duration>;

    /// Renews the lease of a node that can read up to [`FORMAT`]. Returns the newest format that may be written: every
    /// node with a lease can read it, and a node that can't will get none. If one node at a time uses the log, it is
    /// [`FORMAT`].
    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<u32, LogError>>;

    /// Whether another node is gone: it has no lease. If one node at a time uses the log, every other one is.
    fn is_gone(&self, node: NodeId) -> BoxFuture<'_, Result<bool, LogError>>;

    /// The time by a clock that all nodes share; `None` if there is none, so that each node's own has to do.
    fn time(&self) -> BoxFuture<'_, Result<Option<Timestamp>, LogError>>;

    /// Whether [wakeups](super::Log::wakeups) include the changes by other nodes. If not, readers have to ask.
    fn hears_other_nodes(&self) -> bool;

    /// Keeps a ticket that any node may redeem, once. Returns `false` if this log keeps none, because one node at a time
    /// uses it.
    fn keep_ticket(&self, ticket: TicketRow) -> BoxFuture<'_, Result<bool, LogError>>;

    /// Removes a ticket, and returns its data unless it has expired.
    fn redeem_ticket<'a>(&'a self, digest: &'a [u8], now: Timestamp) -> BoxFuture<'a, Result<Option<Bytes>, LogError>>;
}

/// The cluster of a log that one node at a time uses: there is no lease, every other node is gone, the clock is the node's
/// own, and the node keeps its tickets itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct OneNode;

impl Cluster for OneNode {
    fn lease(&self) -> Option<Duration> {
        None
    }

    fn renew(&self, _node: NodeId) -> BoxFuture<'_, Result<u32, LogError>> {
        Box::pin(async { Ok(FORMAT) })
    }

    fn is_gone(&self, _node: NodeId) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(async { Ok(true) })
    }

    fn time(&self) -> BoxFuture<'_, Result<Option<Timestamp>, LogError>> {
        Box::pin(async { Ok(None) })
    }

    fn hears_other_nodes(&self) -> bool {
        // There are none.
        true
    }

    fn keep_ticket(&self, _ticket: TicketRow) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(async { Ok(false) })
    }

    fn redeem_ticket<'a>(
        &'a self,
        _digest: &'a [u8],
        _now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Bytes>, LogError>> {
        Box::pin(async { Ok(None) })
    }
}
