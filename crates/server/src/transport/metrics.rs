//! `GET /metrics`: metrics for Prometheus. They name no chat and no subject.

use axum::{extract::State, response::Response};

use crate::{app::Server, auth::Caller, metrics};

/// Reads the metrics of this server.
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
pub(crate) async fn get(State(server): State<Server>, Caller(_): Caller) -> Response {
    metrics::response(server.metrics().await)
}
