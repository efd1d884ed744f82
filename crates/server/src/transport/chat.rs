//! `POST /api/chat` and `GET /api/chat/{id}/stream`: a turn over SSE for a stock `useChat`, and the same turn taken up again.

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::project::{Profile, Resume};

use super::{
    sse,
    stream::{turn, view},
};
use crate::{
    app::Server,
    auth::Caller,
    request::{Failure, PathId},
};

pub(crate) async fn post(
    State(server): State<Server>,
    Caller(subject): Caller,
    headers: HeaderMap,
    request: Body,
) -> Result<Response, Failure> {
    turn(&server, &subject, Profile::AiSdk, &headers, request).await
}

/// 204 when nothing is being written: also for a chat that does not exist yet, since a client that has just made up its id asks too.
pub(crate) async fn resume(
    State(server): State<Server>,
    Caller(subject): Caller,
    headers: HeaderMap,
    PathId(chat): PathId,
) -> Result<Response, Failure> {
    let limit = server.inner.limits.streams_per_subject;
    let place = server.inner.place(&subject).ok_or(Failure::TooManyStreams { limit })?;
    let view = view(Profile::AiSdk, |name| headers.get(name)?.to_str().ok());
    let runtime = &server.inner.runtime;
    match runtime.resume(&subject, &ChatId::from(&*chat), view, Resume::Message).await? {
        Some(subscription) => Ok(sse::response(sse::Segment::new(subscription), runtime.clock().clone(), place)),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}
