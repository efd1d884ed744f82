//! Conversion of a conversation into a provider's request.

use std::collections::HashSet;

use rig_core::{
    completion::{CompletionRequest, GenerationOptions, ToolDefinition},
    message::{
        AssistantContent, AssistantMessage, CallId, ImageMediaType, Message, MimeType, ToolCall, ToolFunction,
        ToolName, ToolResult, ToolResultContent, UserContent,
    },
};
use serde_json::{Map, Value};

use super::{Inner, OpenAiApi, Provider, file, refused::FileId, replay};
use crate::{
    model::{ModelCall, ModelMessage, ModelRequest, ModelResult, ResultCause, UserPart},
    tool::StoredFile,
};

/// Builds the request without these files. Every call has its result, since the conversation has it and nothing else is left
/// out here.
pub(super) fn build(inner: &Inner, request: &ModelRequest, without: &HashSet<FileId>) -> CompletionRequest {
    let settings = &inner.settings;
    let to = Receiver { inner, without };
    let mut messages: Vec<Message> = request.messages.iter().flat_map(|sent| to.messages(sent)).collect();
    // The last message is the prompt. A request needs one.
    let prompt = messages.pop().unwrap_or_else(|| Message::user(NOTHING));
    let mut built = CompletionRequest::new(prompt)
        .messages(messages)
        .tools(request.tools.iter().filter_map(|tool| definition(tool)).collect())
        .temperature(settings.temperature)
        .max_tokens(settings.max_tokens)
        // OpenAI-compatible servers have their own names for a normal finish.
        .accept_unknown_finish_reasons(true);
    if let Some(reasoning) = inner.reasoning {
        built.options = GenerationOptions::new().reasoning(reasoning);
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

/// A model, and the files that it is not sent.
#[derive(Clone, Copy)]
struct Receiver<'a> {
    inner: &'a Inner,
    without: &'a HashSet<FileId>,
}

impl Receiver<'_> {
    fn messages(self, message: &ModelMessage) -> Vec<Message> {
        match message {
            ModelMessage::User(parts) => vec![self.user(parts)],
            ModelMessage::Assistant { text, calls, state } => {
                let state = state.as_ref();
                if let Some(answer) = state.and_then(|state| replay::restore(state, &self.inner.origin, calls)) {
                    return vec![Message::Assistant(answer)];
                }
                let text = Some(text).filter(|text| !text.trim().is_empty()).map(AssistantContent::text);
                let calls = calls.iter().filter_map(call).map(AssistantContent::ToolCall);
                let content: Vec<AssistantContent> = text.into_iter().chain(calls).collect();
                let is_said = !content.is_empty();
                is_said.then(|| Message::Assistant(AssistantMessage::new(content))).into_iter().collect()
            }
            ModelMessage::Results(results) => {
                let sounds: Vec<UserContent> = results.iter().flat_map(|result| self.sounds(result)).collect();
                let results: Vec<ToolResult> = results.iter().filter_map(|result| self.result(result)).collect();
                let results = (!results.is_empty()).then(|| Message::tool_results(results));
                // No result of a tool can have sound in it, but the user can send it.
                let sounds = (!sounds.is_empty()).then_some(Message::User { content: sounds });
                results.into_iter().chain(sounds).collect()
            }
        }
    }

    fn user(self, parts: &[UserPart]) -> Message {
        let mut content: Vec<UserContent> = parts
            .iter()
            .flat_map(|part| match part {
                UserPart::Text(text) if text.trim().is_empty() => Vec::new(),
                UserPart::Text(text) => vec![UserContent::text(text)],
                UserPart::File { media_type, url, filename } => self.file(media_type, url, filename.as_deref()).content,
            })
            .collect();
        if content.is_empty() {
            content.push(UserContent::text(NOTHING));
        }
        Message::User { content }
    }

    fn file(self, media_type: &str, url: &str, filename: Option<&str>) -> file::SentFile {
        match self.is_without(media_type, url) {
            true => file::without(media_type, url, filename),
            false => file::send(self.inner.taker(), media_type, url, filename),
        }
    }

    /// Whether the model does not get a file. Most models have refused none, and hashing all files takes time.
    fn is_without(self, media_type: &str, contents: &str) -> bool {
        !self.without.is_empty() && self.without.contains(&self.inner.refused.id(media_type, contents))
    }

    fn result(self, result: &ModelResult) -> Option<ToolResult> {
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
        let images = result.files.iter().filter_map(|file| match self.is_without(&file.media_type, &file.data) {
            true => Some(ToolResultContent::text(format!("({}: not included, see the link.)", file.media_type))),
            false => image(file),
        });
        let content = std::iter::once(content).chain(images).collect();
        Some(ToolResult { call: id(result.id.as_str()), name, content, is_error })
    }

    /// The sound in a result, as far as the model can hear it.
    fn sounds(self, result: &ModelResult) -> Vec<UserContent> {
        let files = result.files.iter().filter(|file| !self.is_without(&file.media_type, &file.data));
        let sounds = files.filter_map(|file| file::sound(self.inner.taker(), &file.media_type, &file.data));
        let heading = || UserContent::text(format!("Audio of the result of {}:", result.name));
        sounds.flat_map(|sound| [heading(), sound]).collect()
    }
}

