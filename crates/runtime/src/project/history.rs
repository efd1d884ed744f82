//! The history as a client reads it back: `UIMessage[]`, holds included, as they stand.

use std::collections::{HashMap, HashSet, VecDeque};

use holdpoint_protocol::{
    holds::SettledMetadata,
    ids::{MessageId, PartId, ToolCallId},
    json::ProviderMetadata,
    message::{Approval, Part, ReasoningPart, Role, StreamState, TextPart, ToolFields, ToolPart, ToolState, UiMessage},
};
use serde_json::{Map, Value, json};

use crate::{
    clock::Timestamp,
    fact::{BlockKind, CallOrder, Cause, Fact, Outcome},
    model::Usage,
    subject::Subject,
    tool::{Execution, Wait},
};

/// Builds it from the facts of a chat. A message that is being written right now is left out: a client that resumes gets it whole.
pub fn history<T: AsRef<Fact>>(facts: &[T]) -> Vec<UiMessage> {
    let mut book = Book::default();
    for fact in facts.iter().map(AsRef::as_ref) {
        book.apply(fact);
    }
    book.finish()
}

#[derive(Default)]
struct Book {
    messages: Vec<UiMessage>,
    turn: Option<Turn>,
    /// What the user has said while calls of the turn still run.
    waiting: VecDeque<UiMessage>,
}

struct Turn {
    message: UiMessage,
    order: CallOrder,
    /// Text is held back until the turn is over.
    holds_text: bool,
    is_writing: bool,
    is_over: bool,
    blocks: HashMap<PartId, usize>,
    calls: HashMap<ToolCallId, (usize, Waits)>,
    /// Calls whose turn has not come.
    queue: Vec<(ToolCallId, String, Value)>,
    /// Calls whose result the client's next request brings.
    resubmitted: HashSet<ToolCallId>,
    /// Who decided about a call, and when.
    decisions: HashMap<ToolCallId, (Subject, Timestamp)>,
    usage: Usage,
    model: String,
}

/// What a call waits for, as far as somebody who reads the history cares.
#[derive(Clone, Copy, PartialEq)]
enum Waits {
    /// Its response is still being written.
    Server,
    /// The client's next request.
    Client,
    Nothing,
}

