//! Routes the log's wakeups to those who wait for a change: chats that are awake, listeners of lists, the deadlines.

use std::sync::Arc;

use tokio::sync::broadcast::{self, error::RecvError};

use super::runtime::Inner;
use crate::log::Wakeup;

/// Routes wakeups until the runtime ends.
pub(super) async fn run(inner: Arc<Inner>, mut wakeups: broadcast::Receiver<Wakeup>) {
    loop {
        let wakeup = tokio::select! {
            wakeup = wakeups.recv() => wakeup,
            () = inner.closing.cancelled() => return,
        };
        match wakeup {
            Ok(Wakeup { chat, subject, len, holds }) => {
                inner.chats.changed(&chat, len);
                inner.changes.tell(&subject, &chat, holds);
                if holds {
                    inner.holds_changed.notify_waiters();
                }
            }
            Err(RecvError::Lagged(_)) => {
                inner.chats.all_changed();
                inner.changes.missed();
                inner.holds_changed.notify_waiters();
            }
            Err(RecvError::Closed) => return,
        }
    }
}
