//! Delivery of deadlines: wakes a few chats at a time, so that requests are still answered meanwhile.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{chat::Command, runtime::Inner};

/// The number of chats woken for a deadline at a time.
const MAX_CONCURRENT_CHATS: usize = 16;

/// Delivers every deadline to its chat.
pub(super) async fn run(inner: Arc<Inner>) {
    let places = Arc::new(Semaphore::new(MAX_CONCURRENT_CHATS));
    loop {
        let next = async {
            // Take the permit first: a deadline that can't be handled yet stays in the index.
            let permit = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((permit, inner.holds.next_expired(&*inner.clock).await))
        };
        let next = tokio::select! {
            next = next => next,
            () = inner.closing.cancelled() => return,
        };
        let Some((permit, (chat, call))) = next else { return };
        if let Some(mailbox) = inner.wake(&chat) {
            // If the mailbox is full, the deadline is delivered again later. A stuck chat must not delay those of
            // others.
            let _ = mailbox.try_send(Command::Expired { call, permit });
        }
    }
}