impl Book {
    fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Context { messages } => self.messages.extend(messages.iter().cloned()),
            // Calls of the open turn still run: the message is stored, and stands after it.
            Fact::Said { message, cut: None, next: Some(_) } => self.waiting.push_back(message.clone()),
            Fact::Said { message, cut, .. } => {
                self.put_down();
                self.messages.extend(self.waiting.drain(..));
                self.cut(cut.as_ref());
                self.messages.push(message.clone());
            }
            Fact::Regenerated { cut } => {
                self.put_down();
                self.cut(cut.as_ref());
            }
            Fact::TurnStarted { message, order, holds_text, model, .. } => {
                self.put_down();
                self.turn = Some(Turn {
                    message: UiMessage {
                        id: message.clone(),
                        role: Role::Assistant,
                        metadata: None,
                        parts: Vec::new(),
                    },
                    order: *order,
                    holds_text: *holds_text,
                    is_writing: true,
                    is_over: false,
                    blocks: HashMap::new(),
                    calls: HashMap::new(),
                    queue: Vec::new(),
                    resubmitted: HashSet::new(),
                    decisions: HashMap::new(),
                    usage: Usage::default(),
                    model: model.clone(),
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
        self.messages.extend(self.turn.take().map(Turn::into_message));
        self.messages.extend(self.waiting.pop_front());
    }

    fn cut(&mut self, from: Option<&MessageId>) {
        if let Some(at) = from.and_then(|id| self.messages.iter().position(|message| message.id == *id)) {
            self.messages.truncate(at);
        }
    }

    fn finish(mut self) -> Vec<UiMessage> {
        // A turn that a newer message waits for is written to by nobody's response: it stands as far as it is.
        if self.waiting.is_empty() && self.turn.as_ref().is_some_and(|turn| turn.is_being_written()) {
            self.turn = None;
        }
        self.put_down();
        self.messages.extend(self.waiting);
        self.messages
    }
}

impl Turn {
    fn apply(&mut self, fact: &Fact) {
        let parts = &mut self.message.parts;
        match fact {
            Fact::StepStarted => {
                self.is_writing = true;
                parts.push(Part::StepStart);
            }
            Fact::StepEnded { usage, version, .. } => {
                self.is_writing = false;
                self.usage += *usage;
                if let Some(version) = version {
                    self.model.clone_from(version);
                }
            }
            Fact::BlockStarted { kind, id } => {
                self.blocks.insert(id.clone(), parts.len());
                parts.push(match kind {
                    BlockKind::Text => {
                        Part::Text(TextPart { state: Some(StreamState::Done), ..TextPart::done(String::new()) })
                    }
                    BlockKind::Reasoning => Part::Reasoning(ReasoningPart {
                        id: Some(id.clone()),
                        text: String::new(),
                        state: Some(StreamState::Done),
                        provider_metadata: None,
                    }),
                });
            }
            Fact::BlockDelta { id, delta } => match self.blocks.get(id).and_then(|at| parts.get_mut(*at)) {
                Some(Part::Text(part)) => part.text.push_str(delta.text()),
                Some(Part::Reasoning(part)) => part.text.push_str(delta.text()),
                _ => {}
            },
            Fact::Called { call, name, input, execution, wait, .. } => {
                let is_resubmit = *execution == Execution::Frontend && *wait == Wait::Resubmit;
                if is_resubmit {
                    self.resubmitted.insert(call.clone());
                }
                match self.order {
                    CallOrder::Together => self.add(call, name, ToolState::InputAvailable, input, Waits::Server),
                    // Its turn has not come, and nobody has been told of it.
                    CallOrder::OneByOne => self.queue.push((call.clone(), name.clone(), input.clone())),
                }
            }
            Fact::Invalid { call, name, input, error } => {
                self.add(call, name, ToolState::OutputError, input, Waits::Nothing);
                let metadata = self.metadata(call, Cause::Refused);
                self.change(call, Waits::Nothing, |part| {
                    part.fields.error_text = Some(error.clone());
                    part.fields.call_provider_metadata = Some(metadata);
                });
            }
            Fact::Asked { call, approval, .. } => self.change(call, Waits::Client, |part| {
                part.state = ToolState::ApprovalRequested;
                part.fields.approval = Some(Approval {
                    id: approval.clone(),
                    approved: None,
                    reason: None,
                    request_reason: None,
                    extra: Map::new(),
                });
            }),
            Fact::Decided { call, approved, reason, by, at } => {
                self.decisions.insert(call.clone(), (by.clone(), *at));
                self.change(call, Waits::Server, |part| {
                    part.state = ToolState::ApprovalResponded;
                    if let Some(approval) = &mut part.fields.approval {
                        approval.approved = Some(*approved);
                        approval.reason.clone_from(reason);
                    }
                });
            }
            Fact::Started { call, .. } if self.resubmitted.contains(call) => self.change(call, Waits::Client, |_| {}),
            Fact::Started { call, .. } => self.change(call, Waits::Server, |_| {}),
            Fact::Settled { call, outcome, cause, .. } => {
                let metadata = self.metadata(call, *cause);
                self.change(call, Waits::Nothing, |part| {
                    settle(part, outcome);
                    part.fields.call_provider_metadata = Some(metadata);
                });
            }
            Fact::TurnEnded { .. } => self.is_over = true,
            _ => {}
        }
    }

    /// Why a call ended, as data.
    fn metadata(&self, call: &ToolCallId, cause: Cause) -> ProviderMetadata {
        let decision = self.decisions.get(call);
        let settled = SettledMetadata {
            cause,
            decided_by: decision.iter().map(|(by, _)| by.as_str().to_owned()).collect(),
            decided_at: decision.map(|(_, at)| at.iso8601()),
            edited: false,
        };
        let mut metadata = ProviderMetadata::default();
        metadata.insert("holdpoint", settled.into_fields());
        metadata
    }

    fn add(&mut self, id: &ToolCallId, name: &str, state: ToolState, input: &Value, waits: Waits) {
        self.calls.insert(id.clone(), (self.message.parts.len(), waits));
        let fields = ToolFields { input: Some(input.clone()), ..ToolFields::default() };
        let part = ToolPart { name: name.to_owned(), dynamic: false, tool_call_id: id.clone(), state, fields };
        self.message.parts.push(Part::Tool(Box::new(part)));
    }

    fn change(&mut self, id: &ToolCallId, waits: Waits, change: impl FnOnce(&mut ToolPart)) {
        if let Some(at) = self.queue.iter().position(|(queued, ..)| queued == id) {
            let (id, name, input) = self.queue.remove(at);
            self.add(&id, &name, ToolState::InputAvailable, &input, waits);
        }
        let Some((at, before)) = self.calls.get_mut(id) else { return };
        *before = waits;
        if let Some(Part::Tool(part)) = self.message.parts.get_mut(*at) {
            change(part);
        }
    }

    /// Whether a response is being written to right now, by the model, a tool, or a browser that it waits for.
    fn is_being_written(&self) -> bool {
        let waits = |waits: Waits| self.calls.values().any(|(_, each)| *each == waits);
        // When all is settled and the turn is not over, it stands still: nothing is being written.
        !self.is_over && (self.is_writing || waits(Waits::Server))
    }

    /// Whether the client's next request is to bring a browser's result.
    fn waits_for_result(&self) -> bool {
        let waits = |id: &ToolCallId| self.calls.get(id).is_some_and(|(_, waits)| *waits == Waits::Client);
        let is_asked = |id: &ToolCallId| {
            let part = self.calls.get(id).and_then(|(at, _)| self.message.parts.get(*at)).and_then(Part::as_tool);
            part.is_some_and(|part| part.state == ToolState::ApprovalRequested)
        };
        self.resubmitted.iter().any(|id| waits(id) && !is_asked(id))
    }

    /// Neither predicate of the SDK sends a message whose calls are one denied and one with a result. Until the result is there, a denied
    /// call of the same step stands as answered.
    fn hold_denials(&mut self) {
        let step = self.message.parts.iter().rposition(|part| *part == Part::StepStart).unwrap_or(0);
        for part in &mut self.message.parts[step..] {
            if let Part::Tool(part) = part
                && part.state == ToolState::OutputDenied
            {
                part.state = ToolState::ApprovalResponded;
                part.fields.call_provider_metadata = None;
            }
        }
    }

    fn into_message(mut self) -> UiMessage {
        if !self.is_over && self.waits_for_result() {
            self.hold_denials();
        }
        if self.holds_text && !self.is_over {
            self.message.parts.retain(|part| !matches!(part, Part::Text(_)));
        }
        let Usage { prompt_tokens, completion_tokens } = self.usage;
        let total = prompt_tokens.saturating_add(completion_tokens);
        let usage = json!({"promptTokens": prompt_tokens, "completionTokens": completion_tokens, "totalTokens": total});
        self.message.metadata = Some(json!({"usage": usage, "modelVersion": self.model}));
        self.message
    }
}

/// Writes the outcome into the part. `validateUIMessages` accepts an approval beside an output or an error only if it was granted, and
/// beside a denial only if it was not (RULES T11).
fn settle(part: &mut ToolPart, outcome: &Outcome) {
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
        // A client can't hold a denial of something that was never asked, or that was approved.
        Outcome::Denied { reason } => {
            part.state = ToolState::OutputError;
            part.fields.error_text = Some(Outcome::denial_text(reason.as_deref()));
        }
    }
    part.fields.approval.take_if(|_| approved != Some(true));
}
