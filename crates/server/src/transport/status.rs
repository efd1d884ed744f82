//! `GET /api/status`: what the server consists of, for admins.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use holdpoint_protocol::status::{Status, ToolStatus};
use holdpoint_runtime::{identity::Role, tool::ToolSpec};
use serde_json::json;

use crate::{app::Server, auth::Caller, request::Failure};

/// Shows what the server consists of: its model, its MCP servers and their states, its tools and their policies, its
/// limits and its version. It needs the role `admin`.
#[utoipa::path(
    get,
    path = "/api/status",
    tag = "operations",
    operation_id = "status",
    responses((status = 200, description = "The status. It contains no secret.", body = Status, example = json!({"version": "0.1.0", "model": "demo", "warnings": [], "mcp": [{"name": "files", "state": "connected", "tools": ["files_read"], "warnings": [], "lastLines": []}], "tools": [{"name": "files_read", "execution": "server", "mcp": "files", "approval": "always", "approvalTimeoutSec": 300, "decisions": ["approve", "deny", "edit", "answer"], "approvers": {"by": ["self"]}}], "limits": {"turns": 1000}}))),
)]
pub(crate) async fn get(State(server): State<Server>, Caller(identity): Caller) -> Result<Json<Status>, Failure> {
    if !identity.is_admin() {
        return Err(Failure::RoleRequired { role: Role::Admin });
    }
    let runtime = &server.inner.runtime;
    Ok(Json(Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        node: runtime.admin().node().map(|node| node.to_string()),
        clock_offset_ms: runtime.admin().clock_offset_ms(),
        model: runtime.admin().model_name(),
        warnings: runtime.admin().model_warnings(),
        mcp: server.inner.mcp.as_ref().map(|read| read()).unwrap_or_default(),
        tools: runtime.tools().specs().iter().map(|spec| tool(spec)).collect(),
        limits: limits(&server),
    }))
}

fn tool(spec: &ToolSpec) -> ToolStatus {
    ToolStatus {
        name: spec.name.clone(),
        title: spec.title.clone(),
        execution: spec.execution,
        mcp: spec.mcp_server().map(str::to_owned),
        approval: json!(spec.approval),
        approval_timeout_sec: spec.expires_after().map_or(0, |timeout| timeout.as_secs()),
        decisions: spec.decisions.kinds(),
        approvers: json!(*spec.approvers),
    }
}

/// The limits, by the names of their settings.
fn limits(server: &Server) -> BTreeMap<String, u64> {
    let (own, runtime) = (server.inner.limits, server.inner.runtime.admin().limits());
    let budget = [("turn_token_budget", runtime.budget.turn), ("chat_token_budget", runtime.budget.chat)];
    let budget = budget.into_iter().filter_map(|(name, tokens)| Some((name.to_owned(), tokens?.get())));
    let all = [
        ("body_bytes", own.body),
        ("json_depth", own.depth),
        ("json_nodes", own.nodes),
        ("streams_per_subject", own.streams_per_subject),
        ("requests_per_subject", own.requests_per_subject),
        ("requests_per_address", own.requests_per_address),
        ("wrong_keys_per_minute", own.wrong_keys_per_minute),
        ("bytes_in_flight", own.bytes_in_flight),
        ("holds_per_chat", runtime.holds_per_chat),
        ("turns_per_subject", runtime.turns_per_subject),
        ("turns", runtime.turns),
        ("open_chats_per_subject", runtime.open_chats_per_subject),
        ("chat_bytes", runtime.chat_bytes),
        ("stored_bytes_per_subject", runtime.stored_bytes_per_subject),
        ("chats_per_subject", runtime.chats_per_subject),
        ("loaded_bytes", runtime.loaded_bytes),
        ("loaded_bytes_per_subject", runtime.loaded_bytes_per_subject),
        ("id_bytes", runtime.id_bytes),
        ("max_steps", runtime.steps as usize),
    ];
    all.into_iter().map(|(name, limit)| (name.to_owned(), limit as u64)).chain(budget).collect()
}
