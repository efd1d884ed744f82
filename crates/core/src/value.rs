//! Admission of JSON values to the log.
//!
//! Model arguments, tool outputs, MCP results, browser results and client messages all pass [`admit`]. A value that a
//! client's parser rejects, or that could not be read back, never becomes a fact: it becomes an error outcome or a
//! rejected request.

use std::io;

use holdpoint_protocol::{
    json::{is_forbidden_key, is_reserved_key},
    message::{Part, UiMessage},
};
use serde::Serialize;
use serde_json::{Number, Value};

/// Maximum nesting of a value. The rest of a body's 64 levels are for the history in which a client returns it.
pub const MAX_LEVELS: usize = 48;
/// Maximum number of values inside a value, itself included.
pub const MAX_NODES: usize = 100_000;
/// Maximum size of a call's input or output, in bytes of JSON.
pub const MAX_BYTES: usize = 1024 * 1024;
/// The largest integer that every JSON parser reads exactly: 2^53 - 1.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Why a value can't enter the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A client's JSON parser rejects the key.
    #[error("the key {key:?} at {pointer:?} is not allowed: a browser can't show it")]
    ForbiddenKey {
        /// Its location, as a JSON pointer.
        pointer: String,
        /// The key.
        key: String,
    },
    /// The JSON library gives an object with this key a special meaning, so no handler can receive it.
    #[error("the key {key:?} is reserved: no tool can be given it")]
    ReservedKey {
        /// The key.
        key: String,
    },
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
    /// Too large.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// A browser would show a different number.
    #[error("the integer {number} at {pointer:?} can't be shown exactly in a browser: send it as a string")]
    UnsafeInteger {
        /// Its location, as a JSON pointer.
        pointer: String,
        /// The number.
        number: String,
    },
}

/// Checks that a value may enter the log.
pub fn admit(value: &Value) -> Result<(), ValueError> {
    admit_within(value, MAX_LEVELS, &mut 0)
}

/// Checks that a call's input or output may enter the log: [`admit`], plus a size limit.
pub fn admit_sized(value: &Value) -> Result<(), ValueError> {
    admit(value)?;
    if serde_json::to_writer(&mut Budget(MAX_BYTES), value).is_err() {
        return Err(ValueError::TooLarge { limit: MAX_BYTES });
    }
    Ok(())
}

/// Checks that a tool can be called with this input: [`admit_sized`], and no key that a handler could not receive.
pub fn admit_input(value: &Value) -> Result<(), ValueError> {
    admit_sized(value)?;
    reserved_key(value).map_or(Ok(()), |key| Err(ValueError::ReservedKey { key: key.to_owned() }))
}

fn reserved_key(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.iter().find_map(reserved_key),
        Value::Object(fields) => fields.iter().find_map(|(key, field)| match is_reserved_key(key) {
            true => Some(key.as_str()),
            false => reserved_key(field),
        }),
        _ => None,
    }
}

/// Checks that a browser shows every integer of an input exactly. For calls that a person decides on.
pub fn admit_integers(value: &Value) -> Result<(), ValueError> {
    let is_exact = |number: &Number| {
        let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
        magnitude.is_none_or(|magnitude| magnitude <= MAX_SAFE_INTEGER)
    };
    let Some(pointer) = find(value, &|value| matches!(value, Value::Number(number) if !is_exact(number))) else {
        return Ok(());
    };
    let number = value.pointer(&pointer).map(Value::to_string).unwrap_or_default();
    Err(ValueError::UnsafeInteger { pointer, number })
}

/// Checks that the values of a client's message may enter the log.
pub fn admit_message(message: &UiMessage) -> Result<(), ValueError> {
    let mut nodes = 0;
    if let Some(metadata) = &message.metadata {
        admit_within(metadata, MAX_LEVELS, &mut nodes)?;
    }
    for part in message.parts.iter().filter(|part| !matches!(part, Part::Text(_) | Part::StepStart)) {
        let part = serde_json::to_value(part).unwrap_or_default();
        // The part itself adds one level around its values.
        admit_within(&part, MAX_LEVELS + 1, &mut nodes)?;
    }
    Ok(())
}

/// Bytes kept of a rejected value.
const MAX_EXCERPT_BYTES: usize = 2048;

/// The beginning of a rejected text.
pub fn excerpt_text(text: &str) -> Value {
    let end = text.floor_char_boundary(MAX_EXCERPT_BYTES);
    Value::String(if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() })
}

/// The beginning of a rejected value, as text for display.
pub fn excerpt(value: &Value) -> Value {
    let mut text = Excerpt { text: Vec::new(), left: MAX_EXCERPT_BYTES };
    // It stops at the limit. Levels are cut too, since the serializer recurses.
    let _ = shallow(value, MAX_LEVELS).serialize(&mut serde_json::Serializer::new(&mut text));
    let is_cut = text.left == 0;
    let mut text = String::from_utf8_lossy(&text.text).into_owned();
    if is_cut {
        text.push('…');
    }
    Value::String(text)
}

