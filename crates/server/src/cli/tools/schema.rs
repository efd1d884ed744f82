//! JSON Schemas of an OpenAPI description, with everything that they refer to in place, within bounds.

use serde_json::{Map, Value, json};

/// How deep a schema is followed. What refers to itself ends here.
const MAX_DEPTH: usize = 10;
/// How many values all schemas of a description may become.
const MAX_NODES: usize = 200_000;

/// What is kept of a schema. The rest is for people and for generators of code.
const KEPT: [&str; 24] = [
    "type",
    "title",
    "description",
    "format",
    "const",
    "default",
    "required",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "enum",
    "properties",
    "items",
    "additionalProperties",
];
/// Those of them that are lists of schemas.
const LISTS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// Resolves the references of one description.
pub(super) struct Schemas<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, left: MAX_NODES }
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
                // In 3.0 they say whether the limit itself is out; the limit stays.
                "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => None,
                key if LISTS.contains(&key) => {
                    value.as_array().map(|all| Value::Array(all.iter().map(|one| self.at(one, depth + 1)).collect()))
                }
                key if KEPT.contains(&key) => without_nulls(value),
                _ => None,
            };
            out.extend(kept.map(|kept| (key.clone(), kept)));
        }
        // What only the server writes is no input.
        if let (Some(Value::Array(required)), Some(properties)) = (schema.get("required"), out.get("properties")) {
            let is_there = |name: &&Value| name.as_str().is_some_and(|name| properties.get(name).is_some());
            let required: Vec<Value> = required.iter().filter(is_there).cloned().collect();
            out.insert("required".to_owned(), Value::Array(required));
        }
        if schema.get("nullable") == Some(&Value::Bool(true))
            && let Some(kind @ Value::String(_)) = out.get("type").cloned()
        {
            out.insert("type".to_owned(), json!([kind, "null"]));
        }
        Value::Object(out)
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
