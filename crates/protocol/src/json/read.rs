//! Reading untrusted JSON values.
//!
//! `serde_json` gives some objects a special meaning. With its feature `raw_value`, which any dependency can switch on,
//! an object with the key `$serde_json::private::RawValue` is replaced by the content of its string, parsed with a
//! fresh recursion budget. A short body then overflows the stack. Here every object is an object, levels and nodes are
//! counted, and nothing is built beyond a limit.

use std::{cell::Cell, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

use super::mend;

/// Limits on a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonLimits {
    /// Levels of arrays and objects. `serde_json` itself reads at most 127.
    pub levels: usize,
    /// Number of values, including the outermost.
    pub nodes: usize,
}

impl JsonLimits {
    /// The limits of `serde_json` itself.
    pub const NONE: JsonLimits = JsonLimits { levels: 128, nodes: usize::MAX };
}

/// Why a JSON text was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Nested too deeply.
    #[error("it is nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Too many values.
    #[error("it has more than {limit} values")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// It has bytes that are not UTF-8, or half a surrogate pair.
    #[error("it has text that is not valid Unicode: bytes that are not UTF-8, or half of a surrogate pair")]
    NotUnicode,
    /// It is not JSON.
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
}

/// Reads a value as a JavaScript client does: an unpaired surrogate escape is not an error. Rust strings can't hold
/// one, so it becomes U+FFFD. (A number beyond the range of `f64` is still an error; JavaScript reads infinity.)
pub fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    parse_within(bytes, JsonLimits::NONE).map_err(|error| match error {
        ReadError::Syntax(error) => error,
        beyond => serde_json::Error::custom(beyond),
    })
}

/// Like [`parse`], within limits.
pub fn parse_within(bytes: &[u8], limits: JsonLimits) -> Result<Value, ReadError> {
    match read(bytes, limits, Budget::new(limits.nodes)) {
        Err(ReadError::Syntax(error)) => match mend(bytes) {
            Some(mended) => read(&mended, limits, Budget::new(limits.nodes)),
            None => Err(ReadError::Syntax(error)),
        },
        read => read,
    }
}

/// Like [`parse_within`], but text that is not Unicode is an error instead of being replaced, and so is an object with the
/// same key twice. For what a client sends: what was sent is what counts, and another program on the way may have read
/// the first of the two.
pub fn parse_strictly(bytes: &[u8], limits: JsonLimits) -> Result<Value, ReadError> {
    read(bytes, limits, Budget::strict(limits.nodes)).map_err(|error| match error {
        ReadError::Syntax(_) if mend(bytes).is_some() => ReadError::NotUnicode,
        error => error,
    })
}

fn read(bytes: &[u8], limits: JsonLimits, budget: Budget) -> Result<Value, ReadError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read =
        budget.plain(limits.levels).deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    read.map_err(|error| match budget.exceeded.get() {
        Some(Exceeded::Levels) => ReadError::TooDeep { limit: limits.levels },
        Some(Exceeded::Nodes) => ReadError::TooManyNodes { limit: limits.nodes },
        None => ReadError::Syntax(error),
    })
}

/// For fields: `#[serde(deserialize_with = "json::value")]`.
pub fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Budget::new(JsonLimits::NONE.nodes).plain(JsonLimits::NONE.levels).deserialize(deserializer)
}

/// For optional fields in which null is a value.
pub fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    value(deserializer).map(Some)
}

/// For optional fields in which null means none.
pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    value(deserializer).map(|value| Some(value).filter(|value| !value.is_null()))
}

/// For object fields, including flattened ones.
pub fn map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    struct Object;
    impl<'de> Visitor<'de> for Object {
        type Value = Map<String, Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Budget::new(JsonLimits::NONE.nodes).plain(JsonLimits::NONE.levels).object(map)
        }
    }
    deserializer.deserialize_map(Object)
}

/// Reads the next value of a map access.
pub(crate) fn next_value<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Value, A::Error> {
    map.next_value_seed(Budget::new(JsonLimits::NONE.nodes).plain(JsonLimits::NONE.levels))
}

#[derive(Clone, Copy)]
enum Exceeded {
    Levels,
    Nodes,
}

/// The budget left for the whole text.
pub(crate) struct Budget {
    nodes: Cell<usize>,
    /// A deserializer's errors are plain text, so the exceeded limit is kept here.
    exceeded: Cell<Option<Exceeded>>,
    /// Whether no object may have the same key twice.
    has_unique_keys: bool,
}

impl Budget {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { nodes: Cell::new(nodes), exceeded: Cell::new(None), has_unique_keys: false }
    }

    /// A budget for values in which no object has the same key twice.
    pub(crate) fn strict(nodes: usize) -> Self {
        Self { has_unique_keys: true, ..Self::new(nodes) }
    }

    /// Builds a value of at most this many levels.
    pub(crate) fn plain(&self, levels: usize) -> Plain<'_> {
        Plain { budget: self, levels }
    }
}

/// Builds any value, with no special meaning for any key.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a> {
    budget: &'a Budget,
    /// Levels left from here.
    levels: usize,
}

