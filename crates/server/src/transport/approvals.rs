//! `/api/approvals`: the inbox.

use axum::{Json, body::Body, extract::State, response::Response};
use holdpoint_protocol::{
    ids::ApprovalId,
    request::{AckResponse, DecisionRequest, PendingApproval},
};

use super::list;
use crate::{
    app::Server,
    auth::Caller,
    openapi,
    request::{Failure, PathId, body, in_force, parse},
};

/// Lists the open approval requests, oldest first.
#[utoipa::path(
    get,
    path = "/api/approvals",
    tag = "holds",
    operation_id = "listApprovals",
    responses((status = 200, description = "What waits for this subject.", body = Vec<PendingApproval>, example = json!([openapi::examples::approval()]))),
)]
pub(crate) async fn list(State(server): State<Server>, Caller(subject): Caller) -> Result<Response, Failure> {
    let runtime = &server.inner.runtime;
    let held = server.inner.responses.of(&subject).hold(runtime.approvals_bytes(&subject)).await?;
    Ok(list::array(runtime.approvals(&subject), held))
}

/// Decides one approval request.
///
/// 200 means that the decision is in force. 409 if the other decision is in force, 410 if it is too late, 404 if there
/// is no such approval request.
#[utoipa::path(
    post,
    path = "/api/approvals/{approvalId}",
    tag = "holds",
    operation_id = "decide",
    params(("approvalId" = String, Path, description = "The approval request.", example = "approval_1")),
    request_body(content = DecisionRequest, example = json!({"approved": true, "reason": "checked with Hanako"})),
    responses((status = 200, description = "The decision is in force; `ignored` where it was made before.", body = AckResponse, example = json!({"ok": true}))),
)]
pub(crate) async fn decide(
    State(server): State<Server>,
    Caller(subject): Caller,
    PathId(approval): PathId,
    request: Body,
) -> Result<Json<AckResponse>, Failure> {
    let limits = server.inner.limits;
    let received = body(request, limits.body, &server.inner.bodies.of(&subject)).await?;
    let decision: DecisionRequest = parse(&received.bytes, limits.json())?;
    let approval = ApprovalId::from(approval.as_str());
    let decided = server.inner.runtime.decide(&subject, approval, decision).await;
    Ok(Json(AckResponse::taken(in_force(decided?)?)))
}
