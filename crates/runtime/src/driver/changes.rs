//! Change notifications for lists. Each subject has its own channel, so that nobody is woken for others.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use holdpoint_protocol::ids::ChatId;
use tokio::sync::broadcast;

use crate::subject::Subject;

/// A change that a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A chat has changed.
    Chat {
        /// The chat.
        chat: ChatId,
        /// Whether its approval requests may have changed.
        approvals: bool,
    },
    /// Some changes were missed. Read the lists again.
    Missed,
}

/// The number of changes buffered for a slow reader.
const MAX_BUFFERED_CHANGES: usize = 256;

/// The channels of the current listeners.
#[derive(Debug, Default)]
pub(super) struct Changes(Mutex<Channels>);

#[derive(Debug, Default)]
struct Channels {
    by_subject: HashMap<Subject, Listeners>,
    /// The number of channels at which unused ones are removed.
    crowded: usize,
}

/// Those who follow the lists of one subject.
#[derive(Debug)]
struct Listeners {
    channel: broadcast::Sender<Change>,
    /// The chat that they were told of last, and its length.
    told: Option<(ChatId, u64)>,
}

impl Changes {
    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes from now on. Lossy.
    pub(super) fn of(&self, subject: &Subject) -> broadcast::Receiver<Change> {
        let channels = &mut *self.lock();
        // Most channels are removed by the first change after their last listener left. This removes the rest.
        if channels.by_subject.len() >= channels.crowded {
            channels.by_subject.retain(|_, listeners| listeners.channel.receiver_count() > 0);
            channels.crowded = (2 * channels.by_subject.len()).max(64);
        }
        channels
            .by_subject
            .entry(subject.clone())
            .or_insert_with(|| Listeners { channel: broadcast::Sender::new(MAX_BUFFERED_CHANGES), told: None })
            .channel
            .subscribe()
    }

    /// The subjects whose lists somebody follows.
    pub(super) fn subjects(&self) -> Vec<Subject> {
        self.lock().by_subject.keys().cloned().collect()
    }

    /// Whether the followers of this subject's lists were told last of something else.
    pub(super) fn is_news(&self, subject: &Subject, chat: &ChatId, len: u64) -> bool {
        let channels = self.lock();
        let told = channels.by_subject.get(subject).and_then(|listeners| listeners.told.as_ref());
        told.is_none_or(|(known, known_len)| known != chat || *known_len < len)
    }

    pub(super) fn tell(&self, subject: &Subject, chat: &ChatId, len: Option<u64>, approvals: bool) {
        let channels = &mut self.lock().by_subject;
        let Some(listeners) = channels.get_mut(subject) else { return };
        listeners.told = len.map(|len| (chat.clone(), len));
        if listeners.channel.send(Change::Chat { chat: chat.clone(), approvals }).is_err() {
            channels.remove(subject);
        }
    }

    /// Tells everybody that changes were missed.
    pub(super) fn missed(&self) {
        self.lock().by_subject.retain(|_, listeners| listeners.channel.send(Change::Missed).is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_listen_are_told_and_nothing_is_kept_for_others() {
        let changes = Changes::default();
        let (ann, bob) = (Subject::from("ann"), Subject::from("bob"));
        changes.tell(&ann, &"before".into(), None, true);
        let (mut anns, mut bobs) = (changes.of(&ann), changes.of(&bob));
        changes.tell(&ann, &"c".into(), Some(3), true);
        assert!(!changes.is_news(&ann, &"c".into(), 3) && changes.is_news(&ann, &"c".into(), 4));
        assert_eq!(anns.try_recv(), Ok(Change::Chat { chat: "c".into(), approvals: true }));
        assert!(bobs.try_recv().is_err(), "a change of somebody else's wakes nobody");
        changes.missed();
        assert_eq!((anns.try_recv(), bobs.try_recv()), (Ok(Change::Missed), Ok(Change::Missed)));
        drop(anns);
        changes.tell(&ann, &"d".into(), None, false);
        assert_eq!(changes.lock().by_subject.len(), 1);
        drop(bobs);
        for number in 0..1000 {
            changes.of(&Subject::from(&*format!("visitor {number}")));
        }
        assert!(changes.lock().by_subject.len() <= 64);
    }
}
