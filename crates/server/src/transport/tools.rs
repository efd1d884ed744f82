//! `GET /api/tools`: what a client needs to know which calls are its own.

use axum::{Json, extract::State};
use holdpoint_runtime::tool::{Approval, Execution, Returns, Wait};
use serde::Serialize;
use serde_json::Value;

use crate::{app::Server, auth::Caller};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tool {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    input_schema: Value,
    execution: Execution,
    approval: Approval,
    /// 0 never expires.
    approval_timeout_sec: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_sec: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait: Option<Wait>,
    #[serde(skip_serializing_if = "Option::is_none")]
    returns: Option<Returns>,
}

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
