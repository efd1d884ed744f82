//! `POST /api/ticket`: a ticket for a browser's WebSocket, which can't send a key.

use axum::{Json, extract::State};
use serde_json::{Value, json};

use crate::{app::Server, auth::Caller};

pub(crate) async fn post(State(server): State<Server>, Caller(subject): Caller) -> Json<Value> {
    let now = server.inner.runtime.clock().now();
    Json(json!({"ticket": server.inner.keys.issue(subject, now)}))
}
