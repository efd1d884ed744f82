//! Checks of tool chunks: T1 to T9, and the identity rules that only a call can show.

use super::{
    Profile, Rule,
    calls::{Call, State, hash_of, hash_of_id},
    stream::StreamChecker,
    transcript::Request,
};
use crate::{PROMPT_TOOL, chunk::Chunk, ids::ToolCallId};

/// The kind of chunk that announces a call.
#[derive(Clone, Copy, PartialEq)]
enum Announcement {
    Begun,
    Available,
    /// Available with another input than before.
    Edited,
    Unusable,
}

/// An outcome, or a preliminary one.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Complete,
    Preliminary,
    Denied,
}

impl StreamChecker {
    pub(super) fn tool(&mut self, chunk: &Chunk) {
        let kind = chunk.kind();
        match chunk {
            Chunk::ToolInputStart(c) => {
                self.announce(Announcement::Begun, &c.tool_call_id, &c.tool_name, c.dynamic, c.provider_executed, kind);
            }
            Chunk::ToolInputAvailable(c) => {
                let input = hash_of(c.input.value());
                let before = self.message.calls.get(&c.tool_call_id).and_then(|call| call.input);
                let is_edited = before.is_some_and(|before| before != input);
                self.announce(
                    if is_edited { Announcement::Edited } else { Announcement::Available },
                    &c.tool_call_id,
                    &c.tool_name,
                    c.dynamic,
                    c.provider_executed,
                    kind,
                );
                if let Some(call) = self.message.calls.get_mut(&c.tool_call_id) {
                    call.input = Some(input);
                }
            }
            Chunk::ToolInputError(c) => {
                self.announce(
                    Announcement::Unusable,
                    &c.tool_call_id,
                    &c.tool_name,
                    c.dynamic,
                    c.provider_executed,
                    kind,
                );
            }
            Chunk::ToolInputDelta(c) => {
                let segment = self.segment.number;
                let begun = self.message.calls.get(&c.tool_call_id).is_some_and(|call| call.begun_in == Some(segment));
                if !begun {
                    self.report(
                        Rule::T1,
                        format!(
                            "`{kind}` for the call {:?} without its `tool-input-start` in this response",
                            c.tool_call_id
                        ),
                    );
                }
            }
            Chunk::ToolApprovalRequest(c) => {
                let is_again = self.is_asked_again(&c.tool_call_id, c.approval_id.as_str())
                    || self.is_announced_again(&c.tool_call_id);
                if self.message.approvals.contains(c.approval_id.as_str()) && !is_again {
                    self.report(
                        Rule::T6,
                        format!("the approval id {:?} was used before in this message", c.approval_id),
                    );
                }
                self.message.approvals.insert(c.approval_id.as_str());
                if self.find(&c.tool_call_id, kind) {
                    self.question(&c.tool_call_id, hash_of_id(c.approval_id.as_str()));
                }
                self.adk_question();
            }
            Chunk::ToolApprovalResponse(c) if !self.message.approvals.contains(c.approval_id.as_str()) => {
                self.report(
                    Rule::T2,
                    format!(
                        "an answer to the approval {:?}, which this message never asked for: the client throws",
                        c.approval_id
                    ),
                );
            }
            Chunk::ToolOutputAvailable(c) => {
                let outcome = if c.preliminary == Some(true) { Outcome::Preliminary } else { Outcome::Complete };
                self.outcome(outcome, &c.tool_call_id, c.provider_executed, kind);
            }
            Chunk::ToolOutputError(c) => self.outcome(Outcome::Complete, &c.tool_call_id, c.provider_executed, kind),
            Chunk::ToolOutputDenied(c) => self.outcome(Outcome::Denied, &c.tool_call_id, None, kind),
            _ => {}
        }
    }

