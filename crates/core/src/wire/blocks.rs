//! What each profile keeps while it writes a turn: the open blocks, and the usage that was reported.

use std::collections::HashMap;

use holdpoint_protocol::{chunk::FinishReason, ids::PartId};

use super::{Event, calls::TurnCalls};
use crate::fact::BlockKind;

/// The open blocks by id, because a delta does not name the kind of its block.
#[derive(Debug, Default)]
pub(super) struct Blocks(HashMap<PartId, BlockKind>);

impl Blocks {
    pub(super) fn start(&mut self, kind: BlockKind, id: &PartId) {
        self.0.insert(id.clone(), kind);
    }

    pub(super) fn kind(&self, id: &PartId) -> BlockKind {
        self.0.get(id).copied().unwrap_or(BlockKind::Text)
    }

    /// Ends a block. `None` if it has ended: the node that began it had shown its end, could not write that, and another
    /// node has ended it.
    pub(super) fn end(&mut self, id: &PartId) -> Option<BlockKind> {
        self.0.remove(id)
    }

    /// Ends the open block, if there is one.
    pub(super) fn abandon(&mut self) -> Option<(BlockKind, PartId)> {
        self.0.drain().next().map(|(id, kind)| (kind, id))
    }
}

/// Usage, reported from the end of one segment to the next.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// The number of steps already reported to the client.
    reported: usize,
}

impl Meter {
    pub(super) fn finish(&mut self, reason: FinishReason, calls: &TurnCalls) -> Event {
        let since = std::mem::replace(&mut self.reported, calls.steps());
        let (usage, of_turn) = (calls.usage_since(since), calls.usage_since(0));
        Event::Finish { reason, usage, of_turn, model: calls.model.clone() }
    }
}
