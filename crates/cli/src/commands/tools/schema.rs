//! JSON Schemas of an OpenAPI description, with everything that they refer to in place, within bounds.

use holdpoint_runtime::tool::InputSchema;
use serde_json::{Map, Value, json};

/// How deep a schema is followed. What refers to itself ends here.
const MAX_DEPTH: usize = 10;
/// How many values all schemas of a description may become.
const MAX_NODES: usize = 200_000;

/// What is kept of a schema, if it is what JSON Schema wants there. The rest is for people and for generators of code.
fn is_kept(key: &str, value: &Value) -> bool {
    const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    match key {
        "type" => is_type(value) || value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_type)),
        "title" | "description" | "format" | "pattern" => value.is_string(),
        "const" | "default" => true,
        "enum" => value.as_array().is_some_and(|all| !all.is_empty()),
        "required" => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => value.is_u64(),
        "uniqueItems" | "additionalProperties" => value.is_boolean(),
        _ => false,
    }
}

/// The keywords whose value is a list of schemas.
const LISTS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// Resolves the references of one description.
pub(super) struct Schemas<'a> {
    root: &'a Value,
    left: usize,
    notes: Vec<String>,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, left: MAX_NODES, notes: Vec::new() }
    }

    /// The value that a reference leads to, or the value itself. Only references within the description are followed.
    pub(super) fn target(&self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..MAX_DEPTH {
            let pointer = value.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
            match pointer.and_then(|pointer| self.root.pointer(pointer)) {
                Some(target) => value = target,
                None => return value,
            }
        }
        value
    }

    /// What was left out since the last time.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// A schema that stands by itself.
    pub(super) fn whole(&mut self, schema: &'a Value) -> Value {
        self.at(schema, 0)
    }

    fn at(&mut self, schema: &'a Value, depth: usize) -> Value {
        let Value::Object(schema) = self.target(schema) else { return json!({}) };
        if depth == MAX_DEPTH || self.left == 0 {
            return json!({});
        }
        self.left -= 1;
        let mut out = Map::new();
        for (key, value) in schema {
            let kept = match key.as_str() {
                "properties" => self.properties(value, depth),
                "items" => Some(self.at(value, depth + 1)),
                "additionalProperties" if value.is_object() => Some(self.at(value, depth + 1)),
                key if LISTS.contains(&key) => {
                    let all = value.as_array().filter(|all| !all.is_empty());
                    all.map(|all| Value::Array(all.iter().map(|one| self.at(one, depth + 1)).collect()))
                }
                "pattern" if value.is_string() && !is_pattern(value) => {
                    self.notes.push(format!("the pattern {value} is not supported, and is left out"));
                    None
                }
                key if is_kept(key, value) => self.copied(value),
                _ => None,
            };
            out.extend(kept.map(|kept| (key.clone(), kept)));
        }
        // In 3.0 they say whether the limit itself is out.
        for (limit, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
            if schema.get(exclusive) == Some(&Value::Bool(true))
                && let Some(value) = out.remove(limit)
            {
                out.insert(exclusive.to_owned(), value);
            }
        }
        if let Some(Value::Object(properties)) = out.get("properties") {
            let named = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let mut required: Vec<Value> = Vec::new();
            for name in named.chain(&self.required_by_themselves(schema)) {
                // A property that only the server writes is not an input.
                let is_there = name.as_str().is_some_and(|name| properties.contains_key(name));
                if is_there && !required.contains(name) {
                    required.push(name.clone());
                }
            }
            out.remove("required");
            if !required.is_empty() {
                out.insert("required".to_owned(), Value::Array(required));
            }
        }
        if schema.get("nullable") == Some(&Value::Bool(true))
            && let Some(kind @ Value::String(_)) = out.get("type").cloned()
        {
            out.insert("type".to_owned(), json!([kind, "null"]));
        }
        Value::Object(out)
    }

    /// Properties that say of themselves that they are required, as in other formats. People write it here too.
    fn required_by_themselves(&self, schema: &'a Map<String, Value>) -> Vec<Value> {
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let required =
            properties.filter(|(_, property)| self.target(property).get("required") == Some(&Value::Bool(true)));
        required.map(|(name, _)| json!(name)).collect()
    }

    fn properties(&mut self, value: &'a Value, depth: usize) -> Option<Value> {
        let mut out = Map::new();
        for (name, property) in value.as_object()? {
            let target = self.target(property);
            if target.get("readOnly") != Some(&Value::Bool(true)) {
                out.insert(name.clone(), self.at(property, depth + 1));
            }
        }
        Some(Value::Object(out))
    }

    /// A copy of a value that can be written as TOML. It counts too: references repeat it.
    fn copied(&mut self, value: &Value) -> Option<Value> {
        self.left = self.left.saturating_sub(size(value) - 1);
        if self.left == 0 { None } else { without_nulls(value) }
    }
}

/// How many values a value has in it, with itself.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Whether a pattern can be used in the schema of a tool.
fn is_pattern(pattern: &Value) -> bool {
    InputSchema::new(json!({"type": "object", "properties": {"text": {"pattern": pattern}}})).is_ok()
}

/// A value that can be written as TOML, which has no null.
fn without_nulls(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(values) => Some(Value::Array(values.iter().filter_map(without_nulls).collect())),
        Value::Object(map) => Some(Value::Object(
            map.iter().filter_map(|(key, value)| Some((key.clone(), without_nulls(value)?))).collect(),
        )),
        other => Some(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_put_in_place_and_end() {
        let root = json!({"components": {"schemas": {
            "Pet": {"type": "object", "required": ["id", "name"], "properties": {
                "id": {"type": "integer", "readOnly": true},
                "name": {"type": "string", "nullable": true, "example": "Rex", "default": null},
                "parent": {"$ref": "#/components/schemas/Pet"},
            }},
        }}});
        let schema = json!({"$ref": "#/components/schemas/Pet"});
        let whole = Schemas::new(&root).whole(&schema);
        assert_eq!(whole["required"], json!(["name"]));
        assert_eq!(whole["properties"]["name"], json!({"type": ["string", "null"]}));
        assert!(whole["properties"].get("id").is_none());
        let mut deep = &whole;
        for _ in 0..MAX_DEPTH {
            deep = &deep["properties"]["parent"];
        }
        assert_eq!(*deep, json!({}));
    }

    #[test]
    fn a_reference_to_itself_or_to_elsewhere_is_nothing() {
        let root = json!({"a": {"$ref": "#/a"}});
        for schema in [json!({"$ref": "#/a"}), json!({"$ref": "http://x/y.json"}), json!({"$ref": 5}), json!(null)] {
            assert_eq!(Schemas::new(&root).whole(&schema), json!({}), "{schema}");
        }
    }

    /// Each level has ten references to the next: without a bound they would become ten thousand million.
    #[test]
    fn schemas_do_not_grow_without_end() {
        let level = |next: usize| {
            let properties: Map<String, Value> =
                (0..10).map(|at| (at.to_string(), json!({"$ref": format!("#/{next}")}))).collect();
            json!({"type": "object", "properties": properties})
        };
        let root: Map<String, Value> = (0..10).map(|at| (at.to_string(), level(at + 1))).collect();
        let (root, schema) = (Value::Object(root), json!({"$ref": "#/0"}));
        let mut schemas = Schemas::new(&root);
        schemas.whole(&schema);
        assert_eq!(schemas.left, 0);
    }
}
