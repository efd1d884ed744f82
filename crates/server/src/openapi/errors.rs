//! The errors of every operation, in the format of its route, and the headers of every response.

use serde_json::{Map, Value, json};

use super::examples;
use crate::request::Form;

/// The possible errors of each operation, by operation id.
const ERRORS: &[(&str, &[u16])] = &[
    ("streamTurn", &[400, 401, 403, 404, 409, 413, 422, 429, 500, 503]),
    ("chat", &[400, 401, 403, 404, 409, 413, 422, 429, 500, 503]),
    ("resume", &[401, 404, 429, 500, 503]),
    ("live", &[401, 403, 422, 426, 429]),
    ("chatSocket", &[401, 403, 422, 426, 429]),
    ("acknowledge", &[401, 403, 404, 409, 410, 413, 422, 500, 503]),
    ("listApprovals", &[401, 422, 503]),
    ("getApproval", &[401, 404, 410, 500, 503]),
    ("approvalRecord", &[401, 404, 500, 503]),
    ("decide", &[401, 403, 404, 409, 410, 413, 422, 429, 500, 503]),
    ("audit", &[401, 422, 503]),
    ("listGrants", &[401, 422, 503]),
    ("revokeGrant", &[401, 404, 503]),
    ("listChats", &[401, 403, 422, 503]),
    ("messages", &[401, 404, 500, 503]),
    ("file", &[401, 404, 500, 503]),
    ("chatHolds", &[401, 404, 422, 500, 503]),
    ("stop", &[401, 403, 404, 500, 503]),
    ("deleteChat", &[401, 403, 404, 503]),
    ("deleteChatNamedWs", &[401, 403, 404, 503]),
    ("listTools", &[401]),
    ("check", &[401, 413, 422, 503]),
    ("events", &[401, 429]),
    ("me", &[401, 429]),
    ("ticket", &[401]),
    ("status", &[401, 403]),
    ("metrics", &[401]),
    ("health", &[]),
    ("ready", &[]),
    ("openapi", &[]),
    ("docs", &[]),
];

/// The meaning of a status.
fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The body is not JSON, or is incomplete.",
        401 => "A key, a token or a ticket is missing or invalid.",
        403 => "The identity does not have the role that this needs.",
        404 => "It does not exist, or belongs to another subject.",
        409 => "A different answer is in force, or the request does not fit the state of the chat.",
        410 => "Too late: the hold expired, was superseded, stopped or interrupted.",
        413 => "The body is too large, or nested too deeply.",
        422 => "A field or a parameter does not fit.",
        426 => "This endpoint is a WebSocket.",
        429 => "A limit is reached: try again after `retry-after` seconds.",
        500 => "What is stored of the chat can't be decoded.",
        _ => "The server drains, or its log can't be written: try again after `retry-after` seconds.",
    }
}

/// Adds the errors to each operation, and the request id to each response.
pub(super) fn add(api: &mut Value) {
    let Some(paths) = api["paths"].as_object_mut() else { return };
    for (path, item) in paths {
        let form = Form::of_route(path);
        for operation in item.as_object_mut().into_iter().flat_map(|item| item.values_mut()) {
            let id = operation["operationId"].as_str().unwrap_or_default();
            let errors = ERRORS.iter().find(|(operation, _)| *operation == id).map_or(&[][..], |(_, errors)| *errors);
            let Some(responses) = operation["responses"].as_object_mut() else { continue };
            // Whatever needs a login may be refused because of wrong keys, and while tokens can't be checked.
            let of_logins: &[u16] = if errors.contains(&401) { &[429, 503] } else { &[] };
            for status in errors.iter().chain(of_logins) {
                responses.insert(status.to_string(), error(*status, form));
            }
            for response in responses.values_mut() {
                response["headers"]["x-request-id"] =
                    json!({"description": "Names the request in the server's log.", "schema": {"type": "string"}});
            }
        }
    }
}

fn error(status: u16, form: Form) -> Value {
    let (kind, schema, example) = match form {
        Form::Text => ("text/plain", json!({"type": "string"}), json!(meaning(status))),
        form => {
            let schema = json!({"$ref": "#/components/schemas/Problem"});
            ("application/problem+json", schema, examples::problem(status, form))
        }
    };
    let mut response = json!({
        "description": meaning(status),
        "content": {kind: {"schema": schema, "example": example}},
    });
    let mut headers = Map::new();
    let mut header = |name: &str, description: &str, kind: &str| {
        headers.insert(name.to_owned(), json!({"description": description, "schema": {"type": kind}}));
    };
    match status {
        401 => header("www-authenticate", "`Bearer`.", "string"),
        426 => header("upgrade", "`websocket`.", "string"),
        429 | 503 => header("retry-after", "Seconds.", "integer"),
        _ => {}
    }
    response["headers"] = Value::Object(headers);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_errors_listed() {
        let api: Value = serde_json::from_str(super::super::document()).expect("JSON");
        let mut operations: Vec<&str> = api["paths"]
            .as_object()
            .into_iter()
            .flat_map(|paths| paths.values())
            .flat_map(|item| item.as_object().into_iter().flat_map(|item| item.values()))
            .filter_map(|operation| operation["operationId"].as_str())
            .collect();
        let mut listed: Vec<&str> = ERRORS.iter().map(|(operation, _)| *operation).collect();
        operations.sort_unstable();
        listed.sort_unstable();
        assert_eq!(operations, listed);
    }
}
