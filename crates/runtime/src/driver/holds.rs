//! The open work of all chats: the inbox, the deadlines, and the running turns.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use holdpoint_protocol::{
    holds::DecisionKind,
    ids::{ApprovalId, ChatId, ToolCallId},
    json,
    request::PendingApproval,
};
use tokio::sync::Notify;

use super::{Hold, Limits, OpenHold, changes::Changes};
use crate::{
    clock::{Clock, Timestamp},
    metrics::{Age, HoldKind, Waiting},
    subject::Subject,
    turn::Refusal,
};

/// The time after which a deadline is delivered again.
const REDELIVERY_INTERVAL: Duration = Duration::from_secs(1);

/// The index of open work, in memory. It is built from the heads when the server starts.
#[derive(Debug, Default)]
pub(super) struct Holds {
    index: Mutex<Index>,
    earlier: Notify,
    /// Signalled when a turn has ended.
    ended: Notify,
    pub(super) changes: Changes,
}

#[derive(Debug, Default)]
struct Index {
    chats: HashMap<ChatId, (Subject, Vec<Arc<Hold>>)>,
    /// The number of those chats per subject.
    by_subject: HashMap<Subject, usize>,
    /// Per subject, oldest first.
    approvals: BTreeMap<(Subject, Timestamp, ApprovalId), (ChatId, Arc<Hold>)>,
    deadlines: BTreeMap<(Timestamp, ToolCallId), ChatId>,
    /// The chats with a running turn.
    running: HashMap<Subject, HashSet<ChatId>>,
    turns: usize,
}

impl Holds {
    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the holds of a chat.
    pub(super) fn set(&self, chat: &ChatId, subject: &Subject, holds: Vec<Hold>) {
        let mut index = self.lock();
        let first = index.deadlines.keys().next().cloned();
        let before = index.remove(chat);
        let asks = |holds: &[Arc<Hold>]| -> Vec<ApprovalId> {
            holds.iter().filter_map(|hold| Some(hold.request.as_ref()?.approval.clone())).collect()
        };
        let holds: Vec<Arc<Hold>> = holds.into_iter().map(Arc::new).collect();
        let approvals = asks(&before) != asks(&holds);
        index.insert(chat, subject, holds);
        let is_earlier = index.deadlines.keys().next().cloned() != first;
        drop(index);
        if is_earlier {
            self.earlier.notify_one();
        }
        self.changes.tell(subject, chat, approvals);
    }

    /// The open holds of a subject, by chat.
    pub(super) fn of(&self, subject: &Subject) -> Vec<OpenHold> {
        let index = self.lock();
        let own = index.chats.iter().filter(|(_, (owner, _))| owner == subject);
        let holds = own.flat_map(|(chat, (_, holds))| holds.iter().map(move |hold| (chat, hold)));
        let mut open: Vec<OpenHold> =
            holds.map(|(chat, hold)| OpenHold { chat: chat.clone(), hold: Hold::clone(hold) }).collect();
        drop(index);
        open.sort_by(|a, b| (&a.chat, a.hold.since, &a.hold.call).cmp(&(&b.chat, b.hold.since, &b.hold.call)));
        open
    }

    /// The inbox of a subject, oldest first.
    pub(super) fn approvals(&self, subject: &Subject) -> Vec<PendingApproval> {
        // Parse the inputs after releasing the lock: they can be many, and large.
        let own: Vec<_> = {
            let index = self.lock();
            let from = (subject.clone(), Timestamp(0), ApprovalId::from(""));
            let own = index.approvals.range(from..).take_while(|((owner, ..), _)| owner == subject);
            own.map(|((_, asked_at, approval), (chat, hold))| {
                (*asked_at, approval.clone(), chat.clone(), Arc::clone(hold))
            })
            .collect()
        };
        own.into_iter()
            .map(|(asked_at, approval_id, chat_id, hold)| PendingApproval {
                approval_id,
                tool_call_id: hold.call.clone(),
                chat_id,
                tool_name: hold.name.to_string(),
                input: json::parse(hold.input.as_bytes()).unwrap_or_default(),
                reason: hold.request.as_ref().map(|request| request.reason.to_string()),
                requested_at: asked_at.iso8601(),
                expires_at: hold.deadline.map(Timestamp::iso8601),
                allowed: vec![DecisionKind::Approve, DecisionKind::Deny],
            })
            .collect()
    }

    /// The total size in bytes of the inputs in a subject's inbox.
    pub(super) fn approvals_bytes(&self, subject: &Subject) -> usize {
        let index = self.lock();
        let from = (subject.clone(), Timestamp(0), ApprovalId::from(""));
        let own = index.approvals.range(from..).take_while(|((owner, ..), _)| owner == subject);
        own.map(|(_, (_, hold))| hold.input.len()).sum()
    }

    /// The current holds, for the metrics.
    pub(super) fn waiting(&self, now: Timestamp) -> Waiting {
        let index = self.lock();
        let mut counts: HashMap<(Box<str>, HoldKind, Age), u64> = HashMap::new();
        let mut oldest: HashMap<HoldKind, f64> = HashMap::new();
        for hold in index.chats.values().flat_map(|(_, holds)| holds) {
            let since = hold.since.or(hold.request.as_ref().map(|request| request.asked_at));
            let age = since.map_or(0.0, |since| now.0.saturating_sub(since.0) as f64 / 1000.0);
            let kind = HoldKind::of(hold);
            *counts.entry((hold.name.clone(), kind, Age::of(age))).or_default() += 1;
            let oldest = oldest.entry(kind).or_default();
            *oldest = oldest.max(age);
        }
        let holds = counts.into_iter().map(|((tool, kind, age), count)| (tool, kind, age, count)).collect();
        Waiting { chats: index.chats.len(), awake: 0, running: 0, holds, oldest: oldest.into_iter().collect() }
    }

