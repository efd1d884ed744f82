//! `POST /stream`: a turn over SSE, in the adk profile.

use axum::{body::Body, extract::State, http::HeaderMap, response::Response};
use holdpoint_protocol::request::ChatRequest;
use holdpoint_runtime::{fact::CallOrder, project::View};

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
    let limits = server.inner.limits;
    let bytes = body(request, limits.body).await?;
    let request: ChatRequest = parse(&bytes, limits.depth)?;
    let place = server.inner.place(&subject).ok_or(Failure::TooManyStreams { limit: limits.streams_per_subject })?;
    let runtime = &server.inner.runtime;
    let (_, subscription) = runtime.submit(&subject, request, CallOrder::Together, view(&headers)).await?;
    Ok(sse::response(sse::Segment::new(subscription), runtime.clock().clone(), place))
}

/// What the client says of itself.
fn view(headers: &HeaderMap) -> View {
    let says = |name: &str, value: &str| {
        headers.get(name).is_some_and(|header| header.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
    };
    View { is_progressive: says("x-holdpoint-text", "progressive"), is_resubmit: says("x-holdpoint-wait", "resubmit") }
}
