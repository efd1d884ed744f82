//! Transcripts: requests, statuses and frames, for the rules that need more than chunks.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Audience, Rule, StreamChecker,
    calls::{Call, State, hash_of, hash_of_id},
    input::Printable,
    schema,
};
use crate::{
    holds::{Cause, SettledMetadata},
    ids::{ApprovalId, MessageId, RequestId, ToolCallId},
    json,
    message::{ClientMessage, Part, Role, ToolFields, ToolState},
    request::{ChatRequest, Trigger},
    sse::{Decoder, Event},
};

/// The request that a segment responds to.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Request {
    /// Not known.
    #[default]
    Unknown,
    /// A new message (`continues` is `None`), or answers.
    Submit {
        continues: Option<MessageId>,
        history: HashSet<MessageId>,
        answered: HashSet<ToolCallId>,
        /// The calls of the continued message, as the client has them.
        carried: Vec<RequestCall>,
    },
    Regenerate {
        history: HashSet<MessageId>,
    },
    Resume,
}

/// A call known from the request alone: a client that has just loaded its history has it, though no chunk has shown it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RequestCall {
    pub(super) id: ToolCallId,
    pub(super) approval: Option<ApprovalId>,
    pub(super) call: Call,
}

/// Whether the outcome is the server's own, as its record says. A client's own result is confirmed, whatever the record says
/// of it by now.
fn is_the_servers(fields: &ToolFields) -> bool {
    let said = fields.call_provider_metadata.as_ref().and_then(|metadata| metadata.as_map().get("holdpoint"));
    let settled = said.and_then(|said| SettledMetadata::deserialize(said).ok());
    settled.is_some_and(|settled| settled.cause != Cause::Result)
}

impl RequestCall {
    fn all(parts: &[Part]) -> Vec<Self> {
        let is_step = |part: &&Part| matches!(part, Part::StepStart);
        let last = parts.iter().filter(is_step).count() as u32;
        let mut step = 0;
        let mut carried = Vec::new();
        for part in parts {
            step += u32::from(is_step(&part));
            let Some(tool) = part.as_tool() else { continue };
            let (state, has_outcome_in_request) = match tool.state {
                ToolState::InputStreaming => (State::Announced { available: false }, false),
                ToolState::InputAvailable => (State::Announced { available: true }, false),
                ToolState::ApprovalRequested | ToolState::ApprovalResponded => (State::Asked, false),
                // In the last step it may be the client's own result, which the backend still confirms.
                ToolState::OutputAvailable | ToolState::OutputError | ToolState::OutputDenied
                    if step == last && !is_the_servers(&tool.fields) =>
                {
                    (State::Announced { available: true }, true)
                }
                ToolState::OutputAvailable | ToolState::OutputError | ToolState::OutputDenied => (State::Settled, true),
            };
            carried.push(Self {
                id: tool.tool_call_id.clone(),
                approval: tool.fields.approval.as_ref().map(|approval| approval.id.clone()),
                call: Call {
                    name: tool.name.as_str().into(),
                    dynamic: tool.dynamic,
                    provider_executed: tool.fields.provider_executed == Some(true),
                    step,
                    state,
                    has_outcome_in_request,
                    begun_in: None,
                    asked_in: (state == State::Asked).then_some(0),
                    asked_again_in: None,
                    approval: tool.fields.approval.as_ref().map(|approval| hash_of_id(approval.id.as_str())),
                    reannounced_in: None,
                    preliminary: false,
                    input: tool.fields.input.as_ref().map(hash_of),
                    line: 0,
                    place: (0, step),
                    settled_at: None,
                },
            });
        }
        carried
    }
}

impl Request {
    /// Whether the client starts with an empty message.
    pub(super) fn starts_empty(&self) -> bool {
        matches!(self, Request::Resume | Request::Regenerate { .. })
    }

    /// Whether the call's approval was answered, as far as is known.
    pub(super) fn has_answered(&self, call: &ToolCallId) -> bool {
        match self {
            Request::Submit { answered, .. } => answered.contains(call),
            _ => true,
        }
    }

    fn of(body: ChatRequest) -> Self {
        let history = body.messages.iter().filter_map(|message| message.id.clone()).collect();
        if body.trigger == Trigger::RegenerateMessage {
            return Request::Regenerate { history };
        }
        // The client continues the message that it names, or else its last one.
        let is_named = |message: &&ClientMessage| message.id.is_some() && message.id == body.message_id;
        let last = body.messages.iter().rfind(is_named).filter(|message| message.role == Role::Assistant);
        let last = last.or(body.messages.last()).filter(|message| message.role == Role::Assistant);
        let tools = last.into_iter().flat_map(|message| message.parts.iter().filter_map(Part::as_tool));
        let answered = tools
            .filter(|tool| tool.state == ToolState::ApprovalResponded)
            .map(|tool| tool.tool_call_id.clone())
            .collect();
        let carried = last.map(|message| RequestCall::all(&message.parts)).unwrap_or_default();
        Request::Submit { continues: last.and_then(|message| message.id.clone()), history, answered, carried }
    }
}

