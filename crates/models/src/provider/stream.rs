//! One model request: retried until the first output, then converted into events.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use holdpoint_protocol::chunk::FinishReason;

use super::{
    Inner,
    failure::{FailureKind, ProviderFailure},
    http::Events as Incoming,
    replay,
    request::{self, Built, Carried, Without},
    wire::{Answer, Ending, Piece, Read, Reason},
    wordings,
};
use crate::{ModelError, ModelEvent, ModelRequest, Usage};

/// A shorter pause is not told: it is over before anybody has read of it.
const NOTICED: Duration = Duration::from_secs(1);

/// A request to the model.
pub(super) struct ModelRequestStream {
    inner: Arc<Inner>,
    /// The models to ask if this one can't answer.
    fallbacks: VecDeque<Arc<Inner>>,
    asked: ModelRequest,
    request: Built,
    /// What the model is not sent, since it has refused it.
    without: Without,
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
    /// The cause, which the user sees unless the files were the cause.
    first: ProviderFailure,
    left_out: Vec<Carried>,
}

enum State {
    /// Not sent yet, or to be sent again.
    Ready,
    /// To be sent again after this time.
    Waiting(Duration),
    Reading(Box<Reading>),
    Over,
}

/// An answer that is being read.
struct Reading {
    events: Incoming,
    reader: Box<dyn Read>,
    answer: Answer,
}

type Events = VecDeque<Result<ModelEvent, ModelError>>;

