//! Conversion of a conversation into a provider's request.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Inner, file, offer,
    refused::FileId,
    replay,
    wire::{Ask, Made, Part, Said, Told},
};
use crate::{ModelCall, ModelMessage, ModelRequest, ModelResult, ResultCause, UserPart};
use holdpoint_core::tool::StoredFile;

/// What is left out of a request, since the provider has refused it.
#[derive(Debug, Clone, Default)]
pub(super) struct Without {
    pub(super) files: HashSet<FileId>,
    /// Reasoning of earlier steps.
    pub(super) reasoning: bool,
}

/// A request in the provider's words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Built {
    pub(super) body: Vec<u8>,
    pub(super) beta: Option<&'static str>,
    /// Whether it has reasoning of earlier steps in it.
    pub(super) has_reasoning: bool,
}

/// Builds the request. Every call has its result, since the conversation has it and nothing else is left out here.
pub(super) fn build(inner: &Inner, request: &ModelRequest, without: &Without) -> Built {
    build_within(inner, request, without, inner.settings.max_tokens)
}

/// The same, with another token limit.
pub(super) fn build_within(inner: &Inner, request: &ModelRequest, without: &Without, max_tokens: Option<u64>) -> Built {
    let to = Receiver { inner, without };
    let mut said: Vec<Said> = request.messages.iter().flat_map(|sent| to.messages(sent)).collect();
    if said.is_empty() {
        // A request needs one.
        said.push(Said::User(vec![Part::Text(NOTHING.to_owned())]));
    }
    let has_reasoning = said.iter().any(|said| matches!(said, Said::Restored(_)));
    let tools = offer::offer(inner.wire, request.tools.iter().map(|tool| &**tool)).0;
    let system = system(inner, request);
    let body = inner.wire.body(&Ask { inner, system: system.as_deref(), said, tools: &tools, max_tokens });
    let beta = inner.wire.beta(&body);
    Built { body: Value::Object(body).to_string().into_bytes(), beta, has_reasoning }
}

/// The operator's words, and behind them those of the MCP servers.
fn system(inner: &Inner, request: &ModelRequest) -> Option<String> {
    let own = inner.settings.system.as_deref().filter(|system| !system.trim().is_empty());
    let servers = request.instructions.iter().map(ToString::to_string);
    let all: Vec<String> = own.map(str::to_owned).into_iter().chain(servers).collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

/// Replaces a message without readable content, since providers reject empty ones.
const NOTHING: &str = "(empty message)";

/// A model, and what it is not sent.
#[derive(Clone, Copy)]
struct Receiver<'a> {
    inner: &'a Inner,
    without: &'a Without,
}

impl Receiver<'_> {
    fn messages(self, message: &ModelMessage) -> Vec<Said> {
        match message {
            ModelMessage::User(parts) => vec![self.user(parts)],
            ModelMessage::Assistant { text, calls, state } => {
                let state = state.as_ref().filter(|_| !self.without.reasoning);
                if let Some(answer) = state.and_then(|state| replay::restore(state, &self.inner.origin, calls)) {
                    return vec![Said::Restored(answer)];
                }
                let text = Some(text).filter(|text| !text.trim().is_empty()).cloned();
                let calls: Vec<Made> = calls.iter().filter_map(call).collect();
                let is_said = text.is_some() || !calls.is_empty();
                is_said.then_some(Said::Assistant { text, calls }).into_iter().collect()
            }
            ModelMessage::Results(results) => {
                let sounds: Vec<Part> = results.iter().flat_map(|result| self.sounds(result)).collect();
                let results: Vec<Told> = results.iter().filter_map(|result| self.result(result)).collect();
                let results = (!results.is_empty()).then_some(Said::Results(results));
                // No result of a tool can have sound in it, but the user can send it.
                let sounds = (!sounds.is_empty()).then_some(Said::User(sounds));
                results.into_iter().chain(sounds).collect()
            }
        }
    }

    fn user(self, parts: &[UserPart]) -> Said {
        let mut content: Vec<Part> = parts
            .iter()
            .flat_map(|part| match part {
                UserPart::Text(text) if text.trim().is_empty() => Vec::new(),
                UserPart::Text(text) => vec![Part::Text(text.clone())],
                UserPart::File { media_type, url, filename } => self.file(media_type, url, filename.as_deref()).content,
            })
            .collect();
        if content.is_empty() {
            content.push(Part::Text(NOTHING.to_owned()));
        }
        Said::User(content)
    }

    fn file(self, media_type: &str, url: &str, filename: Option<&str>) -> file::SentFile {
        match self.is_without(media_type, url) {
            true => file::without(media_type, url, filename),
            false => file::send(self.inner.taker(), media_type, url, filename),
        }
    }

    /// Whether the model does not get a file. Most models have refused none, and hashing all files takes time.
    fn is_without(self, media_type: &str, contents: &str) -> bool {
        let without = &self.without.files;
        !without.is_empty() && without.contains(&self.inner.refused.id(media_type, contents))
    }

    /// A call without a name can't be sent, and so has no result.
    fn result(self, result: &ModelResult) -> Option<Told> {
        if result.name.is_empty() {
            return None;
        }
        let (output, is_error) = match &result.outcome {
            // The model must know why the call is not the one that it made.
            Ok(output) if result.cause == ResultCause::Edited => (Value::String(format!("{EDITED}\n{output}")), false),
            Ok(output) => (output.clone(), false),
            Err(text) => (Value::String(text.clone()), true),
        };
        let files = result.files.iter().filter_map(|file| match self.is_without(&file.media_type, &file.data) {
            true => Some(Part::Text(format!("({}: not included, see the link.)", file.media_type))),
            false => picture(file),
        });
        let files = files.collect();
        Some(Told { id: result.id.as_str().to_owned(), name: result.name.clone(), output, is_error, files })
    }

    /// The sound in a result, as far as the model can hear it.
    fn sounds(self, result: &ModelResult) -> Vec<Part> {
        let files = result.files.iter().filter(|file| !self.is_without(&file.media_type, &file.data));
        let sounds = files.filter_map(|file| file::sound(self.inner.taker(), &file.media_type, &file.data));
        let heading = || Part::Text(format!("Audio of the result of {}:", result.name));
        sounds.flat_map(|sound| [heading(), sound]).collect()
    }
}

/// The message to the user about files of the last message that the model does not get, shown once as the turn begins.
pub(super) fn left_out(inner: &Inner, request: &ModelRequest) -> Vec<String> {
    let without = Without { files: inner.refused.all(), reasoning: false };
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
    /// The message to the user if it is left out.
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
                    if sent.content.iter().any(|part| !matches!(part, Part::Text(_))) {
                        add(filename.as_deref().unwrap_or("file"), media_type, url);
                    }
                }
            }),
            ModelMessage::Results(results) => results.iter().for_each(|result| {
                for file in result.files.iter() {
                    if picture(file).is_some() || file::sound(taker, &file.media_type, &file.data).is_some() {
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
pub(super) fn call(call: &ModelCall) -> Option<Made> {
    // If the input was not JSON, it is a string, or nothing if it was cut off. Its result says what it was.
    let input = call.input.as_object().cloned().unwrap_or_else(Map::new);
    let made = Made { id: call.id.as_str().to_owned(), name: call.name.clone(), input };
    (!made.name.is_empty()).then_some(made)
}

/// The note for the model on a call whose input an approver has changed.
const EDITED: &str =
    "A person changed the input of this call before it ran. The call as it is shown is the one that ran. Its output:";

fn picture(file: &StoredFile) -> Option<Part> {
    file::picture(&file.media_type, &file.data)
}
