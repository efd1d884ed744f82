//! How the client merges message metadata.

use serde_json::{Map, Value};

/// Objects are merged deeply, everything else is replaced. `None` where the client throws: something is merged into a value
/// that has no keys.
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

/// What JavaScript finds in a value when it spreads it.
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
