//! Failures of a provider, with two texts: one for the user, one for the log.

use std::time::{Duration, SystemTime};

use rig_core::{ProviderError, ProviderResponseError, http_client};

use super::{ProviderSpec, redact::clean, retry, screen::Unfit, spec::Provider};
use crate::{model::ModelError, redact::Mask};

/// A failure, and its text for the log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trouble {
    pub(super) kind: Kind,
    pub(super) detail: String,
}

/// The kind of failure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// The key was not accepted.
    Key,
    /// The provider does not know the model.
    Model,
    /// The account has no credit left.
    Quota,
    /// Too many requests. The provider may demand a delay.
    Busy(Option<Duration>),
    /// The provider is overloaded or has failed. It may demand a delay.
    Down(Option<Duration>),
    /// The provider can't be reached.
    Unreachable,
    /// The connection was refused: an immediate retry won't help.
    Refused,
    /// The response timed out: a retry would take as long again.
    Silent,
    /// The conversation exceeds the model's context.
    TooLong,
    /// The provider's content filter stepped in.
    Filtered,
    /// The response is empty.
    Empty,
    /// The token limit was reached before any text.
    NoRoom,
    /// The response was cut off.
    Cut,
    /// The provider rejected the request.
    Rejected,
    /// The response is not what a provider sends.
    Strange,
}

impl Trouble {
    pub(super) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// Classifies an error of `rig`. `has_begun`: whether part of the response had come.
    pub(super) fn of(error: &ProviderError, has_begun: bool) -> Self {
        let detail = detail(error);
        let kind = match error {
            ProviderError::Http(error) => match &**error {
                http_client::Error::InvalidContentType(_) => Kind::Strange,
                http_client::Error::Instance(error) if error.is::<Unfit>() => Kind::Strange,
                _ if has_begun => Kind::Cut,
                error if is_refused(error) => Kind::Refused,
                error if is_silent(error) => Kind::Silent,
                _ => Kind::Unreachable,
            },
            ProviderError::Truncated => Kind::Cut,
            ProviderError::Request(_) | ProviderError::Url(_) | ProviderError::UnsupportedOption(_) => Kind::Rejected,
            error => match error.provider_response() {
                Some(response) => answered(response),
                None => Kind::Strange,
            },
        };
        Self { kind, detail }
    }

    /// The delay before a retry; `None` if it is not worth retrying.
    pub(super) fn pause(&self, tried: u32) -> Option<Duration> {
        let wanted = match self.kind {
            Kind::Busy(wanted) | Kind::Down(wanted) => wanted,
            Kind::Unreachable | Kind::Cut => None,
            _ => return None,
        };
        // Jitter: many chats are rejected at the same moment and should not all return at the same moment.
        let chance = f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX);
        retry::pause(tried, wanted, chance)
    }

    /// The two texts. Neither has a key in it.
    pub(super) fn told(&self, spec: &ProviderSpec, mask: &Mask) -> ModelError {
        let message = self.kind.message(spec);
        let detail = format!("{spec}: {:?}: {}", self.kind, self.detail);
        ModelError { message: clean(&message, mask), detail: clean(&detail, mask) }
    }
}

