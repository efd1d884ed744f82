//! The smaller types inside chunks.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use crate::json::{self, Payload, ProviderMetadata};

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// The answer is complete.
    Stop,
    /// The token limit was reached.
    Length,
    /// The provider's content filter stepped in.
    ContentFilter,
    /// The model called tools and waits for their results.
    ToolCalls,
    /// The model failed.
    Error,
    /// Cut short. The client must not continue by itself (`ai` 7 only).
    Interrupted,
    /// Anything else.
    Other,
}

/// The encoding of a tool's input deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum InputEncoding {
    /// Fragments of one JSON text.
    Json,
    /// Plain text.
    Text,
}

/// A source that supports a text (`ai` 7). Unknown keys are dropped, as the client does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields are the SDK's own")]
pub struct Citation {
    pub source: CitedSource,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "number"))]
    pub start_index: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "number"))]
    pub end_index: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub cited_text: Option<String>,
}

/// The target of a [`Citation`]: the SDK's source object, validated and otherwise unchanged.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "Record<string, unknown>"))]
#[serde(transparent)]
pub struct CitedSource(Map<String, Value>);

impl<'de> Deserialize<'de> for CitedSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = json::map(deserializer)?;
        let keys: &[&str] = match map.get("sourceType").and_then(Value::as_str) {
            Some("url") => &["id", "url"],
            Some("document") => &["id", "mediaType", "title"],
            _ => return Err(D::Error::custom("sourceType must be url or document")),
        };
        if map.get("type").and_then(Value::as_str) != Some("source") {
            return Err(D::Error::custom("a citation's source has the type \"source\""));
        }
        if let Some(key) = keys.iter().find(|key| !map.get(**key).is_some_and(Value::is_string)) {
            return Err(D::Error::custom(format_args!("{key} must be a string")));
        }
        for key in ["title", "filename"] {
            if map.get(key).is_some_and(|value| !value.is_string()) {
                return Err(D::Error::custom(format_args!("{key} must be a string")));
            }
        }
        if map.get("providerMetadata").is_some_and(|value| ProviderMetadata::deserialize(value).is_err()) {
            return Err(D::Error::custom("providerMetadata must be an object of objects"));
        }
        map.retain(|key, _| {
            keys.contains(&&**key) || ["type", "sourceType", "title", "filename", "providerMetadata"].contains(&&**key)
        });
        Ok(Self(map))
    }
}

/// A text or file part of a steering message (`ai` 7). Extra keys are kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "Record<string, unknown>"))]
#[serde(transparent)]
pub struct SteeringPart(Map<String, Value>);

impl SteeringPart {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self(Map::from_iter([("type".to_owned(), "text".into()), ("text".to_owned(), text.into())]))
    }

    /// The part as JSON.
    pub fn payload(&self) -> Payload {
        Payload::from(Value::Object(self.0.clone()))
    }
}

impl<'de> Deserialize<'de> for SteeringPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = json::map(deserializer)?;
        let keys: &[&str] = match map.get("type").and_then(Value::as_str) {
            Some("text") => &["text"],
            Some("file") => &["mediaType", "url"],
            _ => return Err(D::Error::custom("a steering part is a text or a file")),
        };
        if let Some(key) = keys.iter().find(|key| !map.get(**key).is_some_and(Value::is_string)) {
            return Err(D::Error::custom(format_args!("{key} must be a string")));
        }
        if map.get("filename").is_some_and(|value| !value.is_string()) {
            return Err(D::Error::custom("filename must be a string"));
        }
        if map
            .get("providerReference")
            .is_some_and(|value| !value.as_object().is_some_and(|reference| reference.values().all(Value::is_string)))
        {
            return Err(D::Error::custom("providerReference must be an object of strings"));
        }
        if map.get("providerMetadata").is_some_and(|value| ProviderMetadata::deserialize(value).is_err()) {
            return Err(D::Error::custom("providerMetadata must be an object of objects"));
        }
        Ok(Self(map))
    }
}

/// For an optional key that may be absent but not null.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
