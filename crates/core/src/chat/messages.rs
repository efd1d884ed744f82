//! The messages that a state knows, and those that were cut.

use std::sync::Arc;

use holdpoint_protocol::{ids::MessageId, message::Role};
use serde::{Deserialize, Serialize};

use super::Chat;
use crate::fact::{Cut, Fact};

/// The number of messages before the first turn of a partial state. Regenerating the last answer needs two of them.
const KEPT_MESSAGES: usize = 4;

/// The maximum number of spans that are remembered.
const MAX_SPANS: usize = 64;

/// A message: its id, its role and its position.
pub type KnownMessage = (MessageId, Role, u64);

/// Where messages were cut. A cut takes away every message from a position up to its own, so a few numbers tell whether a
/// message of any earlier turn is still there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cuts {
    /// Of the positions before this one, it is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    unknown_before: u64,
    /// From the position of the first message that a cut took away to that of the cut itself. They do not overlap; oldest
    /// first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spans: Vec<(u64, u64)>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Cuts {
    /// Whether nothing was cut.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it is known which messages of this position and later ones were cut.
    pub fn are_known_from(&self, position: u64) -> bool {
        self.unknown_before <= position
    }

    /// A cut at this position takes away what comes after the first position.
    fn add(&mut self, from: u64, position: u64) {
        self.spans.retain(|(first, _)| *first < from);
        self.spans.push((from, position));
        while self.spans.len() > MAX_SPANS {
            let (_, end) = self.spans.remove(0);
            self.unknown_before = self.unknown_before.max(end);
        }
    }

    fn has(&self, position: u64) -> bool {
        self.spans.iter().any(|(first, end)| (*first..*end).contains(&position))
    }

    /// Whether a cut begins with a message of this position.
    fn begins_at(&self, position: u64) -> bool {
        self.spans.iter().any(|(first, _)| *first == position)
    }
}

impl Chat {
    /// A message that is known and not cut: the known messages around it, and its index among them.
    pub(crate) fn find_message(&self, id: &MessageId) -> Option<(&[KnownMessage], usize)> {
        let runs = std::iter::once(&self.messages).chain(&self.earlier_messages);
        runs.filter_map(|run| Some((&run[..], run.iter().position(|(known, ..)| known == id)?))).next()
    }

    /// The role and the position of a message that is known and not cut.
    pub(crate) fn message(&self, id: &MessageId) -> Option<(Role, u64)> {
        self.find_message(id).map(|(run, at)| (run[at].1, run[at].2))
    }

    /// Removes a message and everything after it. `position` is that of the fact that says so.
    pub(super) fn cut(&mut self, cut: Option<&Cut>, position: u64) {
        let Some(Cut { message: id, at: cut_at }) = cut else { return };
        let index_in = |run: &Vec<KnownMessage>| run.iter().position(|(known, ..)| known == id);
        if let Some(at) = index_in(&self.messages) {
            self.cuts.add(self.messages[at].2, position);
            self.messages.truncate(at);
        } else if let Some(run) = self.earlier_messages.iter().position(|run| index_in(run).is_some()) {
            self.earlier_messages.truncate(run + 1);
            self.messages = self.earlier_messages.pop().unwrap_or_default();
            let at = index_in(&self.messages).unwrap_or_default();
            self.cuts.add(self.messages.get(at).map_or(*cut_at, |(.., begun)| *begun), position);
            self.messages.truncate(at);
        } else if self.is_partial {
            // It is older than all of these.
            self.messages.clear();
            self.earlier_messages.retain_mut(|run| {
                run.retain(|(.., known)| known < cut_at);
                !run.is_empty()
            });
            self.cuts.add(*cut_at, position);
        }
    }

    /// What is needed of this state, which is that between two turns, for the turns to come.
    pub fn into_partial(self) -> Self {
        let Self { len, subject, mut messages, next, cuts, spent, .. } = self;
        messages.drain(..messages.len().saturating_sub(KEPT_MESSAGES));
        Self { len, subject, messages, next, cuts, spent, is_partial: true, ..Self::default() }
    }

    /// Adds an earlier turn to a partial state: the facts from a position between two turns to the end of a turn. What
    /// is decided about that turn is then decided as with all turns.
    pub fn include(&mut self, first: u64, facts: &[Arc<Fact>]) {
        let mut added = Self { len: first, is_partial: true, ..Self::default() };
        facts.iter().for_each(|fact| added.apply(fact));
        self.calls.include(added.calls);
        for (id, call) in added.approvals {
            self.approvals.entry(id).or_insert(call);
        }
        added.turns.retain(|turn| !self.turns.contains(turn));
        self.turns.extend(added.turns);
        self.turns.sort_unstable_by_key(|(position, _)| *position);
        added.messages.retain(|(id, _, position)| !self.cuts.has(*position) && self.find_message(id).is_none());
        if !added.messages.is_empty() {
            self.earlier_messages.push(added.messages);
            self.earlier_messages.sort_unstable_by_key(|run| run.first().map(|(.., position)| *position));
        }
    }

    /// Whether it is known which messages of these facts, of which the first is at a position, were cut.
    pub fn knows_cuts_of(&self, first: u64, facts: &[Arc<Fact>]) -> bool {
        // The messages of a context have the same position. If one of them was cut, those before it were not.
        let is_shared = |fact: &Fact| matches!(fact, Fact::Context { messages } if messages.len() > 1);
        let is_clear = |(position, fact): (u64, &Arc<Fact>)| !is_shared(fact) || !self.cuts.begins_at(position);
        self.cuts.are_known_from(first) && (first..).zip(facts).all(is_clear)
    }
}
