//! Failures of requests: one type, and the one place that maps each failure to a status.
//!
//! A handler returns a [`Failure`] without choosing its form; [`shape`] writes it in the form of the route.

use axum::{
    body::Body,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use holdpoint_protocol::{
    holds::{Cause, DecisionKind},
    problem::{MEDIA_TYPE, Problem, ProblemKind},
};
use holdpoint_runtime::{
    RuntimeError,
    grants::RememberError,
    identity::Role,
    log::LogError,
    turn::{Refusal, Rejection},
};

use super::{
    in_force::{decision_text, too_late},
    limit::Limit,
    shortened,
};
use crate::app::Server;

/// Why a request failed. The text is for people: what is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("an API key is required: send `Authorization: Bearer KEY` or `X-API-Key: KEY`")]
    KeyRequired,
    #[error("this API key is invalid: check it, or ask the operator of this server for one")]
    KeyInvalid,
    #[error(
        "an API key or a ticket is required: a browser's WebSocket sends a ticket in its address, `?ticket=TICKET`, from `POST /api/ticket` with the key; other clients send the key as `Authorization: Bearer KEY`"
    )]
    TicketRequired,
    #[error(
        "this ticket is invalid: it is unknown, was used, or is older than a minute; get another from `POST /api/ticket`"
    )]
    TicketInvalid,
    #[error(
        "this token is not valid here: it has expired, is not yet valid, or is not one of the issuer for this server. Sign in again"
    )]
    TokenInvalid,
    #[error("too many wrong keys came from your address: try again in {} s", .wait.as_secs() + 1)]
    TooManyWrongKeys { wait: std::time::Duration },
    #[error("this needs the role `{role}`, which you do not have: ask the operator of this server")]
    RoleRequired { role: Role },
    /// A program's own login refused the request.
    #[error("{0}")]
    Unauthenticated(String),
    #[error(
        "this server has no keys and serves its own machine only: use http://localhost, or set [[auth.keys]] (a program that embeds it: `ServerBuilder::hosts` or `identify`)"
    )]
    ForeignHost,
    #[error(
        "pages of this origin may not use the server: add it to `origins` in the settings (a program that embeds it: `ServerBuilder::origins`)"
    )]
    ForeignOrigin,
    #[error(
        "a body of the type {kind} is refused, because any page can send it: send `content-type: application/json`"
    )]
    UnsupportedContentType { kind: &'static str },
    #[error(
        "the request must name one host in its `host` header: a name or an address, and a port if it is not the usual one"
    )]
    WrongHost,
    #[error("there is no such chat")]
    NotFound,
    #[error("this id cannot be used for a chat: make a random one, as `crypto.randomUUID()` does")]
    IdTaken,
    #[error("there is no such grant")]
    NoGrant,
    #[error("there is no such page: `/docs` lists the endpoints")]
    NoRoute,
    #[error("there is no such open approval request or call")]
    NotHeld,
    #[error("you may not decide this request: the tool's approval policy does not name you")]
    NotTheirs,
    #[error("this path does not support this method: see the `allow` header")]
    MethodNotAllowed,
    #[error("this endpoint is a WebSocket: send a WebSocket handshake")]
    UpgradeRequired,
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the JSON is nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("the JSON has more than {limit} values")]
    TooManyNodes { limit: usize },
    #[error("the body ended before it was complete")]
    Incomplete,
    #[error("the body did not come within {} s", .limit.as_secs_f32())]
    TooSlow { limit: std::time::Duration },
    #[error("the body is not valid JSON: {0}")]
    NotJson(String),
    #[error("{detail}")]
    Invalid { detail: String, pointer: Option<String> },
    #[error("{0}")]
    Conflict(String),
    #[error("a different answer is already in force")]
    ContradictsDecision,
    #[error("this tool does not allow this decision ({}): `allowed` lists the ones that it allows", decision_text(*.0))]
    NotAllowed(DecisionKind),
    #[error("{0}")]
    NotRemembered(RememberError),
    #[error("the call is waiting for approval: send its result once it is approved")]
    ApprovalRequired,
    #[error("too late: the hold is settled ({})", too_late(*.0))]
    TooLate(Cause),
    #[error("this subject has {limit} streams open, which is the limit: close one")]
    TooManyStreams { limit: usize },
    #[error("more than {limit} requests in a second: try again in a second")]
    TooManyRequests { limit: usize },
    #[error("too many connections have a request in progress: retry in a second")]
    TooManyConnections,
    #[error("{limit} connections of this subject have a request in progress, which is the limit: end one")]
    TooManyOfSubject { limit: usize },
    #[error("{0}")]
    Limit(Refusal),
    #[error("the server is overloaded: retry in a few seconds")]
    Busy,
    #[error("{0}")]
    Unreadable(String),
    #[error("{0}")]
    Unavailable(String),
}

