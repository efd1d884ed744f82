//! `/api/chats` and `/api/chat/{id}`: list, history, stop, delete.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use holdpoint_protocol::{holds::ChatHold, ids::ChatId, message::UiMessage, response::ListedChat};
use holdpoint_runtime::internals::project::Listed;
use serde::{Deserialize, Serialize};

use super::{
    list,
    page::{PageQuery, with_next},
};
use crate::{
    app::Server,
    auth::Caller,
    openapi::{self, CallsQuery},
    request::{Failure, Parameters, PathId},
};

/// Lists the chats of this subject, most recently changed first.
#[utoipa::path(
    get,
    path = "/api/chats",
    tag = "chats",
    operation_id = "listChats",
    params(PageQuery),
    responses((status = 200, description = "The chats.", body = Vec<ListedChat>, headers(("link" = String, description = "`<?…>; rel=\"next\"` if there may be another page.")), example = json!([{"id": "chat_1", "title": "send 50 dollars to Hanako", "updatedAt": "2026-11-20T09:30:00.000Z", "holds": 1, "isRunning": false}]))),
)]
pub(crate) async fn list(
    State(server): State<Server>,
    Caller(subject): Caller,
    Parameters(query): Parameters<PageQuery>,
) -> Result<Response, Failure> {
    let (limit, after) = query.read()?;
    let page = server.inner.runtime.chats_page(&subject, after, limit).await?;
    let chats = page.items.into_iter().map(|chat| ListedChat {
        id: chat.id,
        title: chat.title,
        updated_at: chat.updated_at.iso8601(),
        holds: chat.holds,
        is_running: chat.is_running,
    });
    Ok(with_next(Json(chats.collect::<Vec<_>>()).into_response(), limit, page.next))
}

/// Reads the stored messages, including open holds. A message that is being written is left out.
#[utoipa::path(
    get,
    path = "/api/chat/{id}/messages",
    tag = "chats",
    operation_id = "messages",
    params(("id" = String, Path, description = "The chat.", example = "chat_1")),
    responses((status = 200, description = "`UIMessage[]`, as the SDK's client keeps them.", body = Vec<UiMessage>, example = json!(openapi::examples::messages()))),
)]
pub(crate) async fn messages(
    State(server): State<Server>,
    Caller(subject): Caller,
    PathId(chat): PathId,
) -> Result<Response, Failure> {
    let chat = server.inner.runtime.open(&subject, &ChatId::from(chat.as_str())).await?;
    let held = server.inner.responses.of(&subject).hold(chat.bytes()).await?;
    Ok(list::array(chat.messages().await?, held))
}

#[derive(Deserialize)]
pub(crate) struct HoldsQuery {
    calls: Option<String>,
}

/// Lists the holds of a chat, open and past, with their decisions.
#[utoipa::path(
    get,
    path = "/api/chat/{id}/holds",
    tag = "holds",
    operation_id = "chatHolds",
    params(
        ("id" = String, Path, description = "The chat.", example = "chat_1"),
        ("calls" = Option<CallsQuery>, Query, description = "`all` lists calls that needed nobody as well."),
    ),
    responses((status = 200, description = "The calls, oldest first.", body = Vec<ChatHold>, example = json!([openapi::examples::hold()]))),
)]
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
    let held = server.inner.responses.of(&subject).hold(chat.bytes()).await?;
    Ok(list::array(chat.holds(listed).await?, held))
}

/// The response to a stop.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Stopped {
    /// Always true.
    ok: bool,
}

/// Stops the turn: running tools are cancelled, open holds are settled.
#[utoipa::path(
    post,
    path = "/api/chat/{id}/stop",
    tag = "chats",
    operation_id = "stop",
    params(("id" = String, Path, description = "The chat.", example = "chat_1")),
    responses((status = 200, description = "No turn runs or waits any more.", body = Stopped, example = json!({"ok": true}))),
)]
pub(crate) async fn stop(
    State(server): State<Server>,
    Caller(subject): Caller,
    PathId(chat): PathId,
) -> Result<Json<Stopped>, Failure> {
    server.inner.runtime.stop(&subject, &ChatId::from(chat.as_str()), None).await?;
    Ok(Json(Stopped { ok: true }))
}

/// Deletes a chat and all its facts.
#[utoipa::path(
    delete,
    path = "/api/chat/{id}",
    tag = "chats",
    operation_id = "deleteChat",
    params(("id" = String, Path, description = "The chat.", example = "chat_1")),
    responses((status = 204, description = "The chat is gone.")),
)]
pub(crate) async fn delete(
    State(server): State<Server>,
    Caller(subject): Caller,
    PathId(chat): PathId,
) -> Result<StatusCode, Failure> {
    server.inner.runtime.delete(&subject, &ChatId::from(chat.as_str())).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes the chat with the id `ws`, which is also the name of a route.
#[utoipa::path(
    delete,
    path = "/api/chat/ws",
    tag = "chats",
    operation_id = "deleteChatNamedWs",
    responses((status = 204, description = "The chat is gone.")),
)]
pub(crate) async fn delete_ws(state: State<Server>, caller: Caller) -> Result<StatusCode, Failure> {
    delete(state, caller, PathId("ws".to_owned())).await
}

/// Deletes a chat with an empty id, created before such ids were rejected.
pub(crate) async fn delete_unnamed(state: State<Server>, caller: Caller) -> Result<StatusCode, Failure> {
    delete(state, caller, PathId(String::new())).await
}
