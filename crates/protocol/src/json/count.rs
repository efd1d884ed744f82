//! The number of values in a JSON text, without building any.

use serde_json::Value;

/// The number of values in a JSON text, or a little more: what memory it takes once it is parsed depends on it. The text need
/// not be valid.
pub fn count_values(text: &[u8]) -> usize {
    let (begun, further) = count(text);
    1 + begun + further
}

/// The memory that a JSON text takes at most once it is parsed and kept, beside its strings. Other than [`parsed_bytes`], it
/// tells values that begin an array or an object, which reserve room for several, from those that follow in one.
pub fn kept_bytes(text: &[u8]) -> usize {
    let (begun, further) = count(text);
    begun.saturating_mul(BEGUN_BYTES).saturating_add(further.saturating_mul(FURTHER_BYTES))
}

/// The memory that a value takes, its strings included.
pub fn kept_bytes_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => {
            let within: usize = items.iter().map(kept_bytes_of).sum();
            BEGUN_BYTES + items.len() * FURTHER_BYTES + within
        }
        Value::Object(fields) => {
            let within: usize = fields.iter().map(|(key, field)| key.len() + kept_bytes_of(field)).sum();
            BEGUN_BYTES + fields.len() * FURTHER_BYTES + within
        }
        Value::String(text) => text.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The number of arrays and objects, and of further values in them.
fn count(text: &[u8]) -> (usize, usize) {
    let (mut begun, mut further, mut at) = (0, 0, 0);
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => begun += 1,
            b',' => further += 1,
            b'"' => at += string_length(&text[at..]),
            _ => {}
        }
    }
    (begun, further)
}

/// The memory of a value of JSON, at most. Nested arrays take the most: each reserves room for four values.
const VALUE_BYTES: usize = 304;
/// The memory of an array or an object with a first value, and of each further value.
const BEGUN_BYTES: usize = 500;
const FURTHER_BYTES: usize = 80;

/// The memory that a JSON text takes once it is parsed, beside itself: up to 150 times its own size. Nothing is parsed to
/// find out.
pub fn parsed_bytes(text: &[u8]) -> usize {
    count_values(text).saturating_mul(VALUE_BYTES)
}

/// The length of a string with its closing quote.
fn string_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &text[at..]) {
        at += found + 1;
        if text[at - 1] == b'"' {
            return at;
        }
        // What follows is escaped.
        at = (at + 1).min(text.len());
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_counted() {
        for (text, values) in [
            ("1", 1..=1),
            ("[]", 1..=2),
            ("[1,2,3]", 4..=5),
            ("[[[[]]]]", 4..=5),
            (r#"{"a":{},"b":[{}]}"#, 4..=6),
            (r#""a,[{\",[,""#, 1..=1),
            (r#"{"a,b":"[[[[","c\\":[1]}"#, 4..=4),
            ("", 1..=1),
            ("\"", 1..=1),
            ("\"\\", 1..=1),
        ] {
            let counted = count_values(text.as_bytes());
            assert!(values.contains(&counted), "{text}: {counted}");
        }
    }
}