impl Kind {
    fn message(self, spec: &ProviderSpec) -> String {
        let (provider, name, model) = (spec.provider, spec.provider.name(), &spec.model);
        let key = provider.key_variable();
        match self {
            Self::Key => {
                format!("{name} did not accept the server's API key. The server's operator must check {key}.")
            }
            Self::Model if provider == Provider::Ollama => {
                format!("Ollama does not have the model {model}. Run `ollama pull {model}` where Ollama runs.")
            }
            Self::Model => format!(
                "{name} does not know the model {model}, or the key may not use it. The server's operator must check the model's name and the address."
            ),
            Self::Quota => format!(
                "The server's account with {name} has no credit left. The server's operator must check its plan and billing."
            ),
            Self::Busy(wanted) => format!("{name} is getting too many requests. Please try again {}.", when(wanted)),
            Self::Down(wanted) => {
                format!("{name} has a problem of its own at the moment. Please try again {}.", when(wanted))
            }
            Self::Unreachable => format!(
                "{name} can't be reached. Please try again; if it stays so, whoever runs the server has to check its network."
            ),
            Self::Refused if provider == Provider::Ollama => {
                "Ollama is not running where the server looks for it. Start it with `ollama serve`, or set OLLAMA_HOST."
                    .to_owned()
            }
            Self::Refused => {
                format!("Nobody answers at the address of {name}. The server's operator must check the address.")
            }
            Self::Silent => format!("{name} did not answer in time. Please try again."),
            Self::TooLong => {
                "The conversation has become too long for the model. Please start a new chat, or send less at once."
                    .to_owned()
            }
            Self::Filtered => format!("{name}'s content filter stopped the answer. Please ask in another way."),
            Self::Empty => "The model's answer was empty. Please try again.".to_owned(),
            Self::NoRoom => {
                "The model used up its limit before it could answer. Ask for less, or have model.max_tokens raised."
                    .to_owned()
            }
            Self::Cut => "The model's answer was cut off. Please try again.".to_owned(),
            Self::Rejected => format!("{name} did not accept the request. The server's log says why."),
            Self::Strange => format!(
                "{name} sent something that can't be understood. Please try again; if it stays so, whoever runs the server has to check the address."
            ),
        }
    }
}

fn when(wanted: Option<Duration>) -> String {
    match wanted.map(|wanted| wanted.as_secs()) {
        None | Some(0..=5) => "in a moment".to_owned(),
        Some(seconds @ 6..=90) => format!("in {seconds} seconds"),
        Some(seconds) => format!("in about {} minutes", seconds.div_ceil(60)),
    }
}

/// Classifies an error response.
fn answered(response: &ProviderResponseError) -> Kind {
    let body = response.body.to_lowercase();
    let says = |texts: &[&str]| texts.iter().any(|text| body.contains(text));
    let code = response.machine_code().unwrap_or_default().to_lowercase();
    let wanted = || retry::wanted(response.headers.as_ref(), &response.body, SystemTime::now());
    let status = response.status.map_or(0, |status| status.as_u16());
    if response.refusal || says(&["content_filter", "content_policy_violation", "blockreason"]) {
        return Kind::Filtered;
    }
    // These come with several statuses, so their text is checked first.
    if says(&["insufficient_quota", "credit balance is too low", "billing_hard_limit"]) || status == 402 {
        return Kind::Quota;
    }
    if says(&["api_key_invalid", "api key not valid", "invalid_api_key", "invalid x-api-key"]) {
        return Kind::Key;
    }
    let too_long = [
        "context_length_exceeded",
        "prompt is too long",
        "maximum context length",
        "exceeds the maximum number of tokens",
        "exceeds the context window",
        "exceeds the available context size",
    ];
    if says(&too_long) || status == 413 {
        return Kind::TooLong;
    }
    match status {
        401 | 403 => Kind::Key,
        404 => Kind::Model,
        429 => Kind::Busy(wanted()),
        408 | 425 | 500..=599 => Kind::Down(wanted()),
        _ if says(&["model_not_found", "invalid model"]) => Kind::Model,
        400..=499 => Kind::Rejected,
        // An error in the middle of a stream has no status, only a name.
        _ => match &*code {
            "authentication_error" | "permission_error" => Kind::Key,
            "not_found_error" => Kind::Model,
            "rate_limit_error" | "rate_limit_exceeded" | "resource_exhausted" => Kind::Busy(None),
            "invalid_request_error" | "invalid_argument" => Kind::Rejected,
            _ if says(&["not found"]) && says(&["model"]) => Kind::Model,
            _ => Kind::Down(None),
        },
    }
}

/// Whether the connection was refused.
fn is_refused(error: &http_client::Error) -> bool {
    causes(error).any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>();
        io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused)
    })
}

/// Whether a connection was made but timed out.
fn is_silent(error: &http_client::Error) -> bool {
    causes(error).any(|cause| {
        let client = cause.downcast_ref::<reqwest::Error>();
        client.is_some_and(|error| error.is_timeout() && !error.is_connect())
    })
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// The whole error chain: an HTTP client gives the reason only at its end.
fn detail(error: &ProviderError) -> String {
    let mut text = error.to_string();
    if let ProviderError::Http(error) = error {
        for cause in causes(&**error).skip(1) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
