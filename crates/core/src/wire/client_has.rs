//! What a client already has of a call, and is not sent again.

use holdpoint_protocol::{
    chunk::{Chunk, Chunks, DeltaOf, Run},
    ids::ToolCallId,
};

use super::{ClientHas, Out, Projection, ResponsePlan, written::settled_call};
use crate::fact::Fact;

impl ResponsePlan {
    /// How much the client has of a call.
    pub(super) fn level(&self, id: &ToolCallId) -> Option<ClientHas> {
        self.has.iter().find(|(has, _)| has == id).map(|(_, level)| *level)
    }

    /// Whether the client already has this announcement or outcome.
    pub(super) fn has_chunks(&self, chunks: &Chunks) -> bool {
        part_of_call(chunks).is_some_and(|(id, part)| self.level(id).is_some_and(|level| level >= part))
    }

    /// Drops the client's own results that responses have confirmed, as far as its message shows it: a client that has a call
    /// has got what was written before that. `projection` has seen nothing, and takes the facts.
    pub(super) fn drop_confirmed<'a>(
        &mut self,
        mut projection: Box<dyn Projection>,
        facts: impl Iterator<Item = &'a Fact>,
    ) {
        if self.own_results.is_empty() {
            return;
        }
        let (mut written, mut before) = (Vec::new(), Vec::new());
        for fact in facts {
            projection.apply(fact, &mut written);
            for written in written.drain(..) {
                let Out::Chunks(Chunks::One(chunk)) = written else { continue };
                before.extend(settled_call(&chunk).cloned());
                if matches!(&chunk, Chunk::ToolInputStart(c) if self.level(&c.tool_call_id).is_some()) {
                    self.own_results.retain(|id| !before.contains(id));
                    before.clear();
                }
            }
        }
    }

    /// Like `has_chunks`, for a live connection: an answered call is not announced again, and a result that the client
    /// has sent is confirmed.
    pub fn client_has(&self, written: &Out) -> bool {
        let Out::Chunks(chunks) = written else { return false };
        part_of_call(chunks).is_some_and(|(id, part)| match part {
            ClientHas::Outcome => self.has_chunks(chunks) && !self.own_results.contains(id),
            _ => self.has_chunks(chunks) || self.unsettled.contains(id),
        })
    }
}

/// The call that a chunk is about, and how much a client has of it at least, once it has this chunk.
fn part_of_call(chunks: &Chunks) -> Option<(&ToolCallId, ClientHas)> {
    let chunk = match chunks {
        Chunks::Run(Run { of: DeltaOf::ToolInput(id), .. }) => return Some((id, ClientHas::Start)),
        Chunks::Run(_) => return None,
        Chunks::One(chunk) => chunk,
    };
    match chunk {
        Chunk::ToolInputStart(c) => Some((&c.tool_call_id, ClientHas::Start)),
        Chunk::ToolInputDelta(c) => Some((&c.tool_call_id, ClientHas::Start)),
        Chunk::ToolInputAvailable(c) => Some((&c.tool_call_id, ClientHas::Input)),
        Chunk::ToolInputError(c) => Some((&c.tool_call_id, ClientHas::Input)),
        Chunk::ToolApprovalRequest(c) => Some((&c.tool_call_id, ClientHas::Request)),
        Chunk::ToolOutputAvailable(c) => Some((&c.tool_call_id, ClientHas::Outcome)),
        Chunk::ToolOutputError(c) => Some((&c.tool_call_id, ClientHas::Outcome)),
        Chunk::ToolOutputDenied(c) => Some((&c.tool_call_id, ClientHas::Outcome)),
        _ => None,
    }
}
