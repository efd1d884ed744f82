//! `GET /api/audit`: the record, one line a step.

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use holdpoint_protocol::{
    audit::{AuditLine, AuditStep},
    ids::ChatId,
};
use holdpoint_runtime::{audit_line, clock::Timestamp, log::AuditQuery, subject::Subject};
use serde::Deserialize;
use serde_json::json;

use super::{
    list::whole,
    page::{PageQuery, escaped, with_next_of},
};
use crate::{
    app::Server,
    auth::Caller,
    openapi,
    request::{Failure, Parameters},
};

/// The filters of the record.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordQuery {
    /// The maximum number of lines to read, 1 to 1000. 100 by default.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
    /// Only lines after this cursor, which is that of a `next` link.
    after: Option<String>,
    /// Only this chat, in the order of its log.
    chat: Option<String>,
    /// Only the chats of this subject, and what it decided in others.
    subject: Option<String>,
    /// Only this tool.
    tool: Option<String>,
    /// Only steps of this kind. A page may then have fewer lines than `limit`, even none, and still a next one.
    #[param(value_type = Option<AuditStep>)]
    step: Option<String>,
    /// Only steps of this time or later (RFC 3339).
    #[param(example = "2026-11-20T00:00:00Z")]
    since: Option<String>,
    /// Only steps before this time (RFC 3339).
    #[param(example = "2026-11-21T00:00:00Z")]
    until: Option<String>,
}

impl RecordQuery {
    /// The page, the filters, and the parameters of the link to the next page.
    fn read(self) -> Result<(PageQuery, AuditQuery, Option<AuditStep>, String), Failure> {
        let parameters = escaped(&[
            ("chat", self.chat.as_deref()),
            ("subject", self.subject.as_deref()),
            ("tool", self.tool.as_deref()),
            ("step", self.step.as_deref()),
            ("since", self.since.as_deref()),
            ("until", self.until.as_deref()),
        ]);
        let page = PageQuery::new(self.limit, self.after);
        let time = |name: &str, text: Option<String>| {
            let wrong =
                |text: &str| Failure::invalid(format!("{name}: {text:?} is not a time such as 2026-11-20T09:30:00Z"));
            text.map(|text| Timestamp::parse(&text).ok_or_else(|| wrong(&text))).transpose()
        };
        let query = AuditQuery {
            seen_by: None,
            subject: self.subject.as_deref().map(|name| Subject::named(name).unwrap_or_else(|_| name.into())),
            chat: self.chat.as_deref().map(ChatId::from),
            tool: self.tool.map(Into::into),
            since: time("since", self.since)?,
            until: time("until", self.until)?,
            after: None,
        };
        let wrong = |step: &str| Failure::invalid(format!("step: {step:?} is not a step such as \"decided\""));
        let step = |step: &String| serde_json::from_value(json!(step)).map_err(|_| wrong(step));
        Ok((page, query, self.step.as_ref().map(step).transpose()?, parameters))
    }
}

/// Reads the record, oldest first: one line of JSON for each step of each call.
///
/// An admin sees all lines, others the lines of their own chats and decisions.
#[utoipa::path(
    get,
    path = "/api/audit",
    tag = "holds",
    operation_id = "audit",
    params(RecordQuery),
    responses((status = 200, description = "The lines.", content_type = "application/x-ndjson", body = AuditLine, headers(("link" = String, description = "`<?…>; rel=\"next\"` if there may be another page.")), example = json!(openapi::examples::audit_line()))),
)]
pub(crate) async fn list(
    State(server): State<Server>,
    Caller(identity): Caller,
    Parameters(query): Parameters<RecordQuery>,
) -> Result<Response, Failure> {
    let (page, query, step, parameters) = query.read()?;
    let (limit, after) = page.read()?;
    let reading = server.inner.reading(identity.subject()).await?;
    let page = server.inner.runtime.audit(&identity).entries(query, after, limit).await?;
    let mut body = Vec::new();
    for entry in page.items {
        let Some(line) = audit_line(&entry).filter(|line| step.is_none_or(|step| line.step == step)) else { continue };
        // This can't fail: all keys are strings, and the writer is memory.
        let _ = serde_json::to_writer(&mut body, &line);
        body.push(b'\n');
    }
    body.shrink_to_fit();
    let held = server.inner.responses.of(identity.subject()).hold(body.len()).await?;
    drop(reading);
    let response = ([(header::CONTENT_TYPE, "application/x-ndjson")], whole(body, held)).into_response();
    Ok(with_next_of(&parameters, response, limit, page.next))
}