/// What the user is told of files in the last message that the model does not get. Said once, when the turn begins.
pub(super) fn left_out(inner: &Inner, request: &ModelRequest) -> Vec<String> {
    let without = inner.refused.all();
    let to = Receiver { inner, without: &without };
    let Some(ModelMessage::User(parts)) = request.messages.last() else { return Vec::new() };
    let files = parts.iter().filter_map(|part| match part {
        UserPart::File { media_type, url, filename } => to.file(media_type, url, filename.as_deref()).left_out,
        UserPart::Text(_) => None,
    });
    files.collect()
}

/// A file that the model is sent as such.
pub(super) struct Carried {
    pub(super) id: FileId,
    /// What the user is told if it is left out.
    pub(super) left_out: String,
    /// Whether it came after the model's last answer, so that no request with it has succeeded yet.
    pub(super) is_new: bool,
}

/// The files of a request that the provider may refuse.
pub(super) fn carried(inner: &Inner, request: &ModelRequest, without: &HashSet<FileId>) -> Vec<Carried> {
    let answered = request.messages.iter().rposition(|message| matches!(message, ModelMessage::Assistant { .. }));
    let (taker, mut carried) = (inner.taker(), Vec::new());
    for (at, message) in request.messages.iter().enumerate() {
        let is_new = answered.is_none_or(|answered| at > answered);
        let mut add = |name: &str, media_type: &str, contents: &str| {
            let id = inner.refused.id(media_type, contents);
            if !without.contains(&id) {
                let left_out = file::not_sent(name, media_type, file::NOT_ACCEPTED);
                carried.push(Carried { id, left_out, is_new });
            }
        };
        match message {
            ModelMessage::User(parts) => parts.iter().for_each(|part| {
                if let UserPart::File { media_type, url, filename } = part {
                    let sent = file::send(taker, media_type, url, filename.as_deref());
                    if sent.content.iter().any(|part| !matches!(part, UserContent::Text(_))) {
                        add(filename.as_deref().unwrap_or("file"), media_type, url);
                    }
                }
            }),
            ModelMessage::Results(results) => results.iter().for_each(|result| {
                for file in result.files.iter() {
                    if image(file).is_some() || file::sound(taker, &file.media_type, &file.data).is_some() {
                        add(&format!("A file of {}", result.name), &file.media_type, &file.data);
                    }
                }
            }),
            ModelMessage::Assistant { .. } => {}
        }
    }
    carried
}

/// A call without a name can't be sent. Its result, which has no name either, is left out too.
pub(super) fn call(call: &ModelCall) -> Option<ToolCall> {
    let name = ToolName::new(&call.name).ok()?;
    // If the input was not JSON, it is a string, or nothing if it was cut off. The library would complete it to something that
    // the model has not written; its result says what it was.
    let input = Some(&call.input).filter(|input| input.is_object()).cloned().unwrap_or_else(|| Map::new().into());
    Some(ToolCall::new(id(call.id.as_str()), ToolFunction::new(name, input)))
}

/// The note for the model on a call whose input an approver has changed.
const EDITED: &str =
    "A person changed the input of this call before it ran. The call as it is shown is the one that ran. Its output:";

/// A picture of a kind that providers take.
fn image(file: &StoredFile) -> Option<ToolResultContent> {
    let kind = ImageMediaType::from_mime_type(&file.media_type)?;
    let is_taken =
        matches!(kind, ImageMediaType::PNG | ImageMediaType::JPEG | ImageMediaType::GIF | ImageMediaType::WEBP);
    (is_taken && !file.data.is_empty()).then(|| ToolResultContent::image_base64(file.data.clone(), Some(kind), None))
}

/// We send our own ids: the provider's may repeat, and it only has to match results to calls.
fn id(id: &str) -> CallId {
    CallId::from_wire(id)
}