/// The form in which a route writes its failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `application/problem+json`.
    Problem,
    /// The same, with the `ok` and `reason` of the ack and inbox endpoints.
    Answer,
    /// One sentence of plain text, because a stock chat client shows the body as it is.
    Text,
}

/// The routes with a special form. An embedding program may have added a prefix.
const FORMS: [(&str, Form); 4] = [
    ("/stream", Form::Text),
    ("/api/chat", Form::Text),
    ("/api/tools/ack", Form::Answer),
    ("/api/approvals/{approvalId}", Form::Answer),
];

impl Form {
    fn of(request: &Request) -> Self {
        Self::of_route(request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str))
    }

    /// The form of a route, named as in the table of routes.
    pub(crate) fn of_route(route: &str) -> Self {
        FORMS.iter().find(|(suffix, _)| route.ends_with(suffix)).map_or(Form::Problem, |(_, form)| *form)
    }
}

/// Writes the failure of a response in the form of its route. It is the outermost layer, so it covers the failures of
/// all others.
pub(crate) async fn shape(State(server): State<Server>, request: Request, next: Next) -> Response {
    let form = Form::of(&request);
    let mut response = next.run(request).await;
    let Some(failure) = response.extensions_mut().remove::<Failure>() else { return response };
    if let Some(limit) = failure.limit() {
        server.inner.metrics.rejected(limit);
    }
    match form {
        Form::Problem => response,
        form => failure.written(form, std::mem::take(response.headers_mut())),
    }
}