fn admit_within(value: &Value, levels: usize, nodes: &mut usize) -> Result<(), ValueError> {
    *nodes += 1;
    if *nodes > MAX_NODES {
        return Err(ValueError::TooManyNodes { limit: MAX_NODES });
    }
    let limit = MAX_LEVELS;
    match value {
        Value::Array(items) => {
            let levels = levels.checked_sub(1).ok_or(ValueError::TooDeep { limit })?;
            for (at, item) in items.iter().enumerate() {
                admit_within(item, levels, nodes).map_err(|error| error.under(&at.to_string()))?;
            }
        }
        Value::Object(fields) => {
            let levels = levels.checked_sub(1).ok_or(ValueError::TooDeep { limit })?;
            for (key, field) in fields {
                if is_forbidden_key(key, field) {
                    return Err(ValueError::ForbiddenKey { pointer: String::new(), key: key.clone() });
                }
                admit_within(field, levels, nodes).map_err(|error| error.under(key))?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

impl ValueError {
    fn under(mut self, step: &str) -> Self {
        if let ValueError::ForbiddenKey { pointer, .. } | ValueError::UnsafeInteger { pointer, .. } = &mut self {
            *pointer = format!("/{}{pointer}", escaped(step));
        }
        self
    }
}

fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

/// The JSON pointer of the first matching value. The value was admitted, so its depth is bounded.
fn find(value: &Value, is_wanted: &dyn Fn(&Value) -> bool) -> Option<String> {
    let below = |step: &str, value: &Value| Some(format!("/{}{}", escaped(step), find(value, is_wanted)?));
    match value {
        Value::Array(items) => items.iter().enumerate().find_map(|(at, item)| below(&at.to_string(), item)),
        Value::Object(fields) => fields.iter().find_map(|(key, field)| below(key, field)),
        scalar => is_wanted(scalar).then(String::new),
    }
}

/// A copy without deeper levels.
fn shallow(value: &Value, levels: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => Value::String("…".to_owned()),
        Value::Array(items) => items.iter().take(1000).map(|item| shallow(item, levels - 1)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().take(1000).map(|(key, field)| (key.clone(), shallow(field, levels - 1)));
            Value::Object(fields.collect())
        }
        scalar => scalar.clone(),
    }
}

/// Counts bytes, and fails beyond the budget.
struct Budget(usize);

impl io::Write for Budget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the first bytes.
struct Excerpt {
    text: Vec<u8>,
    left: usize,
}

impl io::Write for Excerpt {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let kept = bytes.len().min(self.left);
        self.text.extend_from_slice(&bytes[..kept]);
        self.left -= kept;
        if self.left == 0 { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
    }

    #[test]
    fn levels_are_limited_at_the_limit() {
        assert_eq!(admit(&nested(MAX_LEVELS)), Ok(()));
        assert_eq!(admit(&nested(MAX_LEVELS + 1)), Err(ValueError::TooDeep { limit: MAX_LEVELS }));
        assert_eq!(admit(&nested(MAX_LEVELS - 1)), Ok(()));
    }

    #[test]
    fn nodes_are_limited_at_the_limit() {
        let flat = |nodes: usize| Value::Array(vec![Value::Null; nodes - 1]);
        assert_eq!(admit(&flat(MAX_NODES)), Ok(()));
        assert_eq!(admit(&flat(MAX_NODES + 1)), Err(ValueError::TooManyNodes { limit: MAX_NODES }));
    }

    #[test]
    fn bytes_are_limited_at_the_limit() {
        let text = |bytes: usize| Value::String("x".repeat(bytes - 2));
        assert_eq!(admit_sized(&text(MAX_BYTES)), Ok(()));
        assert_eq!(admit_sized(&text(MAX_BYTES + 1)), Err(ValueError::TooLarge { limit: MAX_BYTES }));
    }

    #[test]
    fn keys_that_a_client_refuses_are_named() {
        let value: Value = serde_json::from_str(r#"{"a":[{"__proto__":1}]}"#).expect("JSON");
        assert_eq!(admit(&value), Err(ValueError::ForbiddenKey { pointer: "/a/0".into(), key: "__proto__".into() }));
        let value = json!({"x/y": {"constructor": {"prototype": 1}}});
        assert_eq!(admit(&value), Err(ValueError::ForbiddenKey { pointer: "/x~1y".into(), key: "constructor".into() }));
        assert_eq!(admit(&json!({"constructor": {"role": "admin"}, "prototype": 1})), Ok(()));
    }

    #[test]
    fn integers_beyond_the_safe_range_are_named() {
        for exact in [
            json!(9_007_199_254_740_991_u64),
            json!(-9_007_199_254_740_991_i64),
            json!(1.5e300),
            json!("9007199254740993"),
        ] {
            assert_eq!(admit_integers(&json!({"n": exact})), Ok(()));
        }
        for rounded in [json!(9_007_199_254_740_992_u64), json!(-9_007_199_254_740_993_i64), json!(u64::MAX)] {
            let error = ValueError::UnsafeInteger { pointer: "/n/0".into(), number: rounded.to_string() };
            assert_eq!(admit_integers(&json!({"n": [rounded]})), Err(error));
        }
    }

    #[test]
    fn an_excerpt_is_short_whatever_the_value() {
        assert_eq!(excerpt(&json!({"a": 1})), json!(r#"{"a":1}"#));
        let long = excerpt(&json!(["x".repeat(100_000)]));
        assert!(long.as_str().is_some_and(|text| text.len() < 3000 && text.ends_with('…')), "{long}");
        assert!(excerpt(&nested(100)).as_str().is_some_and(|text| text.contains('…')));
    }
}
