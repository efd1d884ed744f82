//! The slots of open connections. Idle connections give way to new ones.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use holdpoint_runtime::subject::Subject;
use tokio::task::AbortHandle;

use super::ConnectionLimits;
use crate::request::RouteClass;

/// The open connections.
pub(super) struct Slots {
    /// The maximum number of connections, and of busy ones before ordinary requests are refused.
    all: usize,
    ordinary: usize,
    /// The maximum number of busy connections of one subject, and of ordinary ones.
    per_subject: usize,
    reserved: usize,
    state: Mutex<State>,
}

/// The divisor for the share of one subject, if there can be several.
const SUBJECT_SHARE_DIVISOR: usize = 4;

#[derive(Default)]
struct State {
    next: u64,
    open: HashMap<u64, Open>,
    /// The idle connections, by the time since when they are idle.
    idle: BTreeMap<u64, u64>,
    busy: usize,
    /// The number of busy connections of each subject that has any.
    by_subject: HashMap<Subject, usize>,
}

#[derive(Default)]
struct Open {
    /// Its key among the idle ones; `None` while it has a request.
    idle: Option<u64>,
    task: Option<AbortHandle>,
    /// The class of its request, and whose it is.
    class: Option<RouteClass>,
    subject: Option<Subject>,
}

impl Slots {
    /// `is_shared`: whether there can be several subjects.
    pub(super) fn new(limits: &ConnectionLimits, is_shared: bool) -> Self {
        let ordinary = limits.connections;
        let share = if is_shared { ordinary.div_ceil(SUBJECT_SHARE_DIVISOR) } else { usize::MAX };
        Self {
            all: ordinary.saturating_add(limits.reserved),
            ordinary,
            per_subject: limits.per_subject.unwrap_or(share),
            reserved: limits.reserved,
            state: Mutex::default(),
        }
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
        state.open.insert(id, Open { idle: Some(id), ..Open::default() });
        state.idle.insert(id, id);
        Some(Slot(Handle { slots: Arc::clone(self), id }))
    }

    /// Closes the connection that has been idle longest, if any.
    pub(super) fn close_idle(&self) -> bool {
        self.lock().close_idle()
    }
}

impl State {
    /// The request of a connection has ended, or the connection has: it is no longer its subject's.
    fn release(&mut self, subject: Option<Subject>) {
        if let Some(subject) = subject
            && let Some(busy) = self.by_subject.get_mut(&subject)
        {
            *busy -= 1;
            if *busy == 0 {
                self.by_subject.remove(&subject);
            }
        }
    }

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
            Some(Open { idle: None, subject, .. }) => {
                state.busy -= 1;
                state.release(subject);
            }
            // It was closed in favor of another.
            None => {}
        }
    }
}

/// A handle that counts the requests of a connection.
#[derive(Clone)]
pub(crate) struct Handle {
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
    pub(super) fn begin(&self, class: RouteClass) -> Option<Request> {
        let mut state = self.slots.lock();
        if class == RouteClass::Ordinary && state.busy >= self.slots.ordinary {
            return None;
        }
        let open = state.open.get_mut(&self.id)?;
        open.class = Some(class);
        let idle = open.idle.take()?;
        state.idle.remove(&idle);
        state.busy += 1;
        Some(Request { handle: self.clone(), is_kept: false })
    }
}

impl Handle {
    /// Counts the request in progress as one of a subject. Fails with the limit if the subject has too many. Half of the
    /// reserve is also for a subject that has no other place left, so that it can decide, answer and stop.
    pub(crate) fn belongs_to(&self, subject: &Subject) -> Result<(), usize> {
        let (mut state, limit) = (self.slots.lock(), self.slots.per_subject);
        let Some(open) = state.open.get(&self.id).filter(|open| open.idle.is_none()) else { return Ok(()) };
        let extra = match open.class {
            Some(RouteClass::Monitoring | RouteClass::Release) => self.slots.reserved.div_ceil(2),
            Some(RouteClass::Ordinary) | None => 0,
        };
        if open.subject.is_some() {
            return Ok(());
        }
        let busy = state.by_subject.get(subject).copied().unwrap_or_default();
        if busy >= limit.saturating_add(extra) {
            return Err(limit);
        }
        *state.by_subject.entry(subject.clone()).or_default() += 1;
        if let Some(open) = state.open.get_mut(&self.id) {
            open.subject = Some(subject.clone());
        }
        Ok(())
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
            let subject = open.subject.take();
            state.idle.insert(now, self.handle.id);
            state.busy -= 1;
            state.release(subject);
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
        Arc::new(Slots::new(&ConnectionLimits { connections, reserved, ..ConnectionLimits::default() }, true))
    }

