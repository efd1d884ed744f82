//! The running calls of a server, so that its prompts reach the right user.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rmcp::model::{ProgressToken, RequestId};
use tokio::sync::{Notify, watch};

use crate::ToolContext;

/// The running calls of one server.
#[derive(Default)]
pub(super) struct Calls {
    running: Mutex<(u64, BTreeMap<u64, Running>)>,
    /// Notified when a call gets its request id or ends.
    changed: Notify,
}

struct Running {
    /// Known once the request has been sent.
    request: Option<RequestId>,
    /// What the server names the call by in its progress; known at the same time.
    progress: Option<ProgressToken>,
    prompter: CallPrompter,
    /// Until when the server may still be working on an abandoned call, which its prompts may belong to.
    abandoned_until: Option<Instant>,
}

/// How long a server may continue with a call after its cancellation.
const CANCEL_GRACE: Duration = Duration::from_secs(60);

/// Prompts the user on behalf of a call, whose timeout is paused meanwhile.
#[derive(Clone)]
pub(super) struct CallPrompter {
    pub(super) context: ToolContext,
    open: Arc<watch::Sender<usize>>,
}

/// A running call, until dropped.
pub(super) struct Entry {
    calls: Arc<Calls>,
    key: u64,
    open: watch::Receiver<usize>,
}

/// The call that a prompt belongs to.
pub(super) enum PromptOwner {
    /// This call.
    Call(CallPrompter),
    /// It is ambiguous, or nothing is running.
    Unknown,
}

impl Calls {
    pub(super) fn enter(self: &Arc<Self>, context: ToolContext) -> Entry {
        let (open, watching) = watch::channel(0);
        let prompter = CallPrompter { context, open: Arc::new(open) };
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.0 += 1;
        let key = running.0;
        running.1.retain(|_, call| call.abandoned_until.is_none_or(|until| until > Instant::now()));
        running.1.insert(key, Running { request: None, progress: None, prompter, abandoned_until: None });
        Entry { calls: Arc::clone(self), key, open: watching }
    }

    /// The running call that a progress is of.
    pub(super) fn of_progress(&self, token: &ProgressToken) -> Option<ToolContext> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = running.1.values().filter(|call| call.abandoned_until.is_none());
        running.find(|call| call.progress.as_ref() == Some(token)).map(|call| call.prompter.context.clone())
    }

    /// Finds the call of a prompt by its request. Without one, only if all running calls belong to one chat, since a
    /// prompt must not reach another user.
    pub(super) async fn owner_of(&self, request: Option<&RequestId>) -> PromptOwner {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
                running.1.retain(|_, call| call.abandoned_until.is_none_or(|until| until > Instant::now()));
                let mut all = running.1.values();
                match request {
                    Some(request) => {
                        if let Some(found) = all.clone().find(|running| running.request.as_ref() == Some(request)) {
                            return match found.abandoned_until {
                                None => PromptOwner::Call(found.prompter.clone()),
                                Some(_) => PromptOwner::Unknown,
                            };
                        }
                        // The prompt may arrive before the request id is recorded.
                        if all.all(|running| running.request.is_some()) {
                            return PromptOwner::Unknown;
                        }
                    }
                    None => {
                        let Some(first) = all.clone().find(|running| running.abandoned_until.is_none()) else {
                            return PromptOwner::Unknown;
                        };
                        let is_one_chat = all.all(|other| other.prompter.context.chat == first.prompter.context.chat);
                        return if is_one_chat {
                            PromptOwner::Call(first.prompter.clone())
                        } else {
                            PromptOwner::Unknown
                        };
                    }
                }
            }
            changed.await;
        }
    }
}

impl CallPrompter {
    /// Pauses the call's timeout for as long as the guard lives.
    pub(super) fn pause(&self) -> TimeoutPause {
        self.open.send_modify(|open| *open += 1);
        TimeoutPause(Arc::clone(&self.open))
    }
}

/// Pauses a call's timeout.
pub(super) struct TimeoutPause(Arc<watch::Sender<usize>>);

impl Drop for TimeoutPause {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

impl Entry {
    /// Records how the server names the call.
    pub(super) fn sent(&self, request: RequestId, progress: ProgressToken) {
        let mut running = self.calls.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = running.1.get_mut(&self.key) {
            running.request = Some(request);
            running.progress = Some(progress);
        }
        drop(running);
        self.calls.changed.notify_waiters();
    }

    /// Number of open prompts.
    pub(super) fn open_prompts(&self) -> watch::Receiver<usize> {
        self.open.clone()
    }
}

impl Entry {
    /// The server has responded, so the call is over.
    pub(super) fn answered(&self) {
        self.calls.running.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&self.key);
        self.calls.changed.notify_waiters();
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut running = self.calls.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.1.get_mut(&self.key) {
            Some(call) if call.request.is_some() => call.abandoned_until = Some(Instant::now() + CANCEL_GRACE),
            _ => drop(running.1.remove(&self.key)),
        }
        drop(running);
        self.calls.changed.notify_waiters();
    }
}