impl Plain<'_> {
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.levels.checked_sub(1) {
            Some(levels) => Ok(Self { levels, ..self }),
            None => {
                self.budget.exceeded.set(Some(Exceeded::Levels));
                Err(E::custom("nested too deep"))
            }
        }
    }

    /// The fields of an object, whatever their names. On duplicate names the last value wins, as in JavaScript, unless
    /// the budget says otherwise.
    fn object<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<Map<String, Value>, A::Error> {
        let inside = self.inside()?;
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if self.budget.has_unique_keys && fields.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} is there twice")));
            }
            fields.insert(key, map.next_value_seed(inside)?);
        }
        Ok(fields)
    }
}

impl<'de> DeserializeSeed<'de> for Plain<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.budget.nodes.get().checked_sub(1) {
            Some(nodes) => self.budget.nodes.set(nodes),
            None => {
                self.budget.exceeded.set(Some(Exceeded::Nodes));
                return Err(D::Error::custom("too many values"));
            }
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Plain<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        self.object(map).map(Value::Object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RAW: &str = "$serde_json::private::RawValue";

    #[test]
    fn the_same_key_twice_is_an_error_where_it_matters() {
        let twice = br#"{"a": {"b": 1, "b": 2}}"#;
        assert_eq!(parse(twice).expect("as in JavaScript"), json!({"a": {"b": 2}}));
        let error = parse_strictly(twice, JsonLimits::NONE).expect_err("which one is meant?").to_string();
        assert!(error.starts_with(r#"the key "b" is there twice"#), "{error}");
        assert!(parse_strictly(br#"[{"b": 1}, {"b": 2, "c": {"b": 3}}]"#, JsonLimits::NONE).is_ok());
    }

    #[test]
    fn every_object_is_an_object() {
        let inner: Value = serde_json::from_str(r#"{"$serde_json::private::RawValue":"[1]"}"#).expect("JSON");
        assert_eq!(inner, json!([1]), "or the feature is off, and nothing here tests anything");
        for text in [
            r#"{"$serde_json::private::RawValue":"[1]"}"#,
            r#"{"\u0024serde_json::private::RawValue":"["}"#,
            r#"{"$serde_json::private::RawValue":1}"#,
            r#"{"a":[{"$serde_json::private::Number":"1e400"}]}"#,
        ] {
            let value = parse(text.as_bytes()).expect("JSON");
            let again = serde_json::to_string(&value).expect("JSON");
            assert_eq!(again, text.replace("\\u0024", "$"));
        }
    }

    #[test]
    fn what_is_read_is_what_serde_json_reads() {
        for text in [
            "null",
            "true",
            "-1",
            "18446744073709551615",
            "1.5e300",
            r#""a\u00e9\n""#,
            "[]",
            "{}",
            r#"[{"b":1,"a":{"x":[null]}},[]]"#,
            r#"{"a":1,"b":2,"a":3}"#,
        ] {
            let expected: Value = serde_json::from_str(text).expect("JSON");
            let read = parse(text.as_bytes()).expect("JSON");
            assert_eq!(read.to_string(), expected.to_string());
        }
        for text in ["", "[", "1 2", "{\"a\"}", "[1,]", "nul", "1e999"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn levels_and_nodes_are_counted() {
        let limits = JsonLimits { levels: 3, nodes: 5 };
        let read = |text: &str| parse_within(text.as_bytes(), limits);
        assert_eq!(read("[[[]]]").ok(), Some(json!([[[]]])));
        assert_eq!(read(r#"{"a":{"b":{"c":1}}}"#).ok(), Some(json!({"a": {"b": {"c": 1}}})));
        assert!(matches!(read("[[[[]]]]"), Err(ReadError::TooDeep { limit: 3 })));
        assert!(matches!(read(r#"[{"a":[{}]}]"#), Err(ReadError::TooDeep { limit: 3 })));
        assert_eq!(read("[1,2,3,4]").ok(), Some(json!([1, 2, 3, 4])));
        assert!(matches!(read("[1,2,3,4,5]"), Err(ReadError::TooManyNodes { limit: 5 })));
        assert!(matches!(read(r#"{"a":1,"b":2,"c":3,"d":4,"e":5}"#), Err(ReadError::TooManyNodes { limit: 5 })));
        assert!(matches!(read("[1,2"), Err(ReadError::Syntax(_))));
        // Brackets in strings are text.
        assert!(read(r#"["[[[[[[[[[[","]]"]"#).is_ok());
    }

    #[test]
    fn fields_are_read_the_same_way() {
        #[derive(serde::Deserialize)]
        struct Body {
            #[serde(deserialize_with = "value")]
            value: Value,
            #[serde(default, deserialize_with = "optional")]
            optional: Option<Value>,
            #[serde(default, deserialize_with = "some")]
            some: Option<Value>,
            #[serde(flatten, deserialize_with = "map")]
            rest: Map<String, Value>,
        }
        let raw = json!({ RAW: "[1]" });
        let body = json!({"value": raw, "optional": raw, "some": raw, "x": raw, RAW: "[1]"});
        let direct: Body = serde_json::from_str(&body.to_string()).expect("a body");
        let from_value: Body = serde::Deserialize::deserialize(body).expect("a body");
        for body in [direct, from_value] {
            assert_eq!((&body.value, body.optional.as_ref(), body.some.as_ref()), (&raw, Some(&raw), Some(&raw)));
            assert_eq!(Value::Object(body.rest), json!({"x": raw, RAW: "[1]"}));
        }
        let body: Body = serde_json::from_str(r#"{"value":null,"optional":null,"some":null}"#).expect("a body");
        assert_eq!((body.value, body.optional, body.some), (Value::Null, None, Some(Value::Null)));
    }
}