    fn announce(
        &mut self,
        how: Announcement,
        id: &ToolCallId,
        name: &str,
        dynamic: Option<bool>,
        provider_executed: Option<bool>,
        kind: &'static str,
    ) {
        let dynamic = dynamic == Some(true);
        let segment = self.segment.number;
        let step = self.message.step.number;
        let is_replay = self.request == Request::Resume && self.message.before.get(id) == Some(&true);
        let is_available = matches!(how, Announcement::Available | Announcement::Edited);
        if is_replay && is_available && provider_executed != Some(true) {
            self.report(Rule::T8, format!("the settled call {id:?} is replayed as available: `onToolCall` fires again; replay start, delta, outcome"));
        }
        if self.is_repeated(self.message.calls.get(id)) && how != Announcement::Edited {
            self.message.calls.forget(id);
        }
        let Some(call) = self.message.calls.get_mut(id) else {
            return self.announce_new(how, id, name, dynamic, provider_executed == Some(true), kind);
        };
        if &*call.name != name {
            let text = format!("the call {id:?} was one of {:?} and is now one of {name:?}", call.name);
            return self.report(Rule::T4, text);
        }
        match (call.state, how) {
            (State::Asked, Announcement::Available | Announcement::Edited)
                if call.asked_in < Some(segment) && call.reannounced_in.is_none() && call.step == step =>
            {
                self.message.calls.announce_again(id, segment);
                self.message.step.announced_again();
                return;
            }
            (State::Asked, Announcement::Edited) if call.asked_in < Some(segment) && call.step != step => {
                self.report(
                    Rule::T10,
                    format!(
                        "`{kind}` for the call {id:?} after a `start-step`: the client shows it twice; send it directly before the \
                         outcome, and that before any step"
                    ),
                );
                return;
            }
            (State::Settled | State::Asked, _) => {
                self.report(
                    Rule::T5,
                    format!("`{kind}` for the call {id:?} after its approval request or outcome: its state falls back"),
                );
                return;
            }
            (State::Announced { .. }, Announcement::Begun)
            | (State::Announced { available: true }, Announcement::Available | Announcement::Edited) => {
                self.report(Rule::T4, format!("`{kind}` for the call {id:?} once more: an id is one call"));
                return;
            }
            (State::Announced { .. }, Announcement::Available | Announcement::Edited | Announcement::Unusable) => {}
        }
        call.state = State::Announced { available: true };
        // A call that can't run keeps its kind of part.
        let other_kind = is_available && call.dynamic != dynamic;
        let other_step = call.step != step;
        if other_kind || other_step {
            let what = if other_kind { "another `dynamic` flag" } else { "another step" };
            self.report(
                Rule::T3,
                format!(
                    "`{kind}` for the call {id:?} with {what} than its `tool-input-start`: the client shows it twice"
                ),
            );
        }
        if how == Announcement::Unusable {
            self.settle(id, Outcome::Complete);
        }
    }

    fn announce_new(
        &mut self,
        how: Announcement,
        id: &ToolCallId,
        name: &str,
        dynamic: bool,
        provider_executed: bool,
        kind: &'static str,
    ) {
        if self.older_calls.contains(id.as_str()) && !self.message.before.contains_key(id) {
            self.report(Rule::T4, format!("the call id {id:?} was used before in this chat: mint your own"));
        }
        // A running tool's prompt belongs to the step of the call that asks.
        if name != PROMPT_TOOL {
            self.new_content(kind);
        }
        self.adk_announce(id, name);
        let call = Call {
            name: name.into(),
            dynamic,
            provider_executed,
            step: self.message.step.number,
            state: State::Announced { available: how != Announcement::Begun },
            has_outcome_in_request: false,
            begun_in: (how == Announcement::Begun).then_some(self.segment.number),
            asked_in: None,
            asked_again_in: None,
            approval: None,
            reannounced_in: None,
            preliminary: false,
            input: None,
            line: self.line,
            place: (self.segment.number, self.segment.steps),
            settled_at: None,
        };
        self.message.step.announced(provider_executed);
        self.message.calls.insert(id.clone(), call);
        if how == Announcement::Unusable {
            self.settle(id, Outcome::Complete);
        }
    }

