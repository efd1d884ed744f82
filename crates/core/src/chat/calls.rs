//! The calls of a chat, or of one turn, by id.

use std::{collections::HashMap, sync::Arc};

use holdpoint_protocol::ids::ToolCallId;

use crate::{call::Call, fact::Fact};

/// Calls, folded from their facts: those of a chat, or of one turn.
#[derive(Debug, Clone, Default)]
pub struct Calls(HashMap<ToolCallId, Arc<Call>>);

impl Calls {
    /// Applies the fact at this position. `turn` is the position of the turn that it belongs to.
    pub fn apply(&mut self, fact: &Fact, position: u64, turn: u64) {
        let Some(id) = changed(fact) else { return };
        let call = match fact {
            Fact::InputStarted { name, .. } | Fact::Called { name, .. } | Fact::Invalid { name, .. } => {
                Some(self.0.entry(id.clone()).or_insert_with(|| Arc::new(Call::begun(name, turn))))
            }
            _ => self.0.get_mut(id),
        };
        call.into_iter().for_each(|call| Arc::make_mut(call).apply(fact, position));
    }

    /// The call with this id.
    pub fn get(&self, id: &ToolCallId) -> Option<&Call> {
        self.0.get(id).map(|call| &**call)
    }

    /// Whether there is a call with this id.
    pub fn contains(&self, id: &ToolCallId) -> bool {
        self.0.contains_key(id)
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&ToolCallId, &Call)> {
        self.0.iter().map(|(id, call)| (id, &**call))
    }

    /// Removes a call of a step that was abandoned.
    pub(crate) fn remove(&mut self, id: &ToolCallId) {
        self.0.remove(id);
    }

    /// Adds calls of an earlier turn.
    pub(crate) fn include(&mut self, earlier: Self) {
        for (id, call) in earlier.0 {
            self.0.entry(id).or_insert(call);
        }
    }
}

/// The call whose record a fact changes. Of what a call outputs on its way, nothing is kept.
fn changed(fact: &Fact) -> Option<&ToolCallId> {
    match fact {
        Fact::InputStarted { call, .. }
        | Fact::Called { call, .. }
        | Fact::Invalid { call, .. }
        | Fact::Asked { call, .. }
        | Fact::Voted { call, .. }
        | Fact::Escalated { call, .. }
        | Fact::Decided { call, .. }
        | Fact::Granted { call, .. }
        | Fact::Used { call, .. }
        | Fact::Started { call, .. }
        | Fact::Stored { call, .. }
        | Fact::Resumable { call, .. }
        | Fact::Settled { call, .. } => Some(call),
        _ => None,
    }
}
