//! Routes the log's wakeups to those who wait for a change: chats that are awake, listeners of lists, the deadlines.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::broadcast::{self, error::RecvError},
    time,
};

use super::runtime::Inner;
use crate::log::{ChatChange, HeadOrder, HeadQuery, Wakeup};

/// How often a log that other nodes write to is asked for changes of chats that are awake, in case a wakeup was lost.
const CHAT_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The number of chats per query.
const CHATS_PER_POLL: usize = 1000;
/// How often a log that other nodes write to is asked for changes of lists, in case a wakeup was lost.
const LIST_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How many of these go by before approvers read their lists again, where no wakeups come from other nodes: nothing tells
/// cheaply which requests of others have ended.
const POLLS_PER_INBOX: u32 = 5;

/// Routes wakeups until the runtime ends.
pub(super) async fn run(inner: Arc<Inner>, mut wakeups: broadcast::Receiver<Wakeup>) {
    loop {
        let wakeup = tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            wakeup = wakeups.recv() => wakeup,
        };
        match wakeup {
            Ok(Wakeup::Chat(ChatChange { chat, subject, len, holds, approvers })) => {
                inner.chats.changed(&chat, len);
                inner.changes.tell(&subject, &chat, len, holds);
                inner.changes.tell_approvers(&approvers, &chat);
                if holds {
                    inner.holds_changed.notify_waiters();
                }
            }
            Ok(Wakeup::Any) | Err(RecvError::Lagged(_)) => {
                inner.chats.all_changed();
                inner.changes.missed();
                inner.holds_changed.notify_waiters();
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// Polls the chats that are awake, until the runtime ends: many with one query.
pub(super) async fn poll_chats(inner: Arc<Inner>) {
    if !inner.lease.is_shared() {
        return;
    }
    loop {
        tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            () = time::sleep(CHAT_POLL_INTERVAL) => {}
        }
        for chats in inner.chats.ids().chunks(CHATS_PER_POLL) {
            // After an error, the next time will do.
            let Ok(lengths) = inner.log.lengths(chats.to_vec()).await else { break };
            for (chat, len) in chats.iter().zip(lengths) {
                inner.chats.changed(chat, Some(len));
            }
        }
    }
}

/// Polls the lists that somebody follows, until the runtime ends.
pub(super) async fn poll_lists(inner: Arc<Inner>) {
    if !inner.lease.is_shared() {
        return;
    }
    for poll in 1_u32.. {
        tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            () = time::sleep(LIST_POLL_INTERVAL) => {}
        }
        if poll.is_multiple_of(POLLS_PER_INBOX) && !inner.log.cluster().hears_other_nodes() {
            inner.changes.missed_by_approvers();
        }
        for subject in inner.changes.subjects() {
            let order = HeadOrder::Newest { after: None };
            let query = HeadQuery { subject: Some(subject.clone()), only_open: false, order };
            match inner.log.heads(query, 1).await {
                Ok(newest) => {
                    if let Some((chat, len, _)) = newest.into_iter().next()
                        && inner.changes.is_news(&subject, &chat, len)
                    {
                        inner.changes.tell(&subject, &chat, Some(len), true);
                    }
                }
                // The next time will do.
                Err(_) => break,
            }
        }
    }
}
