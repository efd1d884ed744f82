//! Auto-send for the adk profile: should the client send again, now that this is its last message?
//!
//! A pure function, in the order of its checks, tested on a table that is plain JSON so that a client in another language can be
//! tested with it too: `fixtures/auto-send.json`.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    ids::ToolCallId,
    message::{Part, Role, ToolPart, ToolState, UiMessage},
};

/// The separate confirmation part of the specification. It is a question: its output is no tool's result.
const CONFIRMATION: &str = "adk_request_confirmation";

/// What the client knows besides its messages. The default: every output counts as the client's, every error as the server's, and every
/// tool as the server's.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Context {
    /// Tools that run in this browser; then only their results count as the client's.
    pub frontend_tools: Option<HashSet<String>>,
    /// Calls whose outcome the server sent. Given at all, every other outcome is the client's.
    pub server_outcomes: Option<HashSet<ToolCallId>>,
    /// Answers that have gone out already.
    pub sent: HashSet<AnswerKey>,
}

/// Names one answer in the state in which it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct AnswerKey(pub String);

/// What was decided, and by which check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Send. The keys are to be recorded as sent, and forgotten again if the request fails.
    Send {
        /// Which check said yes.
        because: Yes,
        /// What goes out.
        answers: Vec<AnswerKey>,
    },
    /// Do not send.
    Wait(No),
}

/// Why to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yes {
    /// Check 7: the browser has a result.
    Result,
    /// Check 8: a person has answered.
    Answered,
}

/// Why not to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum No {
    /// Check 1: the last message is not the assistant's.
    NotAssistant,
    /// Check 2: text after the last tool part: the backend has answered.
    AnsweredInText,
    /// Check 3: nothing was answered here, or all of it has been sent.
    NothingToSend,
    /// Check 4: a question is still open.
    StillAsking,
    /// Check 5: the backend has answered with an error.
    AnsweredWithError,
    /// Check 6: an approved call of this browser has no result yet.
    WaitingForResult,
}

impl Decision {
    /// Whether to send.
    pub fn is_send(&self) -> bool {
        matches!(self, Decision::Send { .. })
    }
}

/// Decides on messages as they were stored, whoever wrote them: malformed ones are never sent.
pub fn decide_json(messages: &Value, context: &Context) -> Decision {
    let last = messages.as_array().and_then(|messages| messages.last());
    let Some(message) = last.filter(|message| message["role"] == "assistant") else {
        return Decision::Wait(No::NotAssistant);
    };
    let parts = message["parts"].as_array().into_iter().flatten();
    let parts = parts.filter_map(|part| Part::deserialize(part).ok()).collect();
    let message = UiMessage { id: "".into(), role: Role::Assistant, metadata: None, parts };
    decide(&[message], context)
}

/// Decides on the last message.
pub fn decide(messages: &[UiMessage], context: &Context) -> Decision {
    let Some(message) = messages.last().filter(|message| message.role == Role::Assistant) else {
        return Decision::Wait(No::NotAssistant);
    };
    let after_tools = message.parts.iter().rposition(|part| part.as_tool().is_some()).map_or(0, |at| at + 1);
    if message.parts[after_tools..].iter().any(|part| matches!(part, Part::Text(_))) {
        return Decision::Wait(No::AnsweredInText);
    }
    let tools: Vec<&ToolPart> = message.parts.iter().filter_map(Part::as_tool).collect();
    let is_answered = |tool: &&ToolPart| tool.state == ToolState::ApprovalResponded;
    let is_result = |tool: &&ToolPart| {
        let ours = match &context.frontend_tools {
            Some(tools) => tools.contains(&tool.name),
            None => tool.name != CONFIRMATION,
        };
        let from_server = context.server_outcomes.as_ref().is_some_and(|calls| calls.contains(&tool.tool_call_id));
        // Where nothing is known, an error is the backend's: a browser's own result is an output in all but rare cases.
        let is_known = context.frontend_tools.is_some() || context.server_outcomes.is_some();
        let settled = match tool.state {
            ToolState::OutputAvailable => true,
            ToolState::OutputError => is_known,
            _ => false,
        };
        settled && ours && !from_server && tool.fields.preliminary != Some(true)
    };
    let answers: Vec<AnswerKey> =
        tools.iter().copied().filter(|tool| is_answered(tool) || is_result(tool)).map(key).collect();
    if answers.iter().all(|answer| context.sent.contains(answer)) {
        return Decision::Wait(No::NothingToSend);
    }
    if tools.iter().any(|tool| tool.state == ToolState::ApprovalRequested) {
        return Decision::Wait(No::StillAsking);
    }
    let confirmed = tools.iter().any(|tool| is_answered(tool) && tool.name == CONFIRMATION);
    if confirmed && tools.iter().any(|tool| tool.state == ToolState::OutputError)
        || tools.iter().any(|tool| is_answered(tool) && tool.fields.extra.contains_key("error"))
    {
        return Decision::Wait(No::AnsweredWithError);
    }
    let approved =
        |tool: &&ToolPart| tool.fields.approval.as_ref().and_then(|approval| approval.approved) == Some(true);
    let frontend = |tool: &&ToolPart| context.frontend_tools.as_ref().is_some_and(|tools| tools.contains(&tool.name));
    if tools.iter().any(|tool| is_answered(tool) && approved(tool) && frontend(tool)) {
        return Decision::Wait(No::WaitingForResult);
    }
    let because = if tools.iter().any(is_result) { Yes::Result } else { Yes::Answered };
    Decision::Send { because, answers }
}

/// The call and where it stands: an answered approval and the result that follows it are two answers.
fn key(tool: &ToolPart) -> AnswerKey {
    let state = match tool.state {
        ToolState::ApprovalResponded => "approval",
        _ => "result",
    };
    AnswerKey(format!("{state}:{}", tool.tool_call_id))
}
