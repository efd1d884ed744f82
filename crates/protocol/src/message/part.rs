//! The parts of a message.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap};
use serde_json::{Map, Value};

use super::ToolPart;
use crate::{
    chunk::{Citation, SteeringPart},
    ids::PartId,
    json::{self, ProviderMetadata},
};

/// One part of a message. A part of unknown shape is kept as it came.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant's type says what it is")]
pub enum Part {
    Text(TextPart),
    Reasoning(ReasoningPart),
    Tool(Box<ToolPart>),
    File(FilePart),
    ReasoningFile(FilePart),
    SourceUrl(SourceUrlPart),
    SourceDocument(SourceDocumentPart),
    Data(DataPart),
    Custom(CustomPart),
    /// A user message that was added while the turn ran (`ai` 7).
    SteeringMessage {
        id: PartId,
        parts: Vec<SteeringPart>,
    },
    /// A new step begins here.
    StepStart,
    /// A part of an unknown type, or one that lacks a required field.
    Other(Map<String, Value>),
}

/// Whether a text or reasoning part is still being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum StreamState {
    Streaming,
    Done,
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        #[serde(rename_all = "camelCase")]
        #[allow(missing_docs, reason = "the fields are the SDK's own")]
        pub struct $name { $($(#[$attr])* pub $field: $type),* }
    )*};
}

parts! {
    /// Text.
    TextPart {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        state: Option<StreamState>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        citations: Option<Vec<Citation>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        provider_metadata: Option<ProviderMetadata>,
    }
    /// Reasoning of the model.
    ReasoningPart {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        id: Option<PartId>,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        state: Option<StreamState>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        provider_metadata: Option<ProviderMetadata>,
    }
    /// A file, by URL or as a data URL.
    FilePart {
        media_type: String,
        url: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        filename: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        provider_metadata: Option<ProviderMetadata>,
        #[serde(flatten, deserialize_with = "json::map")]
        #[cfg_attr(feature = "typescript", ts(skip))]
        extra: Map<String, Value>,
    }
    /// A web source.
    SourceUrlPart {
        source_id: PartId,
        url: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        provider_metadata: Option<ProviderMetadata>,
    }
    /// A document as a source.
    SourceDocumentPart {
        source_id: PartId,
        media_type: String,
        title: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        filename: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        provider_metadata: Option<ProviderMetadata>,
    }
    /// A provider-specific part (`ai` 7).
    CustomPart {
        kind: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        provider_metadata: Option<ProviderMetadata>,
    }
}

/// Application data.
#[derive(Debug, Clone, PartialEq)]
pub struct DataPart {
    /// The part of `type` after `data-`.
    pub name: String,
    /// Its id, if it has one.
    pub id: Option<PartId>,
    /// The data.
    pub data: Value,
    /// The other keys of its chunk: the SDK's client stores the chunk itself as the part.
    pub extra: Map<String, Value>,
}

impl TextPart {
    /// A complete text part without metadata.
    pub fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), state: None, citations: None, provider_metadata: None }
    }
}

