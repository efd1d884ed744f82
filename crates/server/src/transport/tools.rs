//! `GET /api/tools`: the tools, so that a client knows which calls it has to run.

use axum::{Json, extract::State};
use holdpoint_protocol::{
    ids::ChatId,
    response::{Execution, ListedTool},
};
use serde::Deserialize;
use serde_json::json;

use crate::{app::Server, auth::Caller, openapi, request::Parameters};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolsQuery {
    chat_id: Option<String>,
}

/// Lists the available tools, so that a client knows which calls it has to run.
#[utoipa::path(
    get,
    path = "/api/tools",
    tag = "tools",
    operation_id = "listTools",
    params(("chatId" = Option<String>, Query, description = "The tools of this chat, on a server whose chats differ in their tools.", example = "chat_1")),
    responses((status = 200, description = "The tools.", body = Vec<ListedTool>, example = json!([openapi::examples::tool()]))),
)]
pub(crate) async fn list(
    State(server): State<Server>,
    Caller(identity): Caller,
    Parameters(query): Parameters<ToolsQuery>,
) -> Json<Vec<ListedTool>> {
    let runtime = &server.inner.runtime;
    let tools = match query.chat_id {
        Some(chat) => runtime.chats(identity.subject()).tools(&ChatId::from(chat.as_str())),
        None => runtime.tools(),
    };
    let specs = tools.specs();
    let tools = specs.iter().map(|spec| {
        let is_frontend = spec.execution == Execution::Frontend;
        ListedTool {
            name: spec.name.clone(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            input_schema: spec.input.as_value().clone(),
            execution: spec.execution,
            approval: json!(spec.approval),
            approval_timeout_sec: spec.expires_after().map_or(0, |timeout| timeout.as_secs()),
            timeout_sec: is_frontend.then(|| spec.frontend_timeout().as_secs()),
            wait: is_frontend.then_some(spec.wait),
            returns: is_frontend.then_some(spec.returns),
        }
    });
    Json(tools.collect())
}
