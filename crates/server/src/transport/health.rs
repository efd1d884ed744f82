//! `/health` and `/ready`.

use axum::{extract::State, http::StatusCode};

use crate::app::Server;

pub(crate) async fn alive() -> StatusCode {
    StatusCode::OK
}

/// Ready until it is asked to go.
pub(crate) async fn ready(State(server): State<Server>) -> StatusCode {
    if server.inner.closing.is_cancelled() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }
}
