//! `GET /api/tools`: the tools, so that a client knows which calls it has to run.

use axum::{Json, extract::State};
use holdpoint_runtime::tool::{ApprovalPolicy, Execution, Returns, Wait};
use serde::Serialize;
use serde_json::Value;

use crate::{app::Server, auth::Caller, openapi};

/// An available tool.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tool {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    /// JSON Schema.
    input_schema: Value,
    /// `server`, `frontend` (runs in the browser and is waited for) or `delegate` (runs in the browser, not waited
    /// for).
    #[schema(value_type = String)]
    execution: Execution,
    /// `always`, `never`, or a rule over the input.
    #[schema(value_type = Value)]
    approval: ApprovalPolicy,
    /// 0 never expires.
    approval_timeout_sec: u64,
    /// How long the browser has for its result, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_sec: Option<u64>,
    /// `stream` or `resubmit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    wait: Option<Wait>,
    /// `output` or `ack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    returns: Option<Returns>,
}

/// Lists the available tools, so that a client knows which calls it has to run.
#[utoipa::path(
    get,
    path = "/api/tools",
    tag = "tools",
    operation_id = "listTools",
    responses((status = 200, description = "The tools.", body = Vec<Tool>, example = json!([openapi::examples::tool()]))),
)]
pub(crate) async fn list(State(server): State<Server>, Caller(_): Caller) -> Json<Vec<Tool>> {
    let specs = server.inner.runtime.tools().specs();
    let tools = specs.iter().map(|spec| {
        let is_frontend = spec.execution == Execution::Frontend;
        Tool {
            name: spec.name.clone(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            input_schema: spec.input.as_value().clone(),
            execution: spec.execution,
            approval: spec.approval.clone(),
            approval_timeout_sec: spec.approval_timeout.map_or(0, |timeout| timeout.as_secs()),
            timeout_sec: is_frontend.then(|| spec.timeout.as_secs()),
            wait: is_frontend.then_some(spec.wait),
            returns: is_frontend.then_some(spec.returns),
        }
    });
    Json(tools.collect())
}
