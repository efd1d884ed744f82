//! Wakes chats whose deadlines have come, a few at a time, so that requests are answered meanwhile.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{chat::Command, runtime::Inner};

/// How many chats are awake for a deadline at a time.
const AT_ONCE: usize = 16;

/// Delivers every deadline to its chat.
pub(super) async fn run(inner: Arc<Inner>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let next = async {
            // The place first: a deadline that nobody can see to yet is left where it is.
            let permit = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((permit, inner.holds.next_expired(&*inner.clock).await))
        };
        let next = tokio::select! {
            next = next => next,
            () = inner.closing.cancelled() => return,
        };
        let Some((permit, (chat, call))) = next else { return };
        if let Some(mailbox) = inner.wake(&chat) {
            // A chat that has no room now is told again: one that is stuck must not hold up the deadlines of the others.
            let _ = mailbox.try_send(Command::Expired { call, permit });
        }
    }
}
