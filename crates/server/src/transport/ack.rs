//! `POST /api/tools/ack`: a browser's result.

use axum::{Json, body::Body, extract::State};
use holdpoint_protocol::request::{AckRequest, AckResponse};

use crate::{
    app::Server,
    auth::{Caller, require_user},
    openapi,
    request::{Failure, in_force, read, value},
};

/// Takes the result of a call that ran in the browser.
///
/// 409 if another result is in force or the call waits for its approval, 410 if it is too late, 404 if there is no such
/// call.
#[utoipa::path(
    post,
    path = "/api/tools/ack",
    tag = "holds",
    operation_id = "acknowledge",
    request_body(content = AckRequest, example = json!(openapi::examples::ack())),
    responses((status = 200, description = "The result counts; `ignored` where it was given before.", body = AckResponse, example = json!({"ok": true}))),
)]
pub(crate) async fn post(
    State(server): State<Server>,
    Caller(identity): Caller,
    request: Body,
) -> Result<Json<AckResponse>, Failure> {
    require_user(&identity)?;
    let limits = server.inner.limits;
    let received = server.inner.json_body(request, identity.subject()).await?;
    let raw = value(&received.bytes, limits.json())?;
    let _held = received.into_held();
    let ack: AckRequest = read(raw.clone())?;
    if !is_date(&ack.requested_at) {
        let detail = "requestedAt: an ISO 8601 time is needed, as in 2025-02-01T12:34:56.789Z".to_owned();
        return Err(Failure::Invalid { detail, pointer: Some("/requestedAt".to_owned()) });
    }
    let taken = in_force(server.inner.runtime.chats(identity.subject()).ack(ack, raw).await?)?;
    Ok(Json(taken))
}

/// Whether it looks like a time. It is not compared with anything.
fn is_date(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| {
        text.get(range).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let bytes = text.as_bytes();
    bytes.len() >= 10 && digits(0..4) && bytes[4] == b'-' && digits(5..7) && bytes[7] == b'-' && digits(8..10)
}
