//! `/api/approvals`: the inbox.

use axum::{Json, body::Body, extract::State, response::Response};
use holdpoint_protocol::{
    ids::ApprovalId,
    request::{AckResponse, DecisionRequest},
};

use super::list;
use crate::{
    app::Server,
    auth::Caller,
    request::{Failure, PathId, body, in_force, parse},
};

pub(crate) async fn list(State(server): State<Server>, Caller(subject): Caller) -> Result<Response, Failure> {
    let runtime = &server.inner.runtime;
    let held = server.inner.responses.hold(runtime.approvals_bytes(&subject)).await?;
    Ok(list::array(runtime.approvals(&subject), held))
}

pub(crate) async fn decide(
    State(server): State<Server>,
    Caller(subject): Caller,
    PathId(approval): PathId,
    request: Body,
) -> Result<Json<AckResponse>, Failure> {
    let limits = server.inner.limits;
    let received = body(request, limits.body, &server.inner.bodies).await?;
    let decision: DecisionRequest = parse(&received.bytes, limits.json())?;
    let approval = ApprovalId::from(approval.as_str());
    let decided = server.inner.runtime.decide(&subject, approval, decision.approved, decision.reason).await;
    Ok(Json(AckResponse::taken(in_force(decided?)?)))
}