    /// Whether an approval request is one that an earlier response has made of the same call, and that still waits: the
    /// client's answer is not in force. Allowed once in the response to an answer.
    fn is_asked_again(&self, id: &ToolCallId, approval: &str) -> bool {
        let is_same = |call: &Call| {
            let is_earlier = call.last_asked_in() < Some(self.segment.number);
            call.state == State::Asked && call.approval == Some(hash_of_id(approval)) && is_earlier
        };
        let is_answered = matches!(self.request, Request::Submit { .. }) && self.request.has_answered(id);
        is_answered && self.message.calls.get(id).is_some_and(is_same)
    }

    fn question(&mut self, id: &ToolCallId, approval: u64) {
        let Some(call) = self.message.calls.get(id) else {
            return;
        };
        match call.state {
            State::Settled => self.report(
                Rule::T5,
                format!("an approval request for the call {id:?} after its outcome: its state falls back"),
            ),
            State::Asked => self.message.calls.ask_again(id, self.segment.number),
            State::Announced { .. } => {
                let here = call.step == self.message.step.number;
                self.message.calls.ask(id, self.segment.number, approval);
                if here {
                    self.message.step.asked();
                }
            }
        }
    }

    fn outcome(&mut self, outcome: Outcome, id: &ToolCallId, provider_executed: Option<bool>, kind: &'static str) {
        if !self.find(id, kind) {
            return;
        }
        let (step, line, now) = (self.message.step.number, self.line, self.segment.number);
        let Some(call) = self.message.calls.get_mut(id) else {
            return;
        };
        // On live, a response to a late answer repeats what was sent before.
        if self.options.profile == Profile::AdkLive && call.settled_at.is_some_and(|(_, segment)| segment < now) {
            call.settled_at = Some((line, now));
            return;
        }
        if call.state == State::Settled {
            return self.report(Rule::T9, format!("`{kind}` for the call {id:?}, which has its outcome"));
        }
        if provider_executed == Some(true) && !call.provider_executed {
            call.provider_executed = true;
            if call.step == step {
                self.message.step.is_the_providers();
            }
        }
        if outcome != Outcome::Preliminary {
            call.settled_at = Some((line, now));
        }
        match outcome {
            Outcome::Preliminary => call.preliminary = true,
            Outcome::Denied if call.asked_in.is_none() => {
                self.report(
                    Rule::T7,
                    format!(
                        "the call {id:?} is denied, and nobody was asked: send an approval request first, or an error"
                    ),
                );
            }
            Outcome::Denied if call.preliminary => {
                self.report(
                    Rule::T7,
                    format!(
                        "the call {id:?} is denied after a preliminary output, which stays on the screen: send an error"
                    ),
                );
            }
            Outcome::Complete | Outcome::Denied => {}
        }
        if outcome != Outcome::Preliminary {
            self.settle(id, outcome);
            self.adk_outcome();
        }
    }

    fn settle(&mut self, id: &ToolCallId, outcome: Outcome) {
        if let Some(call) = self.message.calls.get(id)
            && call.step == self.message.step.number
        {
            let was_asked = call.state == State::Asked;
            self.message.step.settled(call.provider_executed, outcome == Outcome::Denied, was_asked);
        }
        if let Some(forgotten) = self.message.calls.settle(id) {
            self.older_calls.insert(forgotten.as_str());
        }
    }

    /// Whether the message has the call. Reports a violation if not.
    fn find(&mut self, id: &ToolCallId, kind: &'static str) -> bool {
        if self.message.calls.get(id).is_some() {
            return true;
        }
        if self.message.before.contains_key(id) && self.request == Request::Resume {
            self.report(
                Rule::R3,
                format!("`{kind}` for the call {id:?}, which the replay has not announced: the client throws"),
            );
        } else if self.message.before.contains_key(id) {
            self.report(
                Rule::M4,
                format!("`{kind}` for the call {id:?} of the answer that is being regenerated: the client throws"),
            );
        } else if self.left_open.contains(id) {
            let text = format!(
                "`{kind}` for the call {id:?} of the message before: a continuation must reuse that message's id"
            );
            self.report(Rule::M3, text);
        } else {
            self.report(
                Rule::T2,
                format!("`{kind}` for the call {id:?}, which the current message does not have: the client throws"),
            );
        }
        false
    }
}
