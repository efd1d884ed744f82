//! Failures of a provider, with two texts: one for the user, one for the log.

use std::time::{Duration, SystemTime};

use holdpoint_protocol::json;
use serde_json::Value;

use super::{
    Inner,
    http::{ErrorResponse, HttpError},
    redact::clean,
    retry,
    spec::Provider,
    timeouts::TimeLimit,
    wire::EventError,
    wordings,
};
use crate::ModelError;

/// A failure, and its text for the log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProviderFailure {
    pub(super) kind: FailureKind,
    pub(super) detail: String,
    /// The HTTP status; 0 if there was none.
    status: u16,
}

/// The kind of failure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FailureKind {
    /// The key was not accepted.
    InvalidKey,
    /// The provider does not know the model.
    UnknownModel,
    /// The account has no credit left.
    Quota,
    /// Too many requests. The provider may demand a delay.
    Busy(Option<Duration>),
    /// The provider is overloaded or has failed. It may demand a delay.
    ProviderError(Option<Duration>),
    /// The provider can't be reached.
    Unreachable,
    /// The connection was refused: an immediate retry won't help.
    Refused,
    /// The response exceeded a time limit: a retry would take as long again.
    Timeout(TimeLimit),
    /// The conversation exceeds the model's context.
    TooLong,
    /// The provider's content filter stepped in.
    Filtered,
    /// The response is empty.
    Empty,
    /// The token limit was reached before any text.
    TokenLimit,
    /// The response was cut off.
    CutOff,
    /// The provider rejected the request.
    Rejected,
    /// The key is good, and may not do this: a region, a policy, a model that the account does not have.
    Forbidden,
    /// Thinking blocks of the conversation are not taken back.
    Bound,
    /// The address redirects to another one.
    Redirected,
    /// The response is not what a provider sends.
    Malformed,
}

impl ProviderFailure {
    pub(super) fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), status: 0 }
    }

    /// `has_begun`: whether part of the response had come.
    pub(super) fn of(error: &HttpError, has_begun: bool) -> Self {
        let detail = error.to_string();
        match error {
            HttpError::Time(limit) => Self::new(FailureKind::Timeout(*limit), detail),
            HttpError::NotEvents(_) => Self::new(FailureKind::Malformed, detail),
            HttpError::Transport(error) => Self::of_transport(error, has_begun),
            HttpError::Status(response) => Self::of_response(response),
        }
    }

    fn of_transport(error: &reqwest::Error, has_begun: bool) -> Self {
        let kind = match error {
            // A time limit of a client that the program has made.
            error if error.is_timeout() && !error.is_connect() => {
                FailureKind::Timeout(if has_begun { TimeLimit::Idle } else { TimeLimit::FirstByte })
            }
            _ if has_begun => FailureKind::CutOff,
            error if is_refused(error) => FailureKind::Refused,
            error if error.is_builder() => FailureKind::Rejected,
            _ => FailureKind::Unreachable,
        };
        // The whole chain: an HTTP client gives the reason only at its end.
        let detail = causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ");
        Self::new(kind, detail)
    }

    fn of_response(response: &ErrorResponse) -> Self {
        let (kind, status) = (of_response(response), response.status);
        let detail = match kind {
            FailureKind::Redirected => format!("status {status}, a redirect to {}", target(response)),
            _ => format!("status {status}: {}", response.body),
        };
        Self { kind, detail, status }
    }

    /// An error in the place of an event.
    pub(super) fn of_event(error: &EventError) -> Self {
        match error {
            EventError::Malformed(why) => Self::new(FailureKind::Malformed, *why),
            EventError::Told(body) => {
                // Gemini says a status here.
                let status =
                    body.pointer("/error/code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
                let response =
                    ErrorResponse { status: status.unwrap_or(0), body: body.to_string(), ..ErrorResponse::default() };
                Self::new(of_response(&response), response.body)
            }
        }
    }

    /// Whether it may be for its files that the request was refused. llama.cpp says 500 if its model can't see, OpenRouter 404.
    pub(super) fn may_be_of_files(&self) -> bool {
        let is_of_the_request = matches!(
            self.kind,
            FailureKind::Rejected | FailureKind::UnknownModel | FailureKind::TooLong | FailureKind::ProviderError(_)
        );
        is_of_the_request && matches!(self.status, 400 | 404 | 413 | 415 | 422 | 500)
    }

    /// The delay before a retry; `None` if it is not worth retrying.
    pub(super) fn pause(&self, tried: u32) -> Option<Duration> {
        let wanted = match self.kind {
            FailureKind::Busy(wanted) | FailureKind::ProviderError(wanted) => wanted,
            FailureKind::Unreachable | FailureKind::CutOff => None,
            _ => return None,
        };
        // Jitter: many chats are rejected at the same moment and should not all return at the same moment.
        let chance = f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX);
        retry::pause(tried, wanted, chance)
    }

    /// Whether another model may be able to answer. What a filter has stopped is not tried elsewhere.
    pub(super) fn is_of_the_model(&self) -> bool {
        self.kind != FailureKind::Filtered
    }

    /// For whoever waits until the request is made again.
    pub(super) fn while_waiting(&self, inner: &Inner, pause: Duration) -> String {
        let seconds = pause.as_secs();
        let unit = if seconds == 1 { "second" } else { "seconds" };
        capitalized(format!("{} Trying again in {seconds} {unit}.", self.kind.trouble(inner.service)))
    }

    /// For whoever waits while the next model is asked.
    pub(super) fn before_the_next(&self, inner: &Inner) -> String {
        capitalized(format!("{} Asking another model.", self.kind.trouble(inner.service)))
    }

    /// The two texts. Neither has a key in it.
    pub(super) fn to_model_error(&self, inner: &Inner) -> ModelError {
        let Inner { spec, service, mask, .. } = inner;
        let message = capitalized(self.kind.message(spec.provider, service, &spec.model));
        let detail = format!("{spec}: {}: {}", self.kind.name(), self.detail);
        ModelError { message: clean(&message, mask), detail: clean(&detail, mask) }
    }
}

