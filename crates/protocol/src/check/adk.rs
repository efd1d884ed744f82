//! The adk profile: K1 to K7.

use super::{Profile, Rule, calls::State, stream::StreamChecker};
use crate::{PROMPT_TOOL, chunk::Chunk, ids::ToolCallId};

/// The position of a live stream in the sequence `tool-input-available`, `start-step`, `tool-approval-request`,
/// `finish-step`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum LiveStep {
    #[default]
    Elsewhere,
    Available(ToolCallId),
    /// `start-step` has come for this call.
    Started(Option<ToolCallId>),
    Asked,
}

impl StreamChecker {
    /// K1 and K2: where steps may occur.
    pub(super) fn live_order(&mut self, chunk: &Chunk) {
        match self.options.profile {
            Profile::AiSdk => {}
            Profile::AdkSse => {
                if matches!(chunk, Chunk::StartStep(_) | Chunk::FinishStep(_)) {
                    self.report(Rule::K1, format!("`{}` in the adk profile over SSE", chunk.kind()));
                }
            }
            Profile::AdkLive => {
                let step = std::mem::take(&mut self.segment.live_step);
                let (next, wrong) = next(step, chunk);
                self.segment.live_step = next;
                if let Some(wrong) = wrong {
                    self.report(Rule::K2, wrong);
                }
            }
        }
    }

    /// K7: one call at a time. A running tool's prompt must come before that tool's outcome.
    pub(super) fn adk_announce(&mut self, id: &ToolCallId, name: &str) {
        if self.options.profile == Profile::AdkLive && self.message.calls.open() > 0 && name != PROMPT_TOOL {
            self.report(Rule::K7, format!("the call {id:?} is announced before the one before it has its outcome"));
        }
    }

    /// K3 and K4, on text.
    pub(super) fn adk_text(&mut self) {
        self.message.has_text = true;
        self.segment.has_text = true;
        self.segment.text_line.get_or_insert(self.line);
        if self.options.progressive_text {
            return;
        }
        match self.options.profile {
            Profile::AdkSse if self.segment.has_question && self.message.calls.asked > 0 && !self.is_later() => {
                self.report(Rule::K3, "text while an approval is open: hold it back until the last one is answered");
            }
            Profile::AdkLive if self.message.calls.asked > 0 => {
                self.report(Rule::K3, "text while an approval is open: hold it back until the last one is answered");
            }
            _ => {}
        }
    }

    /// K3 and K4, on an approval request.
    pub(super) fn adk_question(&mut self) {
        self.segment.has_question = true;
        self.message.asked_in.get_or_insert(self.segment.number);
        if self.options.profile == Profile::AiSdk {
            return;
        }
        // Text in a segment that follows one with an approval request is reported at the segment's end: K4.
        let is_reported_later = self.is_later() && self.segment.has_text;
        if self.message.has_text && !self.options.progressive_text && !is_reported_later {
            self.report(
                Rule::K3,
                "text before an approval request: an adk client's auto-send then never sends the answer",
            );
        }
    }

    /// Whether this segment follows one with an approval request.
    fn is_later(&self) -> bool {
        self.options.profile == Profile::AdkSse
            && self.message.asked_in.is_some_and(|asked| asked < self.segment.number)
    }

    /// Records an outcome, for K4.
    pub(super) fn adk_outcome(&mut self) {
        self.segment.has_outcome = true;
        self.segment.outcome_line.get_or_insert(self.line);
    }

    /// K4: a later segment that ends with an open approval request is not the last one.
    fn intermediate(&mut self) {
        if !self.is_later() || !self.segment.has_question || self.message.calls.asked == 0 {
            return;
        }
        let end = self.line;
        if let Some(line) = self.segment.outcome_line {
            self.line = line;
            self.report(
                Rule::K4,
                "an outcome in a segment that asks for another approval: hold it back until the last one",
            );
        }
        if let Some(line) = self.segment.text_line.filter(|_| !self.options.progressive_text) {
            self.line = line;
            self.report(Rule::K4, "text in a segment that asks for another approval: hold it back until the last one");
        }
        self.line = end;
    }

    /// K5, at `[DONE]`.
    pub(super) fn adk_done(&mut self) {
        if self.options.profile == Profile::AiSdk {
            return;
        }
        if !self.segment.is_open && self.segment.has_done {
            self.report(Rule::K5, "`[DONE]` once more");
        } else if self.options.profile == Profile::AdkLive && self.message.calls.asked > 0 && !self.segment.has_error {
            self.report(Rule::K5, "`[DONE]` while an approval is open: on live it ends the turn, once");
        }
    }

    /// K5 and K6, at the end of a segment.
    pub(super) fn adk_close(&mut self) {
        self.intermediate();
        if !self.segment.has_done {
            self.report(Rule::K5, "the segment has no `[DONE]`");
        }
        let segment = self.segment.number;
        let waits = |state: State, asked_in: Option<u32>| state == State::Asked && asked_in < Some(segment);
        // Without the request, it is unknown which approvals were answered. A visible effect of one rules out K6.
        let is_again = self.message.calls.iter().any(|(_, call)| call.reannounced_in == Some(segment));
        let shows = self.segment.has_outcome || self.segment.has_question || self.segment.has_error || is_again;
        let request = &self.request;
        if self.options.profile == Profile::AdkSse
            && self.segment.continues
            && !shows
            && self
                .message
                .calls
                .iter()
                .any(|(id, call)| waits(call.state, call.last_asked_in()) && request.has_answered(id))
        {
            self.report(
                Rule::K6,
                "the response to an approval ends without the call's outcome: it must stay open until the result comes",
            );
        }
    }
}

fn next(step: LiveStep, chunk: &Chunk) -> (LiveStep, Option<&'static str>) {
    match (step, chunk) {
        (LiveStep::Available(id), Chunk::StartStep(_)) => (LiveStep::Started(Some(id)), None),
        (_, Chunk::StartStep(_)) => {
            (LiveStep::Started(None), Some("`start-step` that does not follow a call's `tool-input-available`"))
        }
        (LiveStep::Started(Some(id)), Chunk::ToolApprovalRequest(c)) if id != c.tool_call_id => {
            (LiveStep::Asked, Some("an approval request for another call than the one announced just before"))
        }
        (LiveStep::Started(_), Chunk::ToolApprovalRequest(_)) => (LiveStep::Asked, None),
        (_, Chunk::ToolApprovalRequest(_)) => {
            (LiveStep::Elsewhere, Some("an approval request without `start-step` before it"))
        }
        (LiveStep::Asked, Chunk::FinishStep(_)) => (LiveStep::Elsewhere, None),
        (_, Chunk::FinishStep(_)) => {
            (LiveStep::Elsewhere, Some("`finish-step` that does not follow an approval request"))
        }
        (LiveStep::Started(_), _) => {
            (LiveStep::Elsewhere, Some("something else than the approval request after `start-step`"))
        }
        (LiveStep::Asked, _) => {
            (LiveStep::Elsewhere, Some("something else than `finish-step` after an approval request"))
        }
        (_, Chunk::ToolInputAvailable(c)) => (LiveStep::Available(c.tool_call_id.clone()), None),
        _ => (LiveStep::Elsewhere, None),
    }
}
