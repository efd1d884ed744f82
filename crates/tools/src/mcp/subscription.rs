//! The subscription to changes of a server's list of tools, by protocol 2026-07-28. Older servers send such changes unasked.

use std::{convert::Infallible, time::Duration};

use rmcp::{
    RoleClient, ServiceError,
    model::{ServerNotification, SubscriptionFilter},
    service::{Peer, SubscriptionEnd},
};

use super::{rounds::is_modern, server::Shared};
use crate::backoff::{self, Backoff};

/// Delays before a subscription that has ended is made again.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Has the tools listed again whenever they may have changed, for as long as it is polled.
pub(super) async fn subscribe(shared: &Shared, peer: &Peer<RoleClient>) -> Infallible {
    let capabilities = peer.peer_info().filter(|_| is_modern(peer)).and_then(|info| info.capabilities.tools.clone());
    if capabilities.and_then(|tools| tools.list_changed) != Some(true) {
        return std::future::pending().await;
    }
    let mut backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
    loop {
        match listen(shared, peer, &mut backoff).await {
            // The server does not offer it after all.
            Err(ServiceError::McpError(error)) => {
                let detail = shared.mask.hide(&error.message);
                tracing::warn!(server = shared.settings.name, %detail, "an MCP server does not tell when its tools change");
                return std::future::pending().await;
            }
            Ok(Some(SubscriptionEnd::Graceful(_))) => {}
            // The server may be gone, which goes unnoticed over HTTP.
            Ok(_) | Err(_) => shared.recheck_if_http(),
        }
        backoff::wait(&mut backoff).await;
    }
}

/// Follows one subscription to its end.
async fn listen(
    shared: &Shared,
    peer: &Peer<RoleClient>,
    backoff: &mut Backoff,
) -> Result<Option<SubscriptionEnd>, ServiceError> {
    let mut subscription = peer.listen(SubscriptionFilter::builder().tools_list_changed().build()).await?;
    // They may have changed since they were listed.
    shared.relist.notify_one();
    while let Some(notification) = subscription.next().await? {
        if let ServerNotification::ToolListChangedNotification(_) = notification {
            *backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
            shared.relist.notify_one();
        }
    }
    Ok(subscription.end().cloned())
}
