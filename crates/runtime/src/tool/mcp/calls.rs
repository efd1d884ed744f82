//! Which calls are running, so that what a server asks meanwhile gets to the right person.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rmcp::model::RequestId;
use tokio::sync::{Notify, watch};

use crate::tool::ToolContext;

/// The running calls of one server.
#[derive(Default)]
pub(super) struct Calls {
    running: Mutex<(u64, BTreeMap<u64, Running>)>,
    /// A call got its id, or is over.
    changed: Notify,
}

struct Running {
    /// Known once the request is on its way.
    request: Option<RequestId>,
    asker: Asker,
    /// Until when the server may still be busy with a call that nobody waits for any more: what it asks meanwhile may be of that.
    given_up: Option<Instant>,
}

/// How long a server may go on with a call after it was told that nobody waits for it.
const GIVEN_UP: Duration = Duration::from_secs(60);

/// Asks on behalf of a call, whose clock stands still meanwhile.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) context: ToolContext,
    open: Arc<watch::Sender<usize>>,
}

/// A call that is running, until it is dropped.
pub(super) struct Entry {
    calls: Arc<Calls>,
    key: u64,
    open: watch::Receiver<usize>,
}

/// Whose question it is.
pub(super) enum Whose {
    /// This call's.
    Of(Asker),
    /// It can't be told, or nothing is running.
    Unknown,
}

impl Calls {
    pub(super) fn enter(self: &Arc<Self>, context: ToolContext) -> Entry {
        let (open, watching) = watch::channel(0);
        let asker = Asker { context, open: Arc::new(open) };
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.0 += 1;
        let key = running.0;
        running.1.retain(|_, call| call.given_up.is_none_or(|until| until > Instant::now()));
        running.1.insert(key, Running { request: None, asker, given_up: None });
        Entry { calls: Arc::clone(self), key, open: watching }
    }

    /// Whose a question is that came with this request, or with none: then only if all that runs is of one chat, since a question
    /// must not get to somebody else.
    pub(super) async fn whose(&self, request: Option<&RequestId>) -> Whose {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
                running.1.retain(|_, call| call.given_up.is_none_or(|until| until > Instant::now()));
                let mut all = running.1.values();
                match request {
                    Some(request) => {
                        if let Some(found) = all.clone().find(|running| running.request.as_ref() == Some(request)) {
                            return match found.given_up {
                                None => Whose::Of(found.asker.clone()),
                                Some(_) => Whose::Unknown,
                            };
                        }
                        // The answer may be quicker than the note of which request it is.
                        if all.all(|running| running.request.is_some()) {
                            return Whose::Unknown;
                        }
                    }
                    None => {
                        let Some(first) = all.clone().find(|running| running.given_up.is_none()) else {
                            return Whose::Unknown;
                        };
                        let is_one_chat = all.all(|other| other.asker.context.chat == first.asker.context.chat);
                        return if is_one_chat { Whose::Of(first.asker.clone()) } else { Whose::Unknown };
                    }
                }
            }
            changed.await;
        }
    }
}

impl Asker {
    /// The call's clock stands still for as long as this is kept.
    pub(super) fn pause(&self) -> Pause {
        self.open.send_modify(|open| *open += 1);
        Pause(Arc::clone(&self.open))
    }
}

/// Keeps a call's clock from running.
pub(super) struct Pause(Arc<watch::Sender<usize>>);

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

impl Entry {
    /// The request that the call is.
    pub(super) fn sent(&self, request: RequestId) {
        let mut running = self.calls.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = running.1.get_mut(&self.key) {
            running.request = Some(request);
        }
        drop(running);
        self.calls.changed.notify_waiters();
    }

    /// How many questions are open.
    pub(super) fn questions(&self) -> watch::Receiver<usize> {
        self.open.clone()
    }
}

impl Entry {
    /// The server has answered: nothing more comes of this call.
    pub(super) fn answered(&self) {
        self.calls.running.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&self.key);
        self.calls.changed.notify_waiters();
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut running = self.calls.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.1.get_mut(&self.key) {
            Some(call) if call.request.is_some() => call.given_up = Some(Instant::now() + GIVEN_UP),
            _ => drop(running.1.remove(&self.key)),
        }
        drop(running);
        self.calls.changed.notify_waiters();
    }
}
