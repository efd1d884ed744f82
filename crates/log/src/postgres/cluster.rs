//! The nodes that share a log in PostgreSQL.

use std::{sync::atomic::Ordering, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_core::clock::Timestamp;
use tokio::sync::oneshot;

use super::{PostgresLog, error::Failure, tickets, writer::Request};
use crate::{Cluster, LogError, NodeId, TicketRow};

impl Cluster for PostgresLog {
    fn lease(&self) -> Option<Duration> {
        Some(self.leases.length)
    }

    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<u32, LogError>> {
        Box::pin(async move {
            let renewed = self.leases.renew(node).await;
            if renewed.as_ref().is_err_and(Failure::may_be_of_newer_tables) {
                // The writer checks them, says so, and tries again from time to time.
                self.is_outdated.store(true, Ordering::Relaxed);
                let (answer, _) = oneshot::channel();
                let _ = self.requests.try_send(Request::Probe { answer });
            }
            renewed.map_err(|failure| self.named(failure, "could not renew the lease"))
        })
    }

    fn is_gone(&self, node: NodeId) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(async move {
            let is_gone = self.leases.is_gone(node).await;
            is_gone.map_err(|failure| self.named(failure, "could not read the lease of a node"))
        })
    }

    fn time(&self) -> BoxFuture<'_, Result<Option<Timestamp>, LogError>> {
        Box::pin(async move {
            let time = self.leases.time().await;
            time.map(Some).map_err(|failure| self.named(failure, "could not read the database's clock"))
        })
    }

    fn hears_other_nodes(&self) -> bool {
        self.listener.is_some()
    }

    fn keep_ticket(&self, ticket: TicketRow) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(async move {
            let kept = tickets::keep(&self.readers, &ticket).await;
            kept.map(|()| true).map_err(|failure| self.named(failure, "could not keep a ticket"))
        })
    }

    fn redeem_ticket<'a>(&'a self, digest: &'a [u8], now: Timestamp) -> BoxFuture<'a, Result<Option<Bytes>, LogError>> {
        Box::pin(async move {
            let redeemed = tickets::redeem(&self.readers, digest, now).await;
            redeemed.map_err(|failure| self.named(failure, "could not redeem a ticket"))
        })
    }
}
