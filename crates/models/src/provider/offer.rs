//! Tools as a provider takes them. OpenAI and Anthropic refuse a whole request for one schema that they do not take, and Chat
//! Completions for too many tools.
//!
//! What is changed here is only what the model sees: an input is checked by the tool's own schema.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::wire::Api;
use holdpoint_core::tool::ToolSpec;

/// As many tools does Chat Completions take: <https://platform.openai.com/docs/api-reference/chat/create>.
const MAX_CHAT_TOOLS: usize = 128;
/// What of a schema goes into the description at most, in bytes.
const MAX_NOTE_BYTES: usize = 4000;
/// Combinators that are not taken at the top of a schema.
const COMBINATORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords whose value is a schema, a list of schemas, or an object with schemas as its values.
const SUBSCHEMAS: [&str; 16] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "additionalItems",
    "contentSchema",
];
const NAMED_SUBSCHEMAS: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
/// How many references are followed.
const MAX_REFERENCES: usize = 16;

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
}

/// A tool that the model is not offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tool {name} is not offered to the model: {why}")]
pub struct NotOffered {
    /// Its name.
    pub name: String,
    /// Why, and what to do.
    pub why: String,
}

/// The tools that this API takes, in their order, and those that it does not.
pub(super) fn offer<'a>(
    api: Api,
    tools: impl IntoIterator<Item = &'a ToolSpec>,
) -> (Vec<OfferedTool>, Vec<NotOffered>) {
    let (mut offered, mut left_out) = (Vec::new(), Vec::new());
    for tool in tools {
        match normalised(api, tool) {
            Ok(normalised) => offered.push((tool, normalised)),
            Err(why) => left_out.push(NotOffered { name: tool.name.clone(), why }),
        }
    }
    if api == Api::Chat && offered.len() > MAX_CHAT_TOOLS {
        // Always the same ones: the program's own tools stay before those of MCP servers, and then the order decides.
        let mut ranked: Vec<usize> = (0..offered.len()).collect();
        ranked.sort_by_key(|at| (offered[*at].0.origin.is_some(), *at));
        let surplus: HashSet<usize> = ranked.split_off(MAX_CHAT_TOOLS).into_iter().collect();
        let all = offered.len();
        let mut at = 0;
        offered.retain(|(tool, _)| {
            let is_kept = !surplus.contains(&at);
            at += 1;
            if !is_kept {
                let why = format!(
                    "Chat Completions takes {MAX_CHAT_TOOLS} tools, and there are {all}. Leave tools out, or use model.api = \"responses\" where that is offered"
                );
                left_out.push(NotOffered { name: tool.name.clone(), why });
            }
            is_kept
        });
    }
    (offered.into_iter().map(|(_, offered)| offered).collect(), left_out)
}

fn normalised(api: Api, tool: &ToolSpec) -> Result<OfferedTool, String> {
    let (mut schema, mut description) = (tool.input.as_value().clone(), tool.description.clone());
    if schema == true {
        schema = json!({});
    }
    let Some(fields) = schema.as_object_mut() else {
        return Err("its schema is not an object".to_owned());
    };
    follow(fields);
    if !takes_objects(fields) {
        return Err("its schema does not take an object, and the input of a tool is one".to_owned());
    }
    fields.insert("type".to_owned(), json!("object"));
    // The others take them.
    if matches!(api, Api::Chat | Api::Responses | Api::Messages) {
        unite(fields, &mut description);
    }
    if matches!(api, Api::Chat | Api::Responses) {
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    complete_arrays(fields);
    if api == Api::Messages
        && let Some(name) = properties(fields).find(|name| !is_property_of_anthropic(name))
    {
        return Err(format!(
            "Anthropic takes no property named {name:?} (letters, digits, `_`, `.` and `-`, at most 64)"
        ));
    }
    Ok(OfferedTool { name: tool.name.clone(), description, schema })
}

/// Says of every array that its items can be anything, where the schema says nothing of them: OpenAI refuses a request with
/// "array schema missing items".
fn complete_arrays(fields: &mut Map<String, Value>) {
    let is_array = match fields.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        kind => kind.is_some_and(|kind| kind == "array"),
    };
    if is_array {
        fields.entry("items").or_insert_with(|| json!({}));
    }
    for (key, value) in fields.iter_mut() {
        match value {
            Value::Object(named) if NAMED_SUBSCHEMAS.contains(&key.as_str()) => {
                named.values_mut().filter_map(Value::as_object_mut).for_each(complete_arrays);
            }
            Value::Object(schema) if SUBSCHEMAS.contains(&key.as_str()) => complete_arrays(schema),
            Value::Array(schemas) if SUBSCHEMAS.contains(&key.as_str()) => {
                schemas.iter_mut().filter_map(Value::as_object_mut).for_each(complete_arrays);
            }
            _ => {}
        }
    }
}

