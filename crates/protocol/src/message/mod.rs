//! Messages as the AI SDK's client stores them.

mod part;
mod tool;

pub use part::{
    CustomPart, DataPart, FilePart, Part, ReasoningPart, SourceDocumentPart, SourceUrlPart, StreamState, TextPart,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
pub use tool::{Approval, ToolFields, ToolPart, ToolState};

use crate::{ids::MessageId, json};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Role {
    System,
    User,
    Assistant,
}

/// A message: built by a client from chunks, sent back with each request, and read as history.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UiMessage {
    /// Its id.
    pub id: MessageId,
    /// Its author.
    pub role: Role,
    /// The merged `messageMetadata`.
    #[serde(default, deserialize_with = "json::optional", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

/// A message as a client sends it. The id may be missing, and the older shape has its text in `content`.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientMessage {
    /// Its id, if the client gave one.
    pub id: Option<MessageId>,
    /// Its author.
    pub role: Role,
    /// The client's metadata.
    pub metadata: Option<Value>,
    /// Its parts. A string `content` becomes one text part.
    pub parts: Vec<Part>,
}

impl<'de> Deserialize<'de> for ClientMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(expecting = "a message, which is an object")]
        struct Wire {
            id: Option<MessageId>,
            role: Role,
            #[serde(default, deserialize_with = "json::optional")]
            metadata: Option<Value>,
            parts: Option<Vec<Part>>,
            #[serde(default, deserialize_with = "json::optional")]
            content: Option<Value>,
        }
        let wire = Wire::deserialize(deserializer)?;
        let mut parts = wire.parts.unwrap_or_default();
        match wire.content {
            Some(Value::String(text)) if parts.is_empty() && !text.is_empty() => {
                parts.push(Part::Text(TextPart::done(text)))
            }
            Some(Value::Array(items)) if parts.is_empty() => {
                parts = items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect();
            }
            _ => {}
        }
        Ok(Self { id: wire.id, role: wire.role, metadata: wire.metadata, parts })
    }
}

impl From<UiMessage> for ClientMessage {
    fn from(message: UiMessage) -> Self {
        Self { id: Some(message.id), role: message.role, metadata: message.metadata, parts: message.parts }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_older_shape_is_read() {
        let message: ClientMessage =
            serde_json::from_value(json!({"role": "user", "content": "hello"})).expect("readable");
        assert_eq!(message.id, None);
        assert_eq!(message.parts, [Part::Text(TextPart::done("hello"))]);
    }

    #[test]
    fn unknown_parts_are_written_as_they_were_read() {
        let wire = json!({"id": "m", "role": "assistant", "parts": [
            {"type": "hologram", "depth": 3},
            {"type": "text"},
            {"type": "tool-pay", "toolCallId": "c", "state": "input-available", "input": null, "error": "x"},
            {"type": "data-note", "data": [1]},
        ]});
        let message: UiMessage = serde_json::from_value(wire.clone()).expect("readable");
        assert!(matches!(&message.parts[1], Part::Other(_)), "a text part without text is an unknown part");
        assert_eq!(serde_json::to_value(&message).expect("json"), wire);
    }
}
