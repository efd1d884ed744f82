//! Reading chunks from a peer: extra keys and unknown types are kept, and faults are typed.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use super::Chunk;
use crate::json;

/// A chunk as a peer sent it.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "nearly every chunk is known: a box for each would cost more")]
pub enum ReadChunk {
    /// A chunk of a known type, with the keys that the type does not define.
    Known {
        /// The chunk.
        chunk: Chunk,
        /// Its other keys.
        extra: Map<String, Value>,
    },
    /// A chunk of a type that neither SDK version knows.
    Unknown {
        /// Its `type`.
        kind: String,
        /// All its other keys.
        fields: Map<String, Value>,
    },
}

/// Why a payload is not a chunk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Fault {
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("not an object but {0}")]
    NotAnObject(&'static str),
    #[error("no string `type`")]
    NoType,
    #[error("`{key}` is missing")]
    Missing { key: &'static str },
    #[error("`{key}` is null: leave an optional key out")]
    Null { key: &'static str },
    #[error("`{key}` has the wrong type: {why}")]
    WrongType { key: &'static str, why: String },
}

impl Fault {
    pub(super) fn in_required<T: for<'de> Deserialize<'de>>(
        fields: &Map<String, Value>,
        key: &'static str,
    ) -> Option<Self> {
        match fields.get(key) {
            None => Some(Fault::Missing { key }),
            Some(value) => T::deserialize(value).err().map(|why| Fault::WrongType { key, why: why.to_string() }),
        }
    }

    pub(super) fn in_optional<T: for<'de> Deserialize<'de>>(
        fields: &Map<String, Value>,
        key: &'static str,
    ) -> Option<Self> {
        let value = fields.get(key)?;
        T::deserialize(value).err().map(|why| match value {
            Value::Null => Fault::Null { key },
            _ => Fault::WrongType { key, why: why.to_string() },
        })
    }
}

impl ReadChunk {
    /// Reads the JSON of one chunk. The fast path reads straight into the type; only a failure is read again, for a
    /// diagnosis.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        if let Ok(chunk) = serde_json::from_slice(bytes) {
            return Ok(chunk);
        }
        if let Some(mended) = json::mend(bytes)
            && let Ok(chunk) = serde_json::from_slice(&mended)
        {
            return Ok(chunk);
        }
        match json::parse(bytes) {
            Ok(value) => Self::from_value(value),
            Err(error) => Err(Fault::NotJson(error.to_string())),
        }
    }

    /// Reads a chunk from parsed JSON.
    pub fn from_value(value: Value) -> Result<Self, Fault> {
        let mut fields = match value {
            Value::Object(fields) => fields,
            Value::Null => return Err(Fault::NotAnObject("null")),
            Value::Bool(_) => return Err(Fault::NotAnObject("a boolean")),
            Value::Number(_) => return Err(Fault::NotAnObject("a number")),
            Value::String(_) => return Err(Fault::NotAnObject("a string")),
            Value::Array(_) => return Err(Fault::NotAnObject("an array")),
        };
        let Some(Value::String(kind)) = fields.shift_remove("type") else {
            return Err(Fault::NoType);
        };
        if let Some(fault) = Chunk::diagnose(&kind, &fields) {
            return Err(fault);
        }
        from_fields(kind, fields).map_err(|error: serde_json::Error| Fault::NotJson(error.to_string()))
    }

    /// The chunk, if its type is known.
    pub fn known(&self) -> Option<&Chunk> {
        match self {
            ReadChunk::Known { chunk, .. } => Some(chunk),
            ReadChunk::Unknown { .. } => None,
        }
    }
}

fn from_fields<E: serde::de::Error>(kind: String, fields: Map<String, Value>) -> Result<ReadChunk, E> {
    let mut map = serde::de::value::MapDeserializer::new(fields.into_iter());
    let read = Chunk::read_fields(&kind, &mut map).map_err(|error: serde_json::Error| E::custom(error))?;
    match read {
        Some((chunk, extra)) => Ok(ReadChunk::Known { chunk, extra }),
        None => {
            let mut fields = Map::new();
            while let Some(key) = map.next_key::<String>().map_err(E::custom)? {
                fields.insert(key, json::next_value(&mut map).map_err(E::custom)?);
            }
            Ok(ReadChunk::Unknown { kind, fields })
        }
    }
}

impl<'de> Deserialize<'de> for ReadChunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ChunkVisitor;
        impl<'de> Visitor<'de> for ChunkVisitor {
            type Value = ReadChunk;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a chunk: an object with a string `type`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ReadChunk, A::Error> {
                let mut fields = Map::new();
                let kind = match map.next_key::<Text<'de>>()? {
                    // `type` comes first in practice, so nothing has to be buffered.
                    Some(Text(key)) if key == "type" => map.next_value::<Text<'de>>()?.0,
                    Some(Text(key)) => {
                        fields.insert(key.into_owned(), json::next_value(&mut map)?);
                        while let Some(key) = map.next_key::<String>()? {
                            fields.insert(key, json::next_value(&mut map)?);
                        }
                        match fields.shift_remove("type") {
                            Some(Value::String(kind)) => return from_fields(kind, fields),
                            _ => return Err(A::Error::missing_field("type")),
                        }
                    }
                    None => return Err(A::Error::missing_field("type")),
                };
                match Chunk::read_fields(&kind, &mut map)? {
                    // `{"type": "x", "type": "y"}`: the last one counts, as in JavaScript.
                    Some((_, extra)) if extra.contains_key("type") => Err(A::Error::duplicate_field("type")),
                    Some((chunk, extra)) => Ok(ReadChunk::Known { chunk, extra }),
                    None => {
                        while let Some(key) = map.next_key::<String>()? {
                            fields.insert(key, json::next_value(&mut map)?);
                        }
                        Ok(ReadChunk::Unknown { kind: kind.into_owned(), fields })
                    }
                }
            }
        }
        deserializer.deserialize_map(ChunkVisitor)
    }
}

