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
    by_subject: HashMap<Subject, broadcast::Sender<Change>>,
    /// The number of channels at which unused ones are removed.
    crowded: usize,
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
            channels.by_subject.retain(|_, channel| channel.receiver_count() > 0);
            channels.crowded = (2 * channels.by_subject.len()).max(64);
        }
        channels
            .by_subject
            .entry(subject.clone())
            .or_insert_with(|| broadcast::Sender::new(MAX_BUFFERED_CHANGES))
            .subscribe()
    }

    pub(super) fn tell(&self, subject: &Subject, chat: &ChatId, approvals: bool) {
        let channels = &mut self.lock().by_subject;
        let Some(channel) = channels.get(subject) else { return };
        if channel.send(Change::Chat { chat: chat.clone(), approvals }).is_err() {
            channels.remove(subject);
        }
    }

    /// Tells everybody that changes were missed.
    pub(super) fn missed(&self) {
        self.lock().by_subject.retain(|_, channel| channel.send(Change::Missed).is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_listen_are_told_and_nothing_is_kept_for_others() {
        let changes = Changes::default();
        let (ann, bob) = (Subject::from("ann"), Subject::from("bob"));
        changes.tell(&ann, &"before".into(), true);
        let (mut anns, mut bobs) = (changes.of(&ann), changes.of(&bob));
        changes.tell(&ann, &"c".into(), true);
        assert_eq!(anns.try_recv(), Ok(Change::Chat { chat: "c".into(), approvals: true }));
        assert!(bobs.try_recv().is_err(), "a change of somebody else's wakes nobody");
        changes.missed();
        assert_eq!((anns.try_recv(), bobs.try_recv()), (Ok(Change::Missed), Ok(Change::Missed)));
        drop(anns);
        changes.tell(&ann, &"d".into(), false);
        assert_eq!(changes.lock().by_subject.len(), 1);
        drop(bobs);
        for number in 0..1000 {
            changes.of(&Subject::from(&*format!("visitor {number}")));
        }
        assert!(changes.lock().by_subject.len() <= 64);
    }
}
