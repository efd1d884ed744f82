//! The chats that are awake on this node, and the signal that another node has changed one.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use holdpoint_protocol::ids::ChatId;
use tokio::sync::{Notify, mpsc};

use super::command::Command;

/// The chats that are awake, in order: that in which they are woken is the same in every run of a simulation.
#[derive(Default)]
pub(super) struct AwakeChats(Mutex<BTreeMap<ChatId, Awake>>);

/// A chat that is awake.
pub(super) struct Awake {
    pub(super) mailbox: mpsc::Sender<Command>,
    pub(super) changed: Arc<Changed>,
}

impl AwakeChats {
    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<ChatId, Awake>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// The chats.
    pub(super) fn ids(&self) -> Vec<ChatId> {
        self.lock().keys().cloned().collect()
    }

    /// Signals that a chat has changed. Without a length, it may have.
    pub(super) fn changed(&self, chat: &ChatId, len: Option<u64>) {
        if let Some(awake) = self.lock().get(chat) {
            awake.changed.signal(len);
        }
    }

    /// Signals that any chat may have changed.
    pub(super) fn all_changed(&self) {
        self.lock().values().for_each(|awake| awake.changed.signal(None));
    }
}

/// The signal that a chat has changed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    len: AtomicU64,
    is_suspected: AtomicBool,
    notify: Notify,
}

impl Changed {
    fn signal(&self, len: Option<u64>) {
        match len {
            Some(len) if self.len.fetch_max(len, Ordering::AcqRel) >= len => return,
            Some(_) => {}
            None => self.is_suspected.store(true, Ordering::Release),
        }
        self.notify.notify_one();
    }

    /// Whether the chat is known to be longer than this.
    pub(super) fn is_beyond(&self, known: u64) -> bool {
        self.len.load(Ordering::Acquire) > known
    }

    /// Completes when the chat may be longer than this. Cancel-safe.
    pub(super) async fn beyond(&self, known: u64) {
        loop {
            let mut notified = pin!(self.notify.notified());
            notified.as_mut().enable();
            if self.is_beyond(known) || self.is_suspected.swap(false, Ordering::AcqRel) {
                return;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn only_news_wake_a_chat() {
        let changed = Changed::default();
        changed.signal(Some(5));
        assert!(poll!(pin!(changed.beyond(5))).is_pending(), "its own append");
        assert!(poll!(pin!(changed.beyond(4))).is_ready());
        assert!(poll!(pin!(changed.beyond(4))).is_ready(), "until it is read");
        changed.signal(None);
        assert!(poll!(pin!(changed.beyond(9))).is_ready());
        assert!(poll!(pin!(changed.beyond(9))).is_pending(), "a suspicion is looked into once");
    }
}