    /// The number of holds.
    pub(super) fn len(&self) -> usize {
        self.lock().chats.values().map(|(_, holds)| holds.len()).sum()
    }

    /// The number of running turns.
    pub(super) fn turns(&self) -> usize {
        self.lock().turns
    }

    /// A place for a new turn, unless a limit prevents it.
    pub(super) fn begin(self: &Arc<Self>, chat: &ChatId, subject: &Subject, limits: &Limits) -> Result<Place, Refusal> {
        let mut index = self.lock();
        index.refusal(chat, subject, limits).map_or(Ok(()), Err)?;
        index.run(chat, subject);
        drop(index);
        Ok(Place { holds: Arc::clone(self), chat: chat.clone(), subject: subject.clone() })
    }

    /// A place for a turn that resumes. It has begun, so no limit applies.
    pub(super) fn resume(self: &Arc<Self>, chat: &ChatId, subject: &Subject) -> Place {
        self.lock().run(chat, subject);
        Place { holds: Arc::clone(self), chat: chat.clone(), subject: subject.clone() }
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

    /// Waits for the next deadline and returns it.
    pub(super) async fn next_expired(&self, clock: &dyn Clock) -> (ChatId, ToolCallId) {
        loop {
            let next = self.lock().deadlines.iter().next().map(|((at, call), chat)| (*at, call.clone(), chat.clone()));
            match next {
                Some((at, call, chat)) if at <= clock.now() => {
                    let mut index = self.lock();
                    index.deadlines.remove(&(at, call.clone()));
                    if index.has(&chat, &call) {
                        // If the chat does not handle it, deliver it again.
                        index.deadlines.insert((clock.now().after(REDELIVERY_INTERVAL), call.clone()), chat.clone());
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

/// The place of a turn among the running turns, released on drop.
pub(super) struct Place {
    holds: Arc<Holds>,
    chat: ChatId,
    subject: Subject,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut index = self.holds.lock();
        if let Some(chats) = index.running.get_mut(&self.subject)
            && chats.remove(&self.chat)
        {
            if chats.is_empty() {
                index.running.remove(&self.subject);
            }
            index.turns -= 1;
        }
        drop(index);
        self.holds.ended.notify_waiters();
    }
}

impl Index {
    fn has(&self, chat: &ChatId, call: &ToolCallId) -> bool {
        self.chats.get(chat).is_some_and(|(_, holds)| holds.iter().any(|hold| hold.call == *call))
    }

    fn run(&mut self, chat: &ChatId, subject: &Subject) {
        self.turns += usize::from(self.running.entry(subject.clone()).or_default().insert(chat.clone()));
    }

    /// The limit that prevents a new turn in a chat without a running one.
    fn refusal(&self, chat: &ChatId, subject: &Subject, limits: &Limits) -> Option<Refusal> {
        if self.turns >= limits.turns {
            return Some(Refusal::Turns { limit: limits.turns });
        }
        let running = self.running.get(subject);
        if running.map_or(0, HashSet::len) >= limits.turns_per_subject {
            return Some(Refusal::TurnsOfSubject { limit: limits.turns_per_subject });
        }
        if self.chats.contains_key(chat) {
            return None;
        }
        let holding = self.by_subject.get(subject).copied().unwrap_or_default();
        let only_running = running.into_iter().flatten().filter(|chat| !self.chats.contains_key(*chat)).count();
        let limit = limits.open_chats_per_subject;
        (holding + only_running >= limit).then_some(Refusal::OpenChats { limit })
    }

    fn remove(&mut self, chat: &ChatId) -> Vec<Arc<Hold>> {
        let Some((subject, holds)) = self.chats.remove(chat) else { return Vec::new() };
        for hold in &holds {
            if let Some(request) = &hold.request {
                self.approvals.remove(&(subject.clone(), request.asked_at, request.approval.clone()));
            }
            if let Some(deadline) = hold.deadline {
                self.deadlines.remove(&(deadline, hold.call.clone()));
            }
        }
        if let Some(count) = self.by_subject.get_mut(&subject) {
            *count -= 1;
            if *count == 0 {
                self.by_subject.remove(&subject);
            }
        }
        holds
    }

    fn insert(&mut self, chat: &ChatId, subject: &Subject, holds: Vec<Arc<Hold>>) {
        if holds.is_empty() {
            return;
        }
        for hold in &holds {
            if let Some(request) = &hold.request {
                let key = (subject.clone(), request.asked_at, request.approval.clone());
                self.approvals.insert(key, (chat.clone(), Arc::clone(hold)));
            }
            if let Some(deadline) = hold.deadline {
                self.deadlines.insert((deadline, hold.call.clone()), chat.clone());
            }
        }
        *self.by_subject.entry(subject.clone()).or_default() += 1;
        self.chats.insert(chat.clone(), (subject.clone(), holds));
    }
}
