//! `/api/grants`: decisions made in advance.

use axum::{Json, extract::State, response::Response};
use holdpoint_protocol::{grants::Grant, ids::GrantId};
use holdpoint_runtime::RuntimeError;

use super::{
    list,
    page::{PageQuery, with_next},
};
use crate::{
    app::Server,
    auth::Caller,
    openapi,
    request::{Failure, Parameters, PathId},
};

/// About the size of a grant as JSON. Its rule has at most 4 KiB.
const GRANT_BYTES: usize = 2 * 1024;

/// Lists grants, newest first: those that you have made, those for your own chats and, with the role `admin`, all.
///
/// A grant is made by an approval with `remember`, and approves later calls that it covers. Those that have ended are
/// listed too.
#[utoipa::path(
    get,
    path = "/api/grants",
    tag = "grants",
    operation_id = "listGrants",
    params(PageQuery),
    responses((status = 200, description = "The grants.", body = Vec<Grant>, headers(("link" = String, description = "`<?…>; rel=\"next\"` if there may be another page.")), example = json!([openapi::examples::grant()]))),
)]
pub(crate) async fn list(
    State(server): State<Server>,
    Caller(identity): Caller,
    Parameters(query): Parameters<PageQuery>,
) -> Result<Response, Failure> {
    let (limit, after) = query.read()?;
    let reading = server.inner.reading(identity.subject()).await?;
    let page = server.inner.runtime.grants(&identity).page(after, limit).await?;
    let held = server.inner.responses.of(identity.subject()).hold(page.items.len() * GRANT_BYTES).await?;
    drop(reading);
    Ok(with_next(list::array(page.items, held), limit, page.next))
}

/// Revokes a grant.
///
/// From the response on, no call starts on it. Revoking it again changes nothing. For its maker, the owner of the
/// chats that it is for, and admins; 404 for everybody else.
#[utoipa::path(
    delete,
    path = "/api/grants/{grantId}",
    tag = "grants",
    operation_id = "revokeGrant",
    params(("grantId" = String, Path, description = "The grant.", example = "grant_1")),
    responses((status = 200, description = "The grant is revoked.", body = Grant, example = json!(openapi::examples::grant()))),
)]
pub(crate) async fn revoke(
    State(server): State<Server>,
    Caller(identity): Caller,
    PathId(grant): PathId,
) -> Result<Json<Grant>, Failure> {
    let revoked = server.inner.runtime.grants(&identity).revoke(&GrantId::from(grant.as_str())).await;
    match revoked {
        Err(RuntimeError::NotFound) => Err(Failure::NoGrant),
        revoked => Ok(Json(revoked?)),
    }
}
