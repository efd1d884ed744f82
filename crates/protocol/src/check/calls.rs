//! The calls of a chat: complete for the current message, as hashes for older ones, and bounded in number.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::Value;

use crate::ids::ToolCallId;

/// How many settled calls of the current message are kept in full.
const MAX_SETTLED_CALLS: usize = 4096;
/// How many ids of earlier calls, messages and so on are kept as hashes. Older ones are forgotten.
const MAX_REMEMBERED_IDS: usize = 65_536;

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Its input is streaming or complete.
    Announced { available: bool },
    /// Its approval was requested.
    Asked,
    /// It has its outcome.
    Settled,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: Box<str>,
    pub(super) dynamic: bool,
    pub(super) provider_executed: bool,
    pub(super) step: u32,
    pub(super) state: State,
    /// Whether the request shows its outcome: the client's own result, or what the client was sent before.
    pub(super) has_outcome_in_request: bool,
    /// The segment in which its input began.
    pub(super) begun_in: Option<u32>,
    /// The segment in which its approval was requested.
    pub(super) asked_in: Option<u32>,
    /// The segment in which the same approval was requested again, because the client's answer is not in force.
    pub(super) asked_again_in: Option<u32>,
    /// A hash of the id of its approval request.
    pub(super) approval: Option<u64>,
    /// The segment in which it was announced again after that.
    pub(super) reannounced_in: Option<u32>,
    pub(super) preliminary: bool,
    /// A hash of its input, once that is complete.
    pub(super) input: Option<u64>,
    /// The line in which it was announced.
    pub(super) line: u64,
    /// The segment in which it was announced, and the number of steps before it there: calls with the same place are of
    /// one step, over SSE.
    pub(super) place: (u32, u32),
    /// The line and the segment of its outcome.
    pub(super) settled_at: Option<(u64, u32)>,
}

impl Call {
    /// The segment in which its approval was requested last.
    pub(super) fn last_asked_in(&self) -> Option<u32> {
        self.asked_in.max(self.asked_again_in)
    }
}

/// A hash of an input.
pub(super) fn hash_of(input: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    input.to_string().hash(&mut hasher);
    hasher.finish()
}

/// The calls of one message.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: HashMap<ToolCallId, Call>,
    settled: VecDeque<ToolCallId>,
    open: usize,
    /// Open calls that await an approval.
    pub(super) asked: usize,
}

impl Calls {
    pub(super) fn get(&self, id: &ToolCallId) -> Option<&Call> {
        self.calls.get(id)
    }

    /// The segment in which the call's input began.
    pub(super) fn begun_in(&self, id: &str) -> Option<u32> {
        self.calls.get(id)?.begun_in
    }

    pub(super) fn get_mut(&mut self, id: &ToolCallId) -> Option<&mut Call> {
        self.calls.get_mut(id)
    }

    pub(super) fn insert(&mut self, id: ToolCallId, call: Call) {
        self.open += usize::from(call.state != State::Settled);
        self.asked += usize::from(call.state == State::Asked);
        self.calls.insert(id, call);
    }

    pub(super) fn ask(&mut self, id: &ToolCallId, segment: u32, approval: u64) {
        if let Some(call) = self.calls.get_mut(id).filter(|call| matches!(call.state, State::Announced { .. })) {
            call.state = State::Asked;
            call.asked_in = Some(segment);
            call.approval = Some(approval);
            self.asked += 1;
        }
    }

    /// Records an approval that was requested again.
    pub(super) fn ask_again(&mut self, id: &ToolCallId, segment: u32) {
        if let Some(call) = self.calls.get_mut(id) {
            call.asked_again_in = Some(segment);
        }
    }

    /// Settles an open call. Returns the id of a call that was evicted to make room.
    pub(super) fn settle(&mut self, id: &ToolCallId) -> Option<ToolCallId> {
        let call = self.calls.get_mut(id).filter(|call| call.state != State::Settled)?;
        self.asked -= usize::from(call.state == State::Asked);
        call.state = State::Settled;
        self.open -= 1;
        self.settled.push_back(id.clone());
        if self.settled.len() <= MAX_SETTLED_CALLS {
            return None;
        }
        let oldest = self.settled.pop_front()?;
        self.calls.remove(&oldest);
        Some(oldest)
    }

    /// Records a call whose approval was answered by announcing it again.
    pub(super) fn announce_again(&mut self, id: &ToolCallId, segment: u32) {
        if let Some(call) = self.calls.get_mut(id).filter(|call| call.state == State::Asked) {
            call.state = State::Announced { available: true };
            call.reannounced_in = Some(segment);
            self.asked -= 1;
        }
    }

    /// Drops a call that a repeated response announces again.
    pub(super) fn forget(&mut self, id: &ToolCallId) {
        if let Some(call) = self.calls.remove(id) {
            self.open -= usize::from(call.state != State::Settled);
            self.asked -= usize::from(call.state == State::Asked);
            self.settled.retain(|settled| settled != id);
        }
    }

    /// Drops the calls of a step that was reset.
    pub(super) fn forget_step(&mut self, step: u32) {
        self.calls.retain(|_, call| call.step != step);
        self.settled.retain(|id| self.calls.contains_key(id));
        self.open = self.calls.values().filter(|call| call.state != State::Settled).count();
        self.asked = self.calls.values().filter(|call| call.state == State::Asked).count();
    }

    /// Whether a call that this segment has announced has no outcome.
    pub(super) fn has_open_in(&self, segment: u32) -> bool {
        self.open > 0 && self.calls.values().any(|call| call.state != State::Settled && call.place.0 == segment)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ToolCallId, &Call)> {
        self.calls.iter()
    }
}

/// A bounded set of hashed ids that forgets its oldest members.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    hashes: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Remembered {
    pub(super) fn insert(&mut self, id: &str) {
        let hash = hash_of_id(id);
        if self.hashes.insert(hash) {
            self.order.push_back(hash);
            if self.order.len() > MAX_REMEMBERED_IDS
                && let Some(oldest) = self.order.pop_front()
            {
                self.hashes.remove(&oldest);
            }
        }
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.hashes.contains(&hash_of_id(id))
    }
}

/// A hash of an id.
pub(super) fn hash_of_id(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
