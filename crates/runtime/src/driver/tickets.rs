//! Tickets of the nodes that share a log, for a server that logs its WebSockets in with them.

use super::{RuntimeError, Tickets};
use crate::{clock::Timestamp, identity::Identity};

impl Tickets<'_> {
    /// Keeps the digest of a ticket that every node that shares the log may redeem, once. Returns `false` if no other
    /// node does.
    pub async fn keep(&self, digest: &[u8], identity: &Identity, expires: Timestamp) -> Result<bool, RuntimeError> {
        self.runtime.inner.log.cluster().keep_ticket(digest, identity, expires).await.map_err(RuntimeError::Log)
    }

    /// Redeems a ticket of any node.
    pub async fn redeem(&self, digest: &[u8]) -> Result<Option<Identity>, RuntimeError> {
        let inner = &self.runtime.inner;
        inner.log.cluster().redeem_ticket(digest, inner.clock.now()).await.map_err(RuntimeError::Log)
    }
}
