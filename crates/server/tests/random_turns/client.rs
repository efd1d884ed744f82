//! What a stock-like client keeps: its messages as the SDK's reducer writes them, and how often it was told each outcome.

use std::collections::{BTreeMap, HashSet};

use holdpoint_protocol::{
    auto_send::{AnswerKey, AutoSend, Context, decide},
    ids::ToolCallId,
    message::{Part, Role, TextPart, ToolPart, ToolState, UiMessage},
    reduce::{Reducer, Sdk},
};
use serde_json::{Value, json};

use super::{
    Failure, World, predicates,
    script::{self, Script},
};

/// By which rule a client decides to send by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sends {
    /// As soon as something is answered.
    AtOnce,
    /// By the specification's document on response timing.
    ByTiming,
    /// By its document on the order of the checks.
    ByOrder,
    /// By our own rule.
    Ours,
}

/// What a person or the browser answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Approve,
    Deny,
    Output,
    Error,
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) chat: String,
    pub(crate) messages: Vec<UiMessage>,
    pub(crate) sends: Sends,
    is_live: bool,
    /// How often each outcome came.
    pub(crate) outcomes: BTreeMap<String, u32>,
    /// Answers that were sent.
    sent: HashSet<AnswerKey>,
    pub(crate) trace: Vec<String>,
    response: Response,
}

/// The response that is being read. A copy of the client does not read it.
#[derive(Default)]
struct Response(Option<Reducer>);

impl Clone for Response {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Client {
    pub(crate) fn new(chat: &str, sends: Sends, is_live: bool) -> Self {
        Self {
            chat: chat.to_owned(),
            messages: Vec::new(),
            sends,
            is_live,
            outcomes: BTreeMap::new(),
            sent: HashSet::new(),
            trace: Vec::new(),
            response: Response::default(),
        }
    }

    pub(crate) fn note(&mut self, what: impl Into<String>) {
        self.trace.push(what.into());
    }

    pub(crate) fn failure(&self, what: impl Into<String>) -> Failure {
        Failure { what: what.into(), trace: self.trace.clone() }
    }

    /// The user says something.
    pub(crate) fn say(&mut self, script: &Script) {
        let text = serde_json::to_string(script).expect("JSON");
        self.note(format!("-- says {text}, sends {:?}", self.sends));
        let id = format!("user-{}", self.messages.len());
        let parts = vec![Part::Text(TextPart::done(text))];
        self.messages.push(UiMessage { id: id.as_str().into(), role: Role::User, metadata: None, parts });
    }

    /// A request is sent: its response continues the last assistant message.
    pub(crate) fn begin(&mut self) {
        let continued = self.messages.last().filter(|message| message.role == Role::Assistant).cloned();
        self.response = Response(Some(match continued {
            Some(message) => Reducer::continue_from(Sdk::V6, message),
            None => Reducer::new(Sdk::V6, "made-up".into()),
        }));
        if let AutoSend::Send { answers, .. } = self.ours() {
            self.sent.extend(answers);
        }
    }

    /// The message is replayed from its beginning.
    pub(crate) fn begin_replay(&mut self) {
        self.response = Response(Some(Reducer::new(Sdk::V6, "made-up".into())));
        self.messages.pop_if(|message| message.role == Role::Assistant);
        self.outcomes.clear();
    }

    /// Takes a chunk, or `[DONE]`.
    pub(crate) fn take(&mut self, payload: &str) -> Result<Value, Failure> {
        self.note(payload.chars().take(220).collect::<String>());
        if payload == "[DONE]" {
            return Ok(json!("[DONE]"));
        }
        let chunk: Value = serde_json::from_str(payload).map_err(|error| self.failure(error.to_string()))?;
        if is_outcome(&chunk) {
            *self.outcomes.entry(call_of(&chunk)).or_default() += 1;
        }
        let read = Sdk::V6.read(payload.as_bytes()).map_err(|error| self.failure(format!("{error:?}")))?;
        let Some(reducer) = &mut self.response.0 else { return Err(self.failure("nothing was sent")) };
        let (applied, written) = (reducer.apply_read(&read), reducer.written());
        applied.map_err(|error| self.failure(format!("the client throws: {error:?}")))?;
        if let Some(message) = written {
            self.messages.pop_if(|last| last.role == Role::Assistant);
            self.messages.push(message);
        }
        Ok(chunk)
    }

