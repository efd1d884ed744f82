//! `POST /stream`: a turn over SSE, in the adk profile. What it has in common with `POST /api/chat` is here too.

use axum::{body::Body, extract::State, http::HeaderMap, response::Response};
use holdpoint_protocol::request::ChatRequest;
use holdpoint_runtime::{
    project::{Profile, View},
    subject::Subject,
};

use super::sse;
use crate::{
    app::Server,
    auth::Caller,
    request::{Failure, body, parse},
};

pub(crate) async fn post(
    State(server): State<Server>,
    Caller(subject): Caller,
    headers: HeaderMap,
    request: Body,
) -> Result<Response, Failure> {
    turn(&server, &subject, Profile::Adk, &headers, request).await
}

/// Takes a chat request and streams what comes of it.
pub(super) async fn turn(
    server: &Server,
    subject: &Subject,
    profile: Profile,
    headers: &HeaderMap,
    request: Body,
) -> Result<Response, Failure> {
    let view = view(profile, |name| headers.get(name)?.to_str().ok());
    let limits = server.inner.limits;
    let bytes = body(request, limits.body).await?;
    let request: ChatRequest = parse(&bytes, limits.json())?;
    let place = server.inner.place(subject).ok_or(Failure::TooManyStreams { limit: limits.streams_per_subject })?;
    let runtime = &server.inner.runtime;
    let (_, subscription) = runtime.submit(subject, request, view).await?;
    Ok(sse::response(sse::Segment::new(subscription), runtime.clock().clone(), place))
}

/// Whether a response ends at a frontend call (`resubmit`), or waits for its result (`stream`).
pub(super) const WAIT: &str = "x-holdpoint-wait";

/// What a client says of itself in its headers.
pub(super) fn view<'a>(profile: Profile, header: impl Fn(&'static str) -> Option<&'a str>) -> View {
    let says = |name, value: &str| header(name).is_some_and(|header| header.eq_ignore_ascii_case(value));
    View {
        profile,
        is_progressive: says("x-holdpoint-text", "progressive"),
        // A stock client's `addToolOutput` sends nothing while a response is open: there it has to end at a frontend call.
        is_resubmit: match profile {
            Profile::Adk => says(WAIT, "resubmit"),
            Profile::AiSdk => !says(WAIT, "stream"),
        },
    }
}
