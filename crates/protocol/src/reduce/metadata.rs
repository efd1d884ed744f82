//! Merging of message metadata, as the client does it.

use serde_json::{Map, Value};

/// Merges objects deeply and replaces everything else. `None` where the client throws: when merging into a value
/// without keys.
pub(super) fn merge(base: &Value, over: &Value) -> Option<Value> {
    let mut merged = entries(base);
    for (key, value) in entries(over) {
        if matches!(&*key, "__proto__" | "constructor" | "prototype") {
            continue;
        }
        if !matches!(base, Value::Object(_) | Value::Array(_)) {
            return None;
        }
        let value = match merged.get(&key) {
            Some(old @ Value::Object(_)) if value.is_object() => merge(old, &value)?,
            _ => value,
        };
        merged.insert(key, value);
    }
    Some(Value::Object(merged))
}

/// The entries that a JavaScript spread finds in a value.
fn entries(value: &Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map.clone(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item.clone())).collect(),
        Value::String(text) => {
            text.chars().enumerate().map(|(at, char)| (at.to_string(), Value::String(char.to_string()))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Map::new(),
    }
}
