//! `/api/chats` and `/api/chat/{id}`: list, history, stop, delete.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use holdpoint_protocol::{ids::ChatId, message::UiMessage};
use serde::Serialize;

use crate::{app::Server, auth::Caller, request::Failure};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Chat {
    id: ChatId,
    title: String,
    updated_at: String,
    holds: usize,
    is_running: bool,
}

pub(crate) async fn list(State(server): State<Server>, Caller(subject): Caller) -> Result<Json<Vec<Chat>>, Failure> {
    let chats = server.inner.runtime.chats(&subject).await?;
    let chats = chats.into_iter().map(|chat| Chat {
        id: chat.id,
        title: chat.title,
        updated_at: chat.updated_at.iso8601(),
        holds: chat.holds,
        is_running: chat.is_running,
    });
    Ok(Json(chats.collect()))
}

pub(crate) async fn messages(
    State(server): State<Server>,
    Caller(subject): Caller,
    Path(chat): Path<String>,
) -> Result<Json<Vec<UiMessage>>, Failure> {
    Ok(Json(server.inner.runtime.messages(&subject, &ChatId::from(chat.as_str())).await?))
}

pub(crate) async fn stop(
    State(server): State<Server>,
    Caller(subject): Caller,
    Path(chat): Path<String>,
) -> Result<Json<serde_json::Value>, Failure> {
    server.inner.runtime.stop(&subject, &ChatId::from(chat.as_str()), None).await?;
    Ok(Json(serde_json::json!({"ok": true})))
}

pub(crate) async fn delete(
    State(server): State<Server>,
    Caller(subject): Caller,
    Path(chat): Path<String>,
) -> Result<StatusCode, Failure> {
    server.inner.runtime.delete(&subject, &ChatId::from(chat.as_str())).await?;
    Ok(StatusCode::NO_CONTENT)
}
