//! `GET /metrics`: metrics for Prometheus. They name no chat and no subject, and tools only to admins: a number of holds
//! tells that somebody waits for somebody.

use axum::{extract::State, response::Response};

use crate::{app::Server, auth::Caller, metrics};

/// Reads the metrics of this server.
///
/// Those by tool are for admins.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operations",
    operation_id = "metrics",
    responses((
        status = 200,
        description = "The OpenMetrics text format. docs/operations.md explains each metric.",
        content_type = "application/openmetrics-text",
        body = String,
        example = json!("# TYPE holdpoint_turns_started counter\nholdpoint_turns_started_total 3\n# EOF\n"),
    )),
)]
pub(crate) async fn get(State(server): State<Server>, Caller(identity): Caller) -> Response {
    let text = server.metrics().await;
    metrics::response(if identity.is_admin() { text } else { without_tools(&text) })
}

/// The samples that have no label for a tool.
fn without_tools(text: &str) -> String {
    let names_tool = |line: &str| !line.starts_with('#') && line.contains("tool=\"");
    text.split_inclusive('\n').filter(|line| !names_tool(line)).collect()
}
