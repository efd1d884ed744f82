//! The history as a client reads it: `UIMessage[]`, including open holds.

use std::collections::{HashMap, HashSet, VecDeque};

use holdpoint_protocol::{
    holds::{DecisionKind, SettledMetadata},
    ids::{PartId, ToolCallId},
    json::ProviderMetadata,
    message::{Approval, Part, ReasoningPart, Role, StreamState, TextPart, ToolFields, ToolPart, ToolState, UiMessage},
};
use serde_json::Map;

use super::{
    calls::{TurnCalls, Waits},
    chunks::usage_metadata,
    messages::Messages,
};
use crate::{
    call::{Call, Decision},
    fact::{BlockKind, CallOrder, Cause, Fact, Outcome},
};

/// Builds the history from the facts of a chat. A message that is still being written is left out: a client that
/// resumes gets it whole.
pub fn history<T: AsRef<Fact>>(facts: &[T]) -> Vec<UiMessage> {
    let mut book = Book::default();
    for fact in facts.iter().map(AsRef::as_ref) {
        book.apply(fact);
    }
    book.finish()
}

#[derive(Default)]
struct Book {
    messages: Messages<UiMessage>,
    turn: Option<Turn>,
    /// User messages that wait for calls of the turn.
    waiting: VecDeque<UiMessage>,
}

struct Turn {
    calls: TurnCalls,
    /// Whether text is held back until the turn has ended.
    holds_text: bool,
    entries: Vec<Entry>,
    blocks: HashMap<PartId, usize>,
    /// The calls in the message.
    shown: HashSet<ToolCallId>,
}

/// An entry of a message.
enum Entry {
    Part(Part),
    /// A call, rendered in its current state when the message is read.
    Call(ToolCallId),
}

impl Book {
    fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Context { messages } => self.add(messages.iter().cloned()),
            // Calls of the open turn still run: the message comes after that turn.
            Fact::Said { message, cut: None, next: Some(_), .. } => self.waiting.push_back(message.clone()),
            Fact::Said { message, cut, .. } => {
                self.put_down();
                let waiting = std::mem::take(&mut self.waiting);
                self.add(waiting);
                drop(self.messages.cut(cut.as_ref()));
                self.add([message.clone()]);
            }
            Fact::Regenerated { cut, .. } => {
                self.put_down();
                drop(self.messages.cut(cut.as_ref()));
            }
            Fact::TurnStarted { holds_text, can_ask, .. } => {
                self.put_down();
                self.turn = TurnCalls::begin(fact, false).map(|calls| Turn {
                    calls,
                    holds_text: *holds_text && *can_ask,
                    entries: Vec::new(),
                    blocks: HashMap::new(),
                    shown: HashSet::new(),
                });
            }
            _ => {
                if let Some(turn) = &mut self.turn {
                    turn.apply(fact);
                }
            }
        }
    }

    fn put_down(&mut self) {
        let (written, said) = (self.turn.take().map(Turn::into_message), self.waiting.pop_front());
        self.add(written.into_iter().chain(said));
    }

    fn add(&mut self, messages: impl IntoIterator<Item = UiMessage>) {
        self.messages.extend(messages.into_iter().map(|message| (message.id.clone(), message)));
    }

    fn finish(mut self) -> Vec<UiMessage> {
        // If a newer message waits, no response writes to this turn any more. Show it as far as it got.
        if self.waiting.is_empty() && self.turn.as_ref().is_some_and(|turn| turn.is_being_written()) {
            self.turn = None;
        }
        self.put_down();
        let messages = self.messages.into_vec().into_iter().map(|(_, message)| message);
        messages.chain(self.waiting).collect()
    }
}

impl Turn {
    fn apply(&mut self, fact: &Fact) {
        self.calls.apply(fact);
        match fact {
            Fact::StepStarted => self.entries.push(Entry::Part(Part::StepStart)),
            Fact::BlockStarted { kind, id } => {
                self.blocks.insert(id.clone(), self.entries.len());
                self.entries.push(Entry::Part(match kind {
                    BlockKind::Text => {
                        Part::Text(TextPart { state: Some(StreamState::Done), ..TextPart::done(String::new()) })
                    }
                    BlockKind::Reasoning => Part::Reasoning(ReasoningPart {
                        id: Some(id.clone()),
                        text: String::new(),
                        state: Some(StreamState::Done),
                        provider_metadata: None,
                    }),
                }));
            }
            Fact::BlockDelta { id, delta } => match self.blocks.get(id).and_then(|at| self.entries.get_mut(*at)) {
                Some(Entry::Part(Part::Text(part))) => part.text.push_str(delta.text()),
                Some(Entry::Part(Part::Reasoning(part))) => part.text.push_str(delta.text()),
                _ => {}
            },
            // With `CallOrder::OneByOne`, clients do not see a call before it is asked about, started or settled.
            Fact::Called { call, .. } if self.calls.order == CallOrder::Together => self.show(call),
            Fact::Invalid { call, .. }
            | Fact::Asked { call, .. }
            | Fact::Decided { call, .. }
            | Fact::Started { call, .. }
            | Fact::Settled { call, .. } => self.show(call),
            _ => {}
        }
    }

    fn show(&mut self, id: &ToolCallId) {
        if self.calls.get(id).is_some() && self.shown.insert(id.clone()) {
            self.entries.push(Entry::Call(id.clone()));
        }
    }

