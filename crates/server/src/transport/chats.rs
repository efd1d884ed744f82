//! `/api/chats` and `/api/chat/{id}`: list, history, stop, delete.

use axum::{Json, extract::State, http::StatusCode, response::Response};
use holdpoint_protocol::{holds::ChatHold, ids::ChatId, message::UiMessage, response::ListedChat};
use holdpoint_runtime::{
    RuntimeError, StoredChat,
    identity::{Identity, Role},
    subject::Subject,
    wire::Listed,
};
use serde::{Deserialize, Serialize};

use super::{
    list,
    page::{PageQuery, with_next_of},
};
use crate::{
    app::Server,
    auth::{Caller, require_user},
    openapi::{self, CallsQuery},
    request::{Failure, Parameters, PathId},
};

/// About the size of an entry besides its id and its title.
const ENTRY_BYTES: usize = 256;

#[derive(Deserialize)]
pub(crate) struct ScopeQuery {
    all: Option<String>,
}

impl ScopeQuery {
    /// Whether the chats of all subjects are asked for.
    fn is_all(&self) -> Result<bool, Failure> {
        match self.all.as_deref() {
            None | Some("false") => Ok(false),
            Some("" | "true") => Ok(true),
            Some(other) => Err(Failure::invalid(format!("all: {other:?} is not a value of it: use `true` or `false`"))),
        }
    }
}

/// Lists the chats of this subject, or of everybody for an admin who asks for it, most recently changed first.
#[utoipa::path(
    get,
    path = "/api/chats",
    tag = "chats",
    operation_id = "listChats",
    params(PageQuery, ("all" = Option<bool>, Query, description = "The chats of all subjects. It needs the role `admin`.")),
    responses((status = 200, description = "The chats.", body = Vec<ListedChat>, headers(("link" = String, description = "`<?…>; rel=\"next\"` if there may be another page.")), example = json!([{"id": "chat_1", "title": "send 50 dollars to Hanako", "updatedAt": "2026-11-20T09:30:00.000Z", "holds": 1, "waitsForYou": true, "isRunning": false}]))),
)]
pub(crate) async fn list(
    State(server): State<Server>,
    Caller(identity): Caller,
    Parameters(query): Parameters<PageQuery>,
    Parameters(scope): Parameters<ScopeQuery>,
) -> Result<Response, Failure> {
    let ((limit, after), is_all) = (query.read()?, scope.is_all()?);
    if is_all && !identity.is_admin() {
        return Err(Failure::RoleRequired { role: Role::Admin });
    }
    let runtime = &server.inner.runtime;
    let page = match is_all {
        true => runtime.admin().chats(after, limit).await?,
        false => runtime.chats(identity.subject()).page(after, limit).await?,
    };
    let bytes = page.items.iter().map(|chat| chat.title.len() + chat.id.as_str().len() + ENTRY_BYTES).sum();
    let held = server.inner.responses.of(identity.subject()).hold(bytes).await?;
    let chats = page.items.into_iter().map(move |chat| ListedChat {
        id: chat.id.clone(),
        subject: is_all.then(|| chat.subject.as_str().to_owned()),
        title: chat.title.clone(),
        updated_at: chat.updated_at.iso8601(),
        waits_for_you: chat.waits_for(&identity),
        holds: chat.holds,
        is_running: chat.is_running,
    });
    let parameters = if is_all { "&all=true" } else { "" };
    Ok(with_next_of(parameters, list::array(chats, held), limit, page.next))
}

/// The owner of a chat, for itself and for an admin. For everybody else there is no such chat.
pub(super) async fn owner(server: &Server, identity: &Identity, chat: &ChatId) -> Result<Subject, Failure> {
    let owner = server.inner.runtime.admin().owner_of(chat).await?;
    owner.filter(|owner| owner == identity.subject() || identity.is_admin()).ok_or(Failure::NotFound)
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
    Caller(identity): Caller,
    PathId(chat): PathId,
) -> Result<Response, Failure> {
    let reading = server.inner.reading(identity.subject()).await?;
    let messages = open(&server, &identity, &chat).await?.messages_text().await?;
    let held = server.inner.responses.of(identity.subject()).hold(messages.len()).await?;
    drop(reading);
    Ok(list::text(messages, held))
}

/// Opens a chat for reading.
pub(super) async fn open(server: &Server, identity: &Identity, chat: &str) -> Result<StoredChat, Failure> {
    let (runtime, chat) = (&server.inner.runtime, ChatId::from(chat));
    match runtime.chats(identity.subject()).open(&chat).await {
        Err(RuntimeError::NotFound) => Ok(runtime.chats(&owner(server, identity, &chat).await?).open(&chat).await?),
        opened => Ok(opened?),
    }
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
        ("calls" = Option<CallsQuery>, Query, description = "`all` also lists calls that did not need a person."),
    ),
    responses((status = 200, description = "The calls, oldest first.", body = Vec<ChatHold>, example = json!([openapi::examples::hold()]))),
)]
pub(crate) async fn holds(
    State(server): State<Server>,
    Caller(identity): Caller,
    PathId(chat): PathId,
    Parameters(query): Parameters<HoldsQuery>,
) -> Result<Response, Failure> {
    let listed = match query.calls.as_deref() {
        None => Listed::Holds,
        Some("all") => Listed::Calls,
        Some(other) => return Err(Failure::invalid(format!("calls: {other:?} is not a value of it: use `all`"))),
    };
    let reading = server.inner.reading(identity.subject()).await?;
    let holds = open(&server, &identity, &chat).await?.holds_text(listed, &identity).await?;
    let held = server.inner.responses.of(identity.subject()).hold(holds.len()).await?;
    drop(reading);
    Ok(list::text(holds, held))
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
    responses((status = 200, description = "No turn is running or waiting.", body = Stopped, example = json!({"ok": true}))),
)]
pub(crate) async fn stop(
    State(server): State<Server>,
    Caller(identity): Caller,
    PathId(chat): PathId,
) -> Result<Json<Stopped>, Failure> {
    require_user(&identity)?;
    server.inner.runtime.chats(identity.subject()).stop(&ChatId::from(chat.as_str()), None).await?;
    Ok(Json(Stopped { ok: true }))
}

/// Deletes a chat and all its facts.
#[utoipa::path(
    delete,
    path = "/api/chat/{id}",
    tag = "chats",
    operation_id = "deleteChat",
    params(("id" = String, Path, description = "The chat.", example = "chat_1")),
    responses((status = 204, description = "The chat is gone. Of requests to several nodes at the same moment, more than one may get this; later ones get 404.")),
)]
pub(crate) async fn delete(
    State(server): State<Server>,
    Caller(identity): Caller,
    PathId(chat): PathId,
) -> Result<StatusCode, Failure> {
    if !identity.is_admin() {
        require_user(&identity)?;
    }
    let (runtime, chat) = (&server.inner.runtime, ChatId::from(chat.as_str()));
    match runtime.chats(identity.subject()).delete(&chat).await {
        Err(RuntimeError::NotFound) => {
            let owner = owner(&server, &identity, &chat).await?;
            runtime.admin().delete(&owner, &chat, identity.subject()).await?;
        }
        deleted => deleted?,
    }
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
