//! The JSON Schema of a tool's input: compiled once, checked before approval is requested.

use std::{fmt, sync::Arc};

use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use super::text::{field, plain, show};

/// How many problems are reported at once, and the length of the text.
const MAX_PROBLEMS: usize = 5;
const MAX_TEXT_CHARS: usize = 600;
/// Backtracking limit of a schema's patterns.
const MAX_BACKTRACKS: usize = 100_000;
/// Maximum depth of a schema, since compiling it recurses.
const MAX_DEPTH: usize = 64;

/// The JSON Schema of a tool's input.
#[derive(Clone)]
pub struct InputSchema {
    value: Arc<Value>,
    validator: Arc<Validator>,
}

/// Why a schema is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema does not describe an object.
    #[error(
        "the input of a tool is an object, and this schema is for something else: begin it with \
         {{\"type\": \"object\"}}, or derive it from a struct"
    )]
    NotAnObject,
    /// The schema is nested too deeply.
    #[error("the schema is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// The schema can't be compiled. References to other documents are not followed.
    #[error("{place}: {problem}")]
    Invalid {
        /// The location, as a JSON pointer into the schema.
        place: String,
        /// The problem.
        problem: String,
    },
}

impl InputSchema {
    /// A hand-written schema. Only internal references are followed.
    pub fn new(schema: Value) -> Result<Self, SchemaError> {
        let is_for_objects = match schema.get("type") {
            None => schema.is_object(),
            Some(Value::Array(types)) => types.iter().any(|name| name == "object"),
            Some(name) => name == "object" || !name.is_string(),
        };
        if !is_for_objects {
            return Err(SchemaError::NotAnObject);
        }
        if is_deeper_than(&schema, MAX_DEPTH) {
            return Err(SchemaError::TooDeep);
        }
        let patterns = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
        let validator = jsonschema::options().offline().with_pattern_options(patterns).build(&schema);
        let validator = validator.map_err(|error| SchemaError::Invalid {
            place: format!("#{}", error.instance_path().as_str()),
            problem: plain(&error.masked_with(show(error.instance())).to_string(), MAX_TEXT_CHARS),
        })?;
        Ok(Self { value: Arc::new(schema), validator: Arc::new(validator) })
    }

    /// The schema of a type. A type that can be anything stands for any object.
    pub fn of<T: JsonSchema>() -> Result<Self, SchemaError> {
        // Inline references, drop names of Rust types, always emit properties: some model providers reject the rest.
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let mut schema = settings.into_generator().into_root_schema_for::<T>();
        schema.remove("title");
        let schema = schema.to_value();
        let is_anything = schema == json!(true) || schema == json!({});
        let mut schema = if is_anything { json!({"type": "object"}) } else { schema };
        if schema["type"] == "object" && schema.get("properties").is_none() {
            schema["properties"] = json!({});
        }
        Self::new(schema)
    }

    /// Checks an input. The error is for the model and for people: it names each field and its problem.
    pub fn check(&self, input: &Value) -> Result<(), String> {
        if self.validator.is_valid(input) {
            return Ok(());
        }
        let mut problems: Vec<String> = Vec::new();
        for error in self.validator.iter_errors(input) {
            let problem = problem(&error);
            if problems.contains(&problem) {
                continue;
            }
            if problems.len() == MAX_PROBLEMS {
                problems.push("…".to_owned());
                break;
            }
            problems.push(problem);
        }
        Err(plain(&problems.join("; "), MAX_TEXT_CHARS))
    }

    /// Where an input first does not fit, as a JSON pointer; empty if it does, or if it is wrong as a whole.
    pub fn problem_at(&self, input: &Value) -> String {
        self.validator.iter_errors(input).next().map(|error| place(&error)).unwrap_or_default()
    }

    /// The schema itself.
    pub fn as_value(&self) -> &Value {
        &self.value
    }
}

impl fmt::Debug for InputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InputSchema").field(&self.value).finish()
    }
}

fn problem(error: &ValidationError<'_>) -> String {
    let name = field(&place(error));
    match error.kind() {
        ValidationErrorKind::Required { property: Value::String(_) } => format!("{name}: is required, and is missing"),
        _ => format!("{name}: {}", error.masked_with(show(error.instance()))),
    }
}

/// The field that is wrong or missing, as a JSON pointer.
fn place(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::Required { property: Value::String(name) } => {
            format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
        }
        _ => place.to_owned(),
    }
}

