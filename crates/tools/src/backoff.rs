//! Waiting with an exponential backoff.

pub(crate) use holdpoint_core::backoff::Backoff;

/// Sleeps for the next delay. The delay counts once this is polled, even if it is cancelled.
pub(crate) async fn wait(backoff: &mut Backoff) {
    tokio::time::sleep(backoff.delay()).await;
}