impl FailureKind {
    /// The kind, for the log.
    fn name(self) -> String {
        let after = |wanted: Option<Duration>| match wanted {
            Some(wanted) => format!(", to be asked again after {} s", wanted.as_secs()),
            None => String::new(),
        };
        match self {
            Self::InvalidKey => "the key was not accepted".to_owned(),
            Self::UnknownModel => "unknown model".to_owned(),
            Self::Quota => "no credit left".to_owned(),
            Self::Busy(wanted) => format!("too many requests{}", after(wanted)),
            Self::ProviderError(wanted) => format!("an error of the provider{}", after(wanted)),
            Self::Unreachable => "unreachable".to_owned(),
            Self::Refused => "connection refused".to_owned(),
            Self::Timeout(limit) => format!("time limit: {limit}"),
            Self::TooLong => "the conversation is too long".to_owned(),
            Self::Filtered => "stopped by a filter".to_owned(),
            Self::Empty => "an empty answer".to_owned(),
            Self::TokenLimit => "the token limit was reached before any text".to_owned(),
            Self::CutOff => "the answer was cut off".to_owned(),
            Self::Rejected => "the request was rejected".to_owned(),
            Self::Forbidden => "it is not permitted".to_owned(),
            Self::Bound => "the thinking of earlier steps was not taken back".to_owned(),
            Self::Redirected => "redirected, which is not followed; set the base URL to where it leads".to_owned(),
            Self::Malformed => "a malformed answer".to_owned(),
        }
    }

    /// The trouble in short.
    fn trouble(self, name: &str) -> String {
        match self {
            Self::Busy(_) => format!("{name} is getting too many requests."),
            Self::Unreachable | Self::Refused => format!("{name} can't be reached."),
            Self::Timeout(_) => format!("{name} did not answer in time."),
            _ => format!("{name} is having problems."),
        }
    }