    /// The calls of the last message in this state.
    pub(crate) fn calls(&self, state: ToolState) -> Vec<ToolPart> {
        let last = self.messages.last().filter(|message| message.role == Role::Assistant);
        let tools = last.into_iter().flat_map(|message| &message.parts).filter_map(Part::as_tool);
        tools.filter(|tool| tool.state == state).cloned().collect()
    }

    /// The calls that were approved here and that this browser runs.
    pub(crate) fn approved_frontend_calls(&self) -> Vec<ToolPart> {
        let mut calls = self.calls(ToolState::ApprovalResponded);
        let approved = |tool: &ToolPart| tool.fields.approval.as_ref().and_then(|approval| approval.approved);
        calls.retain(|tool| script::is_frontend(&tool.name) && approved(tool) == Some(true));
        calls
    }

    /// Answers, as the SDK's client puts it into its message.
    pub(crate) fn answer(&mut self, call: &ToolCallId, answer: Answer) {
        self.note(format!("-- {answer:?} {call}"));
        let parts = self.messages.last_mut().into_iter().flat_map(|message| &mut message.parts);
        for part in parts {
            let Part::Tool(tool) = part else { continue };
            if tool.tool_call_id != *call {
                continue;
            }
            match answer {
                Answer::Approve | Answer::Deny => {
                    tool.state = ToolState::ApprovalResponded;
                    if let Some(approval) = &mut tool.fields.approval {
                        approval.approved = Some(answer == Answer::Approve);
                    }
                }
                Answer::Output => {
                    tool.state = ToolState::OutputAvailable;
                    tool.fields.output = Some(json!({"seen": call}));
                }
                Answer::Error => {
                    tool.state = ToolState::OutputError;
                    tool.fields.error_text = Some("the camera is covered".to_owned());
                }
            }
        }
    }

    fn ours(&self) -> AutoSend {
        let frontend_tools = Some(["locate", "photo"].map(str::to_owned).into());
        let server_outcomes = Some(self.outcomes.keys().map(|id| id.as_str().into()).collect());
        decide(&self.messages, &Context { frontend_tools, server_outcomes, sent: self.sent.clone() })
    }

    /// Whether it sends now. The specification's rules say no for ever where an earlier call without approval has ended:
    /// they were not written for that, and ours decides.
    pub(crate) fn is_sending(&self, has_answered: bool) -> bool {
        let is_of = |tool: &ToolPart, needs: bool| script::needs_approval(&tool.name) == needs;
        let ended = [ToolState::OutputAvailable, ToolState::OutputError].map(|state| self.calls(state)).concat();
        let is_out_of_scope = ended.iter().any(|tool| is_of(tool, false) || script::is_frontend(&tool.name))
            || self.is_live && !ended.is_empty()
            || self.calls(ToolState::ApprovalResponded).is_empty();
        match self.sends {
            Sends::AtOnce => has_answered,
            Sends::ByTiming if !is_out_of_scope => predicates::by_timing(&self.messages, self.is_live),
            Sends::ByOrder if !is_out_of_scope => predicates::by_order(&self.messages),
            Sends::ByTiming | Sends::ByOrder | Sends::Ours => self.ours().is_send(),
        }
    }

