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

/// Ready until it is asked to go.
pub(crate) async fn ready(State(server): State<Server>) -> (StatusCode, Json<Health>) {
    match server.inner.draining.is_cancelled() {
        true => (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "draining" })),
        false => (StatusCode::OK, Json(Health { status: "ready" })),
    }
}