impl ModelRequestStream {
    pub(super) fn new(inner: Arc<Inner>, fallbacks: &[Arc<Inner>], asked: ModelRequest) -> Self {
        let without = Without { files: inner.refused.all(), reasoning: false };
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
                State::Ready => self.open().await,
                State::Waiting(pause) => {
                    tokio::time::sleep(pause).await;
                    self.state = State::Ready;
                    continue;
                }
                State::Reading(reading) => self.read(reading).await,
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
        if self.leave_reasoning_out(&failure) {
            return Events::new();
        }
        let Some(failure) = self.leave_files_out(failure) else { return Events::new() };
        let error = failure.to_model_error(&self.inner);
        match self.fallbacks.pop_front().filter(|_| failure.is_of_the_model()) {
            Some(next) => {
                tracing::warn!(detail = %error.detail, next = %next.spec, "asking the next model");
                let message = failure.before_the_next(&self.inner);
                self.without = Without { files: next.refused.all(), reasoning: false };
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

    /// Makes the request again without the reasoning of earlier steps, if that is why it was refused: it is bound to what stood
    /// before it, and that has changed. And without what asks the provider to drop such reasoning itself, if it does not know that.
    fn leave_reasoning_out(&mut self, failure: &ProviderFailure) -> bool {
        if failure.kind == FailureKind::Bound && self.request.has_reasoning {
            tracing::info!(model = %self.inner.spec, "the model does not take its thinking back: trying without");
            self.without.reasoning = true;
        } else if failure.kind == FailureKind::Rejected
            && self.request.beta.is_some()
            && wordings::refuses_binding(&failure.detail)
        {
            tracing::info!(model = %self.inner.spec, "the server does not drop thinking that does not fit: trying without");
            self.inner.leave_thinking_unbound();
        } else {
            return false;
        }
        self.request = request::build(&self.inner, &self.asked, &self.without);
        self.state = State::Ready;
        true
    }

    /// Makes the request again without files, if they may be why it was refused: first without those that no answer has been
    /// given to, then without any. Otherwise gives the failure that counts, which is the first one.
    fn leave_files_out(&mut self, failure: ProviderFailure) -> Option<ProviderFailure> {
        let mut carried = match failure.may_be_of_files() {
            true => request::carried(&self.inner, &self.asked, &self.without.files),
            false => Vec::new(),
        };
        if carried.is_empty() {
            return Some(self.attempt.take().map_or(failure, |attempt| attempt.first));
        }
        if carried.iter().any(|file| file.is_new) {
            carried.retain(|file| file.is_new);
        }
        tracing::info!(files = carried.len(), "the model request was refused: trying without its files");
        self.without.files.extend(carried.iter().map(|file| file.id));
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
            tracing::warn!(model = %self.inner.spec, files = left_out.len(), "the model does not accept these files");
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

    async fn open(&mut self) -> Result<Events, ProviderFailure> {
        self.tried += 1;
        let (inner, request) = (&self.inner, &self.request);
        let opened = inner.http.stream(inner.url.clone(), request.beta, request.body.clone(), inner.wire.framing());
        let events = opened.await.map_err(|error| ProviderFailure::of(&error, false))?;
        let (reader, answer) = (self.inner.wire.reader(), Answer::default());
        self.state = State::Reading(Box::new(Reading { events, reader, answer }));
        Ok(Events::new())
    }

    async fn read(&mut self, mut reading: Box<Reading>) -> Result<Events, ProviderFailure> {
        let Reading { events: incoming, reader, answer } = &mut *reading;
        let is_over = match incoming.next().await {
            Ok(Some(event)) => {
                reader.event(&event, answer).map_err(|error| ProviderFailure::of_event(&error))?;
                false
            }
            Ok(None) => true,
            // Whatever happens to the connection once the answer is complete.
            Err(_) if answer.ending.reason.is_some() => true,
            Err(error) => return Err(ProviderFailure::of(&error, self.reader.has_begun)),
        };
        if is_over && !reader.end(answer) {
            return Err(ProviderFailure::new(FailureKind::CutOff, "the answer has no end"));
        }
        let shown: Vec<ModelEvent> = answer.take().into_iter().flat_map(|piece| self.reader.piece(piece)).collect();
        let mut ending = match is_over {
            true => self.reader.end(&answer.ending, &self.inner.origin)?,
            false => {
                self.state = State::Reading(reading);
                Vec::new()
            }
        };
        let mut events = self.accepted();
        events.extend(shown.into_iter().map(Ok));
        events.extend(ending.drain(..).map(Ok));
        Ok(events)
    }
}

/// Converts parts, which may overlap, into blocks, which may not.
#[derive(Default)]
struct Reader {
    /// The open text or reasoning block, and its part.
    open: Option<(Block, usize)>,
    /// Whether any output has been shown.
    has_begun: bool,
    has_text: bool,
    calls: usize,
    /// A call whose input is not valid, as long as nothing follows it: the token limit may have cut it off.
    unsure: Option<ModelEvent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    Reasoning,
}

impl Reader {
    fn piece(&mut self, piece: Piece) -> Vec<ModelEvent> {
        let (before, mut events) = (self.unsure.take(), Vec::new());
        match piece {
            Piece::Text { part, text } => {
                self.has_text |= !text.trim().is_empty();
                self.write(Block::Text, part, &mut events);
                events.push(ModelEvent::TextDelta(text));
            }
            Piece::Reasoning { part, text } => {
                self.write(Block::Reasoning, part, &mut events);
                events.push(ModelEvent::ReasoningDelta(text));
            }
            Piece::CallStart { part, name } => {
                self.close(&mut events);
                events.push(ModelEvent::InputStart { id: id(part), name });
            }
            Piece::Arguments { part, json } => events.push(ModelEvent::InputDelta { id: id(part), delta: json }),
            Piece::Call { part, name, input } => {
                self.close(&mut events);
                self.calls += 1;
                let (id, input) = (id(part), input.map(serde_json::Value::Object));
                let is_sure = input.is_ok();
                let call = ModelEvent::Call { id, name, input };
                if is_sure { events.push(call) } else { self.unsure = Some(call) }
            }
            Piece::End { part } if self.open.is_some_and(|(_, open)| open == part) => self.close(&mut events),
            // A block opens at its first delta, so that there are no empty blocks.
            Piece::End { .. } => {}
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
    fn write(&mut self, kind: Block, part: usize, events: &mut Vec<ModelEvent>) {
        if self.open == Some((kind, part)) {
            return;
        }
        self.close(events);
        self.open = Some((kind, part));
        events.push(if kind == Block::Text { ModelEvent::TextStart } else { ModelEvent::ReasoningStart });
    }

    fn close(&mut self, events: &mut Vec<ModelEvent>) {
        match self.open.take() {
            Some((Block::Text, _)) => events.push(ModelEvent::TextEnd),
            Some((Block::Reasoning, _)) => events.push(ModelEvent::ReasoningEnd),
            None => {}
        }
    }

    fn end(&mut self, ending: &Ending, origin: &str) -> Result<Vec<ModelEvent>, ProviderFailure> {
        let has_answer = self.has_text || self.calls > 0;
        let failed =
            |kind| Err(ProviderFailure::new(kind, format!("the answer ended {}", end(ending.reason.as_ref()))));
        let reason = match &ending.reason {
            // Calls of a filtered response are not run, since parts of it may be missing.
            Some(Reason::Filter) if self.calls > 0 || !has_answer => return failed(FailureKind::Filtered),
            Some(Reason::Filter) => FinishReason::ContentFilter,
            Some(Reason::Length) if !has_answer => return failed(FailureKind::TokenLimit),
            Some(Reason::Length) => FinishReason::Length,
            Some(Reason::Other(name)) if !has_answer && name == "RECITATION" => return failed(FailureKind::Filtered),
            _ if !has_answer => return failed(FailureKind::Empty),
            _ if self.calls > 0 => FinishReason::ToolCalls,
            Some(Reason::Stop | Reason::ToolCalls) | None => FinishReason::Stop,
            Some(Reason::Other(_)) => FinishReason::Other,
        };
        // The end says why a call that was cut off is not complete.
        let mut events: Vec<ModelEvent> =
            self.unsure.take().filter(|_| reason != FinishReason::Length).into_iter().collect();
        self.close(&mut events);
        let (version, state): (_, _) = (ending.version.clone(), replay::keep(ending, origin));
        let usage: Usage = ending.usage;
        events.push(ModelEvent::Finish { usage, reason, version, state });
        Ok(events)
    }
}

/// Unique within its step, which is enough: the turn machine mints the chat's ids.
fn id(part: usize) -> String {
    format!("call-{part}")
}

/// How the provider ended its answer, for the log.
fn end(reason: Option<&Reason>) -> String {
    match reason {
        Some(Reason::Stop) => "normally".to_owned(),
        Some(Reason::Length) => "at the token limit".to_owned(),
        Some(Reason::ToolCalls) => "with calls".to_owned(),
        Some(Reason::Filter) => "by a filter".to_owned(),
        Some(Reason::Other(name)) => format!("with {name}"),
        None => "without a reason".to_owned(),
    }
}
