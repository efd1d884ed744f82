//! The turns that run on this node, and their limits.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use holdpoint_protocol::ids::ChatId;
use tokio::sync::Notify;

use super::Limits;
use crate::{log::Usage, subject::Subject, turn::Refusal};

/// The running turns.
#[derive(Debug, Default)]
pub(super) struct Running {
    index: Mutex<Index>,
    /// Signalled when a turn has ended.
    ended: Notify,
}

#[derive(Debug, Default)]
struct Index {
    by_subject: HashMap<Subject, HashSet<ChatId>>,
    turns: usize,
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of running turns.
    pub(super) fn turns(&self) -> usize {
        self.lock().turns
    }

    /// A place for a new turn, unless a limit prevents it. With `is_open`, something waits in the chat, so it is counted
    /// already.
    pub(super) fn begin(
        self: &Arc<Self>,
        chat: &ChatId,
        subject: &Subject,
        limits: &Limits,
        elsewhere: Usage,
        is_open: bool,
    ) -> Result<Place, Refusal> {
        let mut index = self.lock();
        if index.turns >= limits.turns {
            return Err(Refusal::Turns { limit: limits.turns });
        }
        let here = index.by_subject.get(subject).map_or(0, HashSet::len);
        if here + elsewhere.running >= limits.turns_per_subject {
            return Err(Refusal::TurnsOfSubject { limit: limits.turns_per_subject });
        }
        if !is_open && here + elsewhere.open >= limits.open_chats_per_subject {
            return Err(Refusal::OpenChats { limit: limits.open_chats_per_subject });
        }
        index.run(chat, subject);
        drop(index);
        Ok(Place { running: Arc::clone(self), chat: chat.clone(), subject: subject.clone() })
    }

    /// A place for a turn that resumes. It has begun, so no limit applies.
    pub(super) fn resume(self: &Arc<Self>, chat: &ChatId, subject: &Subject) -> Place {
        self.lock().run(chat, subject);
        Place { running: Arc::clone(self), chat: chat.clone(), subject: subject.clone() }
    }

    /// Waits until one more turn may run.
    pub(super) async fn room(&self, limits: &Limits) {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            ended.as_mut().enable();
            if self.turns() < limits.turns {
                return;
            }
            ended.await;
        }
    }
}

impl Index {
    fn run(&mut self, chat: &ChatId, subject: &Subject) {
        self.turns += usize::from(self.by_subject.entry(subject.clone()).or_default().insert(chat.clone()));
    }
}

/// The place of a turn among the running turns, released on drop.
pub(super) struct Place {
    running: Arc<Running>,
    chat: ChatId,
    subject: Subject,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut index = self.running.lock();
        if let Some(chats) = index.by_subject.get_mut(&self.subject)
            && chats.remove(&self.chat)
        {
            if chats.is_empty() {
                index.by_subject.remove(&self.subject);
            }
            index.turns -= 1;
        }
        drop(index);
        self.running.ended.notify_waiters();
    }
}
