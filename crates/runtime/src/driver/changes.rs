//! Change notifications for lists. Each subject, and each approver that policies name, has its own channel, so that nobody
//! is woken for others, or learns of them.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures::future::select_all;
use holdpoint_protocol::ids::ChatId;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::{approvers::Approver, identity::Identity, subject::Subject};

/// A change that a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A chat of one's own has changed.
    Chat {
        /// The chat.
        chat: ChatId,
        /// Whether its approval requests may have changed.
        approvals: bool,
    },
    /// The approval requests in somebody else's chat that one may decide have changed.
    Approvals {
        /// The chat.
        chat: ChatId,
    },
    /// Some changes were missed. Read the lists again.
    Missed,
}

/// The number of changes buffered for a slow reader.
const MAX_BUFFERED_CHANGES: usize = 256;

/// Those who are told of the same changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Audience {
    /// The owner of chats.
    Owner(Subject),
    /// Those who may decide in the chats of others.
    Approver(Approver),
}

/// The changes of somebody's lists, from some time on. Lossy, and says so.
#[derive(Debug)]
pub struct Changes(Vec<broadcast::Receiver<Change>>);

impl Changes {
    /// The next change. `None` if the runtime has ended. No change is lost if this is cancelled.
    pub async fn next(&mut self) -> Option<Change> {
        let received = self.0.iter_mut().map(|receiver| Box::pin(receiver.recv()));
        match select_all(received).await.0 {
            Ok(change) => Some(change),
            Err(RecvError::Lagged(_)) => Some(Change::Missed),
            Err(RecvError::Closed) => None,
        }
    }
}

/// The channels of the current listeners.
#[derive(Debug, Default)]
pub(super) struct ChangeChannels(Mutex<Channels>);

#[derive(Debug, Default)]
struct Channels {
    by_audience: HashMap<Audience, Listeners>,
    /// The number of channels at which unused ones are removed.
    crowded: usize,
}

/// Those who follow the same lists.
#[derive(Debug)]
struct Listeners {
    channel: broadcast::Sender<Change>,
    /// The chat that they were told of last, and its length.
    told: Option<(ChatId, u64)>,
}

impl ChangeChannels {
    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes from now on.
    pub(super) fn of(&self, identity: &Identity) -> Changes {
        let mut audiences = vec![Audience::Owner(identity.subject().clone())];
        if identity.is_approver() {
            audiences.push(Audience::Approver(Approver::Subject(identity.subject().clone())));
            let groups = identity.groups().iter().cloned();
            audiences.extend(groups.map(|group| Audience::Approver(Approver::Group(group))));
        }
        let channels = &mut *self.lock();
        // Most channels are removed by the first change after their last listener left. This removes the rest.
        if channels.by_audience.len() >= channels.crowded {
            channels.by_audience.retain(|_, listeners| listeners.channel.receiver_count() > 0);
            channels.crowded = (2 * channels.by_audience.len()).max(64);
        }
        let new = || Listeners { channel: broadcast::Sender::new(MAX_BUFFERED_CHANGES), told: None };
        let follow = |audience| channels.by_audience.entry(audience).or_insert_with(new).channel.subscribe();
        Changes(audiences.into_iter().map(follow).collect())
    }

    /// The subjects whose own lists somebody follows.
    pub(super) fn subjects(&self) -> Vec<Subject> {
        let channels = self.lock();
        let owners = channels.by_audience.keys().filter_map(|audience| match audience {
            Audience::Owner(subject) => Some(subject.clone()),
            Audience::Approver(_) => None,
        });
        owners.collect()
    }

    /// Whether the followers of this subject's lists were told last of something else.
    pub(super) fn is_news(&self, subject: &Subject, chat: &ChatId, len: u64) -> bool {
        let channels = self.lock();
        let listeners = channels.by_audience.get(&Audience::Owner(subject.clone()));
        let told = listeners.and_then(|listeners| listeners.told.as_ref());
        told.is_none_or(|(known, known_len)| known != chat || *known_len < len)
    }

