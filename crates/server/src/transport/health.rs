//! `/health` and `/ready`.

use axum::{Json, extract::State, http::StatusCode};
use serde::Serialize;

use crate::app::Server;

#[derive(Serialize)]
pub(crate) struct Health {
    status: &'static str,
}

pub(crate) async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Ready until it is asked to go, and as long as the log can be written.
pub(crate) async fn ready(State(server): State<Server>) -> (StatusCode, Json<Health>) {
    if server.inner.closing.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "draining" }));
    }
    match server.inner.runtime.is_writable().await {
        true => (StatusCode::OK, Json(Health { status: "ready" })),
        false => (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "log-not-writable" })),
    }
}
