//! `GET /openapi.json` and `GET /docs`: the API as OpenAPI 3.1 and as a page.
//!
//! Operations are described where they are implemented (`transport/`), and the router is built from those descriptions:
//! an undescribed route can't be served. This module adds what they share: the errors, in the format of their route,
//! and the request id.

mod errors;
pub(crate) mod examples;
mod page;

use std::sync::OnceLock;

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use utoipa::{
    Modify, OpenApi, ToSchema,
    openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme},
};

use crate::app;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Holdpoint",
        description = "Agents whose turns stop where a person or a browser has to act, wait, and go on exactly once. Errors are `application/problem+json`; errors of the chat endpoints are one sentence of plain text.",
        license(name = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "chat", description = "Turns, over SSE and WebSockets."),
        (name = "holds", description = "What waits for somebody, and the answers."),
        (name = "grants", description = "Approvals that are remembered."),
        (name = "chats", description = "Stored chats."),
        (name = "people", description = "Who a request is."),
        (name = "tools", description = "Tools, and the checker of streams."),
        (name = "operations", description = "For the server's operator."),
    ),
    security((), ("bearer" = []), ("key" = [])),
    components(schemas(holdpoint_protocol::problem::Problem)),
    modifiers(&Keys),
)]
struct Base;

/// The ways to send an API key. Without configured keys none is needed.
struct Keys;

impl Modify for Keys {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        components.add_security_scheme("key", SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-API-Key"))));
    }
}

/// The general part of the description, without the routes.
pub(crate) fn base() -> utoipa::openapi::OpenApi {
    Base::openapi()
}

/// The whole document, which is the same for every server.
pub(crate) fn document() -> &'static str {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let mut api = serde_json::to_value(app::routes().into_openapi()).unwrap_or_default();
        errors::add(&mut api);
        format!("{api:#}\n")
    })
}

/// Reads this description.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "operations",
    operation_id = "openapi",
    security(()),
    responses((status = 200, description = "OpenAPI 3.1.", body = Value, example = json!({"openapi": "3.1.0"}))),
)]
pub(crate) async fn json() -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], document()).into_response()
}

/// Shows this description as a page.
#[utoipa::path(
    get,
    path = "/docs",
    tag = "operations",
    operation_id = "docs",
    security(()),
    responses((status = 200, description = "A page that reads `/openapi.json`.", content_type = "text/html", body = String, example = json!("<!doctype html>…"))),
)]
pub(crate) async fn docs() -> Response {
    page::response()
}

/// `progressive`: text is streamed as it comes.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes a header")]
pub(crate) enum TextHeader {
    Progressive,
}

/// How a response waits for a browser tool.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes a header")]
pub(crate) enum WaitHeader {
    Stream,
    Resubmit,
}

/// Which calls are listed.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes a parameter")]
pub(crate) enum CallsQuery {
    All,
}

/// A chat request, as `useChat` sends it. Other fields are ignored.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "describes a body")]
pub(crate) struct ChatBody {
    /// The chat. If missing, it is found by the answers in the last message, or else created.
    id: Option<String>,
    /// The client's copy of the history. A new last user message is accepted, and so are answers and results in any
    /// message.
    messages: Vec<ClientMessageBody>,
    /// The requested action.
    trigger: Option<holdpoint_protocol::request::Trigger>,
    /// The message that is edited, regenerated or continued.
    message_id: Option<String>,
}

/// A message as a client sends it.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes a body")]
pub(crate) struct ClientMessageBody {
    /// Its id. A message without one is new.
    id: Option<String>,
    /// Its author.
    role: holdpoint_protocol::message::Role,
    /// Its parts: text, files, tool calls with their answers.
    parts: Option<Vec<holdpoint_protocol::message::Part>>,
    /// The older shape: the text.
    content: Option<Value>,
    /// The client's own metadata.
    metadata: Option<Value>,
}

/// One event of a stream.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes a body")]
pub(crate) struct StreamEvent {
    /// JSON: a chunk of the AI SDK's UI message stream, or `[DONE]`; on `/api/events`, what changed.
    data: String,
}

/// One broken rule.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes a body")]
pub(crate) struct ViolationBody {
    /// The line, from 1.
    line: u64,
    /// The rule. See docs/rules.md.
    rule: String,
    /// What is wrong.
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNDESCRIBED: &str = r#"
            .route("/api/chat/", axum::routing::delete(transport::chats::delete_unnamed))"#;

    /// Every route comes from its description: only `routes!` makes one.
    #[test]
    fn no_route_is_made_without_a_description() {
        // The route for a chat whose id is no longer valid is not part of the interface.
        let source = include_str!("../app.rs").replace(UNDESCRIBED, "");
        assert!(source.len() + UNDESCRIBED.len() == include_str!("../app.rs").len(), "it is no longer there");
        assert!(source.contains(".routes(routes!("), "the table of routes has moved: move this test along");
        for bypass in [".route(", ".route_service(", ".nest(", ".nest_service(", ".fallback("] {
            assert!(!source.contains(bypass), "{bypass} makes a route that /openapi.json does not show: use routes!");
        }
    }

    #[test]
    fn everything_is_described_with_examples() {
        let api: Value = serde_json::from_str(document()).expect("JSON");
        assert_eq!(api["openapi"], "3.1.0");
        let mut operations = 0;
        for (path, item) in api["paths"].as_object().expect("paths") {
            for (method, operation) in item.as_object().expect("operations") {
                operations += 1;
                let name = format!("{method} {path}");
                assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
                assert!(operation["operationId"].is_string() && operation["tags"][0].is_string(), "{name}");
                let bodies = operation["responses"].as_object().into_iter().flatten().map(|(_, response)| response);
                for content in bodies.chain([&operation["requestBody"]]).filter_map(|body| body["content"].as_object())
                {
                    for (kind, media) in content {
                        assert!(media.get("schema").is_some(), "{name} {kind}: no schema");
                        assert!(media.get("example").is_some(), "{name} {kind}: no example");
                    }
                }
            }
        }
        assert!(operations >= 23, "{operations}");
    }
}