/// A string that borrows from the input where it can.
pub(super) struct Text<'de>(pub(super) Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chunk::TextDelta;

    fn parse(text: &str) -> Result<ReadChunk, Fault> {
        ReadChunk::parse(text.as_bytes())
    }

    #[test]
    fn extra_keys_and_unknown_types_are_kept() {
        let read = parse(r#"{"type":"text-delta","id":"0","delta":"a","traceId":7}"#).expect("readable");
        let chunk = TextDelta { id: "0".into(), delta: "a".into(), provider_metadata: None }.into();
        assert_eq!(read, ReadChunk::Known { chunk, extra: Map::from_iter([("traceId".into(), json!(7))]) });

        let read = parse(r#"{"type":"hologram","depth":3}"#).expect("readable");
        assert_eq!(
            read,
            ReadChunk::Unknown { kind: "hologram".into(), fields: Map::from_iter([("depth".into(), json!(3))]) }
        );
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        assert_eq!(
            parse(r#"{"delta":"a","id":"0","type":"text-delta"}"#),
            parse(r#"{"type":"text-delta","id":"0","delta":"a"}"#)
        );
        assert_eq!(parse(r#"{"x":1,"type":"hologram"}"#), parse(r#"{"type":"hologram","x":1}"#));
        assert_eq!(parse(r#"{"type":"abort","type":"start-step"}"#), parse(r#"{"type":"start-step"}"#));
    }

    #[test]
    fn what_is_wrong_gets_a_name() {
        assert!(matches!(parse(""), Err(Fault::NotJson(_))));
        assert_eq!(parse("[]"), Err(Fault::NotAnObject("an array")));
        assert_eq!(parse("{}"), Err(Fault::NoType));
        assert_eq!(parse(r#"{"type":5}"#), Err(Fault::NoType));
        assert_eq!(parse(r#"{"type":"text-start"}"#), Err(Fault::Missing { key: "id" }));
        assert_eq!(parse(r#"{"type":"start","messageId":null}"#), Err(Fault::Null { key: "messageId" }));
        assert!(matches!(parse(r#"{"type":"text-start","id":1}"#), Err(Fault::WrongType { key: "id", .. })));
        assert!(matches!(parse(r#"{"type":"data-x"}"#), Err(Fault::Missing { key: "data" })));
        assert!(parse(r#"{"type":"tool-output-available","toolCallId":"c","output":null}"#).is_ok());
    }
}
