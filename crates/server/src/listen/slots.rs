//! The slots of open connections. Idle connections give way to new ones.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::task::AbortHandle;

use super::ConnectionLimits;

/// The open connections.
pub(super) struct Slots {
    /// The maximum number of connections, and of busy ones before ordinary requests are refused.
    all: usize,
    ordinary: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    open: HashMap<u64, Open>,
    /// The idle connections, by the time since when they are idle.
    idle: BTreeMap<u64, u64>,
    busy: usize,
}

#[derive(Default)]
struct Open {
    /// Its key among the idle ones; `None` while it has a request.
    idle: Option<u64>,
    task: Option<AbortHandle>,
}

impl Slots {
    pub(super) fn new(limits: &ConnectionLimits) -> Self {
        let ordinary = limits.connections;
        Self { all: ordinary.saturating_add(limits.reserved), ordinary, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot for a new connection. If all are taken, the connection that has been idle longest is closed. `None` if
    /// none is idle.
    pub(super) fn open(self: &Arc<Self>) -> Option<Slot> {
        let mut state = self.lock();
        if state.open.len() >= self.all && !state.close_idle() {
            return None;
        }
        let id = state.tick();
        state.open.insert(id, Open { idle: Some(id), task: None });
        state.idle.insert(id, id);
        Some(Slot(Handle { slots: Arc::clone(self), id }))
    }

    /// Closes the connection that has been idle longest, if any.
    pub(super) fn close_idle(&self) -> bool {
        self.lock().close_idle()
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn close_idle(&mut self) -> bool {
        let Some((_, id)) = self.idle.pop_first() else { return false };
        if let Some(task) = self.open.remove(&id).and_then(|open| open.task) {
            task.abort();
        }
        true
    }
}

/// The slot of an open connection, released on drop.
pub(super) struct Slot(Handle);

impl Slot {
    pub(super) fn handle(&self) -> Handle {
        self.0.clone()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.0.slots.lock();
        match state.open.remove(&self.0.id) {
            Some(Open { idle: Some(idle), .. }) => drop(state.idle.remove(&idle)),
            Some(Open { idle: None, .. }) => state.busy -= 1,
            // It was closed in favor of another.
            None => {}
        }
    }
}

/// A handle that counts the requests of a connection.
#[derive(Clone)]
pub(super) struct Handle {
    slots: Arc<Slots>,
    id: u64,
}

impl Handle {
    /// Sets the task to abort when the connection is closed.
    pub(super) fn runs(&self, task: AbortHandle) {
        if let Some(open) = self.slots.lock().open.get_mut(&self.id) {
            open.task = Some(task);
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.slots.lock().open.get(&self.id).is_some_and(|open| open.idle.is_none())
    }

    /// Begins a request; `None` if too many are in progress.
    pub(super) fn begin(&self, is_reserved: bool) -> Option<Request> {
        let mut state = self.slots.lock();
        if !is_reserved && state.busy >= self.slots.ordinary {
            return None;
        }
        let idle = state.open.get_mut(&self.id)?.idle.take()?;
        state.idle.remove(&idle);
        state.busy += 1;
        Some(Request { handle: self.clone(), is_kept: false })
    }
}

/// A request in progress. Dropping it makes its connection idle.
pub(super) struct Request {
    handle: Handle,
    is_kept: bool,
}

impl Request {
    /// Keeps the connection busy until it ends, because another protocol has taken it over.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let mut state = self.handle.slots.lock();
        let now = state.tick();
        if let Some(open) = state.open.get_mut(&self.handle.id) {
            open.idle = Some(now);
            state.idle.insert(now, self.handle.id);
            state.busy -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of open, idle and busy connections.
    fn count(slots: &Slots) -> (usize, usize, usize) {
        let state = slots.lock();
        (state.open.len(), state.idle.len(), state.busy)
    }

    fn slots(connections: usize, reserved: usize) -> Arc<Slots> {
        Arc::new(Slots::new(&ConnectionLimits { connections, reserved, ..ConnectionLimits::default() }))
    }

    #[test]
    fn a_new_connection_takes_the_place_of_the_longest_idle_one() {
        let slots = slots(2, 1);
        let (first, second, third) = (slots.open().expect("1"), slots.open().expect("2"), slots.open().expect("3"));
        // The first is busy and idle again, so the second has been idle longest.
        drop(first.handle().begin(false).expect("a request"));
        let fourth = slots.open().expect("4, in place of the second");
        assert!(second.handle().begin(true).is_none(), "it is closed");
        drop(second);
        for slot in [&first, &third, &fourth] {
            assert!(slot.handle().begin(false).is_some());
        }
        assert_eq!(count(&slots), (3, 3, 0));
    }

    #[test]
    fn the_reserve_is_for_reserved_requests() {
        let slots = slots(2, 1);
        let open: Vec<Slot> = (0..3).map(|_| slots.open().expect("a place")).collect();
        let one = open[0].handle().begin(false).expect("below the limit");
        let two = open[1].handle().begin(false).expect("at the limit");
        assert!(open[2].handle().begin(false).is_none(), "above the limit");
        let reserved = open[2].handle().begin(true).expect("the reserve");
        assert!(slots.open().is_none(), "every connection has a request");
        assert!(!slots.close_idle());
        drop(reserved);
        assert!(open[2].handle().begin(false).is_none());
        drop(one);
        let third = open[2].handle().begin(false).expect("one is free again");
        // A WebSocket is busy until its connection ends.
        two.keep();
        assert!(open[0].handle().begin(false).is_none());
        drop(third);
        drop(open);
        assert_eq!(count(&slots), (0, 0, 0));
    }
}
