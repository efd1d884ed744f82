//! The reducer: chunks to messages, exactly as the SDK's own client builds them.

mod metadata;
mod partial_json;
mod tools;

use std::collections::HashMap;

use serde_json::Value;

use crate::{
    chunk::{Chunk, Data, Fault, FinishReason, ReadChunk, Start},
    ids::{ApprovalId, MessageId, PartId, ToolCallId},
    json::{self, MessageMetadata},
    message::{
        CustomPart, DataPart, FilePart, Part, ReasoningPart, Role, SourceDocumentPart, SourceUrlPart, StreamState,
        TextPart, UiMessage,
    },
};

/// The client version. The two differ in places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sdk {
    /// `ai` 6.0.326.
    V6,
    /// `ai` 7.0.169.
    V7,
}

impl Sdk {
    /// Reads a payload as this client does, failing where it throws. Keys unknown to this version are ignored.
    pub fn read(self, payload: &[u8]) -> Result<ReadChunk, Fault> {
        if json::may_have_forbidden_key(payload)
            && json::parse(payload).is_ok_and(|value| json::has_forbidden_key(&value))
        {
            return Err(Fault::NotJson("forbidden key".to_owned()));
        }
        match ReadChunk::parse(payload) {
            Err(fault @ (Fault::Null { key } | Fault::WrongType { key, .. })) if self == Sdk::V6 => {
                let mut value = json::parse(payload).map_err(|error| Fault::NotJson(error.to_string()))?;
                let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
                if !SDK7_KEYS.contains(&(kind, key)) {
                    return Err(fault);
                }
                value.as_object_mut().map(|fields| fields.shift_remove(key));
                ReadChunk::from_value(value)
            }
            read => read,
        }
    }
}

/// Keys of known chunks that `ai` 6 does not know.
const SDK7_KEYS: [(&str, &str); 3] =
    [("text-end", "citations"), ("tool-approval-request", "reason"), ("tool-approval-request", "isAutomatic")];

