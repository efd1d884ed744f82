//! Auto-send for the adk profile: whether the client sends again, given its last message.
//!
//! A pure function whose checks run in a fixed order. Its test table is plain JSON, `fixtures/auto-send.json`, so that
//! clients in other languages can use it too.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    ids::ToolCallId,
    message::{Part, Role, ToolPart, ToolState, UiMessage},
};

/// The separate confirmation tool of the specification. It is an approval request: its output is not a tool result.
const CONFIRMATION: &str = "adk_request_confirmation";

/// The client's state besides its messages. By default, outputs are attributed to the client, and errors and tools to
/// the server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Context {
    /// Tools that run in this browser. If set, only their results count as the client's.
    pub frontend_tools: Option<HashSet<String>>,
    /// Calls whose outcome came from the server. If set, every other outcome is the client's.
    pub server_outcomes: Option<HashSet<ToolCallId>>,
    /// Answers already sent.
    pub sent: HashSet<AnswerKey>,
}

/// Identifies one answer, in the state in which it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct AnswerKey(pub String);

/// The decision, with the check that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutoSend {
    /// Send. Record the keys as sent, and forget them again if the request fails.
    Send {
        /// The check that decided.
        because: SendReason,
        /// The answers to send.
        answers: Vec<AnswerKey>,
    },
    /// Do not send.
    Wait(WaitReason),
}

/// A reason to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendReason {
    /// Check 7: a browser tool has a result.
    Result,
    /// Check 8: a person has decided.
    Answered,
}

/// A reason not to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// Check 1: the last message is not the assistant's.
    NotAssistant,
    /// Check 2: text follows the last tool part, so the backend has replied.
    AnsweredInText,
    /// Check 3: no answer was given here, or all were sent already.
    NothingToSend,
    /// Check 4: an approval request is still open.
    StillAsking,
    /// Check 5: the backend replied with an error.
    AnsweredWithError,
    /// Check 6: an approved browser tool has no result yet.
    WaitingForResult,
}

impl AutoSend {
    /// Whether to send.
    pub fn is_send(&self) -> bool {
        matches!(self, AutoSend::Send { .. })
    }
}

/// Decides on stored messages from any source. Malformed ones are never sent.
pub fn decide_json(messages: &Value, context: &Context) -> AutoSend {
    let last = messages.as_array().and_then(|messages| messages.last());
    let Some(message) = last.filter(|message| message["role"] == "assistant") else {
        return AutoSend::Wait(WaitReason::NotAssistant);
    };
    let parts = message["parts"].as_array().into_iter().flatten().enumerate();
    let parts = parts.filter_map(|(at, part)| Part::deserialize(with_ids(at, part)).ok()).collect();
    let message = UiMessage { id: "".into(), role: Role::Assistant, metadata: None, parts };
    decide(&[message], context)
}

/// The part with an id for its call and its approval: the specification's own examples have none. Where they lack one,
/// the place of the part tells them apart.
fn with_ids(at: usize, part: &Value) -> Value {
    let mut part = part.clone();
    let place = || Value::from(format!("#{at}"));
    if let Some(fields) = part.as_object_mut() {
        fields.entry("toolCallId").or_insert_with(place);
        if let Some(approval) = fields.get_mut("approval").and_then(Value::as_object_mut) {
            approval.entry("id").or_insert_with(place);
        }
    }
    part
}

/// Decides on the last message.
pub fn decide(messages: &[UiMessage], context: &Context) -> AutoSend {
    let Some(message) = messages.last().filter(|message| message.role == Role::Assistant) else {
        return AutoSend::Wait(WaitReason::NotAssistant);
    };
    let after_tools = message.parts.iter().rposition(|part| part.as_tool().is_some()).map_or(0, |at| at + 1);
    if message.parts[after_tools..].iter().any(|part| matches!(part, Part::Text(_))) {
        return AutoSend::Wait(WaitReason::AnsweredInText);
    }
    let tools: Vec<&ToolPart> = message.parts.iter().filter_map(Part::as_tool).collect();
    let is_answered = |tool: &&ToolPart| tool.state == ToolState::ApprovalResponded;
    let is_result = |tool: &&ToolPart| {
        let ours = match &context.frontend_tools {
            Some(tools) => tools.contains(&tool.name),
            None => tool.name != CONFIRMATION,
        };
        let from_server = context.server_outcomes.as_ref().is_some_and(|calls| calls.contains(&tool.tool_call_id));
        // By default an error is the backend's: a browser tool rarely reports one.
        let is_known = context.frontend_tools.is_some() || context.server_outcomes.is_some();
        let settled = match tool.state {
            // A browser's result has an output. Without it, somebody else has closed the call.
            ToolState::OutputAvailable => is_known || tool.fields.output.is_some(),
            ToolState::OutputError => is_known,
            _ => false,
        };
        settled && ours && !from_server && tool.fields.preliminary != Some(true)
    };
    let answers: Vec<AnswerKey> =
        tools.iter().copied().filter(|tool| is_answered(tool) || is_result(tool)).map(key).collect();
    if answers.iter().all(|answer| context.sent.contains(answer)) {
        return AutoSend::Wait(WaitReason::NothingToSend);
    }
    if tools.iter().any(|tool| tool.state == ToolState::ApprovalRequested) {
        return AutoSend::Wait(WaitReason::StillAsking);
    }
    let confirmed = tools.iter().any(|tool| is_answered(tool) && tool.name == CONFIRMATION);
    if confirmed && tools.iter().any(|tool| tool.state == ToolState::OutputError)
        || tools.iter().any(|tool| is_answered(tool) && tool.fields.extra.contains_key("error"))
    {
        return AutoSend::Wait(WaitReason::AnsweredWithError);
    }
    let approved =
        |tool: &&ToolPart| tool.fields.approval.as_ref().and_then(|approval| approval.approved) == Some(true);
    let frontend = |tool: &&ToolPart| context.frontend_tools.as_ref().is_some_and(|tools| tools.contains(&tool.name));
    if tools.iter().any(|tool| is_answered(tool) && approved(tool) && frontend(tool)) {
        return AutoSend::Wait(WaitReason::WaitingForResult);
    }
    let because = if tools.iter().any(is_result) { SendReason::Result } else { SendReason::Answered };
    AutoSend::Send { because, answers }
}

/// The call and its state: an approval response and the result that follows it are two answers.
fn key(tool: &ToolPart) -> AnswerKey {
    let state = match tool.state {
        ToolState::ApprovalResponded => "approval",
        _ => "result",
    };
    AnswerKey(format!("{state}:{}", tool.tool_call_id))
}
