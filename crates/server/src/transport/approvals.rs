//! `/api/approvals`: the inbox.

use axum::{
    Json,
    body::Body,
    extract::{Path, State},
};
use holdpoint_protocol::{
    ids::ApprovalId,
    request::{DecisionRequest, PendingApproval},
};

use crate::{
    app::Server,
    auth::Caller,
    request::{Answer, Failure, body, parse},
};

pub(crate) async fn list(State(server): State<Server>, Caller(subject): Caller) -> Json<Vec<PendingApproval>> {
    Json(server.inner.runtime.approvals(&subject))
}

pub(crate) async fn decide(
    State(server): State<Server>,
    Caller(subject): Caller,
    Path(approval): Path<String>,
    request: Body,
) -> Result<Answer, Answer> {
    let limits = server.inner.limits;
    let decision: DecisionRequest = parse(&body(request, limits.body).await?, limits.json())?;
    let approval = ApprovalId::from(approval.as_str());
    let decided = server.inner.runtime.decide(&subject, approval, decision.approved, decision.reason).await;
    Ok(decided.map_err(Failure::from)?.into())
}
