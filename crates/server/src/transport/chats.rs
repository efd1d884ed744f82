//! `/api/chats` and `/api/chat/{id}`: list, history, stop, delete.

use axum::{Json, extract::State, http::StatusCode, response::Response};
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::project::Listed;
use serde::{Deserialize, Serialize};

use super::list;
use crate::{
    app::Server,
    auth::Caller,
    request::{Failure, Parameters, PathId},
};

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
    PathId(chat): PathId,
) -> Result<Response, Failure> {
    let chat = server.inner.runtime.open(&subject, &ChatId::from(chat.as_str())).await?;
    let held = server.inner.responses.hold(chat.bytes()).await?;
    Ok(list::array(chat.messages(), held))
}

#[derive(Deserialize)]
pub(crate) struct HoldsQuery {
    calls: Option<String>,
}

/// `?calls=all` lists calls that needed nobody as well.
pub(crate) async fn holds(
    State(server): State<Server>,
    Caller(subject): Caller,
    PathId(chat): PathId,
    Parameters(query): Parameters<HoldsQuery>,
) -> Result<Response, Failure> {
    let listed = match query.calls.as_deref() {
        None => Listed::Holds,
        Some("all") => Listed::Calls,
        Some(other) => return Err(Failure::invalid(format!("calls: {other:?} is not known; `all` is"))),
    };
    let chat = server.inner.runtime.open(&subject, &ChatId::from(chat.as_str())).await?;
    let held = server.inner.responses.hold(chat.bytes()).await?;
    Ok(list::array(chat.holds(listed), held))
}

pub(crate) async fn stop(
    State(server): State<Server>,
    Caller(subject): Caller,
    PathId(chat): PathId,
) -> Result<Json<serde_json::Value>, Failure> {
    server.inner.runtime.stop(&subject, &ChatId::from(chat.as_str()), None).await?;
    Ok(Json(serde_json::json!({"ok": true})))
}

pub(crate) async fn delete(
    State(server): State<Server>,
    Caller(subject): Caller,
    PathId(chat): PathId,
) -> Result<StatusCode, Failure> {
    server.inner.runtime.delete(&subject, &ChatId::from(chat.as_str())).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A chat that has the name of a route.
pub(crate) async fn delete_ws(state: State<Server>, caller: Caller) -> Result<StatusCode, Failure> {
    delete(state, caller, PathId("ws".to_owned())).await
}

/// A chat without a name, from before they were refused.
pub(crate) async fn delete_unnamed(state: State<Server>, caller: Caller) -> Result<StatusCode, Failure> {
    delete(state, caller, PathId(String::new())).await
}