fn properties(fields: &Map<String, Value>) -> impl Iterator<Item = &String> {
    fields.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys)
}

/// "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
fn is_property_of_anthropic(name: &str) -> bool {
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(is_taken)
}

/// Whether an object can be valid. A schema without a type takes everything.
fn takes_objects(fields: &Map<String, Value>) -> bool {
    match fields.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
    }
}

/// Puts what the schema refers to in its own place: a reference at the top says nothing of a type.
fn follow(fields: &mut Map<String, Value>) {
    for _ in 0..MAX_REFERENCES {
        let Some(reference) = fields.get("$ref").and_then(Value::as_str) else { return };
        let Some(pointer) = reference.strip_prefix('#') else { return };
        let whole = Value::Object(fields.clone());
        let Some(Value::Object(target)) = whole.pointer(pointer) else { return };
        fields.remove("$ref");
        for (key, value) in target {
            fields.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// Takes combinators from the top: the model sees the properties of all of them, and in the description what they say.
fn unite(fields: &mut Map<String, Value>, description: &mut String) {
    let mut taken = Map::new();
    for name in COMBINATORS {
        let Some(alternatives) = fields.remove(name) else { continue };
        for alternative in alternatives.as_array().into_iter().flatten() {
            let mut own = alternative.as_object().cloned().unwrap_or_default();
            // References are relative to the whole schema.
            if let Some(definitions) = ["$defs", "definitions"].iter().find_map(|key| fields.get_key_value(*key)) {
                own.entry(definitions.0.clone()).or_insert_with(|| definitions.1.clone());
            }
            follow(&mut own);
            let properties = fields.entry("properties").or_insert_with(|| json!({}));
            if let (Some(properties), Some(Value::Object(more))) = (properties.as_object_mut(), own.get("properties")) {
                for (key, value) in more {
                    properties.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
            // What all of them require is required.
            if name == "allOf"
                && let Some(Value::Array(more)) = own.get("required")
            {
                let required = fields.entry("required").or_insert_with(|| json!([]));
                if let Some(required) = required.as_array_mut() {
                    let more: Vec<Value> = more.iter().filter(|name| !required.contains(name)).cloned().collect();
                    required.extend(more);
                }
            }
        }
        taken.insert(name.to_owned(), alternatives);
    }
    // These are not taken at the top either.
    for name in ["not", "enum", "const", "if", "then", "else"] {
        taken.extend(fields.remove(name).map(|value| (name.to_owned(), value)));
    }
    if taken.is_empty() {
        return;
    }
    let note = Value::Object(taken).to_string();
    let note = if note.len() <= MAX_NOTE_BYTES { note } else { "(too long to be shown)".to_owned() };
    let space = if description.is_empty() { "" } else { "\n\n" };
    description.push_str(&format!("{space}The input must also match this JSON Schema: {note}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_core::tool::InputSchema;
    use holdpoint_tools::{Tool, ToolContext};

    fn tool(name: &str, schema: Value) -> Tool {
        let tool = Tool::server(name, "Does it.", |_: Value, _: ToolContext| async { Ok(json!(1)) });
        let mut tool = tool.build().expect("a tool");
        let spec = std::sync::Arc::make_mut(&mut tool.spec);
        spec.input = InputSchema::new(schema).expect("a schema");
        tool
    }

    fn offered(api: Api, schema: Value) -> Result<OfferedTool, String> {
        normalised(api, &tool("t", schema).spec)
    }

    #[test]
    fn every_schema_of_an_object_is_taken() {
        for api in [Api::Chat, Api::Responses, Api::Messages] {
            for schema in [
                json!({}),
                json!({"properties": {"a": {"type": "string"}}}),
                json!({"type": ["object", "null"]}),
                json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", "properties": {"a": {}}}}}),
                json!({"type": "object", "anyOf": [{"required": ["a"]}, {"properties": {"b": {}}}]}),
                json!({"oneOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"type": "object", "properties": {"a": {}}}}}),
                json!({"type": "object", "not": {"required": ["a"]}}),
            ] {
                let offered = offered(api, schema.clone()).expect("taken");
                assert_eq!(offered.schema["type"], "object", "{schema}");
                for key in COMBINATORS.iter().chain(["$ref", "not"].iter()) {
                    assert!(offered.schema.get(key).is_none(), "{}", offered.schema);
                }
            }
        }
        let all = json!({"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]});
        let united = offered(Api::Messages, all.clone()).expect("taken");
        assert_eq!(united.schema, json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}));
        assert_eq!(united.description, format!("Does it.\n\nThe input must also match this JSON Schema: {all}"));
        // Gemini and Ollama take them as they are.
        let kept = offered(Api::Gemini, all.clone()).expect("taken");
        assert_eq!((&kept.schema["allOf"], kept.description.as_str()), (&all["allOf"], "Does it."));
    }

    #[test]
    fn every_array_says_what_its_items_are() {
        let tags = json!({"type": "array"});
        let schema = json!({
            "type": "object",
            "properties": {
                "tags": tags,
                "maybe": {"type": ["array", "null"]},
                "either": {"anyOf": [tags, {"type": "string"}]},
                "deep": {"type": "object", "properties": {"properties": {"type": "array", "items": {"type": "array"}}}},
                "items": {"type": "string", "default": tags, "enum": [tags]},
                "kept": {"type": "array", "items": {"type": "number"}},
            },
            "$defs": {"list": tags},
        });
        let any = json!({"type": "array", "items": {}});
        for api in [Api::Chat, Api::Responses, Api::Messages, Api::Gemini] {
            let offered = offered(api, schema.clone()).expect("taken").schema;
            let properties = &offered["properties"];
            assert_eq!((&properties["tags"], &offered["$defs"]["list"]), (&any, &any));
            assert_eq!(properties["maybe"], json!({"type": ["array", "null"], "items": {}}));
            assert_eq!(properties["either"]["anyOf"][0], any);
            assert_eq!(properties["deep"]["properties"]["properties"]["items"], any);
            // Data is not a schema.
            assert_eq!(properties["items"], schema["properties"]["items"]);
            assert_eq!(properties["kept"], schema["properties"]["kept"]);
        }
    }

    #[test]
    fn what_can_not_be_offered_is_left_out_with_its_reason() {
        for (api, schema) in [
            (Api::Chat, json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}})),
            (Api::Messages, json!({"type": "object", "properties": {"@id": {}}})),
        ] {
            let tool = tool("odd", schema);
            let (offered, left_out) = offer(api, [&*tool.spec]);
            assert_eq!((offered.len(), left_out.len()), (0, 1));
            assert!(left_out[0].to_string().contains("odd"), "{}", left_out[0]);
        }
        let tools: Vec<Tool> = (0..130).map(|at| tool(&format!("t{at}"), json!({"type": "object"}))).collect();
        let (offered, left_out) = offer(Api::Chat, tools.iter().map(|tool| &*tool.spec));
        let names: Vec<&str> = left_out.iter().map(|left_out| left_out.name.as_str()).collect();
        assert_eq!((offered.len(), names), (128, vec!["t128", "t129"]));
        assert_eq!(offer(Api::Responses, tools.iter().map(|tool| &*tool.spec)).1, []);
    }
}
