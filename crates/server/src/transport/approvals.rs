//! `/api/approvals`: the inbox.

use axum::{Json, body::Body, extract::State, response::Response};
use holdpoint_protocol::{
    ids::ApprovalId,
    request::{AckResponse, DecisionRequest, PendingApproval},
};

use super::{
    list,
    page::{PageQuery, json_bytes, with_next},
};
use crate::{
    app::Server,
    auth::Caller,
    openapi,
    request::{Failure, Parameters, PathId, body, in_force, parse},
};

/// Lists the open approval requests, oldest first.
#[utoipa::path(
    get,
    path = "/api/approvals",
    tag = "holds",
    operation_id = "listApprovals",
    params(PageQuery),
    responses((status = 200, description = "What waits for this subject.", body = Vec<PendingApproval>, headers(("link" = String, description = "`<?…>; rel=\"next\"` if there may be another page.")), example = json!([openapi::examples::approval()]))),
)]
pub(crate) async fn list(
    State(server): State<Server>,
    Caller(subject): Caller,
    Parameters(query): Parameters<PageQuery>,
) -> Result<Response, Failure> {
    let (limit, after) = query.read()?;
    let page = server.inner.runtime.approvals_page(&subject, after, limit).await?;
    let bytes = page.items.iter().map(|approval| json_bytes(&approval.input)).sum();
    let held = server.inner.responses.of(&subject).hold(bytes).await?;
    Ok(with_next(list::array(page.items, held), limit, page.next))
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