    /// Whether a response is open, because the model writes, a tool runs, or it waits for a browser.
    fn is_being_written(&self) -> bool {
        // If all calls are settled and the turn has not ended, it is idle: nothing is being written.
        !self.calls.is_over && (self.calls.is_writing || self.any_waits(Waits::Here))
    }

    fn any_waits(&self, waits: Waits) -> bool {
        self.calls.all().any(|(_, call)| call.waits(self.calls.reader()) == waits)
    }

    fn into_message(self) -> UiMessage {
        let is_over = self.calls.is_over;
        // A browser's result is expected with the client's next request.
        let holds_denials = !is_over && self.any_waits(Waits::Browser);
        let holds_text = self.holds_text && !is_over;
        let calls = &self.calls;
        let parts = self.entries.into_iter().filter_map(|entry| match entry {
            Entry::Part(part) => Some(part),
            Entry::Call(id) => calls.get(&id).map(|call| Part::Tool(Box::new(tool_part(&id, call)))),
        });
        let mut parts: Vec<Part> = parts.collect();
        if holds_denials {
            hold_denials(&mut parts);
        }
        if holds_text {
            parts.retain(|part| !matches!(part, Part::Text(_)));
        }
        let metadata = usage_metadata(calls.usage_since(0), calls.usage_since(0), &calls.model);
        UiMessage { id: calls.message.clone(), role: Role::Assistant, metadata: Some(metadata.into()), parts }
    }
}

/// Neither `sendAutomaticallyWhen` predicate of the SDK sends a message with one denied call and one with a result.
/// Until the result is there, a denied call of the same step is shown as `approval-responded`.
fn hold_denials(parts: &mut [Part]) {
    let step = parts.iter().rposition(|part| *part == Part::StepStart).unwrap_or(0);
    for part in &mut parts[step..] {
        if let Part::Tool(part) = part
            && part.state == ToolState::OutputDenied
        {
            part.state = ToolState::ApprovalResponded;
            part.fields.call_provider_metadata = None;
        }
    }
}

/// A call as a message part.
fn tool_part(id: &ToolCallId, call: &Call) -> ToolPart {
    let fields = ToolFields { input: Some(call.input.clone()), ..ToolFields::default() };
    let (name, state) = (call.name.clone(), ToolState::InputAvailable);
    let mut part = ToolPart { name, dynamic: false, tool_call_id: id.clone(), state, fields };
    if let Some(request) = &call.request {
        part.state = ToolState::ApprovalRequested;
        part.fields.approval = Some(Approval {
            id: request.approval.clone(),
            approved: None,
            reason: None,
            request_reason: None,
            extra: Map::new(),
        });
    }
    if let Some(decision) = call.decision.as_ref().filter(|_| call.request.is_some()) {
        part.state = ToolState::ApprovalResponded;
        if let Some(approval) = &mut part.fields.approval {
            approval.approved = Some(decision.kind() != DecisionKind::Deny);
            approval.reason.clone_from(&decision.reason);
        }
    }
    if let Some(settled) = &call.settled {
        settle(&mut part, &settled.outcome, settled.cause);
        part.fields.call_provider_metadata = Some(settled_metadata(settled.cause, call.decision.as_ref()));
    }
    part
}

/// The cause of a call's outcome, as metadata.
fn settled_metadata(cause: Cause, decision: Option<&Decision>) -> ProviderMetadata {
    let settled = SettledMetadata {
        cause,
        decided_by: decision.iter().flat_map(|decision| &decision.by).map(|by| by.as_str().to_owned()).collect(),
        grant: decision.and_then(|decision| decision.grant.clone()),
        decided_at: decision.map(|decision| decision.at.iso8601()),
        edited: decision.is_some_and(|decision| decision.original_input.is_some()),
    };
    let mut metadata = ProviderMetadata::default();
    metadata.insert("holdpoint", settled.into_fields());
    metadata
}

/// Writes the outcome into the part. `validateUIMessages` accepts an approval beside an output or an error only if it
/// was granted, and beside a denial only if it was refused (RULES T11).
fn settle(part: &mut ToolPart, outcome: &Outcome, cause: Cause) {
    let approved = part.fields.approval.as_ref().and_then(|approval| approval.approved);
    match outcome {
        Outcome::Denied { reason } if part.fields.approval.is_some() && approved != Some(true) => {
            part.state = ToolState::OutputDenied;
            if let Some(approval) = &mut part.fields.approval {
                approval.approved = Some(false);
                approval.reason.clone_from(reason);
            }
            return;
        }
        Outcome::Output(output) => {
            part.state = ToolState::OutputAvailable;
            part.fields.output = Some(output.clone());
        }
        Outcome::Error(text) => {
            part.state = ToolState::OutputError;
            part.fields.error_text = Some(text.clone());
        }
        // A client can't represent a denial of a call that was approved or has no approval request.
        Outcome::Denied { reason } => {
            part.state = ToolState::OutputError;
            part.fields.error_text = Some(match outcome.told(cause) {
                Outcome::Error(text) => text,
                _ => Outcome::denial_text(reason.as_deref()),
            });
        }
    }
    part.fields.approval.take_if(|_| approved != Some(true));
}
