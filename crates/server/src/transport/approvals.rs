//! `/api/approvals`: the inbox.

use axum::{Json, body::Body, extract::State};
use holdpoint_protocol::{
    ids::ApprovalId,
    request::{AckResponse, DecisionRequest, PendingApproval},
};

use crate::{
    app::Server,
    auth::Caller,
    request::{Failure, PathId, body, in_force, parse},
};

pub(crate) async fn list(State(server): State<Server>, Caller(subject): Caller) -> Json<Vec<PendingApproval>> {
    Json(server.inner.runtime.approvals(&subject))
}

pub(crate) async fn decide(
    State(server): State<Server>,
    Caller(subject): Caller,
    PathId(approval): PathId,
    request: Body,
) -> Result<Json<AckResponse>, Failure> {
    let limits = server.inner.limits;
    let decision: DecisionRequest = parse(&body(request, limits.body).await?, limits.json())?;
    let approval = ApprovalId::from(approval.as_str());
    let decided = server.inner.runtime.decide(&subject, approval, decision.approved, decision.reason).await;
    Ok(Json(AckResponse::taken(in_force(decided?)?)))
}
