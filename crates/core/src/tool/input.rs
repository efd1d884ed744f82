//! Deserialization of a call's input into a handler's type, with errors that name the field.

use std::fmt;

use holdpoint_protocol::json::is_reserved_key;
use serde::{
    Deserializer, Serialize,
    de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor},
    forward_to_deserialize_any,
};
use serde_json::{Number, Value};

use super::{
    ToolError,
    text::{field, plain},
};

/// Maximum length of an error.
const MAX_ERROR_CHARS: usize = 500;

/// Reads an input.
pub fn read<I: DeserializeOwned>(input: &Value) -> Result<I, ToolError> {
    I::deserialize(Located(input)).map_err(|error| ToolError::new(plain(&error.to_string(), MAX_ERROR_CHARS)))
}

/// Serializes a handler's output.
pub fn write<O: Serialize>(output: &O) -> Result<Value, ToolError> {
    serde_json::to_value(output).map_err(|error| {
        ToolError::new(format!(
            "The tool's output can't be written as JSON: {}",
            plain(&error.to_string(), MAX_ERROR_CHARS)
        ))
    })
}

/// A value whose deserialization errors carry a location.
#[derive(Clone, Copy)]
struct Located<'a>(&'a Value);

/// A problem and its location, innermost step first.
#[derive(Debug)]
struct Error {
    steps: Vec<String>,
    problem: String,
}

impl Error {
    fn at(mut self, step: &str) -> Self {
        self.steps.push(step.replace('~', "~0").replace('/', "~1"));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer: String = self.steps.iter().rev().flat_map(|step| ["/", step]).collect();
        write!(f, "{}: {}", field(&pointer), self.problem)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self { steps: Vec::new(), problem: problem.to_string() }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        de::Error::custom(error)
    }
}

/// An integer written with a decimal point. JSON Schema accepts 1.0 as an integer, so a handler has to accept it too.
fn whole(value: &Value) -> Option<i64> {
    let float = value.as_number().filter(|number| number.is_f64()).and_then(Number::as_f64)?;
    // Up to 2^53, every integer has an exact float.
    (float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0).then_some(float as i64)
}

macro_rules! integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match whole(self.0) {
                Some(number) => visitor.visit_i64(number),
                None => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Located<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(values) => visitor.visit_seq(Items { values: values.iter(), index: 0 }),
            Value::Object(map) => visitor.visit_map(Fields { fields: map.iter(), value: None }),
            other => Ok(other.deserialize_any(visitor)?),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        Ok(self.0.deserialize_enum(name, variants, visitor)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

struct Items<'a> {
    values: std::slice::Iter<'a, Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(value) = self.values.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(Located(value)).map(Some).map_err(|error: Error| error.at(&index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len())
    }
}

struct Fields<'a> {
    fields: serde_json::map::Iter<'a>,
    value: Option<(&'a str, &'a Value)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.fields.next() else { return Ok(None) };
        if is_reserved_key(key) {
            // A handler's own `Value` would give the object a special meaning and parse its content.
            return Err(de::Error::custom(format_args!("a tool of this program can't be given the key {key:?}")));
        }
        self.value = Some((key, value));
        let key: de::value::StrDeserializer<'_, Error> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let (key, value) = self.value.take().ok_or_else(|| <Error as de::Error>::custom("a value without its key"))?;
        seed.deserialize(Located(value)).map_err(|error: Error| error.at(key))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Order {
        amount: u32,
        #[serde(default)]
        note: Option<String>,
        #[serde(default)]
        lines: Vec<Line>,
        #[serde(default)]
        kind: Kind,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Line {
        price: Price,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Price(f64);

    #[derive(Debug, PartialEq, Default, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        #[default]
        Plain,
        Gift {
            to: String,
        },
    }

    #[test]
    fn inputs_are_read_as_serde_json_reads_them() {
        let input = json!({"amount": 5, "note": "紙", "lines": [{"price": 1}, {"price": 2.5}], "kind": {"gift": {"to": "Mia"}}, "more": [1]});
        assert_eq!(read::<Order>(&input).unwrap(), Order::deserialize(&input).unwrap());
        assert_eq!(read::<Value>(&input).unwrap(), input);
        assert_eq!(read::<HashMap<String, Value>>(&input).unwrap().len(), 5);
        assert_eq!(read::<(u8, String)>(&json!([1, "a"])).unwrap(), (1, "a".to_owned()));
        let null = json!({"amount": 5, "note": null});
        assert_eq!(read::<Order>(&null).unwrap().note, None);
    }

    #[test]
    fn whole_numbers_may_have_a_point() {
        assert_eq!(read::<Order>(&json!({"amount": 5.0})).unwrap().amount, 5);
        assert!(read::<Order>(&json!({"amount": 5.5})).is_err());
        assert!(read::<Order>(&json!({"amount": -5.0})).is_err());
        assert!(read::<Order>(&json!({"amount": 1e30})).is_err());
    }

    #[test]
    fn errors_name_the_field() {
        for (input, expected) in [
            (json!({"amount": "ten"}), "amount: invalid type: string \"ten\", expected u32"),
            (json!({"amount": -1}), "amount: invalid value: integer `-1`, expected u32"),
            (
                json!({"amount": 1, "lines": [{"price": 1}, {"price": "x"}]}),
                "lines.1.price: invalid type: string \"x\", expected f64",
            ),
            (json!({"amount": 1, "lines": [{}]}), "lines.0: missing field `price`"),
            (json!({}), "the input: missing field `amount`"),
            (json!("text"), "the input: invalid type: string \"text\", expected struct Order"),
        ] {
            assert_eq!(read::<Order>(&input).unwrap_err().0, expected);
        }
        let text = read::<Order>(&json!({"amount": 1, "kind": "none"})).unwrap_err().0;
        assert!(text.starts_with("kind: unknown variant `none`"), "{text}");
        let odd = read::<HashMap<String, u8>>(&json!({"a/b\nc": "x"})).unwrap_err().0;
        assert!(odd.starts_with("a/b\\nc: invalid type"), "{odd}");
    }

    #[test]
    fn keys_that_a_library_takes_for_something_else_are_refused() {
        let input = json!({"amount": 1, "more": {"$serde_json::private::RawValue": "[[["}});
        for text in [
            read::<Value>(&input).unwrap_err().0,
            read::<HashMap<String, Value>>(&input).unwrap_err().0,
            read::<Value>(&json!([input])).unwrap_err().0,
        ] {
            assert!(text.contains("more: a tool of this program can't be given the key"), "{text}");
        }
        assert_eq!(read::<Order>(&input).unwrap().amount, 1, "what a handler does not read is not looked at");
    }

    #[test]
    fn an_output_that_is_no_json_is_an_error() {
        assert_eq!(write(&json!({"a": 1})).unwrap(), json!({"a": 1}));
        let keys = HashMap::from([((1, 2), 3)]);
        assert!(write(&keys).unwrap_err().0.contains("can't be written as JSON"));
    }
}
