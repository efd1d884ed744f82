//! The adk profile: K1 to K9.

use super::{
    Profile, Rule,
    calls::{Call, State},
    stream::StreamChecker,
    transcript::Request,
};
use crate::{
    PROMPT_TOOL,
    chunk::{Chunk, Start},
    ids::ToolCallId,
};

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

    /// K7: one call at a time, and the step of a call, for K8. A running tool's prompt must come before that tool's outcome.
    pub(super) fn adk_announce(&mut self, id: &ToolCallId, name: &str) {
        let has_open = self.message.calls.has_open_in(self.segment.number);
        if self.options.profile == Profile::AdkLive && has_open && name != PROMPT_TOOL {
            self.report(Rule::K7, format!("the call {id:?} is announced before the one before it has its outcome"));
        }
        self.segment.steps += u32::from(std::mem::take(&mut self.segment.has_answered));
    }

    /// K3 and K4, on text.
    pub(super) fn adk_text(&mut self) {
        self.message.has_text = true;
        self.segment.has_text = true;
        self.segment.text_line.get_or_insert(self.line);
        self.segment.last_text_line = Some(self.line);
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
        self.segment.has_answered = true;
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

    /// On live, every request is answered from `start` on, also one that comes while the turn is open. Its response
    /// repeats what the client may have missed.
    pub(super) fn is_another_response(&self, start: &Start) -> bool {
        self.options.profile == Profile::AdkLive && start.message_id.is_some() && start.message_id == self.message.id
    }

    /// Whether the connection is idle.
    pub(super) fn is_between_responses(&self) -> bool {
        self.options.profile == Profile::AdkLive && !self.segment.is_open
    }

    /// Whether an earlier response on this connection has announced the call.
    pub(super) fn is_repeated(&self, call: Option<&Call>) -> bool {
        let is_earlier = |call: &Call| call.place.0 < self.segment.number;
        self.options.profile == Profile::AdkLive && self.segment.continues && call.is_some_and(is_earlier)
    }

    /// Whether this response may have announced again what an earlier one has.
    pub(super) fn is_announced_again(&self, id: &ToolCallId) -> bool {
        let is_here = |call: &Call| call.place.0 == self.segment.number;
        let call = self.message.calls.get(id);
        self.options.profile == Profile::AdkLive && self.segment.continues && call.is_some_and(is_here)
    }

    /// Records an outcome, for K4 and K8.
    pub(super) fn adk_outcome(&mut self) {
        self.segment.has_answered = true;
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

    /// K5, K6, K8 and K9, at the end of a segment.
    pub(super) fn adk_close(&mut self) {
        self.intermediate();
        if !self.segment.has_done {
            self.report(Rule::K5, "the segment has no `[DONE]`");
        }
        if self.options.profile == Profile::AdkSse {
            self.result_is_awaited();
            self.together();
        }
        self.all_told();
    }

    /// K6: the response to an approval stays open until the result comes.
    fn result_is_awaited(&mut self) {
        let segment = self.segment.number;
        // Without the request, it is unknown which approvals were answered. A visible effect of one rules out K6.
        let is_again = self.message.calls.iter().any(|(_, call)| call.reannounced_in == Some(segment));
        let shows = self.segment.has_outcome || self.segment.has_question || self.segment.has_error || is_again;
        if !self.segment.continues || shows {
            return;
        }
        let open = || self.message.calls.iter().filter(|(_, call)| call.state != State::Settled);
        let is_answered = |(id, call): (&ToolCallId, &Call)| {
            call.state == State::Asked && call.last_asked_in() < Some(segment) && self.request.has_answered(id)
        };
        // While another call of the step is open, the outcome is held back: K8.
        let is_held_back = match self.request {
            Request::Unknown => open().count() > 1,
            _ => !open().all(is_answered),
        };
        if open().any(is_answered) && !is_held_back {
            self.report(
                Rule::K6,
                "the response to an approval ends without the call's outcome: it must stay open until the result comes",
            );
        }
    }

    /// K8: no outcome alone while another call of its step is open.
    fn together(&mut self) {
        if self.segment.has_error || self.segment.has_abort {
            return;
        }
        // A running tool's prompt is not a call of the step: it is settled when the tool no longer waits for it.
        let is_of_a_step = |call: &&Call| &*call.name != PROMPT_TOOL;
        let calls = || self.message.calls.iter().map(|(_, call)| call).filter(is_of_a_step);
        let first = calls().map(|call| call.place.0).min();
        // In a later segment, calls of an earlier step that needed no approval may stand beside those that ask, because their
        // outcomes are held back (K4). Only those that ask are certainly of one step.
        let step_of = |call: &Call| {
            let (segment, _) = call.place;
            (first == Some(segment) || call.asked_in == Some(segment)).then_some(call.place)
        };
        // What the client has the outcome of is not open for it.
        let is_open = |call: &Call| call.state != State::Settled && !call.has_outcome_in_request;
        let is_open = |step| calls().any(|call| step_of(call) == Some(step) && is_open(call));
        let settled = calls().filter_map(|call| Some((call.settled_at?, step_of(call)?)));
        let here = settled.filter(|((_, segment), _)| *segment == self.segment.number);
        let alone = here.filter(|(_, step)| is_open(*step)).map(|((line, _), _)| line).min();
        self.report_at(
            alone,
            Rule::K8,
            "an outcome while another call of its step is open: send the outcomes of a step together",
        );
    }

    /// K9: once the turn has ended, every call has its outcome. Over SSE its text shows that: it comes after the last
    /// approval, or, if it is progressive, from a model that has the results.
    fn all_told(&mut self) {
        let segment = &self.segment;
        let is_over = match self.options.profile {
            Profile::AdkLive => segment.has_done,
            // A call that was announced after the text and is open goes on in the browser, and the turn after it.
            _ => {
                let goes_on = |call: &Call| call.state != State::Settled && Some(call.line) > segment.last_text_line;
                segment.last_text_line.is_some()
                    && !(segment.has_question && self.message.calls.asked > 0)
                    && !self.message.calls.iter().any(|(_, call)| goes_on(call))
            }
        };
        if !is_over || segment.has_error || segment.has_abort {
            return;
        }
        let is_missing = |call: &Call| match self.options.profile {
            // An open approval is K5.
            Profile::AdkLive => matches!(call.state, State::Announced { .. }),
            _ => call.state != State::Settled && Some(call.line) < segment.last_text_line,
        };
        // The smallest, not the first: the order of a map changes from run to run.
        let missing = self.message.calls.iter().filter(|(_, call)| is_missing(call)).map(|(id, _)| id).min();
        if let Some(id) = missing {
            let text = format!(
                "the turn ends without the outcome of the call {id:?}: send each once, the client's own result included"
            );
            self.report(Rule::K9, text);
        }
    }

    fn report_at(&mut self, line: Option<u64>, rule: Rule, text: &str) {
        if let Some(line) = line {
            let end = std::mem::replace(&mut self.line, line);
            self.report(rule, text);
            self.line = end;
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