/// How many ended requests are kept, to detect late frames.
const MAX_ENDED_REQUESTS: usize = 1024;

/// Reads a transcript line by line.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// The SSE body of the current response.
    body: Option<Decoder>,
    /// Whether the current response is a history.
    is_history: bool,
    requests: HashMap<RequestId, Socket>,
}

/// One request on the SDK's WebSocket.
#[derive(Debug)]
struct Socket {
    is_resume: bool,
    next: u64,
    has_started: bool,
    is_over: bool,
    /// The client no longer listens: chunks up to `end` are ignored, and `end` may be missing.
    is_aborted: bool,
    /// It resumes after a chunk that this connection did not bring, so the earlier chunks are unknown.
    is_rest: bool,
    /// The request that its chunks respond to, until the first one comes.
    request: Option<Request>,
}

impl Transcript {
    /// Whether the first line of a file is that of a transcript.
    pub(super) fn is_one(line: &[u8]) -> bool {
        let Ok(Value::Object(map)) = json::parse(line) else {
            return false;
        };
        map.len() == 1 && ["request", "status", "frame"].iter().any(|key| map.contains_key(*key))
    }

    pub(super) fn line(&mut self, number: u64, line: &[u8], stream: &mut StreamChecker) {
        stream.show(line);
        let parsed = json::parse(line);
        let entry = match &parsed {
            Ok(Value::Object(map)) if map.len() == 1 => map.iter().next(),
            _ => None,
        };
        match entry {
            Some((key, Value::Object(request))) if key == "request" => self.request(number, request, stream),
            Some((key, status)) if key == "status" => self.status(number, status, stream),
            Some((key, frame)) if key == "frame" => self.frame(number, frame, stream),
            _ => {
                stream.line = number;
                stream.report(
                    Rule::F3,
                    format!(
                        "{} is not a line of a transcript: use one of `request`, `status`, `frame`",
                        Printable(line)
                    ),
                );
            }
        }
    }

    pub(super) fn finish(&mut self, stream: &mut StreamChecker) {
        self.end_body(stream);
        let mut open: Vec<_> = self
            .requests
            .iter()
            .filter(|(_, socket)| !socket.is_over && !socket.is_aborted)
            .map(|(id, _)| id.clone())
            .collect();
        open.sort();
        if self.requests.values().any(|socket| socket.is_aborted && !socket.is_over) {
            stream.abandon();
        }
        if !open.is_empty() {
            // The missing `end` is the violation. Its consequences in the segment are not reported again.
            stream.abandon();
        }
        for id in open {
            stream.report(Rule::W4, format!("the request {id:?} has no `end`: the client waits for ever"));
        }
    }

    fn request(&mut self, number: u64, request: &Map<String, Value>, stream: &mut StreamChecker) {
        let text = |key: &str| request.get(key).and_then(Value::as_str);
        if let (Some(kind @ ("send" | "resume" | "abort")), Some(id)) = (text("type"), text("requestId")) {
            stream.audience = Audience::Sdk7;
            return self.socket_request(kind, id.into(), request);
        }
        if matches!(text("type"), Some("message" | "tool_result" | "interrupt" | "ping")) {
            return; // On `/live` the turn continues across frames.
        }
        self.end_body(stream);
        stream.end();
        stream.line = number;
        let url = text("url").unwrap_or_default();
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let is_get = text("method").is_some_and(|method| method.eq_ignore_ascii_case("GET"));
        self.is_history = is_get && path.ends_with("/messages");
        stream.request = Request::Unknown;
        if is_get && path.ends_with("/stream") {
            stream.request = Request::Resume;
            let headers = request.get("headers").and_then(Value::as_object);
            let has_cursor =
                headers.is_some_and(|headers| headers.keys().any(|key| key.eq_ignore_ascii_case("last-event-id")));
            if !query.is_empty() || has_cursor {
                stream.report(
                    Rule::R1,
                    "a resume with a cursor: the SDK's client sends none, so a backend must not need one",
                );
            }
        } else if let Some(body) = request.get("body").and_then(|body| ChatRequest::deserialize(body).ok()) {
            stream.request = Request::of(body);
        }
    }

    fn status(&mut self, number: u64, status: &Value, stream: &mut StreamChecker) {
        stream.line = number;
        if status.as_u64().is_some_and(|status| (200..300).contains(&status)) {
            return;
        }
        if stream.request == Request::Resume {
            stream.report(
                Rule::R2,
                format!("a resume is answered with {status}: 204 says that there is nothing to resume"),
            );
        } else {
            stream.report(Rule::F1, format!("the answer has the status {status}: the client throws the body's text"));
        }
    }

