//! Conversion of a conversation into a provider's request.

use rig_core::{
    completion::{CompletionRequest, ToolDefinition},
    message::{
        AssistantContent, AssistantMessage, CallId, Message, ToolCall, ToolFunction, ToolName, ToolResult,
        ToolResultContent, UserContent,
    },
};
use serde_json::Value;

use super::{ProviderSettings, file};
use crate::model::{ModelCall, ModelMessage, ModelRequest, ModelResult, UserPart};

/// Builds the request. Every call has its result, since the conversation has it and nothing is left out here.
pub(super) fn build(settings: &ProviderSettings, request: &ModelRequest) -> CompletionRequest {
    let mut messages: Vec<Message> = request.messages.iter().filter_map(message).collect();
    // The last message is the prompt. A request needs one.
    let prompt = messages.pop().unwrap_or_else(|| Message::user(NOTHING));
    let mut built = CompletionRequest::new(prompt)
        .messages(messages)
        .tools(request.tools.iter().filter_map(|tool| definition(tool)).collect())
        .temperature(settings.temperature)
        .max_tokens(settings.max_tokens)
        // OpenAI-compatible servers have their own names for a normal finish.
        .accept_unknown_finish_reasons(true);
    if let Some(system) = settings.system.as_deref().filter(|system| !system.trim().is_empty()) {
        built = built.preamble(system);
    }
    built
}

/// Replaces a message without readable content, since providers reject empty ones.
const NOTHING: &str = "(empty message)";

fn definition(tool: &crate::tool::ToolSpec) -> Option<ToolDefinition> {
    let name = ToolName::new(&tool.name).ok()?;
    Some(ToolDefinition::new(name, &tool.description, tool.input.as_value().clone()))
}

fn message(message: &ModelMessage) -> Option<Message> {
    match message {
        ModelMessage::User(parts) => Some(user(parts)),
        ModelMessage::Assistant { text, calls } => {
            let text = Some(text).filter(|text| !text.trim().is_empty()).map(AssistantContent::text);
            let calls = calls.iter().filter_map(call).map(AssistantContent::ToolCall);
            let content: Vec<AssistantContent> = text.into_iter().chain(calls).collect();
            (!content.is_empty()).then(|| Message::Assistant(AssistantMessage::new(content)))
        }
        ModelMessage::Results(results) => {
            let results: Vec<ToolResult> = results.iter().filter_map(result).collect();
            (!results.is_empty()).then(|| Message::tool_results(results))
        }
    }
}

fn user(parts: &[UserPart]) -> Message {
    let mut content: Vec<UserContent> = parts
        .iter()
        .filter_map(|part| match part {
            UserPart::Text(text) if text.trim().is_empty() => None,
            UserPart::Text(text) => Some(UserContent::text(text)),
            UserPart::File { media_type, url, filename } => Some(file::content(media_type, url, filename.as_deref())),
        })
        .collect();
    if content.is_empty() {
        content.push(UserContent::text(NOTHING));
    }
    Message::User { content }
}

/// A call without a name can't be sent. Its result, which has no name either, is left out too.
fn call(call: &ModelCall) -> Option<ToolCall> {
    let name = ToolName::new(&call.name).ok()?;
    // If the input was not JSON, it is a string: the provider gets the text as far as it could be read.
    Some(ToolCall::new(id(call.id.as_str()), ToolFunction::new(name, call.input.clone())))
}

fn result(result: &ModelResult) -> Option<ToolResult> {
    let (content, is_error) = match &result.outcome {
        Ok(Value::String(text)) => (ToolResultContent::text(text), false),
        Ok(output) => (ToolResultContent::json(output.clone()), false),
        Err(text) => (ToolResultContent::text(text), true),
    };
    let name = ToolName::new(&result.name).ok()?;
    Some(ToolResult { call: id(result.id.as_str()), name, content: vec![content], is_error })
}

/// We send our own ids: the provider's may repeat, and it only has to match results to calls.
fn id(id: &str) -> CallId {
    CallId::from_wire(id)
}
