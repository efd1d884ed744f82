//! Prompts of a server as they are shown, and the answers as the server gets them.

use std::time::Duration;

use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::Value;

use super::server::Shared;
use crate::{InputSchema, Prompt, PromptResponse, text::plain};
use holdpoint_core::approvers::Approvers;

/// Maximum length of a prompt.
const MAX_LINES: usize = 40;
pub(super) const MAX_LINE_CHARS: usize = 500;
/// The timeout of a prompt when approvals never expire: a running call is not kept for ever.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// A prompt as it is shown; `None` if its schema can't be used.
pub(super) fn prompt(shared: &Shared, message: &str, schema: &Value) -> Option<Prompt> {
    if InputSchema::new(schema.clone()).is_err() {
        let server = &shared.settings.name;
        tracing::warn!(server, "a prompt of an MCP server has a schema that can't be used: declined");
        return None;
    }
    let timeout = shared.settings.approval_timeout.of(&Approvers::default()).unwrap_or(MAX_TIMEOUT).min(MAX_TIMEOUT);
    let message: Vec<String> = message.lines().take(MAX_LINES).map(|line| plain(line, MAX_LINE_CHARS)).collect();
    Some(Prompt { message: message.join("\n"), schema: schema.clone(), timeout })
}

/// What the server gets of an answer. One that does not fit the schema counts as declined.
pub(super) fn result(shared: &Shared, schema: &Value, response: PromptResponse) -> ElicitResult {
    let fits = |content: &Value| InputSchema::new(schema.clone()).is_ok_and(|schema| schema.check(content).is_ok());
    match response {
        PromptResponse::Accepted(content) if fits(&content) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(content)
        }
        PromptResponse::Accepted(_) => {
            let server = &shared.settings.name;
            tracing::warn!(server, "an answer to a prompt of an MCP server does not fit its schema: declined");
            declined()
        }
        PromptResponse::Declined | PromptResponse::Expired => declined(),
        PromptResponse::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
    }
}

/// The answer to a prompt that nobody was asked.
pub(super) fn declined() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Decline)
}
