//! Checks chunk by chunk: segments, identity, blocks. Tools are in `tools.rs`, the ends of segments in `auto_send.rs`
//! and `adk.rs`.

use std::collections::{HashMap, HashSet};

use super::{
    Audience, Options, Profile, Rule, Violation,
    adk::LiveStep,
    auto_send::StepCounts,
    blocks::Block,
    calls::{Calls, Remembered, State},
    schema,
    transcript::{Request, RequestCall},
};
use crate::{
    chunk::{Chunk, Start},
    ids::{MessageId, ToolCallId},
    sse::DONE,
};

/// Bytes of a payload shown with a violation.
const MAX_SHOWN_BYTES: usize = 200;

/// Checks the chunks of one chat, in the order in which a client receives them.
#[derive(Debug)]
pub struct StreamChecker {
    pub(super) options: Options,
    pub(super) audience: Audience,
    violations: Vec<Violation>,
    /// The beginning of the current or last payload.
    shown: Vec<u8>,
    /// The line of the current or last chunk.
    pub(super) line: u64,
    pub(super) message: Message,
    pub(super) segment: Segment,
    /// Calls of earlier messages.
    pub(super) older_calls: Remembered,
    /// Unsettled calls of the previous message.
    pub(super) left_open: HashSet<ToolCallId>,
    older_messages: Remembered,
    /// The request that the next segment responds to, if a transcript shows it.
    pub(super) request: Request,
    /// Message ids in the last history response.
    pub(super) history: HashSet<MessageId>,
}

/// The current assistant message.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) id: Option<MessageId>,
    pub(super) calls: Calls,
    pub(super) approvals: Remembered,
    pub(super) has_text: bool,
    /// The segment with the first approval request.
    pub(super) asked_in: Option<u32>,
    pub(super) step: StepCounts,
    /// The last step that the client has written, until it writes a newer one.
    pub(super) written_step: Option<StepCounts>,
    /// The calls of the message before a resume or regenerate emptied it, and whether each was settled.
    pub(super) before: HashMap<ToolCallId, bool>,
}

/// The current response.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) number: u32,
    pub(super) is_open: bool,
    pub(super) continues: bool,
    has_end: bool,
    pub(super) has_abort: bool,
    pub(super) has_error: bool,
    pub(super) has_done: bool,
    pub(super) has_text: bool,
    pub(super) has_outcome: bool,
    pub(super) outcome_line: Option<u64>,
    /// The number of times that a call was announced after an approval request or an outcome: a new step, over SSE.
    pub(super) steps: u32,
    /// Whether an approval request or an outcome has come since the last call.
    pub(super) has_answered: bool,
    /// The lines of the first and the last text.
    pub(super) text_line: Option<u64>,
    pub(super) last_text_line: Option<u64>,
    pub(super) has_question: bool,
    pub(super) has_step: bool,
    told_no_step: bool,
    told_after_error: bool,
    pub(super) live_step: LiveStep,
    pub(super) blocks: Vec<Block>,
}

