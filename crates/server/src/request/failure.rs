//! Why a request was not served: one type, each with its status and a text for people.

use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use holdpoint_protocol::{holds::Cause, request::AckResponse};
use holdpoint_runtime::{
    driver::RuntimeError,
    turn::{Answered, Rejection},
};

/// Why a request was not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("a key is needed: send `Authorization: Bearer KEY` or `X-API-Key: KEY`")]
    KeyNeeded,
    #[error("this key is not known: check it, or ask whoever runs this server for one")]
    KeyUnknown,
    #[error(
        "a key is needed: a browser's WebSocket sends a ticket in its address, `?ticket=TICKET`, from `POST /api/ticket` with the key; other clients send the key as `Authorization: Bearer KEY`"
    )]
    TicketNeeded,
    #[error("this ticket is not known, was used, or is older than a minute: get another from `POST /api/ticket`")]
    TicketUnknown,
    #[error(
        "this server has no keys and serves its own machine only: use http://localhost, or set [[auth.keys]] (a program that embeds it: `Server::allow_hosts`)"
    )]
    ForeignHost,
    #[error(
        "pages of this origin may not use the server: add it to `origins` in the settings (a program that embeds it: `Server::allow_origins`)"
    )]
    ForeignOrigin,
    #[error(
        "a body of the type {kind} is refused, because any page can send it: send `content-type: application/json`"
    )]
    FormContent { kind: &'static str },
    #[error("there is no such chat")]
    NotFound,
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the JSON is nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("the body ended before it was complete")]
    Incomplete,
    #[error("the body did not come within {} s", .limit.as_secs_f32())]
    TooSlow { limit: std::time::Duration },
    #[error("the body is not valid JSON: {0}")]
    NotJson(String),
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Conflict(String),
    #[error("this subject has {limit} streams open, which is the limit: close one")]
    TooManyStreams { limit: usize },
    #[error("the server has too many requests at the moment: try again in a second")]
    TooManyConnections,
    #[error("{0}")]
    Unreadable(String),
    #[error("{0}")]
    Unavailable(String),
}

impl Failure {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Failure::KeyNeeded | Failure::KeyUnknown | Failure::TicketNeeded | Failure::TicketUnknown => {
                StatusCode::UNAUTHORIZED
            }
            Failure::ForeignHost | Failure::ForeignOrigin => StatusCode::FORBIDDEN,
            Failure::FormContent { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Failure::NotFound => StatusCode::NOT_FOUND,
            Failure::TooLarge { .. } | Failure::TooDeep { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Failure::Incomplete | Failure::NotJson(_) => StatusCode::BAD_REQUEST,
            Failure::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Failure::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Failure::Conflict(_) => StatusCode::CONFLICT,
            Failure::TooManyStreams { .. } => StatusCode::TOO_MANY_REQUESTS,
            Failure::Unreadable(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Failure::TooManyConnections | Failure::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::NotFound => Failure::NotFound,
            RuntimeError::Rejected(Rejection::NoSuchQuestion) => Failure::Conflict(error.to_string()),
            RuntimeError::Rejected(_) => Failure::Invalid(error.to_string()),
            RuntimeError::Unreadable => Failure::Unreadable(error.to_string()),
            RuntimeError::ShuttingDown | RuntimeError::Log(_) => Failure::Unavailable(error.to_string()),
        }
    }
}

/// The text alone: a client shows it as it is.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let text = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        let mut response = (self.status(), text, self.to_string()).into_response();
        if self.status() == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        if self == Failure::TooManyConnections {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}

/// The answer of the ack endpoint and of the inbox: `{ok, ignored?, reason?}`.
pub(crate) struct Answer(pub(crate) StatusCode, pub(crate) AckResponse);

impl Answer {
    fn refused(status: StatusCode, reason: &str) -> Self {
        Self(status, AckResponse { ok: false, ignored: None, reason: Some(reason.to_owned()) })
    }
}

impl From<Answered> for Answer {
    fn from(answered: Answered) -> Self {
        match answered {
            Answered::Taken => Self(StatusCode::OK, AckResponse { ok: true, ignored: None, reason: None }),
            Answered::Again => Self(StatusCode::OK, AckResponse { ok: true, ignored: Some(true), reason: None }),
            Answered::Contradicts => Self::refused(StatusCode::CONFLICT, "another answer was given before, and stands"),
            Answered::TooLate(cause) => Self::refused(StatusCode::GONE, too_late(cause)),
            Answered::Unfit(unfit) => Self::refused(StatusCode::UNPROCESSABLE_ENTITY, &format!("output: {unfit}")),
            Answered::NeedsApproval => Self::refused(StatusCode::CONFLICT, "approval-required"),
            Answered::Unknown | Answered::NotAwaited => Self::refused(StatusCode::NOT_FOUND, "unknown"),
        }
    }
}

/// Why nothing can be answered any more.
fn too_late(cause: Cause) -> &'static str {
    match cause {
        Cause::Superseded => "superseded",
        Cause::Stopped => "stopped",
        Cause::Interrupted => "interrupted",
        Cause::Refused => "refused",
        Cause::Expired | Cause::Ran | Cause::Result | Cause::Decision => "expired",
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        let status = match &failure {
            Failure::NotJson(_) | Failure::Incomplete => StatusCode::UNPROCESSABLE_ENTITY,
            other => other.status(),
        };
        Self::refused(status, &failure.to_string())
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        (self.0, Json(self.1)).into_response()
    }
}
