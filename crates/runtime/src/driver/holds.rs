//! What waits, over all chats: the inbox, and the deadlines. One task keeps the time.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use holdpoint_protocol::{
    holds::DecisionKind,
    ids::{ApprovalId, ChatId, ToolCallId},
    json,
    request::PendingApproval,
};
use tokio::sync::{Notify, broadcast};

use super::Hold;
use crate::{
    clock::{Clock, Timestamp},
    subject::Subject,
};

/// Something changed that a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Whose.
    pub subject: Subject,
    /// In which chat.
    pub chat: ChatId,
    /// Whether what waits for approval changed.
    pub approvals: bool,
}

/// When a chat is told again that a deadline has come.
const AGAIN: Duration = Duration::from_secs(1);

/// All that waits, in memory; folded from the heads when the server starts.
#[derive(Debug)]
pub(super) struct Holds {
    index: Mutex<Index>,
    earlier: Notify,
    changes: broadcast::Sender<Change>,
}

#[derive(Debug, Default)]
struct Index {
    chats: HashMap<ChatId, (Subject, Vec<Arc<Hold>>)>,
    /// Oldest first for each subject.
    approvals: BTreeMap<(Subject, Timestamp, ApprovalId), (ChatId, Arc<Hold>)>,
    deadlines: BTreeMap<(Timestamp, ToolCallId), ChatId>,
}

impl Holds {
    pub(super) fn new() -> Self {
        Self { index: Mutex::default(), earlier: Notify::new(), changes: broadcast::Sender::new(1024) }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits in a chat from now on.
    pub(super) fn set(&self, chat: &ChatId, subject: &Subject, holds: Vec<Hold>) {
        let mut index = self.lock();
        let first = index.deadlines.keys().next().cloned();
        let before = index.remove(chat);
        let asks = |holds: &[Arc<Hold>]| -> Vec<ApprovalId> {
            holds.iter().filter_map(|hold| Some(hold.question.as_ref()?.approval.clone())).collect()
        };
        let holds: Vec<Arc<Hold>> = holds.into_iter().map(Arc::new).collect();
        let approvals = asks(&before) != asks(&holds);
        index.insert(chat, subject, holds);
        let is_earlier = index.deadlines.keys().next().cloned() != first;
        drop(index);
        if is_earlier {
            self.earlier.notify_one();
        }
        // Nobody listening is no failure.
        let _ = self.changes.send(Change { subject: subject.clone(), chat: chat.clone(), approvals });
    }

    /// The inbox of a subject, oldest first.
    pub(super) fn approvals(&self, subject: &Subject) -> Vec<PendingApproval> {
        let index = self.lock();
        let from = (subject.clone(), Timestamp(0), ApprovalId::from(""));
        let own = index.approvals.range(from..).take_while(|((owner, ..), _)| owner == subject);
        own.map(|((_, asked_at, approval), (chat, hold))| PendingApproval {
            approval_id: approval.clone(),
            tool_call_id: hold.call.clone(),
            chat_id: chat.clone(),
            tool_name: hold.name.to_string(),
            input: json::parse(hold.input.as_bytes()).unwrap_or_default(),
            reason: hold.question.as_ref().map(|question| question.reason.to_string()),
            requested_at: asked_at.iso8601(),
            expires_at: hold.deadline.map(Timestamp::iso8601),
            allowed: vec![DecisionKind::Approve, DecisionKind::Deny],
        })
        .collect()
    }

    /// How many holds there are.
    pub(super) fn len(&self) -> usize {
        self.lock().chats.values().map(|(_, holds)| holds.len()).sum()
    }

    pub(super) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Waits until the next deadline has come, and gives it.
    pub(super) async fn next_expired(&self, clock: &dyn Clock) -> (ChatId, ToolCallId) {
        loop {
            let next = self.lock().deadlines.iter().next().map(|((at, call), chat)| (*at, call.clone(), chat.clone()));
            match next {
                Some((at, call, chat)) if at <= clock.now() => {
                    let mut index = self.lock();
                    index.deadlines.remove(&(at, call.clone()));
                    if index.has(&chat, &call) {
                        // Should the chat not get round to it, it is told again.
                        index.deadlines.insert((clock.now().after(AGAIN), call.clone()), chat.clone());
                        return (chat, call);
                    }
                }
                Some((at, ..)) => tokio::select! {
                    () = clock.sleep_until(at) => {}
                    () = self.earlier.notified() => {}
                },
                None => self.earlier.notified().await,
            }
        }
    }
}

impl Index {
    fn has(&self, chat: &ChatId, call: &ToolCallId) -> bool {
        self.chats.get(chat).is_some_and(|(_, holds)| holds.iter().any(|hold| hold.call == *call))
    }

    fn remove(&mut self, chat: &ChatId) -> Vec<Arc<Hold>> {
        let Some((subject, holds)) = self.chats.remove(chat) else { return Vec::new() };
        for hold in &holds {
            if let Some(question) = &hold.question {
                self.approvals.remove(&(subject.clone(), question.asked_at, question.approval.clone()));
            }
            if let Some(deadline) = hold.deadline {
                self.deadlines.remove(&(deadline, hold.call.clone()));
            }
        }
        holds
    }

    fn insert(&mut self, chat: &ChatId, subject: &Subject, holds: Vec<Arc<Hold>>) {
        if holds.is_empty() {
            return;
        }
        for hold in &holds {
            if let Some(question) = &hold.question {
                let key = (subject.clone(), question.asked_at, question.approval.clone());
                self.approvals.insert(key, (chat.clone(), Arc::clone(hold)));
            }
            if let Some(deadline) = hold.deadline {
                self.deadlines.insert((deadline, hold.call.clone()), chat.clone());
            }
        }
        self.chats.insert(chat.clone(), (subject.clone(), holds));
    }
}