impl Failure {
    /// An invalid field or parameter.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::Invalid { detail: detail.into(), pointer: None }
    }

    /// The status, the kind and the title of each failure. This is the only such table.
    fn class(&self) -> (StatusCode, ProblemKind, &'static str) {
        match self {
            Self::KeyRequired => (StatusCode::UNAUTHORIZED, ProblemKind::KeyRequired, "API key required"),
            Self::KeyInvalid => (StatusCode::UNAUTHORIZED, ProblemKind::KeyInvalid, "Invalid API key"),
            Self::TicketRequired => (StatusCode::UNAUTHORIZED, ProblemKind::TicketRequired, "Ticket required"),
            Self::TicketInvalid => (StatusCode::UNAUTHORIZED, ProblemKind::TicketInvalid, "Invalid ticket"),
            Self::TokenInvalid => (StatusCode::UNAUTHORIZED, ProblemKind::TokenInvalid, "Invalid token"),
            Self::TooManyWrongKeys { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, ProblemKind::TooManyWrongKeys, "Too many wrong keys")
            }
            Self::RoleRequired { .. } => (StatusCode::FORBIDDEN, ProblemKind::RoleRequired, "Role required"),
            Self::Unauthenticated(_) => (StatusCode::UNAUTHORIZED, ProblemKind::Unauthenticated, "Not authenticated"),
            Self::ForeignHost => (StatusCode::FORBIDDEN, ProblemKind::ForeignHost, "Host not allowed"),
            Self::ForeignOrigin => (StatusCode::FORBIDDEN, ProblemKind::ForeignOrigin, "Origin not allowed"),
            Self::UnsupportedContentType { .. } => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, ProblemKind::UnsupportedContentType, "Unsupported content type")
            }
            Self::WrongHost => (StatusCode::BAD_REQUEST, ProblemKind::Invalid, "Invalid request"),
            Self::NotFound | Self::IdTaken | Self::NoRoute | Self::NotHeld | Self::NoGrant => {
                (StatusCode::NOT_FOUND, ProblemKind::NotFound, "Not found")
            }
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, ProblemKind::MethodNotAllowed, "Method not allowed")
            }
            Self::UpgradeRequired => (StatusCode::UPGRADE_REQUIRED, ProblemKind::UpgradeRequired, "WebSocket required"),
            Self::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, ProblemKind::TooLarge, "The body is too large"),
            Self::TooDeep { .. } => (StatusCode::PAYLOAD_TOO_LARGE, ProblemKind::TooDeep, "The JSON is too deep"),
            Self::TooManyNodes { .. } => {
                (StatusCode::PAYLOAD_TOO_LARGE, ProblemKind::TooManyValues, "The JSON has too many values")
            }
            Self::Incomplete => (StatusCode::BAD_REQUEST, ProblemKind::Incomplete, "The body is incomplete"),
            Self::TooSlow { .. } => (StatusCode::REQUEST_TIMEOUT, ProblemKind::TooSlow, "The body arrived too slowly"),
            Self::NotJson(_) => (StatusCode::BAD_REQUEST, ProblemKind::NotJson, "The body is not JSON"),
            Self::Invalid { .. } => (StatusCode::UNPROCESSABLE_ENTITY, ProblemKind::Invalid, "Invalid request"),
            Self::Conflict(_) => (StatusCode::CONFLICT, ProblemKind::Conflict, "Conflict"),
            Self::ContradictsDecision => {
                (StatusCode::CONFLICT, ProblemKind::ContradictsDecision, "A different answer is in force")
            }
            Self::NotTheirs => (StatusCode::FORBIDDEN, ProblemKind::NotAnApprover, "Not an approver"),
            Self::NotRemembered(RememberError::TooMany { .. }) => {
                (StatusCode::TOO_MANY_REQUESTS, ProblemKind::TooManyGrants, "Too many grants")
            }
            Self::NotAllowed(_) | Self::NotRemembered(_) => {
                (StatusCode::FORBIDDEN, ProblemKind::DecisionNotAllowed, "Decision not allowed")
            }
            Self::ApprovalRequired => (StatusCode::CONFLICT, ProblemKind::ApprovalRequired, "Approval required"),
            Self::TooLate(_) => (StatusCode::GONE, ProblemKind::TooLate, "Too late"),
            Self::TooManyStreams { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, ProblemKind::TooManyStreams, "Too many open streams")
            }
            Self::Limit(Refusal::FullChat { .. }) => {
                (StatusCode::PAYLOAD_TOO_LARGE, ProblemKind::ChatFull, "The chat is full")
            }
            Self::Limit(Refusal::Chats { .. }) => {
                (StatusCode::TOO_MANY_REQUESTS, ProblemKind::TooManyChats, "Too many chats")
            }
            Self::Limit(Refusal::StoredBytes { .. }) => {
                (StatusCode::PAYLOAD_TOO_LARGE, ProblemKind::StorageFull, "Your storage is full")
            }
            Self::Limit(Refusal::OpenChats { .. }) => {
                (StatusCode::TOO_MANY_REQUESTS, ProblemKind::TooManyOpenChats, "Too many open chats")
            }
            Self::Limit(Refusal::Turns { .. } | Refusal::TurnsOfSubject { .. }) => {
                (StatusCode::TOO_MANY_REQUESTS, ProblemKind::TooManyTurns, "Too many running turns")
            }
            Self::TooManyRequests { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, ProblemKind::TooManyRequests, "Too many requests")
            }
            Self::TooManyOfSubject { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, ProblemKind::TooManyConnections, "Too many connections")
            }
            Self::TooManyConnections => {
                (StatusCode::SERVICE_UNAVAILABLE, ProblemKind::TooManyConnections, "Too many connections")
            }
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, ProblemKind::Busy, "Overloaded"),
            Self::Unreadable(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, ProblemKind::Unreadable, "The chat can't be read")
            }
            Self::Unavailable(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, ProblemKind::Unavailable, "Temporarily unavailable")
            }
        }
    }

    /// The limit that the request exceeded, if any.
    pub(crate) fn limit(&self) -> Option<Limit> {
        match self {
            Self::TooLarge { .. } => Some(Limit::Body),
            Self::TooDeep { .. } => Some(Limit::Depth),
            Self::TooManyNodes { .. } => Some(Limit::Nodes),
            Self::TooManyStreams { .. } => Some(Limit::Streams),
            Self::Limit(Refusal::Turns { .. } | Refusal::TurnsOfSubject { .. }) => Some(Limit::Turns),
            Self::Limit(Refusal::OpenChats { .. }) => Some(Limit::OpenChats),
            Self::Limit(Refusal::FullChat { .. }) => Some(Limit::ChatSize),
            Self::Limit(Refusal::Chats { .. } | Refusal::StoredBytes { .. }) => Some(Limit::Storage),
            Self::Busy => Some(Limit::BytesInFlight),
            Self::TooSlow { .. } => Some(Limit::BodyTime),
            Self::TooManyConnections | Self::TooManyOfSubject { .. } => Some(Limit::Connections),
            Self::TooManyRequests { .. } => Some(Limit::Requests),
            Self::TooManyWrongKeys { .. } => Some(Limit::WrongKeys),
            _ => None,
        }
    }

    fn status(&self, form: Form) -> StatusCode {
        match (form, self) {
            // A malformed answer is always 422.
            (Form::Answer, Self::NotJson(_) | Self::Incomplete) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => self.class().0,
        }
    }

    /// The number of seconds after which to retry, if that can help.
    fn retry_after(&self) -> Option<u64> {
        if let Self::TooManyWrongKeys { wait } = self {
            return Some(wait.as_secs() + 1);
        }
        match self.class().0 {
            _ if *self == Self::TooManyConnections => Some(1),
            StatusCode::TOO_MANY_REQUESTS => Some(1),
            StatusCode::SERVICE_UNAVAILABLE => Some(5),
            _ => None,
        }
    }

    /// The `reason` of the ack and inbox endpoints: a single word if the contract defines one.
    fn reason(&self) -> String {
        match self {
            Self::NotHeld => "unknown".to_owned(),
            Self::ApprovalRequired => "approval-required".to_owned(),
            Self::TooLate(cause) => too_late(*cause).to_owned(),
            other => shortened(other.to_string()),
        }
    }

    fn problem(&self, form: Form) -> Problem {
        let (_, kind, title) = self.class();
        let pointer = match self {
            Self::Invalid { pointer, .. } => pointer.clone(),
            _ => None,
        };
        let is_answer = form == Form::Answer;
        Problem {
            r#type: kind,
            title: title.to_owned(),
            status: self.status(form).as_u16(),
            detail: shortened(self.to_string()),
            pointer,
            ok: is_answer.then_some(false),
            reason: is_answer.then(|| self.reason()),
        }
    }

    /// The response, with the headers set so far.
    fn written(&self, form: Form, mut headers: HeaderMap) -> Response {
        let (media_type, body) = match form {
            Form::Text => ("text/plain; charset=utf-8", shortened(self.to_string()).into_bytes()),
            form => (MEDIA_TYPE, serde_json::to_vec(&self.problem(form)).unwrap_or_default()),
        };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.remove(header::CONTENT_LENGTH);
        match self.class().0 {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::UPGRADE_REQUIRED => {
                headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            }
            _ => {}
        }
        if let Some(seconds) = self.retry_after() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        (self.status(form), headers, Body::from(body)).into_response()
    }
}

