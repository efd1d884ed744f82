//! `POST /stream`: a turn over SSE, in the adk profile.

use axum::{body::Body, extract::State, http::HeaderMap, response::Response};
use holdpoint_runtime::wire::Profile;

use super::turn::turn;
use crate::{
    app::Server,
    auth::{Caller, require_user},
    openapi::{self, ChatBody, StreamEvent, TextHeader, WaitHeader},
    request::Failure,
};

/// Takes a chat request and streams the turn, in the adk profile.
///
/// The body is what `useChat` sends. Decisions and the results of frontend calls are parts of its messages.
#[utoipa::path(
    post,
    path = "/stream",
    tag = "chat",
    operation_id = "streamTurn",
    params(
        ("x-holdpoint-text" = Option<TextHeader>, Header, description = "`progressive`: text is streamed as it comes."),
        ("x-holdpoint-wait" = Option<WaitHeader>, Header, description = "Whether the response ends at a browser tool (`resubmit`) or stays open for its result (`stream`)."),
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
    turn(&server, &identity, Profile::Adk, &headers, request).await
}