    #[test]
    fn a_new_connection_takes_the_place_of_the_longest_idle_one() {
        let slots = slots(2, 1);
        let (first, second, third) = (slots.open().expect("1"), slots.open().expect("2"), slots.open().expect("3"));
        // The first is busy and idle again, so the second has been idle longest.
        drop(first.handle().begin(RouteClass::Ordinary).expect("a request"));
        let fourth = slots.open().expect("4, in place of the second");
        assert!(second.handle().begin(RouteClass::Release).is_none(), "it is closed");
        drop(second);
        for slot in [&first, &third, &fourth] {
            assert!(slot.handle().begin(RouteClass::Ordinary).is_some());
        }
        assert_eq!(count(&slots), (3, 3, 0));
    }

    #[test]
    fn the_reserve_is_for_reserved_requests() {
        let slots = slots(2, 1);
        let open: Vec<Slot> = (0..3).map(|_| slots.open().expect("a place")).collect();
        let one = open[0].handle().begin(RouteClass::Ordinary).expect("below the limit");
        let two = open[1].handle().begin(RouteClass::Ordinary).expect("at the limit");
        assert!(open[2].handle().begin(RouteClass::Ordinary).is_none(), "above the limit");
        let reserved = open[2].handle().begin(RouteClass::Release).expect("the reserve");
        assert!(slots.open().is_none(), "every connection has a request");
        assert!(!slots.close_idle());
        drop(reserved);
        assert!(open[2].handle().begin(RouteClass::Ordinary).is_none());
        drop(one);
        let third = open[2].handle().begin(RouteClass::Ordinary).expect("one is free again");
        // A WebSocket is busy until its connection ends.
        two.keep();
        assert!(open[0].handle().begin(RouteClass::Ordinary).is_none());
        drop(third);
        drop(open);
        assert_eq!(count(&slots), (0, 0, 0));
    }

    #[test]
    fn one_subject_has_a_share() {
        let slots = slots(8, 2);
        let open: Vec<Slot> = (0..5).map(|_| slots.open().expect("a place")).collect();
        let (ann, bob) = (Subject::from("ann"), Subject::from("bob"));
        let mut requests = Vec::new();
        for (slot, taken) in open.iter().zip([Ok(()), Ok(()), Err(2)]) {
            requests.push(slot.handle().begin(RouteClass::Ordinary).expect("below the limit"));
            assert_eq!(slot.handle().belongs_to(&ann), taken);
            assert_eq!(slot.handle().belongs_to(&ann), taken, "once or twice, it is one request");
        }
        requests.push(open[3].handle().begin(RouteClass::Release).expect("the reserve"));
        assert_eq!(open[3].handle().belongs_to(&ann), Ok(()), "to decide, there is a place");
        assert_eq!(open[2].handle().belongs_to(&bob), Ok(()), "others have a share of their own");
        drop(requests.remove(0));
        requests.push(open[4].handle().begin(RouteClass::Ordinary).expect("below the limit"));
        assert_eq!(open[4].handle().belongs_to(&ann), Err(2), "the decision counts too");
        drop(requests.remove(2));
        assert_eq!(open[4].handle().belongs_to(&ann), Ok(()), "one is free again");
        // A WebSocket counts until its connection ends.
        requests.pop().expect("a request").keep();
        drop(requests);
        assert_eq!(slots.lock().by_subject.get(&ann), Some(&1));
        drop(open);
        assert!(slots.lock().by_subject.is_empty());
        assert_eq!(count(&slots), (0, 0, 0));
    }
}
