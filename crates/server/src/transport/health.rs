//! `/health` and `/ready`.

use axum::{Json, extract::State, http::StatusCode};
use serde::Serialize;

use crate::app::Server;

/// The state of the server.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Health {
    status: &'static str,
}

/// Reports that the process is alive.
#[utoipa::path(
    get,
    path = "/health",
    tag = "operations",
    operation_id = "health",
    security(()),
    responses((status = 200, description = "It is alive.", body = Health, example = json!({"status": "ok"}))),
)]
pub(crate) async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Reports whether the server accepts requests.
#[utoipa::path(
    get,
    path = "/ready",
    tag = "operations",
    operation_id = "ready",
    security(()),
    responses(
        (status = 200, description = "It takes requests.", body = Health, example = json!({"status": "ready"})),
        (status = 503, description = "It drains, or its log can't be written.", body = Health, example = json!({"status": "draining"})),
    ),
)]
pub(crate) async fn ready(State(server): State<Server>) -> (StatusCode, Json<Health>) {
    if server.inner.draining.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "draining" }));
    }
    match server.inner.runtime.is_writable().await {
        true => (StatusCode::OK, Json(Health { status: "ready" })),
        false => (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "log-not-writable" })),
    }
}
