//! One model request: retried until the first output, then converted into events.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::StreamExt;
use holdpoint_protocol::chunk::FinishReason;
use rig_core::{
    completion::{self, CompletionRequest, CompletionResponse},
    message::AssistantContent,
    streaming::{CompletionStream, Item, PartKind, StreamEvent},
};

use super::{
    Inner,
    failure::{FailureKind, ProviderFailure},
    replay, request,
};
use crate::model::{ModelError, ModelEvent, ModelRequest, Usage};

/// A shorter pause is not told: it is over before anybody has read of it.
const NOTICED: Duration = Duration::from_secs(1);

/// A request to the model.
pub(super) struct ModelRequestStream {
    inner: Arc<Inner>,
    /// The models to ask if this one can't answer.
    fallbacks: VecDeque<Arc<Inner>>,
    asked: ModelRequest,
    request: CompletionRequest,
    state: State,
    tried: u32,
    reader: Reader,
}

enum State {
    /// Not sent yet, or to be sent again.
    Ready,
    /// To be sent again after this time.
    Waiting(Duration),
    Reading(Box<CompletionStream>),
    Over,
}

type Events = VecDeque<Result<ModelEvent, ModelError>>;

impl ModelRequestStream {
    pub(super) fn new(inner: Arc<Inner>, fallbacks: &[Arc<Inner>], asked: ModelRequest) -> Self {
        let request = request::build(&inner, &asked);
        let fallbacks = fallbacks.iter().cloned().collect();
        Self { inner, fallbacks, asked, request, state: State::Ready, tried: 0, reader: Reader::default() }
    }

    /// The next events; `None` at the end.
    pub(super) async fn next(mut self) -> Option<(Events, Self)> {
        loop {
            let step = match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Ready => self.open(),
                State::Waiting(pause) => {
                    tokio::time::sleep(pause).await;
                    self.state = State::Ready;
                    continue;
                }
                State::Reading(stream) => self.read(*stream).await,
            };
            let events = step.unwrap_or_else(|failure| self.failed(&failure));
            if !events.is_empty() {
                return Some((events, self));
            }
        }
    }

    /// Tries again, asks the next model, or gives up. Only before the first output, since shown output can't be taken back.
    fn failed(&mut self, failure: &ProviderFailure) -> Events {
        let error = failure.to_model_error(&self.inner);
        if self.reader.has_begun {
            return [Err(error)].into();
        }
        if let Some(pause) = failure.pause(self.tried) {
            tracing::info!(detail = %error.detail, ?pause, "retrying the model request");
            self.state = State::Waiting(pause);
            let is_noticed = pause >= NOTICED;
            let message = failure.while_waiting(&self.inner, pause);
            return is_noticed.then_some(Ok(ModelEvent::Retry { message, delay: pause })).into_iter().collect();
        }
        match self.fallbacks.pop_front().filter(|_| failure.is_of_the_model()) {
            Some(next) => {
                tracing::warn!(detail = %error.detail, next = %next.spec, "asking the next model");
                let message = failure.before_the_next(&self.inner);
                self.request = request::build(&next, &self.asked);
                (self.inner, self.tried, self.state) = (next, 0, State::Ready);
                [Ok(ModelEvent::Retry { message, delay: Duration::ZERO })].into()
            }
            None => [Err(error)].into(),
        }
    }

    fn open(&mut self) -> Result<Events, ProviderFailure> {
        self.tried += 1;
        let stream =
            self.inner.model.stream(self.request.clone()).map_err(|error| ProviderFailure::of(&error, false))?;
        self.state = State::Reading(Box::new(stream));
        Ok(Events::new())
    }

    async fn read(&mut self, mut stream: CompletionStream) -> Result<Events, ProviderFailure> {
        let item = match stream.next().await {
            Some(item) => item.map_err(|error| ProviderFailure::of(&error, self.reader.has_begun))?,
            None => {
                let response =
                    stream.finish().await.map_err(|error| ProviderFailure::of(&error, self.reader.has_begun))?;
                return self
                    .reader
                    .end(&response, &self.inner.origin)
                    .map(|events| events.into_iter().map(Ok).collect());
            }
        };
        self.state = State::Reading(Box::new(stream));
        Ok(match item {
            Item::Event(event) => self.reader.event(event).into_iter().map(Ok).collect(),
            // An item that `rig` added later. Not relevant here.
            Item::Unknown(_) => Events::new(),
        })
    }
}

/// Converts parts, which may overlap, into blocks, which may not.
#[derive(Default)]
struct Reader {
    /// The open text or reasoning block, and its part.
    open: Option<(PartKind, usize)>,
    /// Whether any output has been shown.
    has_begun: bool,
    has_text: bool,
    calls: usize,
}

