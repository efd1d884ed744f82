//! The nodes that share a log in PostgreSQL.

use std::{sync::atomic::Ordering, time::Duration};

use futures::future::BoxFuture;
use holdpoint_core::{clock::Timestamp, identity::Identity};
use tokio::sync::oneshot;

use super::{PostgresLog, error::Failure, tickets, writer::Request};
use crate::{Cluster, LogError, NodeId};

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

    fn keep_ticket<'a>(
        &'a self,
        ticket: &'a [u8],
        identity: &'a Identity,
        expires: Timestamp,
    ) -> BoxFuture<'a, Result<bool, LogError>> {
        Box::pin(async move {
            let kept = tickets::keep(&self.readers, ticket, identity, expires).await;
            kept.map(|()| true).map_err(|failure| self.named(failure, "could not keep a ticket"))
        })
    }

    fn redeem_ticket<'a>(
        &'a self,
        ticket: &'a [u8],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Identity>, LogError>> {
        Box::pin(async move {
            let redeemed = tickets::redeem(&self.readers, ticket, now).await;
            redeemed.map_err(|failure| self.named(failure, "could not redeem a ticket"))
        })
    }
}