impl StreamChecker {
    /// A checker for chunks sent over HTTP or `/live`.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            audience: Audience::Any,
            violations: Vec::new(),
            shown: Vec::with_capacity(MAX_SHOWN_BYTES),
            line: 0,
            message: Message::default(),
            segment: Segment::default(),
            older_calls: Remembered::default(),
            left_open: HashSet::new(),
            older_messages: Remembered::default(),
            request: Request::Unknown,
            history: HashSet::new(),
        }
    }

    /// Checks one payload: the JSON of a chunk, or `[DONE]`.
    pub fn payload(&mut self, line: u64, payload: &[u8]) {
        self.show(payload);
        if payload == DONE.as_bytes() {
            return self.done(line);
        }
        if self.is_harmless_delta(payload) {
            self.line = line;
            return self.wrote_if(true);
        }
        let mut faults = Vec::new();
        let chunk = schema::read(payload, self.audience, |rule, text| faults.push((rule, text)));
        if !faults.is_empty() {
            self.line = line;
            faults.into_iter().for_each(|(rule, text)| self.report(rule, text));
        }
        if let Some(chunk) = chunk {
            self.chunk(line, &chunk);
        }
    }

    /// Checks one well-formed chunk.
    pub fn chunk(&mut self, line: u64, chunk: &Chunk) {
        match chunk {
            Chunk::Start(start)
                if !self.segment.is_open
                    || self.segment.has_end
                    || self.is_superseded(start)
                    || self.is_another_response(start) =>
            {
                if self.segment.is_open && self.segment.has_end {
                    self.close();
                }
                self.line = line;
                self.open(Some(start));
                self.wrote_if(start.message_id.is_some() || start.message_metadata.is_some());
                return;
            }
            // A notice about the connection, and not about a message.
            Chunk::Data(data) if self.is_between_responses() && data.transient == Some(true) => return,
            _ => self.line = line,
        }
        if !self.segment.is_open {
            self.report(
                Rule::M1,
                format!("`{}` before `start`: a client can't tell which message it belongs to", chunk.kind()),
            );
            self.open(None);
        }
        self.after_error(chunk);
        self.live_order(chunk);
        self.body(chunk);
    }

    /// Checks `[DONE]`.
    pub fn done(&mut self, line: u64) {
        self.line = line;
        self.adk_done();
        self.segment.has_done = true;
        if self.segment.is_open {
            self.close();
        }
    }

    /// Ends the response: the connection closed, or the next request came.
    pub fn end(&mut self) {
        if self.segment.is_open {
            self.close();
        }
    }

    /// Drops a response that broke off, which the client knows. It has no end to check.
    pub(super) fn abandon(&mut self) {
        self.segment.is_open = false;
        self.request = Request::Unknown;
    }

    /// The violations found since the last call.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.violations)
    }

    pub(super) fn report(&mut self, rule: Rule, text: impl Into<String>) {
        let payload = String::from_utf8_lossy(&self.shown).into_owned();
        self.violations.push(Violation { line: self.line, rule, text: text.into(), payload });
    }

    /// Keeps the beginning of the current payload.
    pub(super) fn show(&mut self, payload: &[u8]) {
        self.shown.clear();
        self.shown.extend_from_slice(&payload[..payload.len().min(MAX_SHOWN_BYTES)]);
    }

    fn open(&mut self, start: Option<&Start>) {
        let id = start.and_then(|start| start.message_id.clone());
        if start.is_some() && id.is_none() {
            self.report(
                Rule::M1,
                "`start` without `messageId`: the client makes up an id that the server does not know",
            );
        }
        self.segment = Segment { number: self.segment.number + 1, is_open: true, ..Segment::default() };
        let goes_on = self.message.id.is_some() && (id.is_none() || id == self.message.id);
        if let Some(id) = &id {
            self.identity(id, goes_on);
        }
        if goes_on && self.request.starts_empty() {
            let calls = std::mem::take(&mut self.message.calls);
            self.message.before = calls.iter().map(|(id, call)| (id.clone(), call.state == State::Settled)).collect();
            self.message = Message { id, before: std::mem::take(&mut self.message.before), ..Message::default() };
        } else if goes_on {
            self.segment.continues = true;
            // The client continues the message without what it has not written.
            if let Some(step) = self.message.written_step.take() {
                self.message.step = step;
            }
        } else {
            self.left_open.clear();
            for (id, call) in self.message.calls.iter() {
                self.older_calls.insert(id.as_str());
                if call.state != State::Settled {
                    self.left_open.insert(id.clone());
                }
            }
            let before = match self.request {
                Request::Regenerate { .. } => {
                    self.message.calls.iter().map(|(id, call)| (id.clone(), call.state == State::Settled)).collect()
                }
                _ => HashMap::new(),
            };
            if let Some(old) = &self.message.id {
                self.older_messages.insert(old.as_str());
            }
            self.message = Message { id, before, ..Message::default() };
            self.carry();
        }
    }

    /// Takes over a message that no chunk has shown: the client has it from its history, and the request carries it.
    fn carry(&mut self) {
        let Request::Submit { continues: Some(continued), carried, .. } = &self.request else { return };
        if Some(continued) != self.message.id.as_ref() {
            return;
        }
        self.segment.continues = true;
        let last = carried.iter().map(|carried| carried.call.step).max().unwrap_or_default();
        self.message.step.number = last;
        for RequestCall { id, approval, call } in carried.clone() {
            if call.step == last {
                self.message.step.announced(call.provider_executed);
                if call.state == State::Asked {
                    self.message.step.asked();
                }
            }
            approval.iter().for_each(|approval| self.message.approvals.insert(approval.as_str()));
            self.message.calls.insert(id, call);
        }
    }

    /// M2, M3 and R4: what the id of a `start` must or must not be.
    fn identity(&mut self, id: &MessageId, goes_on: bool) {
        let request = std::mem::take(&mut self.request);
        match &request {
            Request::Submit { continues: Some(last), .. } if last != id => {
                self.report(
                    Rule::M3,
                    format!("continues the message {last:?} under the id {id:?}: the client shows two messages"),
                );
            }
            Request::Submit { continues: None, history, .. } | Request::Regenerate { history }
                if history.contains(id) =>
            {
                self.report(
                    Rule::M2,
                    format!("the id {id:?} is in the history already: the client overwrites that message"),
                );
            }
            Request::Resume if self.history.contains(id) => {
                self.report(
                    Rule::R4,
                    format!("the message {id:?} is replayed, and was in the history too: older clients show it twice"),
                );
            }
            Request::Unknown if !goes_on && self.older_messages.contains(id.as_str()) => {
                self.report(Rule::M2, format!("the id {id:?} is that of an earlier message: the client overwrites it"));
            }
            _ => {}
        }
        self.request = request;
    }

    fn close(&mut self) {
        self.segment.is_open = false;
        if !self.segment.has_end {
            self.report(
                Rule::F5,
                "the segment ends without `finish`, `error` or `abort`: a client takes that for success",
            );
        }
        match self.options.profile {
            Profile::AiSdk => self.auto_send(),
            Profile::AdkSse | Profile::AdkLive => self.adk_close(),
        }
        if self.request == Request::Resume {
            // The smallest, not the first: the order of a map changes from run to run.
            let missing = self.message.before.keys().filter(|id| self.message.calls.get(id).is_none()).min().cloned();
            if let Some(id) = missing {
                self.report(Rule::R3, format!("the replay leaves out the call {id:?} that the message had"));
            }
        }
        self.message.before.clear();
        self.request = Request::Unknown;
    }

    /// On live, a new message supersedes an open approval: the old turn never ends on the wire.
    fn is_superseded(&self, start: &Start) -> bool {
        let is_other = start.message_id.is_some() && start.message_id != self.message.id;
        self.options.profile == Profile::AdkLive && self.message.calls.asked > 0 && is_other
    }

    /// Records that the client has written its state.
    pub(super) fn wrote_if(&mut self, wrote: bool) {
        if wrote {
            self.message.written_step = None;
        }
    }

    fn after_error(&mut self, chunk: &Chunk) {
        let may_follow = matches!(
            chunk,
            Chunk::TextEnd(_) | Chunk::ReasoningEnd(_) | Chunk::FinishStep(_) | Chunk::Finish(_) | Chunk::Abort(_)
        );
        if self.segment.has_error && !may_follow && !self.segment.told_after_error {
            self.segment.told_after_error = true;
            self.report(Rule::A7, format!("`{}` after `error`: the client has stopped reading", chunk.kind()));
        }
    }

    /// A3, once per segment.
    pub(super) fn new_content(&mut self, chunk: &'static str) {
        let segment = &mut self.segment;
        if self.options.profile == Profile::AiSdk && segment.continues && !segment.has_step && !segment.told_no_step {
            segment.told_no_step = true;
            self.report(
                Rule::A3,
                format!("`{chunk}` in a continuation before `start-step`: it counts to the step that was answered"),
            );
        }
    }

    fn body(&mut self, chunk: &Chunk) {
        let mut wrote = true;
        match chunk {
            Chunk::TextDelta(c) => self.delta(true, &c.id, "text-delta"),
            Chunk::ReasoningDelta(c) => self.delta(false, &c.id, "reasoning-delta"),
            Chunk::TextStart(c) => {
                self.start_block(true, &c.id, "text-start");
                self.adk_text();
            }
            Chunk::ReasoningStart(c) => self.start_block(false, &c.id, "reasoning-start"),
            Chunk::TextEnd(c) => self.end_block(true, &c.id, "text-end"),
            Chunk::ReasoningEnd(c) => self.end_block(false, &c.id, "reasoning-end"),

            Chunk::Start(_) => self.report(Rule::M1, "a second `start` before the segment has ended"),
            Chunk::Finish(c) => {
                self.segment.has_end = true;
                if !self.segment.has_error && !self.segment.has_abort {
                    self.still_open(Rule::B1, "finish");
                }
                wrote = c.message_metadata.as_ref().is_some_and(|metadata| !metadata.value().is_null());
            }
            Chunk::Abort(_) => {
                (self.segment.has_end, self.segment.has_abort, wrote) = (true, true, false);
                self.segment.blocks.clear();
            }
            Chunk::Error(_) => (self.segment.has_end, self.segment.has_error, wrote) = (true, true, false),
            Chunk::StartStep(_) => {
                self.start_step();
                wrote = false;
            }
            Chunk::FinishStep(_) => {
                if !self.segment.has_error {
                    self.still_open(Rule::B2, "finish-step");
                }
                wrote = false;
            }
            Chunk::ResetStep(_) => self.reset_step(),
            Chunk::SetMetadata(c) => wrote = !c.message_metadata.value().is_null(),

            Chunk::ToolInputStart(_)
            | Chunk::ToolInputDelta(_)
            | Chunk::ToolInputAvailable(_)
            | Chunk::ToolInputError(_)
            | Chunk::ToolApprovalRequest(_)
            | Chunk::ToolApprovalResponse(_)
            | Chunk::ToolOutputAvailable(_)
            | Chunk::ToolOutputError(_)
            | Chunk::ToolOutputDenied(_) => self.tool(chunk),

            Chunk::Data(data) if data.transient == Some(true) => wrote = false,
            Chunk::SourceUrl(_)
            | Chunk::SourceDocument(_)
            | Chunk::File(_)
            | Chunk::ReasoningFile(_)
            | Chunk::Custom(_)
            | Chunk::SteeringMessage(_)
            | Chunk::Data(_) => self.new_content(chunk.kind()),
        }
        self.wrote_if(wrote);
    }
}
