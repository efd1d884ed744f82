//! `POST /api/chat` and `GET /api/chat/{id}/stream`: a turn over SSE for a stock `useChat`, and its resumption.

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::wire::{Profile, Resume};

use super::{
    sse,
    turn::{turn, view},
};
use crate::{
    app::Server,
    auth::{Caller, require_user},
    metrics::StreamKind,
    openapi::{self, ChatBody, StreamEvent, WaitHeader},
    request::{Failure, PathId},
};

/// Takes a chat request and streams the turn in the ai-sdk profile, for a stock `useChat`.
///
/// The body is what `useChat` sends. Decisions and the results of frontend calls are parts of its messages.
#[utoipa::path(
    post,
    path = "/api/chat",
    tag = "chat",
    operation_id = "chat",
    params(
        ("x-holdpoint-wait" = Option<WaitHeader>, Header, description = "Whether the response ends at a browser tool (`resubmit`, the default) or stays open for its result (`stream`)."),
    ),
    request_body(content = ChatBody, example = json!(openapi::examples::chat())),
    responses((
        status = 200,
        description = "The chunks of one segment, as server-sent events.",
        content_type = "text/event-stream",
        body = StreamEvent,
        example = json!(openapi::examples::event()),
    )),
)]
pub(crate) async fn post(
    State(server): State<Server>,
    Caller(identity): Caller,
    headers: HeaderMap,
    request: Body,
) -> Result<Response, Failure> {
    require_user(&identity)?;
    turn(&server, &identity, Profile::AiSdk, &headers, request).await
}

/// Replays the open message from its `start`, then streams what follows.
///
/// 204 if nothing is being written, also for a chat that does not exist yet: a client asks even with an id it has just
/// created.
#[utoipa::path(
    get,
    path = "/api/chat/{id}/stream",
    tag = "chat",
    operation_id = "resume",
    params(("id" = String, Path, description = "The chat.", example = "chat_1")),
    responses(
        (
            status = 200,
            description = "The chunks, as server-sent events.",
            content_type = "text/event-stream",
            body = StreamEvent,
            example = json!(openapi::examples::event()),
        ),
        (status = 204, description = "Nothing is being written."),
    ),
)]
pub(crate) async fn resume(
    State(server): State<Server>,
    Caller(identity): Caller,
    headers: HeaderMap,
    PathId(chat): PathId,
) -> Result<Response, Failure> {
    let place = server.inner.place(identity.subject(), StreamKind::Resume)?;
    let view = view(Profile::AiSdk, |name| headers.get(name)?.to_str().ok());
    let runtime = &server.inner.runtime;
    // To find out what to replay, the whole turn is gone through: one subject does so one at a time.
    let reading = server.inner.reading(identity.subject()).await?;
    let resumed = runtime.chats(identity.subject()).resume(&ChatId::from(&*chat), view, Resume::Message).await?;
    drop(reading);
    match resumed {
        Some(response) => Ok(sse::response(sse::TurnEvents::new(response), &identity, runtime.clock(), place)),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}