    fn frame(&mut self, number: u64, frame: &Value, stream: &mut StreamChecker) {
        match frame {
            Value::Array(messages) if self.is_history => {
                stream.history =
                    messages.iter().filter_map(|message| MessageId::deserialize(message.get("id")?).ok()).collect();
            }
            _ if !self.requests.is_empty() => self.socket_frame(number, frame, stream),
            Value::String(bytes) => {
                let body = self.body.get_or_insert_with(|| Decoder::new(super::MAX_EVENT));
                body.feed(bytes.as_bytes(), |event| match event {
                    Event::Data { data, .. } => stream.payload(number, data),
                    Event::Junk { text, .. } if !is_pong(text) => {
                        stream.line = number;
                        stream.report(
                            Rule::F2,
                            format!("{} is not a field of an event: a client drops the line", Printable(text)),
                        );
                    }
                    _ => {}
                });
            }
            Value::Object(chunk) if chunk.get("type") == Some(&Value::from("pong")) => {}
            chunk => stream.payload(number, chunk.to_string().as_bytes()),
        }
    }

    fn end_body(&mut self, stream: &mut StreamChecker) {
        if let Some(body) = self.body.take() {
            body.finish(|event| {
                if let Event::Incomplete { .. } = event {
                    stream.report(
                        Rule::F2,
                        "the body ends before the blank line that completes its last event: a client never sees it",
                    );
                }
            });
        }
    }

    fn socket_request(&mut self, kind: &str, id: RequestId, request: &Map<String, Value>) {
        if kind == "abort" {
            if let Some(socket) = self.requests.get_mut(&id) {
                socket.is_aborted = true;
            }
            return;
        }
        if self.requests.len() >= MAX_ENDED_REQUESTS {
            self.requests.retain(|_, socket| !socket.is_over);
        }
        let is_resume = kind == "resume";
        let last = request.get("lastSequence").and_then(Value::as_u64);
        let answers = if is_resume {
            Request::Resume
        } else {
            ChatRequest::deserialize(request).map(Request::of).unwrap_or_default()
        };
        let next = last.filter(|_| is_resume).map_or(0, |last| last.saturating_add(1));
        self.requests.insert(
            id,
            Socket {
                is_resume,
                next,
                has_started: false,
                is_over: false,
                is_aborted: false,
                is_rest: next > 0,
                request: Some(answers),
            },
        );
    }

    fn socket_frame(&mut self, number: u64, frame: &Value, stream: &mut StreamChecker) {
        let parsed = match frame {
            Value::String(text) => json::parse(text.as_bytes()).unwrap_or(Value::Null),
            other => other.clone(),
        };
        let kind = parsed.get("type").and_then(Value::as_str);
        let id = parsed.get("requestId").and_then(Value::as_str);
        let (Some(kind), Some(id)) = (kind, id) else {
            stream.line = number;
            return stream
                .report(Rule::W1, "a frame without string `type` and `requestId`: the client closes the socket");
        };
        let Some(socket) = self.requests.get_mut(id) else {
            return;
        };
        if socket.is_over {
            stream.line = number;
            return stream.report(Rule::W4, format!("a frame for the request {id:?} after its end"));
        }
        match kind {
            "start" => socket.has_started = true,
            "chunk" => socket.chunk(number, id, &parsed, stream),
            "end" | "no-active" => {
                socket.is_over = true;
                if !socket.is_rest {
                    stream.end();
                }
            }
            "error" => {
                socket.is_over = true;
                if parsed.get("errorText").is_some_and(|text| !text.is_string()) {
                    stream.line = number;
                    stream.report(Rule::W3, "`errorText` is not a string: the client closes the socket");
                }
                stream.abandon();
            }
            _ => {
                stream.line = number;
                stream.report(Rule::W3, format!("unknown frame type {kind:?}: the client closes the socket"));
            }
        }
    }
}

impl Socket {
    fn chunk(&mut self, number: u64, id: &str, frame: &Value, stream: &mut StreamChecker) {
        if let Some(request) = self.request.take()
            && !self.is_rest
        {
            stream.end();
            stream.request = request;
        }
        if self.is_resume && !std::mem::replace(&mut self.has_started, true) {
            stream.line = number;
            stream.report(Rule::W4, format!("the resume {id:?} is answered by a chunk before `start`"));
        }
        match frame.get("sequence").and_then(Value::as_u64) {
            Some(sequence) if sequence == self.next => self.next += 1,
            sequence => {
                stream.line = number;
                stream.report(
                    Rule::W2,
                    format!("`sequence` should be {}: the client closes the socket at a gap", self.next),
                );
                self.next = sequence.unwrap_or(self.next).saturating_add(1);
            }
        }
        let chunk = frame.get("chunk").unwrap_or(&Value::Null).to_string();
        let mut faults = Vec::new();
        match schema::read(chunk.as_bytes(), stream.audience, |rule, text| faults.push((rule, text))) {
            Some(_) if self.is_rest => {}
            Some(chunk) => stream.chunk(number, &chunk),
            None => faults.push((
                Rule::W3,
                "an invalid chunk: the client closes the socket, and all its streams fail".to_owned(),
            )),
        }
        stream.line = number;
        for (rule, text) in faults {
            stream.report(rule, text);
        }
    }
}

/// A pong on `/live`, which is not an SSE record.
fn is_pong(text: &[u8]) -> bool {
    json::parse(text).is_ok_and(|value| value.get("type") == Some(&Value::from("pong")))
}
