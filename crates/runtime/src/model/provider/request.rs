//! Conversion of a conversation into a provider's request.

use rig_core::{
    completion::{CompletionRequest, GenerationOptions, ToolDefinition},
    message::{
        AssistantContent, AssistantMessage, CallId, ImageMediaType, Message, MimeType, ToolCall, ToolFunction,
        ToolName, ToolResult, ToolResultContent, UserContent,
    },
};
use serde_json::{Map, Value};

use super::{
    Inner, OpenAiApi, Provider,
    file::{self, Taker},
    replay,
};
use crate::{
    model::{ModelCall, ModelMessage, ModelRequest, ModelResult, ResultCause, UserPart},
    tool::StoredFile,
};

/// Builds the request. Every call has its result, since the conversation has it and nothing is left out here.
pub(super) fn build(inner: &Inner, request: &ModelRequest) -> CompletionRequest {
    let settings = &inner.settings;
    let mut messages: Vec<Message> = request.messages.iter().filter_map(|sent| message(sent, inner)).collect();
    // The last message is the prompt. A request needs one.
    let prompt = messages.pop().unwrap_or_else(|| Message::user(NOTHING));
    let mut built = CompletionRequest::new(prompt)
        .messages(messages)
        .tools(request.tools.iter().filter_map(|tool| definition(tool)).collect())
        .temperature(settings.temperature)
        .max_tokens(settings.max_tokens)
        // OpenAI-compatible servers have their own names for a normal finish.
        .accept_unknown_finish_reasons(true);
    if let Some(effort) = settings.reasoning_effort {
        built.options = GenerationOptions::new().reasoning(effort.reasoning());
    }
    let options = options(inner);
    if !options.is_empty() {
        built = built.additional_params(Value::Object(options));
    }
    if let Some(system) = settings.system.as_deref().filter(|system| !system.trim().is_empty()) {
        built = built.preamble(system);
    }
    built
}

/// The options of the settings, and our own where those have none.
fn options(inner: &Inner) -> Map<String, Value> {
    let mut options = inner.settings.options.clone();
    if inner.spec.provider == Provider::OpenAi && inner.api == OpenAiApi::Responses {
        // The log has the conversation, and a chat that is deleted is gone.
        options.entry("store").or_insert(Value::Bool(false));
    }
    options
}

/// Replaces a message without readable content, since providers reject empty ones.
const NOTHING: &str = "(empty message)";

fn definition(tool: &crate::tool::ToolSpec) -> Option<ToolDefinition> {
    let name = ToolName::new(&tool.name).ok()?;
    Some(ToolDefinition::new(name, &tool.description, tool.input.as_value().clone()))
}

fn message(message: &ModelMessage, inner: &Inner) -> Option<Message> {
    match message {
        ModelMessage::User(parts) => Some(user(parts, inner.taker())),
        ModelMessage::Assistant { text, calls, state } => {
            if let Some(answer) = state.as_ref().and_then(|state| replay::restore(state, &inner.origin, calls)) {
                return Some(Message::Assistant(answer));
            }
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

fn user(parts: &[UserPart], taker: Taker) -> Message {
    let mut content: Vec<UserContent> = parts
        .iter()
        .flat_map(|part| match part {
            UserPart::Text(text) if text.trim().is_empty() => Vec::new(),
            UserPart::Text(text) => vec![UserContent::text(text)],
            UserPart::File { media_type, url, filename } => {
                file::send(taker, media_type, url, filename.as_deref()).content
            }
        })
        .collect();
    if content.is_empty() {
        content.push(UserContent::text(NOTHING));
    }
    Message::User { content }
}

/// What the user is told of files in the last message that the model does not get. Said once, when the turn begins.
pub(super) fn left_out(inner: &Inner, request: &ModelRequest) -> Option<String> {
    let Some(ModelMessage::User(parts)) = request.messages.last() else { return None };
    let files = parts.iter().filter_map(|part| match part {
        UserPart::File { media_type, url, filename } => {
            file::send(inner.taker(), media_type, url, filename.as_deref()).left_out
        }
        UserPart::Text(_) => None,
    });
    let told: Vec<String> = files.collect();
    (!told.is_empty()).then(|| told.join("\n"))
}

/// A call without a name can't be sent. Its result, which has no name either, is left out too.
pub(super) fn call(call: &ModelCall) -> Option<ToolCall> {
    let name = ToolName::new(&call.name).ok()?;
    // If the input was not JSON, it is a string: the provider gets the text as far as it could be read.
    Some(ToolCall::new(id(call.id.as_str()), ToolFunction::new(name, call.input.clone())))
}

/// The note for the model on a call whose input an approver has changed.
const EDITED: &str =
    "A person changed the input of this call before it ran. The call as it is shown is the one that ran. Its output:";

fn result(result: &ModelResult) -> Option<ToolResult> {
    let (content, is_error) = match &result.outcome {
        // The model must know why the call is not the one that it made.
        Ok(output) if result.cause == ResultCause::Edited => {
            (ToolResultContent::text(format!("{EDITED}\n{output}")), false)
        }
        Ok(Value::String(text)) => (ToolResultContent::text(text), false),
        Ok(output) => (ToolResultContent::json(output.clone()), false),
        Err(text) => (ToolResultContent::text(text), true),
    };
    let name = ToolName::new(&result.name).ok()?;
    // Where pictures can't be sent, the library leaves a note; the output has the link.
    let images = result.files.iter().filter_map(image);
    let content = std::iter::once(content).chain(images).collect();
    Some(ToolResult { call: id(result.id.as_str()), name, content, is_error })
}

/// A picture of a kind that providers take.
fn image(file: &StoredFile) -> Option<ToolResultContent> {
    let kind = ImageMediaType::from_mime_type(&file.media_type)?;
    let is_taken =
        matches!(kind, ImageMediaType::PNG | ImageMediaType::JPEG | ImageMediaType::GIF | ImageMediaType::WEBP);
    is_taken.then(|| ToolResultContent::image_base64(file.data.clone(), Some(kind), None))
}

/// We send our own ids: the provider's may repeat, and it only has to match results to calls.
fn id(id: &str) -> CallId {
    CallId::from_wire(id)
}
