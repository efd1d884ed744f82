//! One model request: retried until the first output, then converted into events.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

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
    refused::FileId,
    replay,
    request::{self, Carried},
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
    /// The files that the model is not sent, since it has refused them.
    without: HashSet<FileId>,
    /// What the user is to be told of files when the answer begins.
    untold: Vec<String>,
    /// Set while a request that was refused is made again without files.
    attempt: Option<Attempt>,
    state: State,
    tried: u32,
    reader: Reader,
}

/// A request that is made again without files.
struct Attempt {
    /// Why. If it was not the files' fault, this is what the user is told.
    first: ProviderFailure,
    left_out: Vec<Carried>,
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
        let without = inner.refused.all();
        let request = request::build(&inner, &asked, &without);
        let (untold, fallbacks) = (request::left_out(&inner, &asked), fallbacks.iter().cloned().collect());
        let (state, reader) = (State::Ready, Reader::default());
        Self { inner, fallbacks, asked, request, without, untold, attempt: None, state, tried: 0, reader }
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
            let events = step.unwrap_or_else(|failure| self.failed(failure));
            if !events.is_empty() {
                return Some((events, self));
            }
        }
    }

    /// Tries again, leaves files out, asks the next model, or gives up. Only before the first output, since shown output can't
    /// be taken back.
    fn failed(&mut self, failure: ProviderFailure) -> Events {
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
        let Some(failure) = self.leave_files_out(failure) else { return Events::new() };
        let error = failure.to_model_error(&self.inner);
        match self.fallbacks.pop_front().filter(|_| failure.is_of_the_model()) {
            Some(next) => {
                tracing::warn!(detail = %error.detail, next = %next.spec, "asking the next model");
                let message = failure.before_the_next(&self.inner);
                self.without = next.refused.all();
                self.request = request::build(&next, &self.asked, &self.without);
                self.untold = request::left_out(&next, &self.asked);
                (self.inner, self.tried, self.state) = (next, 0, State::Ready);
                [Ok(ModelEvent::Retry { message, delay: Duration::ZERO })].into()
            }
            None => {
                let mut events = self.tell();
                events.push_back(Err(error));
                events
            }
        }
    }

    /// Makes the request again without files, if they may be why it was refused: first without those that no answer has been
    /// given to, then without any. Otherwise gives the failure that counts, which is the first one.
    fn leave_files_out(&mut self, failure: ProviderFailure) -> Option<ProviderFailure> {
        let mut carried = match failure.may_be_of_files() {
            true => request::carried(&self.inner, &self.asked, &self.without),
            false => Vec::new(),
        };
        if carried.is_empty() {
            return Some(self.attempt.take().map_or(failure, |attempt| attempt.first));
        }
        if carried.iter().any(|file| file.is_new) {
            carried.retain(|file| file.is_new);
        }
        tracing::info!(files = carried.len(), "the model request was refused: trying without its files");
        self.without.extend(carried.iter().map(|file| file.id));
        self.request = request::build(&self.inner, &self.asked, &self.without);
        self.state = State::Ready;
        let attempt = self.attempt.get_or_insert(Attempt { first: failure, left_out: Vec::new() });
        // Those of earlier messages come last, and stand first.
        carried.append(&mut attempt.left_out);
        attempt.left_out = carried;
        None
    }

    /// The model answers: if files were left out, that was right.
    fn accepted(&mut self) -> Events {
        if let Some(Attempt { left_out, .. }) = self.attempt.take() {
            tracing::warn!(model = %self.inner.spec, files = left_out.len(), "the model takes no such files");
            self.inner.refused.add(&left_out.iter().map(|file| file.id).collect());
            self.untold.extend(left_out.into_iter().map(|file| file.left_out));
        }
        self.tell()
    }

    /// What the user is to be told of files: in the answer, where every client shows it.
    fn tell(&mut self) -> Events {
        if self.untold.is_empty() {
            return Events::new();
        }
        let text = std::mem::take(&mut self.untold).join("\n");
        [ModelEvent::TextStart, ModelEvent::TextDelta(text), ModelEvent::TextEnd].map(Ok).into()
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
                let ending = self.reader.end(&response, &self.inner.origin)?;
                let mut events = self.accepted();
                events.extend(ending.into_iter().map(Ok));
                return Ok(events);
            }
        };
        self.state = State::Reading(Box::new(stream));
        let mut events = self.accepted();
        match item {
            Item::Event(event) => events.extend(self.reader.event(event).into_iter().map(Ok)),
            // An item that `rig` added later. Not relevant here.
            Item::Unknown(_) => {}
        }
        Ok(events)
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
    /// A call whose input is not valid, as long as nothing follows it: the token limit may have cut it off.
    unsure: Option<ModelEvent>,
}

impl Reader {
    fn event(&mut self, event: StreamEvent) -> Vec<ModelEvent> {
        let (before, mut events) = (self.unsure.take(), Vec::new());
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
                let (id, name) = (id(part.index()), call.function.name.into());
                match call.function.invalid_arguments {
                    // Not the partially parsed input: a person may have to approve what runs.
                    Some(text) => self.unsure = Some(ModelEvent::Call { id, name, input: Err(text) }),
                    None => {
                        let input = Ok(serde_json::Value::Object(call.function.arguments));
                        events.push(ModelEvent::Call { id, name, input });
                    }
                }
            }
            StreamEvent::End { part, .. } if self.open.is_some_and(|(_, open)| open == part.index()) => {
                self.close(&mut events);
            }
            // A block opens at its first delta, so that there are no empty blocks.
            StreamEvent::Start { .. } | StreamEvent::End { .. } => {}
        }
        match before {
            Some(call) if events.is_empty() && self.unsure.is_none() => self.unsure = Some(call),
            // Something follows it: it was not cut off.
            before => events.splice(0..0, before).for_each(drop),
        }
        self.has_begun |= !events.is_empty() || self.unsure.is_some();
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
        let said =
            || format!("the answer ended {}; {}", end(theirs.as_ref()), response.error.as_deref().unwrap_or_default());
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
        // The end says why a call that was cut off is not complete.
        let mut events: Vec<ModelEvent> =
            self.unsure.take().filter(|_| reason != FinishReason::Length).into_iter().collect();
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

/// How the provider ended its answer, for the log.
fn end(theirs: Option<&completion::FinishReason>) -> String {
    use completion::FinishReason as Theirs;
    match theirs {
        Some(Theirs::Stop) => "normally".to_owned(),
        Some(Theirs::Length) => "at the token limit".to_owned(),
        Some(Theirs::ToolCalls) => "with calls".to_owned(),
        Some(Theirs::ContentFilter) => "by a filter".to_owned(),
        Some(Theirs::Other(name)) => format!("with {name}"),
        Some(_) => "in an unknown way".to_owned(),
        None => "without a reason".to_owned(),
    }
}