    fn message(self, provider: Provider, name: &str, model: &str) -> String {
        let key = provider.key_variable();
        match self {
            Self::InvalidKey => {
                format!("{name} did not accept the server's API key. The server's operator must check {key}.")
            }
            Self::UnknownModel if provider == Provider::Ollama => {
                format!("Ollama does not have the model {model}. Run `ollama pull {model}` where Ollama runs.")
            }
            Self::UnknownModel => format!(
                "{name} does not know the model {model}, or the key may not use it. The server's operator must check the model's name and the address."
            ),
            Self::Quota => format!(
                "The server's account with {name} has no credit left. The server's operator must check its plan and billing."
            ),
            Self::Busy(wanted) => format!("{name} is getting too many requests. Please try again {}.", when(wanted)),
            Self::ProviderError(wanted) => {
                format!("{name} is having problems. Please try again {}.", when(wanted))
            }
            Self::Unreachable => format!(
                "{name} can't be reached. Please try again. If it keeps failing, the server's operator must check its network."
            ),
            Self::Refused if provider == Provider::Ollama => {
                "Ollama is not running where the server looks for it. Start it with `ollama serve`, or set OLLAMA_HOST."
                    .to_owned()
            }
            Self::Refused => {
                format!("The connection to {name} was refused. The server's operator must check the address.")
            }
            Self::Timeout(TimeLimit::FirstByte) => format!("{name} did not answer in time. Please try again."),
            Self::Timeout(TimeLimit::Idle) => {
                format!("{name} stopped in the middle of its answer, and did not go on in time. Please try again.")
            }
            Self::Timeout(TimeLimit::Whole) => format!(
                "{name} did not complete its answer in time. Ask for less at once, or have model.timeout_sec raised."
            ),
            Self::TooLong => {
                "The conversation has become too long for the model. Please start a new chat, or send less at once."
                    .to_owned()
            }
            Self::Filtered => format!("The content filter of {name} stopped the answer. Please ask in another way."),
            Self::Empty => "The model's answer was empty. Please try again.".to_owned(),
            Self::TokenLimit => {
                "The model used up its limit before it could answer. Ask for less, or have model.max_tokens raised."
                    .to_owned()
            }
            Self::CutOff => "The model's answer was cut off. Please try again.".to_owned(),
            Self::Rejected => format!("{name} did not accept the request. The server's log says why."),
            Self::Forbidden => format!(
                "{name} does not permit this request: for the account, the region or the model. The server's log says what {name} said."
            ),
            Self::Bound => format!("{name} did not accept the request. The server's log says why."),
            Self::Redirected => format!(
                "{name} redirects to another address, which is not followed. The server's operator must set the base URL to where it leads; the log says where."
            ),
            Self::Malformed => format!(
                "{name} sent something that can't be understood. Please try again. If it keeps failing, the server's operator must check the address."
            ),
        }
    }
}

fn when(wanted: Option<Duration>) -> String {
    match wanted.map(|wanted| wanted.as_secs()) {
        None | Some(0..=5) => "in a moment".to_owned(),
        Some(seconds @ 6..=90) => format!("in {seconds} seconds"),
        Some(seconds @ 91..=5400) => format!("in about {} minutes", seconds.div_ceil(60)),
        // A time that nobody waits for, or that is not meant.
        Some(_) => "later".to_owned(),
    }
}

/// Classifies an error response: by the vendor's code where there is one, else by the status, and by the wording where neither
/// says it.
fn of_response(response: &ErrorResponse) -> FailureKind {
    let body: Value = json::parse(response.body.as_bytes()).unwrap_or_default();
    let codes = wordings::codes(&body);
    let is = |names: &[&str]| codes.iter().any(|code| names.iter().any(|name| code.eq_ignore_ascii_case(name)));
    let wanted = || retry::wanted(Some(&response.headers), &response.body, SystemTime::now());
    let status = response.status;
    // These come with several statuses.
    if is(&["content_filter", "content_policy_violation"]) || body.pointer("/promptFeedback/blockReason").is_some() {
        return FailureKind::Filtered;
    }
    if is(&["insufficient_quota", "billing_hard_limit_reached"])
        || status == 402
        || wordings::is_out_of_credit(&response.body)
    {
        return FailureKind::Quota;
    }
    if is(&["invalid_api_key", "API_KEY_INVALID", "authentication_error"]) || status == 401 {
        return FailureKind::InvalidKey;
    }
    if is(&["context_length_exceeded"]) || status == 413 || wordings::is_too_long(&response.body) {
        return FailureKind::TooLong;
    }
    if wordings::is_bound_elsewhere(&response.body) {
        return FailureKind::Bound;
    }
    match status {
        300..=399 => FailureKind::Redirected,
        403 => FailureKind::Forbidden,
        404 => FailureKind::UnknownModel,
        429 => FailureKind::Busy(wanted()),
        408 | 425 | 500..=599 => FailureKind::ProviderError(wanted()),
        _ if is(&["model_not_found", "not_found_error"]) => FailureKind::UnknownModel,
        400..=499 => FailureKind::Rejected,
        // An error in the middle of a stream has no status, only a name.
        _ if is(&["permission_error"]) => FailureKind::Forbidden,
        _ if is(&["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"]) => FailureKind::Busy(None),
        _ if is(&["invalid_request_error", "INVALID_ARGUMENT"]) => FailureKind::Rejected,
        _ => FailureKind::ProviderError(None),
    }
}

/// Where a redirect leads: the origin only, since the rest may repeat keys.
fn target(response: &ErrorResponse) -> String {
    let location = response.headers.get(reqwest::header::LOCATION).and_then(|location| location.to_str().ok());
    match location.map(reqwest::Url::parse) {
        Some(Ok(url)) => url.origin().ascii_serialization(),
        Some(Err(_)) => "another path".to_owned(),
        None => "nowhere".to_owned(),
    }
}

/// Whether the connection was refused.
fn is_refused(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>();
        io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused)
    })
}

/// The name of a service may be a phrase, and begin a sentence.
fn capitalized(mut text: String) -> String {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}
