//! `/health` and `/ready`.

use axum::{Json, extract::State, http::StatusCode};
use holdpoint_runtime::log::Health as LogHealth;
use serde::Serialize;

use crate::app::Server;

/// The state of the server.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Health {
    status: &'static str,
    /// This node, if several share a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
}

impl Health {
    fn new(status: &'static str, server: &Server) -> Json<Self> {
        Json(Self { status, node: server.inner.runtime.admin().node().map(|node| node.to_string()) })
    }
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
pub(crate) async fn alive(State(server): State<Server>) -> Json<Health> {
    Health::new("ok", &server)
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
        (status = 503, description = "It drains (`draining`), its log can't be written (`log-not-writable`), or a newer version has changed what is stored, and this one has to be upgraded (`outdated`).", body = Health, example = json!({"status": "draining"})),
    ),
)]
pub(crate) async fn ready(State(server): State<Server>) -> (StatusCode, Json<Health>) {
    if server.inner.draining.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, Health::new("draining", &server));
    }
    match server.inner.runtime.admin().health().await {
        LogHealth::Writable => (StatusCode::OK, Health::new("ready", &server)),
        LogHealth::Outdated => (StatusCode::SERVICE_UNAVAILABLE, Health::new("outdated", &server)),
        _ => (StatusCode::SERVICE_UNAVAILABLE, Health::new("log-not-writable", &server)),
    }
}
