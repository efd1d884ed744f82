//! `/api/approvals`: the inbox.

use axum::{
    Json,
    body::Body,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use holdpoint_protocol::{
    ids::{ApprovalId, ChatId},
    request::{AckResponse, ApprovalRecord, DecisionBody, DecisionError, DecisionRequest, PendingApproval},
};
use holdpoint_runtime::{ApprovalFilter, ApprovalState, subject::Subject};
use serde::Deserialize;

use super::{
    list,
    page::{PageQuery, escaped, with_next_of},
};
use crate::{
    app::Server,
    auth::Caller,
    openapi,
    request::{Failure, Parameters, PathId, in_force, parse},
};

/// About the size of a row besides its input.
const ENTRY_BYTES: usize = 512;

/// Which approval requests are listed.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct InboxQuery {
    /// The maximum number of entries, 1 to 1000. 100 by default.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
    /// Only entries after this cursor, which is that of a `next` link.
    after: Option<String>,
    /// Only calls of this tool.
    tool: Option<String>,
    /// Only the requests of this chat.
    chat: Option<String>,
    /// Only those in the chats of this subject.
    requested_by: Option<String>,
    /// Only those with this text in the tool's name or title, the chat's id, the requester, or a text or number of the
    /// input.
    q: Option<String>,
}

impl InboxQuery {
    /// The page, the filters, and the parameters of the link to the next page.
    fn read(self) -> (PageQuery, ApprovalFilter, String) {
        let parameters = escaped(&[
            ("tool", self.tool.as_deref()),
            ("chat", self.chat.as_deref()),
            ("requested_by", self.requested_by.as_deref()),
            ("q", self.q.as_deref()),
        ]);
        let filter = ApprovalFilter {
            tool: self.tool,
            chat: self.chat.as_deref().map(ChatId::from),
            requested_by: self.requested_by.as_deref().map(|name| Subject::named(name).unwrap_or_else(|_| name.into())),
            text: self.q,
        };
        (PageQuery::new(self.limit, self.after), filter, parameters)
    }
}

/// Lists the open approval requests that you may decide, oldest first.
///
/// Those in your own chats, if the tool's policy leaves them to you and, with the role `approver`, those that name you or
/// one of your groups. With filters, a page may have fewer entries than `limit`, even none, and still a next one.
#[utoipa::path(
    get,
    path = "/api/approvals",
    tag = "holds",
    operation_id = "listApprovals",
    params(InboxQuery),
    responses((status = 200, description = "What waits for you.", body = Vec<PendingApproval>, headers(("link" = String, description = "`<?…>; rel=\"next\"` if there may be another page.")), example = json!([openapi::examples::approval()]))),
)]
pub(crate) async fn list(
    State(server): State<Server>,
    Caller(identity): Caller,
    Parameters(query): Parameters<InboxQuery>,
) -> Result<Response, Failure> {
    let (page, filter, parameters) = query.read();
    let (limit, after) = page.read()?;
    let reading = server.inner.reading(identity.subject()).await?;
    let runtime = server.inner.runtime.clone();
    let page = runtime.inbox(&identity).rows(&filter, after, limit).await?;
    let bytes = page.items.iter().map(|row| row.bytes() + ENTRY_BYTES).sum();
    let held = server.inner.responses.of(identity.subject()).hold(bytes).await?;
    drop(reading);
    let items = page.items.into_iter().map(move |row| row.entry(&identity));
    Ok(with_next_of(&parameters, list::array(items, held), limit, page.next))
}