impl Reader {
    fn event(&mut self, event: StreamEvent) -> Vec<ModelEvent> {
        let mut events = Vec::new();
        match event {
            StreamEvent::Text { part, text } => {
                self.has_text |= !text.trim().is_empty();
                self.write(PartKind::Text, part.index(), &mut events);
                events.push(ModelEvent::TextDelta(text));
            }
            StreamEvent::Reasoning { part, text } => {
                self.write(PartKind::Reasoning, part.index(), &mut events);
                events.push(ModelEvent::ReasoningDelta(text));
            }
            StreamEvent::Start { part, kind: PartKind::ToolCall, name: Some(name) } => {
                self.close(&mut events);
                events.push(ModelEvent::InputStart { id: id(part.index()), name: name.into() });
            }
            StreamEvent::Arguments { part, json } => {
                events.push(ModelEvent::InputDelta { id: id(part.index()), delta: json });
            }
            StreamEvent::End { part, content: AssistantContent::ToolCall(call) } => {
                self.close(&mut events);
                self.calls += 1;
                let input = match call.function.invalid_arguments {
                    // Not the partially parsed input: a person may have to approve what runs.
                    Some(text) => Err(text),
                    None => Ok(serde_json::Value::Object(call.function.arguments)),
                };
                events.push(ModelEvent::Call { id: id(part.index()), name: call.function.name.into(), input });
            }
            StreamEvent::End { part, .. } if self.open.is_some_and(|(_, open)| open == part.index()) => {
                self.close(&mut events);
            }
            // A block opens at its first delta, so that there are no empty blocks.
            StreamEvent::Start { .. } | StreamEvent::End { .. } => {}
        }
        self.has_begun |= !events.is_empty();
        events
    }

    /// Opens the block that a delta belongs to. Some providers alternate between parts; then there are more blocks than
    /// parts.
    fn write(&mut self, kind: PartKind, part: usize, events: &mut Vec<ModelEvent>) {
        if self.open == Some((kind, part)) {
            return;
        }
        self.close(events);
        self.open = Some((kind, part));
        events.push(if kind == PartKind::Text { ModelEvent::TextStart } else { ModelEvent::ReasoningStart });
    }

    fn close(&mut self, events: &mut Vec<ModelEvent>) {
        match self.open.take() {
            Some((PartKind::Text, _)) => events.push(ModelEvent::TextEnd),
            Some(_) => events.push(ModelEvent::ReasoningEnd),
            None => {}
        }
    }

    fn end(&mut self, response: &CompletionResponse, origin: &str) -> Result<Vec<ModelEvent>, ProviderFailure> {
        use completion::FinishReason as Theirs;
        let theirs = response.finish_reason();
        let has_answer = self.has_text || self.calls > 0;
        let said = || format!("the answer ended with {theirs:?}; {}", response.error.as_deref().unwrap_or_default());
        let reason = match &theirs {
            // Calls of a filtered response are not run, since parts of it may be missing.
            Some(Theirs::ContentFilter) if self.calls > 0 || !has_answer => {
                return Err(ProviderFailure::new(FailureKind::Filtered, said()));
            }
            Some(Theirs::ContentFilter) => FinishReason::ContentFilter,
            Some(Theirs::Length) if !has_answer => return Err(ProviderFailure::new(FailureKind::TokenLimit, said())),
            Some(Theirs::Length) => FinishReason::Length,
            Some(Theirs::Other(name)) if !has_answer => {
                let kind = if name == "RECITATION" { FailureKind::Filtered } else { FailureKind::Empty };
                return Err(ProviderFailure::new(kind, said()));
            }
            _ if !has_answer => return Err(ProviderFailure::new(FailureKind::Empty, said())),
            _ if self.calls > 0 => FinishReason::ToolCalls,
            Some(Theirs::Stop | Theirs::ToolCalls) | None => FinishReason::Stop,
            Some(_) => FinishReason::Other,
        };
        let mut events = Vec::new();
        self.close(&mut events);
        let usage = Usage {
            prompt_tokens: response.usage.input_tokens.unwrap_or_default(),
            completion_tokens: response.usage.output_tokens.unwrap_or_default(),
            cached_prompt_tokens: response.usage.cached_input_tokens.unwrap_or_default(),
            reasoning_tokens: response.usage.reasoning_tokens.unwrap_or_default(),
        };
        let (version, state) = (response.model().map(str::to_owned), replay::keep(response, origin));
        events.push(ModelEvent::Finish { usage, reason, version, state });
        Ok(events)
    }
}

/// Unique within its step, which is enough: the turn machine mints the chat's ids.
fn id(part: usize) -> String {
    format!("call-{part}")
}