/// An error that the client throws.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ReduceError {
    #[error("{chunk} for the block {id:?}, which is not open")]
    NoSuchBlock { chunk: &'static str, id: PartId },
    #[error("{chunk} for the call {id:?}, whose input was not begun")]
    NoSuchInput { chunk: &'static str, id: ToolCallId },
    #[error("{chunk} for the call {id:?}, which the message does not have")]
    NoSuchCall { chunk: &'static str, id: ToolCallId },
    #[error("an answer to the approval {0:?}, which the message does not have")]
    NoSuchApproval(ApprovalId),
    #[error("no client knows the chunk type {0:?}")]
    UnknownType(String),
    #[error("this client version does not know {0}")]
    UnknownToClient(&'static str),
    #[error("the metadata is not an object, so nothing can be merged into it")]
    Metadata,
    #[error("{0}")]
    ErrorChunk(String),
}

/// Builds one assistant message from chunks.
#[derive(Debug, Clone)]
pub struct Reducer {
    sdk: Sdk,
    message: UiMessage,
    texts: HashMap<PartId, usize>,
    reasonings: HashMap<PartId, usize>,
    inputs: HashMap<ToolCallId, tools::Input>,
    /// Number of parts at the client's last write; `None` before the first.
    written: Option<usize>,
}

impl Reducer {
    /// Starts a new assistant message. The id holds until `start` brings one.
    pub fn new(sdk: Sdk, id: MessageId) -> Self {
        let message = UiMessage { id, role: Role::Assistant, metadata: None, parts: Vec::new() };
        Self { sdk, message, texts: HashMap::new(), reasonings: HashMap::new(), inputs: HashMap::new(), written: None }
    }

    /// Continues a message in a new response. Text blocks that were open are now closed.
    pub fn continue_from(sdk: Sdk, message: UiMessage) -> Self {
        let inputs = tools::begun_inputs(&message);
        let written = Some(message.parts.len());
        Self { sdk, message, texts: HashMap::new(), reasonings: HashMap::new(), inputs, written }
    }

    /// The message so far.
    pub fn message(&self) -> &UiMessage {
        &self.message
    }

    /// The message as the application sees it, without anything since the last writing chunk. `None` if the client has
    /// shown nothing yet.
    pub fn written(&self) -> Option<UiMessage> {
        let parts = self.message.parts[..self.written?].to_vec();
        Some(UiMessage { parts, ..self.message.clone() })
    }

    /// Consumes the reducer and returns the message.
    pub fn into_message(self) -> UiMessage {
        self.message
    }

    /// Applies a chunk as a peer sent it. The client keeps the extra keys of a data part.
    pub fn apply_read(&mut self, read: &ReadChunk) -> Result<(), ReduceError> {
        match read {
            ReadChunk::Unknown { kind, .. } => Err(ReduceError::UnknownType(kind.clone())),
            ReadChunk::Known { chunk, extra } => {
                let before = self.message.parts.len();
                self.apply(chunk)?;
                if let Some(Part::Data(part)) = self.message.parts.get_mut(before) {
                    part.extra.extend(extra.clone());
                }
                Ok(())
            }
        }
    }

    /// Applies one chunk.
    pub fn apply(&mut self, chunk: &Chunk) -> Result<(), ReduceError> {
        if self.sdk == Sdk::V6 && chunk.is_sdk7_only() {
            return Err(ReduceError::UnknownToClient(chunk.kind()));
        }
        if self.apply_known(chunk)? {
            self.written = Some(self.message.parts.len());
        }
        Ok(())
    }

    /// Returns whether the client writes.
    fn apply_known(&mut self, chunk: &Chunk) -> Result<bool, ReduceError> {
        match chunk {
            Chunk::Start(Start { message_id, message_metadata }) => {
                if let Some(id) = message_id {
                    self.message.id = id.clone();
                }
                let merged = self.merge(message_metadata.as_ref())?;
                return Ok(message_id.is_some() || merged);
            }
            Chunk::Finish(c) => {
                if self.sdk == Sdk::V6 && c.finish_reason == Some(FinishReason::Interrupted) {
                    return Err(ReduceError::UnknownToClient("the finish reason `interrupted`"));
                }
                return self.merge(c.message_metadata.as_ref());
            }
            Chunk::SetMetadata(c) => return self.merge(Some(&c.message_metadata)),
            Chunk::StartStep(_) => {
                self.message.parts.push(Part::StepStart);
                return Ok(false);
            }
            Chunk::FinishStep(_) => {
                if self.sdk == Sdk::V6 {
                    self.texts.clear();
                    self.reasonings.clear();
                }
                return Ok(false);
            }
            Chunk::ResetStep(_) => {
                self.texts.clear();
                self.reasonings.clear();
                self.inputs.clear();
                let step = self.step();
                let any = step < self.message.parts.len();
                self.message.parts.truncate(step);
                return Ok(any);
            }
            Chunk::Abort(_) => return Ok(false),
            Chunk::Error(c) => return Err(ReduceError::ErrorChunk(c.error_text.clone())),

            Chunk::TextStart(c) => {
                self.texts.insert(c.id.clone(), self.message.parts.len());
                self.message.parts.push(Part::Text(TextPart {
                    text: String::new(),
                    state: Some(StreamState::Streaming),
                    citations: None,
                    provider_metadata: c.provider_metadata.clone(),
                }));
            }
            Chunk::TextDelta(c) => {
                let part = self.text("text-delta", &c.id)?;
                part.text.push_str(&c.delta);
                replace_some(&mut part.provider_metadata, &c.provider_metadata);
            }
            Chunk::TextEnd(c) => {
                let sdk = self.sdk;
                let part = self.text("text-end", &c.id)?;
                part.state = Some(StreamState::Done);
                if sdk == Sdk::V7 {
                    replace_some(&mut part.citations, &c.citations);
                }
                replace_some(&mut part.provider_metadata, &c.provider_metadata);
                self.texts.remove(&c.id);
            }
            Chunk::ReasoningStart(c) => {
                self.reasonings.insert(c.id.clone(), self.message.parts.len());
                self.message.parts.push(Part::Reasoning(ReasoningPart {
                    id: Some(c.id.clone()),
                    text: String::new(),
                    state: Some(StreamState::Streaming),
                    provider_metadata: c.provider_metadata.clone(),
                }));
            }
            Chunk::ReasoningDelta(c) => {
                let part = self.reasoning("reasoning-delta", &c.id)?;
                part.text.push_str(&c.delta);
                replace_some(&mut part.provider_metadata, &c.provider_metadata);
            }
            Chunk::ReasoningEnd(c) => {
                let part = self.reasoning("reasoning-end", &c.id)?;
                part.state = Some(StreamState::Done);
                replace_some(&mut part.provider_metadata, &c.provider_metadata);
                self.reasonings.remove(&c.id);
            }

            Chunk::ToolInputStart(c) => self.begin_input(c),
            Chunk::ToolInputDelta(c) => self.more_input(c)?,
            Chunk::ToolInputAvailable(c) => self.input_available(c),
            Chunk::ToolInputError(c) => self.input_error(c),
            Chunk::ToolApprovalRequest(c) => self.approval_request(c)?,
            Chunk::ToolApprovalResponse(c) => self.approval_response(c)?,
            Chunk::ToolOutputAvailable(c) => self.output_available(c)?,
            Chunk::ToolOutputError(c) => self.output_error(c)?,
            Chunk::ToolOutputDenied(c) => self.output_denied(c)?,

            Chunk::File(c) => self.push(Part::File(file(&c.url, &c.media_type, &c.provider_metadata))),
            Chunk::ReasoningFile(c) => {
                self.push(Part::ReasoningFile(file(&c.url, &c.media_type, &c.provider_metadata)))
            }
            Chunk::SourceUrl(c) => self.push(Part::SourceUrl(SourceUrlPart {
                source_id: c.source_id.clone(),
                url: c.url.clone(),
                title: c.title.clone(),
                provider_metadata: c.provider_metadata.clone(),
            })),
            Chunk::SourceDocument(c) => self.push(Part::SourceDocument(SourceDocumentPart {
                source_id: c.source_id.clone(),
                media_type: c.media_type.clone(),
                title: c.title.clone(),
                filename: c.filename.clone(),
                provider_metadata: c.provider_metadata.clone(),
            })),
            Chunk::Custom(c) => {
                self.push(Part::Custom(CustomPart {
                    kind: c.kind.clone(),
                    provider_metadata: c.provider_metadata.clone(),
                }));
            }
            Chunk::SteeringMessage(c) => self.push(Part::SteeringMessage { id: c.id.clone(), parts: c.parts.clone() }),
            Chunk::Data(data) => return Ok(self.data(data)),
        }
        Ok(true)
    }

    fn push(&mut self, part: Part) {
        self.message.parts.push(part);
    }

    /// Index of the first part of the current step.
    fn step(&self) -> usize {
        self.message.parts.iter().rposition(|part| *part == Part::StepStart).map_or(0, |at| at + 1)
    }

    fn text(&mut self, chunk: &'static str, id: &PartId) -> Result<&mut TextPart, ReduceError> {
        match self.texts.get(id).and_then(|at| self.message.parts.get_mut(*at)) {
            Some(Part::Text(part)) => Ok(part),
            _ => Err(ReduceError::NoSuchBlock { chunk, id: id.clone() }),
        }
    }

    fn reasoning(&mut self, chunk: &'static str, id: &PartId) -> Result<&mut ReasoningPart, ReduceError> {
        match self.reasonings.get(id).and_then(|at| self.message.parts.get_mut(*at)) {
            Some(Part::Reasoning(part)) => Ok(part),
            _ => Err(ReduceError::NoSuchBlock { chunk, id: id.clone() }),
        }
    }

    fn data(&mut self, data: &Data) -> bool {
        if data.transient == Some(true) {
            return false;
        }
        let existing = data.id.as_ref().and_then(|id| {
            self.message.parts.iter_mut().find_map(|part| match part {
                Part::Data(part) if part.name == data.name && part.id.as_ref() == Some(id) => Some(part),
                _ => None,
            })
        });
        match existing {
            Some(part) => part.data = data.data.value().clone(),
            None => {
                // The client stores the chunk itself as the part.
                let extra = data.transient.map(|transient| ("transient".to_owned(), Value::Bool(transient)));
                self.push(Part::Data(DataPart {
                    name: data.name.clone(),
                    id: data.id.clone(),
                    data: data.data.value().clone(),
                    extra: extra.into_iter().collect(),
                }));
            }
        }
        true
    }

    fn merge(&mut self, metadata: Option<&MessageMetadata>) -> Result<bool, ReduceError> {
        match metadata.map(MessageMetadata::value) {
            None | Some(Value::Null) => Ok(false),
            Some(new) => {
                let merged = match self.message.metadata.as_ref() {
                    None | Some(Value::Null) => new.clone(),
                    Some(old) => metadata::merge(old, new).ok_or(ReduceError::Metadata)?,
                };
                self.message.metadata = Some(merged);
                Ok(true)
            }
        }
    }
}

fn file(url: &str, media_type: &str, provider_metadata: &Option<crate::json::ProviderMetadata>) -> FilePart {
    FilePart {
        media_type: media_type.to_owned(),
        url: url.to_owned(),
        filename: None,
        provider_metadata: provider_metadata.clone(),
        extra: serde_json::Map::new(),
    }
}

/// Replaces the old value if there is a new one.
fn replace_some<T: Clone>(old: &mut Option<T>, new: &Option<T>) {
    if new.is_some() {
        old.clone_from(new);
    }
}
