//! JSON values: how they are read, and what the SDK's client accepts.

mod count;
mod read;
mod screen;

use std::ops::Deref;

pub use count::{count_values, kept_bytes, kept_bytes_of, parsed_bytes};
pub(crate) use read::{Budget, next_value};
pub use read::{JsonLimits, ReadError, map, optional, parse, parse_strictly, parse_within, some, value};
pub use screen::{Screen, is_reserved_key};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

/// A JSON value sent to a client: a tool's input or output, or the data of a data part.
///
/// Made from a [`Value`], it is stripped of the keys at which the client's parser throws (rule F4). Read from the wire,
/// it is kept unchanged, so that the checker sees what the client would see.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "unknown"))]
#[serde(transparent)]
pub struct Payload(#[serde(deserialize_with = "value")] Value);

impl Payload {
    /// The value.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Consumes the payload and returns the value.
    pub fn into_value(self) -> Value {
        self.0
    }
}

impl From<Value> for Payload {
    fn from(mut value: Value) -> Self {
        remove_forbidden_keys(&mut value);
        Self(value)
    }
}

/// Metadata of a message. An object when Holdpoint writes it; any value when read from a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "unknown"))]
#[serde(transparent)]
pub struct MessageMetadata(#[serde(deserialize_with = "value")] Value);

impl MessageMetadata {
    /// The metadata. The client treats `null` as none.
    pub fn value(&self) -> &Value {
        &self.0
    }
}

impl From<Map<String, Value>> for MessageMetadata {
    fn from(map: Map<String, Value>) -> Self {
        Self(Payload::from(Value::Object(map)).into_value())
    }
}

/// Provider metadata of a part: an object of objects.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "Record<string, Record<string, unknown>>"))]
#[serde(transparent)]
pub struct ProviderMetadata(Box<Map<String, Value>>);

impl ProviderMetadata {
    /// Adds one provider's fields, stripped like a [`Payload`].
    pub fn insert(&mut self, provider: impl Into<String>, fields: Map<String, Value>) {
        self.0.insert(provider.into(), Payload::from(Value::Object(fields)).into_value());
    }

    /// The metadata as JSON.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl<'de> Deserialize<'de> for ProviderMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = map(deserializer)?;
        if map.values().all(Value::is_object) {
            Ok(Self(Box::new(map)))
        } else {
            Err(D::Error::custom("expected an object of objects"))
        }
    }
}

/// An object with arbitrary fields.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "Record<string, unknown>"))]
#[serde(transparent)]
pub struct Object(#[serde(deserialize_with = "boxed_map")] Box<Map<String, Value>>);

impl From<Map<String, Value>> for Object {
    fn from(map: Map<String, Value>) -> Self {
        Self(Box::new(map))
    }
}

impl Deref for Object {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

fn boxed_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Map<String, Value>>, D::Error> {
    map(deserializer).map(Box::new)
}

/// Replaces invalid UTF-8 and lone surrogate escapes; `None` if there is nothing to replace.
pub(crate) fn mend(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(bytes);
    let lone = lone_surrogates(text.as_bytes());
    if lone.is_empty() && matches!(text, std::borrow::Cow::Borrowed(_)) {
        return None;
    }
    let mut mended = text.into_owned().into_bytes();
    for at in lone {
        mended[at..at + 4].copy_from_slice(b"fffd");
    }
    Some(mended)
}

/// Offsets of the four hex digits of each unpaired surrogate escape.
fn lone_surrogates(bytes: &[u8]) -> Vec<usize> {
    let unit = |at: usize| -> Option<u32> {
        let digits = bytes.get(at..at + 4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut lone = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        if bytes.get(at + 1) != Some(&b'u') {
            at = (at + 2).min(bytes.len());
            continue;
        }
        match unit(at + 2) {
            Some(0xD800..0xDC00)
                if bytes.get(at + 6..at + 8) == Some(b"\\u") && matches!(unit(at + 8), Some(0xDC00..0xE000)) =>
            {
                at += 12;
            }
            Some(0xD800..0xE000) => {
                lone.push(at + 2);
                at += 6;
            }
            _ => at += 2,
        }
        at = at.min(bytes.len());
    }
    lone
}

/// Whether the client's JSON parser throws at a key in here (rule F4).
pub fn has_forbidden_key(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_forbidden_key),
        Value::Object(map) => map.iter().any(|(key, value)| is_forbidden_key(key, value) || has_forbidden_key(value)),
        _ => false,
    }
}

/// Whether the client's JSON parser throws at this key of an object with this value (rule F4).
pub fn is_forbidden_key(key: &str, value: &Value) -> bool {
    key == "__proto__" || (key == "constructor" && value.get("prototype").is_some())
}

fn remove_forbidden_keys(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(remove_forbidden_keys),
        Value::Object(map) => {
            map.retain(|key, value| !is_forbidden_key(key, value));
            map.values_mut().for_each(remove_forbidden_keys);
        }
        _ => {}
    }
}

/// A cheap scan of the bytes: `false` means that they contain no forbidden key, in any spelling.
pub(crate) fn may_have_forbidden_key(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"__proto__").is_some()
        || memchr::memmem::find(bytes, b"constructor").is_some()
        || memchr::memmem::find(bytes, b"\\u00").is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_we_make_has_no_key_that_the_client_throws_at() {
        let dirty: Value = serde_json::from_str(
            r#"{"a":[{"__proto__":1,"b":2}],"constructor":{"prototype":{}},"c":{"constructor":"x"}}"#,
        )
        .expect("json");
        assert!(has_forbidden_key(&dirty));
        let clean = Payload::from(dirty);
        assert_eq!(clean.value(), &json!({"a": [{"b": 2}], "c": {"constructor": "x"}}));
    }

    #[test]
    fn half_a_surrogate_pair_becomes_a_replacement_character() {
        assert!(serde_json::from_slice::<Value>(br#""\ud83d""#).is_err(), "our replacement is no longer needed");
        assert_eq!(parse(br#""a\ud83db""#).ok(), Some(json!("a\u{fffd}b")));
        assert_eq!(parse(br#""\ude00\ud83d\ude00""#).ok(), Some(json!("\u{fffd}😀")));
        assert_eq!(parse(br#""\\ud83d""#).ok(), Some(json!("\\ud83d")));
        assert_eq!(parse(b"\"\xff\"").ok(), Some(json!("\u{fffd}")));
        assert!(parse(br#""\ud83d"#).is_err());
    }

    #[test]
    fn what_is_read_exactly_is_not_mended() {
        for text in [&br#""a\ud83db""#[..], br#"{"\ude00":1}"#, b"\"\xff\"", b"[1,\"\xed\xa0\x80\"]"] {
            let refused = parse_strictly(text, JsonLimits::NONE);
            assert!(matches!(refused, Err(ReadError::NotUnicode)), "{}: {refused:?}", text.escape_ascii());
        }
        assert_eq!(parse_strictly(br#""\ud83d\ude00 \\ud83d""#, JsonLimits::NONE).ok(), Some(json!("😀 \\ud83d")));
        assert!(matches!(parse_strictly(b"[", JsonLimits::NONE), Err(ReadError::Syntax(_))));
    }
}