    /// Tells the owner of a chat.
    pub(super) fn tell(&self, subject: &Subject, chat: &ChatId, len: Option<u64>, approvals: bool) {
        let change = Change::Chat { chat: chat.clone(), approvals };
        self.send(Audience::Owner(subject.clone()), change, len.map(|len| (chat.clone(), len)));
    }

    /// Tells those who may decide in somebody else's chat.
    pub(super) fn tell_approvers(&self, approvers: &[Approver], chat: &ChatId) {
        for approver in approvers {
            self.send(Audience::Approver(approver.clone()), Change::Approvals { chat: chat.clone() }, None);
        }
    }

    fn send(&self, audience: Audience, change: Change, told: Option<(ChatId, u64)>) {
        let channels = &mut self.lock().by_audience;
        let Some(listeners) = channels.get_mut(&audience) else { return };
        listeners.told = told;
        if listeners.channel.send(change).is_err() {
            channels.remove(&audience);
        }
    }

    /// Tells all approvers that changes may have been missed.
    pub(super) fn missed_by_approvers(&self) {
        self.lock().by_audience.retain(|audience, listeners| {
            matches!(audience, Audience::Owner(_)) || listeners.channel.send(Change::Missed).is_ok()
        });
    }

    /// Tells everybody that changes were missed.
    pub(super) fn missed(&self) {
        self.lock().by_audience.retain(|_, listeners| listeners.channel.send(Change::Missed).is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Role;

    fn approver(name: &str, groups: &[&str]) -> Identity {
        Identity::new(name).with_roles([Role::Approver]).with_groups(groups.iter().copied())
    }

    /// What has come so far.
    fn heard(changes: &mut Changes) -> Vec<Change> {
        let mut all = Vec::new();
        for receiver in &mut changes.0 {
            all.extend(std::iter::from_fn(|| receiver.try_recv().ok()));
        }
        all
    }

    #[test]
    fn only_those_who_listen_are_told_and_nothing_is_kept_for_others() {
        let changes = ChangeChannels::default();
        let (ann, bob) = (Subject::from("ann"), Subject::from("bob"));
        changes.tell(&ann, &"before".into(), None, true);
        let (mut anns, mut bobs) = (changes.of(&ann.clone().into()), changes.of(&bob.clone().into()));
        changes.tell(&ann, &"c".into(), Some(3), true);
        assert!(!changes.is_news(&ann, &"c".into(), 3) && changes.is_news(&ann, &"c".into(), 4));
        assert_eq!(heard(&mut anns), [Change::Chat { chat: "c".into(), approvals: true }]);
        assert!(heard(&mut bobs).is_empty(), "a change of somebody else's wakes nobody");
        changes.missed();
        assert_eq!((heard(&mut anns), heard(&mut bobs)), (vec![Change::Missed], vec![Change::Missed]));
        drop(anns);
        changes.tell(&ann, &"d".into(), None, false);
        assert_eq!(changes.lock().by_audience.len(), 1);
        drop(bobs);
        for number in 0..1000 {
            changes.of(&Identity::new(&*format!("visitor {number}")));
        }
        assert!(changes.lock().by_audience.len() <= 64);
    }

    #[test]
    fn approvers_hear_of_what_names_them_and_of_nothing_else() {
        let changes = ChangeChannels::default();
        let mut finance = changes.of(&approver("bob", &["finance"]));
        let mut sales = changes.of(&approver("eve", &["sales"]));
        let mut no_approver = changes.of(&Identity::new("fred").with_groups(["finance"]));
        changes.tell_approvers(&["group:finance".parse().expect("a group")], &"c".into());
        assert_eq!(heard(&mut finance), [Change::Approvals { chat: "c".into() }]);
        assert!(heard(&mut sales).is_empty() && heard(&mut no_approver).is_empty());
        changes.tell_approvers(&["subject:eve".parse().expect("a subject")], &"d".into());
        assert_eq!(heard(&mut sales), [Change::Approvals { chat: "d".into() }]);
        changes.missed_by_approvers();
        assert!(heard(&mut no_approver).is_empty());
    }
}
