//! Requests to a provider, and the events of its answers: within time limits and size limits.

use std::{collections::VecDeque, fmt};

use holdpoint_protocol::{
    json,
    sse::{Decoder, Event},
};
use reqwest::{
    Url,
    header::{self, HeaderMap},
};
use serde_json::Value;

use super::{
    headers,
    timeouts::{Clock, TimeLimit, Timeouts},
    wire::Framing,
};

/// Maximum size of an event.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size of an answer.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// As much is read of an error.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// How much of a malformed event is logged.
const MAX_QUOTE_BYTES: usize = 200;

/// The way to a provider.
#[derive(Debug)]
pub(super) struct Http {
    pub(super) client: reqwest::Client,
    /// Those of the provider's format, replaced by those of the settings.
    pub(super) headers: HeaderMap,
    pub(super) timeouts: Timeouts,
}

/// Why there is no answer, or no more of it.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error(transparent)]
    Time(#[from] TimeLimit),
    #[error(transparent)]
    Transport(#[from] reqwest::Error),
    #[error("{0}")]
    Status(Box<ErrorResponse>),
    /// It is not what a provider sends.
    #[error("{0}")]
    NotEvents(String),
}

/// An answer that is an error.
#[derive(Debug, Default)]
pub(super) struct ErrorResponse {
    /// 0 if it came in the middle of an answer.
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}: {}", self.status, self.body)
    }
}

impl Http {
    /// Asks a model.
    pub(super) async fn stream(
        &self,
        url: Url,
        beta: Option<&'static str>,
        body: Vec<u8>,
        framing: Framing,
    ) -> Result<Events, HttpError> {
        let mut headers = self.headers.clone();
        if let Some(beta) = beta {
            headers::add_beta(&mut headers, beta);
        }
        headers.entry(header::CONTENT_TYPE).or_insert(header::HeaderValue::from_static("application/json"));
        if framing == Framing::Sse {
            headers.entry(header::ACCEPT).or_insert(header::HeaderValue::from_static("text/event-stream"));
        }
        let mut clock = Clock::start(self.timeouts);
        let request = self.client.post(url).headers(headers).body(body);
        let response = answered(clock.wait(request.send()).await??, &mut clock).await?;
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/html") {
            return Err(HttpError::NotEvents("the answer is a web page".to_owned()));
        }
        let frames = match framing {
            Framing::Sse => Frames::Sse(Some(Decoder::new(MAX_EVENT_BYTES))),
            Framing::Lines => Frames::Lines(Vec::new()),
        };
        Ok(Events { response, clock, frames, ready: VecDeque::new(), bytes: 0, is_over: false })
    }

    /// Reads a document.
    pub(super) async fn get(&self, url: Url) -> Result<Value, HttpError> {
        let mut clock = Clock::start(self.timeouts);
        let request = self.client.get(url).headers(self.headers.clone());
        let mut response = answered(clock.wait(request.send()).await??, &mut clock).await?;
        let body = read(&mut response, &mut clock, MAX_EVENT_BYTES).await?;
        json::parse(&body).map_err(|error| HttpError::NotEvents(error.to_string()))
    }
}

/// The response, or the error that it is.
async fn answered(mut response: reqwest::Response, clock: &mut Clock) -> Result<reqwest::Response, HttpError> {
    if response.status().is_success() {
        return Ok(response);
    }
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    // The status counts, even if the rest does not come.
    let body = read(&mut response, clock, MAX_ERROR_BYTES).await.unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    Err(HttpError::Status(Box::new(ErrorResponse { status, headers, body })))
}

/// The beginning of a body.
async fn read(response: &mut reqwest::Response, clock: &mut Clock, limit: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while body.len() < limit {
        let Some(bytes) = clock.wait(response.chunk()).await?? else { break };
        clock.byte();
        body.extend_from_slice(&bytes[..bytes.len().min(limit - body.len())]);
    }
    Ok(body)
}

/// The events of an answer.
#[derive(Debug)]
pub(super) struct Events {
    response: reqwest::Response,
    clock: Clock,
    frames: Frames,
    ready: VecDeque<Value>,
    bytes: usize,
    /// Nothing more is read.
    is_over: bool,
}

#[derive(Debug)]
enum Frames {
    Sse(Option<Decoder>),
    /// The line so far.
    Lines(Vec<u8>),
}

impl Events {
    /// The next event; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, HttpError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            let bytes = self.clock.wait(self.response.chunk()).await??;
            self.clock.byte();
            match bytes {
                None => {
                    self.is_over = true;
                    self.rest();
                }
                Some(bytes) => {
                    self.bytes += bytes.len();
                    if self.bytes > MAX_ANSWER_BYTES {
                        return Err(HttpError::NotEvents(format!(
                            "the answer is larger than {MAX_ANSWER_BYTES} bytes"
                        )));
                    }
                    self.take(&bytes)?;
                }
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        match &mut self.frames {
            Frames::Sse(decoder) => {
                let (ready, mut found) = (&mut self.ready, Ok(false));
                if let Some(decoder) = decoder {
                    decoder.feed(bytes, |event| {
                        if matches!(found, Ok(false)) {
                            found = sse(&event, ready);
                        }
                    });
                }
                self.is_over |= found?;
            }
            Frames::Lines(line) => {
                for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
                    if line.len() + piece.len() > MAX_EVENT_BYTES {
                        return Err(HttpError::NotEvents(format!("a line is longer than {MAX_EVENT_BYTES} bytes")));
                    }
                    line.extend_from_slice(piece);
                    if piece.ends_with(b"\n") {
                        let line = std::mem::take(line);
                        if !line.trim_ascii().is_empty() {
                            self.ready.push_back(parse(&line)?);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The last event, if the stream ended without the end of its line.
    fn rest(&mut self) {
        let ready = &mut self.ready;
        match &mut self.frames {
            Frames::Sse(decoder) => {
                let Some(decoder) = decoder.take() else { return };
                decoder.finish(|event| {
                    if let Event::Incomplete { data, .. } = event {
                        ready.extend(json::parse(data).ok().filter(Value::is_object));
                    }
                });
            }
            Frames::Lines(line) => ready.extend(json::parse(line).ok().filter(Value::is_object)),
        }
    }
}

/// Whether it is the last one.
fn sse(event: &Event<'_>, ready: &mut VecDeque<Value>) -> Result<bool, HttpError> {
    match event {
        Event::Data { data, .. } if data.trim_ascii() == b"[DONE]" => return Ok(true),
        Event::Data { data, .. } if data.trim_ascii().is_empty() => {}
        Event::Data { data, .. } => ready.push_back(parse(data)?),
        Event::Junk { text, .. } => return Err(HttpError::NotEvents(format!("no event: {}", quote(text)))),
        Event::TooLarge { .. } => {
            return Err(HttpError::NotEvents(format!("an event is larger than {MAX_EVENT_BYTES} bytes")));
        }
        Event::Comment { .. } | Event::Incomplete { .. } => {}
    }
    Ok(false)
}

fn parse(data: &[u8]) -> Result<Value, HttpError> {
    json::parse(data).map_err(|error| HttpError::NotEvents(format!("{error}: {}", quote(data))))
}

fn quote(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(MAX_QUOTE_BYTES)]).into_owned()
}
