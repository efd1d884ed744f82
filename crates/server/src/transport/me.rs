//! `GET /api/me`: the identity of the request.

use axum::Json;
use holdpoint_protocol::identity::Me;
use holdpoint_runtime::clock::Timestamp;

use crate::auth::Caller;

/// Shows who this request is: its subject, roles and groups.
#[utoipa::path(
    get,
    path = "/api/me",
    tag = "people",
    operation_id = "me",
    responses((status = 200, description = "The identity.", body = Me, example = json!({"subject": "carol", "roles": ["user", "approver"], "groups": ["finance"]}))),
)]
pub(crate) async fn get(Caller(identity): Caller) -> Json<Me> {
    Json(Me {
        subject: identity.subject().as_str().to_owned(),
        roles: identity.roles().iter().copied().collect(),
        groups: identity.groups().iter().map(|group| group.as_str().to_owned()).collect(),
        expires_at: identity.expires_at().map(Timestamp::iso8601),
    })
}
