//! The conversation becomes a provider's request.

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

/// Builds it. Every call that is in it has its result: the conversation has, and here nothing is left out.
pub(super) fn build(settings: &ProviderSettings, request: &ModelRequest) -> CompletionRequest {
    let mut messages: Vec<Message> = request.messages.iter().filter_map(message).collect();
    // The last one counts as the prompt; without one nothing can be asked.
    let prompt = messages.pop().unwrap_or_else(|| Message::user(NOTHING));
    let mut built = CompletionRequest::new(prompt)
        .messages(messages)
        .tools(request.tools.iter().filter_map(|tool| definition(tool)).collect())
        .temperature(settings.temperature)
        .max_tokens(settings.max_tokens)
        // Servers that are only compatible have names of their own for a plain end.
        .accept_unknown_finish_reasons(true);
    if let Some(system) = settings.system.as_deref().filter(|system| !system.trim().is_empty()) {
        built = built.preamble(system);
    }
    built
}

/// Stands for a message in which there is nothing that a model can read: providers refuse empty ones.
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

/// A call without a name can't be sent; its result, which has none either, is left out with it.
fn call(call: &ModelCall) -> Option<ToolCall> {
    let name = ToolName::new(&call.name).ok()?;
    // A call whose input was no JSON has it as a string: the provider gets what could be read of it.
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

/// Our own ids are sent: the provider's may repeat, and it only has to find the call that a result belongs to.
fn id(id: &str) -> CallId {
    CallId::from_wire(id)
}