/// The server can't repair this.
const DAMAGED: &str = "the database is damaged: restore a backup of the data folder";

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::NotFound => Failure::NotFound,
            RuntimeError::IdTaken => Failure::IdTaken,
            RuntimeError::Rejected(Rejection::Limit(refusal)) => Failure::Limit(refusal),
            RuntimeError::Rejected(Rejection::LongId { what, .. } | Rejection::UnseenId { what }) => {
                Failure::Invalid { detail: error.to_string(), pointer: Some(format!("/{what}")) }
            }
            RuntimeError::Rejected(Rejection::UnusableId(_)) => {
                Failure::Invalid { detail: error.to_string(), pointer: Some("/id".to_owned()) }
            }
            RuntimeError::Busy => Failure::Busy,
            RuntimeError::NotAsShown | RuntimeError::Rejected(Rejection::NoSuchQuestion) => {
                Failure::Conflict(error.to_string())
            }
            RuntimeError::Rejected(_) => Failure::invalid(error.to_string()),
            RuntimeError::Unreadable => Failure::Unreadable(error.to_string()),
            RuntimeError::Log(LogError::Damaged(_)) => Failure::Unreadable(DAMAGED.to_owned()),
            RuntimeError::ShuttingDown | RuntimeError::Unconfirmed | RuntimeError::Log(_) => {
                Failure::Unavailable(error.to_string())
            }
        }
    }
}

/// The default form. [`shape`] finds the failure in the response and may write it in another form.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.written(Form::Problem, HeaderMap::new());
        response.extensions_mut().insert(self);
        response
    }
}