    /// After a response nothing was answered here, so nothing is sent: otherwise the client sends for ever.
    pub(crate) fn check_rest(&self) -> Result<(), Failure> {
        // Without a check for pending requests, it sends until the last one is answered. And neither knows that a call
        // may wait for this browser although another one has its approval.
        let to_run = self.calls(ToolState::InputAvailable);
        let is_pending = !self.calls(ToolState::ApprovalRequested).is_empty();
        let is_running = to_run.iter().any(|tool| script::is_frontend(&tool.name));
        if !is_pending && !is_running && predicates::by_timing(&self.messages, self.is_live) {
            return Err(self.failure("auto-send by response timing says yes after a response"));
        }
        if !is_running && predicates::by_order(&self.messages) {
            return Err(self.failure("auto-send by the order of the checks says yes after a response"));
        }
        match self.ours() {
            AutoSend::Send { because, answers } if self.sends == Sends::Ours => {
                Err(self.failure(format!("our auto-send says {because:?} after a response: {answers:?}")))
            }
            AutoSend::Send { .. } | AutoSend::Wait(_) => Ok(()),
        }
    }

    /// Whether the turn has ended, as far as this client knows.
    pub(crate) fn has_ended(&self) -> bool {
        self.text().ends_with(script::DONE)
    }

    fn text(&self) -> String {
        let parts = self.messages.last().into_iter().flat_map(|message| &message.parts);
        let texts = parts.filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Judges an ended turn: every call has exactly one outcome, the one that is stored, and the text is whole.
    pub(crate) async fn judge(&self, world: &World, script: &Script) -> Result<(), Failure> {
        let stored = self.judge_outcomes(world).await?;
        if stored != script.calls() {
            return Err(self.failure(format!("{stored} of {} calls are stored", script.calls())));
        }
        if self.text() != script.text() {
            return Err(self.failure(format!("the text is {:?}, not {:?}", self.text(), script.text())));
        }
        Ok(())
    }

    /// Judges a turn that was stopped: the same, as far as it came.
    pub(crate) async fn judge_outcomes(&self, world: &World) -> Result<usize, Failure> {
        self.check_rest()?;
        let (status, stored) = world.get(&format!("/api/chat/{}/messages", self.chat)).await;
        let last = stored.as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
        let tools = |message: &Value| {
            let parts = message["parts"].as_array().cloned().unwrap_or_default();
            let tools = parts.into_iter().filter(|part| part["toolCallId"].is_string());
            tools.map(|part| (call_of(&part), outcome(&part))).collect::<BTreeMap<_, _>>()
        };
        let (shown, stored) = (tools(&json!(self.messages.last())), tools(&last));
        if stored.is_empty() {
            return Err(self.failure(format!("{status}: no calls are stored")));
        }
        for (id, outcome) in &stored {
            let told = self.outcomes.get(id).copied().unwrap_or_default();
            if told != 1 {
                return Err(self.failure(format!("{told} outcomes of the call {id}, stored as {outcome}")));
            }
            if shown.get(id) != Some(outcome) {
                return Err(self.failure(format!("{id} is stored as {outcome}, and shown as {:?}", shown.get(id))));
            }
        }
        Ok(stored.len())
    }
}

/// The turn is stopped, from elsewhere. Returns whether it was.
pub(crate) async fn stop_elsewhere(world: &World, chat: &str) -> bool {
    (200..300).contains(&world.post(&format!("/api/chat/{chat}/stop"), &json!({})).await.0)
}

/// The state of a call that has ended. A denial is an error in the adk profile.
fn outcome(part: &Value) -> String {
    let text = |text: &Value| text.as_str().unwrap_or_default().to_owned();
    match part["state"].as_str() {
        Some("output-available") => format!("output {}", part["output"]),
        Some("output-error") => format!("error {}", text(&part["errorText"])),
        Some("output-denied") => "error User denied the tool call".to_owned(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn call_of(chunk: &Value) -> String {
    chunk["toolCallId"].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn is_outcome(chunk: &Value) -> bool {
    matches!(
        chunk["type"].as_str(),
        Some("tool-output-available" | "tool-output-error" | "tool-output-denied" | "tool-input-error")
    )
}

/// A decision made in the inbox. Returns whether it is in force.
pub(crate) async fn decide_elsewhere(world: &World, call: &ToolPart, approved: bool) -> bool {
    let Some(approval) = &call.fields.approval else { return false };
    world.post(&format!("/api/approvals/{}", approval.id), &json!({"approved": approved})).await.0 == 200
}