fn is_deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(values) => levels == 0 || values.iter().any(|value| is_deeper_than(value, levels - 1)),
        Value::Object(map) => levels == 0 || map.values().any(|value| is_deeper_than(value, levels - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Order {
        /// How much.
        amount: f64,
        note: Option<String>,
        lines: Vec<Line>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Line {
        count: u8,
    }

    #[test]
    fn a_type_gives_a_plain_schema() {
        let schema = InputSchema::of::<Order>().unwrap();
        let value = schema.as_value();
        assert_eq!(value["type"], "object");
        assert_eq!(value["required"], json!(["amount", "lines"]));
        assert_eq!(value["properties"]["amount"]["description"], "How much.");
        for noise in ["$schema", "$defs", "title"] {
            assert!(value.get(noise).is_none(), "{noise}");
        }
        assert_eq!(InputSchema::of::<Value>().unwrap().as_value(), &json!({"type": "object", "properties": {}}));
        assert_eq!(InputSchema::of::<()>().unwrap_err(), SchemaError::NotAnObject);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let schema = InputSchema::of::<Order>().unwrap();
        assert_eq!(schema.check(&json!({"amount": 5, "lines": [{"count": 1}], "extra": 1})), Ok(()));
        for (input, expected) in [
            (json!({"amount": "ten", "lines": []}), "amount: \"ten\" is not of type \"number\""),
            (json!({"lines": []}), "amount: is required, and is missing"),
            (json!({"amount": 1, "lines": [{"count": 1}, {}]}), "lines.1.count: is required, and is missing"),
            (json!({"amount": 1, "lines": [{"count": 300}]}), "lines.0.count: 300 is greater than the maximum of 255"),
            (json!("text"), "the input: \"text\" is not of type \"object\""),
            (json!(null), "the input: null is not of type \"object\""),
        ] {
            assert_eq!(schema.check(&input).unwrap_err(), expected);
        }
        let both = schema.check(&json!({"amount": "ten"})).unwrap_err();
        assert!(both.contains("amount: ") && both.contains("; ") && both.contains("lines: "), "{both}");
    }

    #[test]
    fn the_text_is_bounded() {
        let schema = InputSchema::of::<Order>().unwrap();
        let lines: Vec<Value> = (0..1000).map(|index| json!({ "count": "x".repeat(index) })).collect();
        let text = schema.check(&json!({"amount": "あ".repeat(1_000_000), "lines": lines})).unwrap_err();
        assert!(text.chars().count() <= MAX_TEXT_CHARS + 1, "{text}");
        let long = "k".repeat(100_000);
        let strict = InputSchema::new(json!({"type": "object", "additionalProperties": false})).unwrap();
        assert!(strict.check(&json!({ long: 1 })).unwrap_err().len() < 1000);
    }

    #[test]
    fn a_bad_schema_is_refused_with_where() {
        for (schema, part) in [
            (json!({"type": "object", "properties": {"a": {"type": "numbr"}}}), "#/properties/a/type: \"numbr\""),
            (json!({"type": "object", "properties": {"a": {"pattern": "(("}}}), "#/properties/a/pattern"),
            (json!({"type": "object", "required": "a"}), "#/required"),
            (json!({"type": 5}), "#/type"),
            (json!({"$ref": "https://example.com/other.json"}), "example.com"),
            (json!({"$ref": "#/$defs/nothing"}), "nothing"),
            (json!({"$ref": "file:///etc/passwd"}), "passwd"),
        ] {
            let text = InputSchema::new(schema).unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        }
        for schema in [json!(true), json!([]), json!("object"), json!({"type": "string"}), json!({"type": ["null"]})] {
            assert_eq!(InputSchema::new(schema).unwrap_err(), SchemaError::NotAnObject);
        }
        let deep = (0..100).fold(json!({"type": "object"}), |inner, _| json!({"not": inner}));
        assert_eq!(InputSchema::new(deep).unwrap_err(), SchemaError::TooDeep);
    }

    #[test]
    fn references_inside_the_schema_are_followed() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": {"next": {"$ref": "#"}, "id": {"$ref": "#/definitions/id"}},
            "definitions": {"id": {"type": "integer", "minimum": 1}}
        });
        let schema = InputSchema::new(schema).unwrap();
        assert_eq!(schema.check(&json!({"next": {"next": {"id": 1}}})), Ok(()));
        let text = schema.check(&json!({"next": {"next": {"id": 0}}})).unwrap_err();
        assert_eq!(text, "next.next.id: 0 is less than the minimum of 1");
    }

    #[test]
    fn a_schema_that_points_at_itself_does_no_harm() {
        if let Ok(schema) = InputSchema::new(json!({"$ref": "#"})) {
            let _ = schema.check(&json!({}));
        }
    }
}