impl Part {
    /// The tool part, if it is one.
    pub fn as_tool(&self) -> Option<&ToolPart> {
        match self {
            Part::Tool(tool) => Some(tool),
            _ => None,
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tagged<'a, T> {
            r#type: &'static str,
            #[serde(flatten)]
            part: &'a T,
        }
        match self {
            Part::Text(part) => Tagged { r#type: "text", part }.serialize(serializer),
            Part::Reasoning(part) => Tagged { r#type: "reasoning", part }.serialize(serializer),
            Part::Tool(part) => part.serialize(serializer),
            Part::File(part) => Tagged { r#type: "file", part }.serialize(serializer),
            Part::ReasoningFile(part) => Tagged { r#type: "reasoning-file", part }.serialize(serializer),
            Part::SourceUrl(part) => Tagged { r#type: "source-url", part }.serialize(serializer),
            Part::SourceDocument(part) => Tagged { r#type: "source-document", part }.serialize(serializer),
            Part::Custom(part) => Tagged { r#type: "custom", part }.serialize(serializer),
            Part::Other(map) => map.serialize(serializer),
            Part::StepStart => {
                let mut out = serializer.serialize_map(Some(1))?;
                out.serialize_entry("type", "step-start")?;
                out.end()
            }
            Part::SteeringMessage { id, parts } => {
                let mut out = serializer.serialize_map(Some(3))?;
                out.serialize_entry("type", "steering-message")?;
                out.serialize_entry("id", id)?;
                out.serialize_entry("parts", parts)?;
                out.end()
            }
            Part::Data(part) => {
                let mut out = serializer.serialize_map(None)?;
                out.serialize_entry("type", &format_args!("data-{}", part.name))?;
                if let Some(id) = &part.id {
                    out.serialize_entry("id", id)?;
                }
                out.serialize_entry("data", &part.data)?;
                for (key, value) in &part.extra {
                    out.serialize_entry(key, value)?;
                }
                out.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map =
            json::map(deserializer).map_err(|_| D::Error::custom("a message part must be an object with a `type`"))?;
        Ok(match map.get("type").and_then(Value::as_str).and_then(|kind| kind.strip_prefix("data-")) {
            Some(name) => data(name.to_owned(), map),
            None => known(&map).unwrap_or(Part::Other(map)),
        })
    }
}

/// The part, if its type is known and its required fields are present. Takes a reference because parts can be large.
fn known(map: &Map<String, Value>) -> Option<Part> {
    fn file(map: &Map<String, Value>) -> Option<FilePart> {
        let mut file = FilePart::deserialize(map).ok()?;
        file.extra.shift_remove("type");
        Some(file)
    }
    let kind = map.get("type")?.as_str()?;
    Some(match kind {
        "text" => Part::Text(TextPart::deserialize(map).ok()?),
        "reasoning" => Part::Reasoning(ReasoningPart::deserialize(map).ok()?),
        "file" => Part::File(file(map)?),
        "reasoning-file" => Part::ReasoningFile(file(map)?),
        "source-url" => Part::SourceUrl(SourceUrlPart::deserialize(map).ok()?),
        "source-document" => Part::SourceDocument(SourceDocumentPart::deserialize(map).ok()?),
        "custom" => Part::Custom(CustomPart::deserialize(map).ok()?),
        "step-start" => Part::StepStart,
        "steering-message" => Part::SteeringMessage {
            id: PartId::deserialize(map.get("id")?).ok()?,
            parts: Vec::deserialize(map.get("parts")?).ok()?,
        },
        "dynamic-tool" => Part::Tool(Box::deserialize(map).ok()?),
        _ if kind.starts_with("tool-") => Part::Tool(Box::deserialize(map).ok()?),
        _ => return None,
    })
}

/// A data part if it is well-formed, else [`Part::Other`].
fn data(name: String, mut map: Map<String, Value>) -> Part {
    let has_id = match map.get("id") {
        None | Some(Value::String(_)) => true,
        Some(_) => false,
    };
    if !has_id || !map.contains_key("data") {
        return Part::Other(map);
    }
    map.shift_remove("type");
    let id = map.shift_remove("id");
    Part::Data(DataPart {
        name,
        id: id.as_ref().and_then(Value::as_str).map(PartId::from),
        data: map.shift_remove("data").unwrap_or_default(),
        extra: map,
    })
}

/// A part is an object with a `type`. Its other fields are the SDK's own, and unknown ones are kept.
#[cfg(feature = "openapi")]
mod schema {
    use utoipa::{
        PartialSchema, ToSchema,
        openapi::{Object, ObjectBuilder, RefOr, Schema, Type, schema::AdditionalProperties},
    };

    impl PartialSchema for super::Part {
        fn schema() -> RefOr<Schema> {
            let kind: Object = ObjectBuilder::new()
                .schema_type(Type::String)
                .description(Some(
                    "`text`, `reasoning`, `file`, `source-url`, `source-document`, `step-start`, `tool-NAME`, `dynamic-tool`, `data-NAME`.",
                ))
                .build();
            let part = ObjectBuilder::new()
                .description(Some("One part of a message, as the SDK's client keeps it."))
                .property("type", kind)
                .required("type")
                .additional_properties(Some(AdditionalProperties::FreeForm(true)))
                .build();
            part.into()
        }
    }

    impl ToSchema for super::Part {}
}
