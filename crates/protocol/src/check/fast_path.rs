//! The fast path for deltas that break no rule: nearly all of a stream.

use super::{adk::LiveStep, stream::StreamChecker};
use crate::chunk::{DeltaKind, PlainDelta};

impl StreamChecker {
    /// Whether this payload is a delta that breaks no rule and changes no state, except that the client has written. On
    /// `false` the chunk has to be read and checked.
    pub(super) fn is_harmless_delta(&self, payload: &[u8]) -> bool {
        let segment = &self.segment;
        if !segment.is_open || segment.has_error || segment.live_step != LiveStep::Elsewhere {
            return false;
        }
        PlainDelta::parse(payload).is_some_and(|delta| match delta.kind {
            DeltaKind::Text => self.block(true, delta.id).is_some(),
            DeltaKind::Reasoning => self.block(false, delta.id).is_some(),
            DeltaKind::ToolInput => self.message.calls.begun_in(delta.id) == Some(segment.number),
        })
    }
}
