//! The SDK's own auto-send, evaluated at the end of a segment: A1 to A6.

use super::{Rule, calls::State, stream::StreamChecker};

/// The calls of one step, counted as the SDK's predicates count them.
#[derive(Debug, Clone, Default)]
pub(super) struct StepCounts {
    pub(super) number: u32,
    /// Calls that the client handles, and how many of them have an output or an error.
    pub(super) calls: usize,
    complete: usize,
    denied: usize,
    asked: usize,
}

impl StepCounts {
    pub(super) fn announced(&mut self, provider_executed: bool) {
        self.calls += usize::from(!provider_executed);
    }

    pub(super) fn asked(&mut self) {
        self.asked += 1;
    }

    pub(super) fn announced_again(&mut self) {
        self.asked = self.asked.saturating_sub(1);
    }

    pub(super) fn is_the_providers(&mut self) {
        self.calls = self.calls.saturating_sub(1);
    }

    pub(super) fn settled(&mut self, provider_executed: bool, denied: bool, was_asked: bool) {
        self.asked = self.asked.saturating_sub(usize::from(was_asked));
        self.denied += usize::from(denied);
        self.complete += usize::from(!denied && !provider_executed);
    }

    fn is_complete(&self) -> bool {
        self.calls > 0 && self.complete == self.calls
    }
}

impl StreamChecker {
    pub(super) fn start_step(&mut self) {
        self.segment.has_step = true;
        let number = self.message.step.number + 1;
        let old = std::mem::replace(&mut self.message.step, StepCounts { number, ..StepCounts::default() });
        self.message.written_step.get_or_insert(old);
    }

    /// `reset-step` removes the parts of the step, including its calls.
    pub(super) fn reset_step(&mut self) {
        self.segment.blocks.clear();
        let number = self.message.step.number;
        self.message.calls.forget_step(number);
        self.message.step = StepCounts { number, ..StepCounts::default() };
    }

    pub(super) fn auto_send(&mut self) {
        if self.segment.has_error {
            return;
        }
        let (step, is_unwritten) = match &self.message.written_step {
            Some(step) => (step, true),
            None => (&self.message.step, false),
        };
        let place = (step.number, step.calls);
        let writing = self.segment.blocks.iter().any(|block| block.is_text && block.place == place);
        if step.is_complete() && !writing {
            let why = "its last step has tool calls and all are settled, so the SDK's `lastAssistantMessageIsCompleteWithToolCalls` sends again, for ever";
            match (self.segment.has_abort, is_unwritten) {
                (true, _) => self.report(Rule::A6, format!("the aborted segment is asked too: {why}")),
                (false, true) => self.report(
                    Rule::A2,
                    format!(
                        "the empty step at the end is not written (give `finish` metadata, or the step a part): {why}"
                    ),
                ),
                (false, false) => self.report(Rule::A1, format!("{why}: end with a step of its own")),
            }
        } else if step.denied > 0 && step.asked > 0 {
            self.report(Rule::A5, "a denied call beside one that awaits approval: clients before 6.0.270 and 7.0.83 never send the answer");
        }
        if self.segment.continues {
            self.unanswered();
        }
    }

    /// A4: calls whose approval was requested in an earlier segment and answered since, without an outcome.
    fn unanswered(&mut self) {
        let segment = self.segment.number;
        let request = &self.request;
        // While a call of the same step still waits for the browser, the predicate is false.
        let waits = |step: u32| {
            let mut calls = self.message.calls.iter().filter(|(_, call)| call.step == step && !call.provider_executed);
            calls.any(|(_, call)| matches!(call.state, State::Announced { .. }))
        };
        let mut left: Vec<_> = self
            .message
            .calls
            .iter()
            .filter(|(id, call)| {
                let is_answered = call.last_asked_in() < Some(segment) && request.has_answered(id);
                call.state == State::Asked && is_answered && !waits(call.step)
            })
            .map(|(id, _)| id.clone())
            .collect();
        left.sort();
        if let Some(id) = left.first() {
            self.report(Rule::A4, format!("the answered call {id:?} has no outcome: the SDK's `lastAssistantMessageIsCompleteWithApprovalResponses` sends again, for ever"));
        }
    }
}
