//! `POST /api/check`: what `holdpoint check` does, for a capture in a browser.

use axum::{Json, body::Body, extract::State};
use holdpoint_protocol::check::{Checker, Options, Profile, Violation};
use serde::Deserialize;

use crate::{
    app::Server,
    auth::Caller,
    openapi::{self, TextHeader},
    request::{Failure, Parameters, body},
};

/// The maximum number of reported violations.
const MAX_VIOLATIONS: usize = 1000;
/// The number of bytes checked before the violations are counted.
const PIECE_BYTES: usize = 16 * 1024;

#[derive(Deserialize)]
pub(crate) struct CheckQuery {
    #[serde(default)]
    profile: ProfileName,
    text: Option<String>,
}

/// The profile and transport of a stream.
#[derive(Deserialize, Default, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProfileName {
    #[default]
    AiSdk,
    AdkSse,
    AdkLive,
}

/// Checks a captured stream against the rules of the AI SDK's clients.
#[utoipa::path(
    post,
    path = "/api/check",
    tag = "tools",
    operation_id = "check",
    params(
        ("profile" = Option<ProfileName>, Query, description = "The profile of the stream; `ai-sdk` by default."),
        ("text" = Option<TextHeader>, Query, description = "`progressive`: the client requested progressive text."),
    ),
    request_body(content = String, content_type = "text/plain", description = "The capture: SSE, one JSON chunk per line, or a transcript.", example = json!(openapi::examples::SSE)),
    responses((status = 200, description = "The first violations, at most 1,000.", body = Vec<openapi::ViolationBody>, example = json!([{"line": 3, "rule": "F5", "text": "the stream ends without finish"}]))),
)]
pub(crate) async fn post(
    State(server): State<Server>,
    Caller(identity): Caller,
    Parameters(parameters): Parameters<CheckQuery>,
    capture: Body,
) -> Result<Json<Vec<Violation>>, Failure> {
    let capture = body(capture, server.inner.limits.body, &server.inner.bodies.of(identity.subject())).await?;
    let profile = match parameters.profile {
        ProfileName::AiSdk => Profile::AiSdk,
        ProfileName::AdkSse => Profile::AdkSse,
        ProfileName::AdkLive => Profile::AdkLive,
    };
    let progressive_text = parameters.text.as_deref() == Some("progressive");
    let options = Options { profile, progressive_text };
    let checked = tokio::task::spawn_blocking(move || check(options, &capture.bytes)).await;
    checked.unwrap_or_else(|_| Err(Failure::Unavailable("the check was cut off: try again".to_owned()))).map(Json)
}

/// The first violations. More would not be read, and there could be one for every few bytes.
fn check(options: Options, capture: &[u8]) -> Result<Vec<Violation>, Failure> {
    let mut checker = Checker::new(options);
    let mut found = Vec::new();
    for piece in capture.chunks(PIECE_BYTES) {
        checker.feed(piece);
        found.append(&mut checker.take_violations());
        if found.len() >= MAX_VIOLATIONS {
            found.truncate(MAX_VIOLATIONS);
            return Ok(found);
        }
    }
    checker.finish();
    found.append(&mut checker.take_violations());
    found.truncate(MAX_VIOLATIONS);
    match checker.unreadable() {
        Some(unreadable) => Err(Failure::invalid(unreadable.to_string())),
        None => Ok(found),
    }
}