/// Shows one approval request.
///
/// `allowed` is empty for those who may see it but not decide: the owner of the chat if others decide, and admins. 410 if
/// it has ended, 404 if there is no such approval request, or none that you may see.
#[utoipa::path(
    get,
    path = "/api/approvals/{approvalId}",
    tag = "holds",
    operation_id = "getApproval",
    params(("approvalId" = String, Path, description = "The approval request.", example = "approval_1")),
    responses((status = 200, description = "It waits.", body = PendingApproval, example = json!(openapi::examples::approval()))),
)]
pub(crate) async fn get(
    State(server): State<Server>,
    Caller(identity): Caller,
    PathId(approval): PathId,
) -> Result<Response, Failure> {
    let reading = server.inner.reading(identity.subject()).await?;
    match server.inner.runtime.inbox(&identity).get(&ApprovalId::from(approval.as_str())).await? {
        Some(ApprovalState::Open(approval)) => {
            let bytes = serde_json::to_vec(&approval).unwrap_or_default();
            drop(approval);
            let held = server.inner.responses.of(identity.subject()).hold(bytes.len()).await?;
            drop(reading);
            Ok(([(header::CONTENT_TYPE, "application/json")], list::whole(bytes, held)).into_response())
        }
        Some(ApprovalState::Ended(cause)) => Err(Failure::TooLate(cause)),
        None => Err(Failure::NotHeld),
    }
}

/// Shows what has become of an approval request: who decided, what runs, and what came of it.
///
/// For everybody who may see the request or has decided it, also after it has ended. `GET /api/events` reports
/// every change of it to its approvers with `approvals`, and to the owner of the chat with `chat`.
#[utoipa::path(
    get,
    path = "/api/approvals/{approvalId}/record",
    tag = "holds",
    operation_id = "approvalRecord",
    params(("approvalId" = String, Path, description = "The approval request.", example = "approval_1")),
    responses((status = 200, description = "The request, its decision and its outcome.", body = ApprovalRecord, example = json!(openapi::examples::record()))),
)]
pub(crate) async fn record(
    State(server): State<Server>,
    Caller(identity): Caller,
    PathId(approval): PathId,
) -> Result<Response, Failure> {
    let reading = server.inner.reading(identity.subject()).await?;
    let approval = ApprovalId::from(approval.as_str());
    let record = server.inner.runtime.inbox(&identity).record(&approval).await?.ok_or(Failure::NotHeld)?;
    let bytes = serde_json::to_vec(&record).unwrap_or_default();
    drop(record);
    let held = server.inner.responses.of(identity.subject()).hold(bytes.len()).await?;
    drop(reading);
    Ok(([(header::CONTENT_TYPE, "application/json")], list::whole(bytes, held)).into_response())
}

/// A decision, and what it is about.
#[derive(Deserialize)]
#[serde(try_from = "DecisionBody")]
struct Decision {
    request: DecisionRequest,
    input_sha256: Option<Box<str>>,
}

impl TryFrom<DecisionBody> for Decision {
    type Error = DecisionError;

    fn try_from(mut body: DecisionBody) -> Result<Self, DecisionError> {
        let input_sha256 = body.input_sha256.take();
        Ok(Self { request: body.try_into()?, input_sha256 })
    }
}

/// Decides one approval request.
///
/// 200 means that the decision is in force or, with `votes` and `quorum`, that the approval counts and others have to
/// approve as well. 409 if the other decision is in force, or if what was shown is not what is recorded; 410 if it is too late, 403 if others decide about it or the
/// tool does not allow this kind of decision, 404 if there is no such approval request, or none that you may see.
#[utoipa::path(
    post,
    path = "/api/approvals/{approvalId}",
    tag = "holds",
    operation_id = "decide",
    params(("approvalId" = String, Path, description = "The approval request.", example = "approval_1")),
    request_body(content = DecisionBody, example = json!({"approved": true, "reason": "checked with Hanako"})),
    responses((status = 200, description = "The decision is in force; `ignored` where it was made before.", body = AckResponse, example = json!({"ok": true}))),
)]
pub(crate) async fn decide(
    State(server): State<Server>,
    Caller(identity): Caller,
    PathId(approval): PathId,
    request: Body,
) -> Result<Json<AckResponse>, Failure> {
    let limits = server.inner.limits;
    let received = server.inner.json_body(request, identity.subject()).await?;
    let Decision { request, input_sha256 } = parse(&received.bytes, limits.json())?;
    let approval = ApprovalId::from(approval.as_str());
    let decided = server.inner.runtime.inbox(&identity).decide_shown(approval, request, input_sha256).await;
    Ok(Json(in_force(decided?)?))
}
