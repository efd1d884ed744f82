//! `POST /api/ticket`: a ticket for a browser's WebSocket, which can't send an API key.

use axum::{Json, extract::State};
use holdpoint_protocol::response::Ticket;

use crate::{app::Server, auth::Caller, request::Failure};

/// Issues a ticket for one WebSocket, valid for a minute.
#[utoipa::path(
    post,
    path = "/api/ticket",
    tag = "chat",
    operation_id = "ticket",
    responses((status = 200, description = "The ticket.", body = Ticket, example = json!({"ticket": "9f2c…"}))),
)]
pub(crate) async fn post(State(server): State<Server>, Caller(identity): Caller) -> Result<Json<Ticket>, Failure> {
    let ticket = server.inner.tickets.issue(&server.inner.runtime, identity).await?;
    Ok(Json(Ticket { ticket }))
}
