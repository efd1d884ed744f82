//! One operation of an OpenAPI description, as the input of a tool.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::schema::Schemas;

/// Characters of a description.
const MAX_DESCRIPTION: usize = 1000;

/// An operation.
pub(super) struct Operation {
    pub(super) id: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    pub(super) method: String,
    /// The path, with `{field}` for fields of the input, and required parameters of the query.
    pub(super) path: String,
    pub(super) send: Option<&'static str>,
    pub(super) tags: Vec<String>,
    pub(super) schema: Value,
    pub(super) notes: Vec<String>,
}

/// A parameter.
struct Parameter<'a> {
    name: &'a str,
    place: &'a str,
    is_required: bool,
    value: &'a Value,
}

/// The fields of a body.
struct Body {
    fields: Map<String, Value>,
    required: Vec<Value>,
}

impl Operation {
    pub(super) fn read<'a>(
        path: &str,
        method: &str,
        item: &'a Value,
        operation: &'a Value,
        schemas: &mut Schemas<'a>,
    ) -> Result<Self, String> {
        let text =
            |key: &str| operation.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        // Notes of an operation that was left out.
        schemas.take_notes();
        let mut notes = Vec::new();
        let body = match operation.get("requestBody") {
            Some(body) => body_of(schemas.target(body), schemas, &mut notes)?,
            None => None,
        };
        let parameters = parameters_of(item, operation, schemas);
        let is_post = matches!(method, "post" | "put" | "patch");
        let has_query = parameters.iter().any(|parameter| parameter.place == "query");
        // What is sent as JSON has no place in the query, and the other way round.
        let is_json = body.is_some() || (is_post && !has_query);
        let (mut fields, mut required) = (Map::new(), Vec::new());
        let mut path = path.to_owned();
        let mut in_url = Vec::new();
        for parameter in parameters {
            match parameter.place {
                "path" => in_url.push(parameter),
                "query" if !is_json => {
                    fields.insert(parameter.name.to_owned(), parameter.schema(schemas));
                    required.extend(parameter.is_required.then(|| json!(parameter.name)));
                }
                "query" if parameter.is_required => in_url.push(parameter),
                place if parameter.is_required => {
                    return Err(format!("the parameter {:?} is in the {place}, and is required", parameter.name));
                }
                place => notes.push(format!("the parameter {:?}, in the {place}, is left out", parameter.name)),
            }
        }
        if let Some(body) = body {
            fields.extend(body.fields);
            required.extend(body.required);
        }
        // The endpoint does not see the names of what is in the URL, so these make room for the others.
        let mut query = Vec::new();
        let mut seen = BTreeSet::new();
        for parameter in in_url {
            let name = free_name(&parameter, &fields);
            if name != parameter.name {
                notes.push(format!("the parameter {:?} of the {} is called {name:?}", parameter.name, parameter.place));
            }
            match parameter.place {
                "path" => {
                    let (old, new) = (format!("{{{}}}", parameter.name), format!("{{{name}}}"));
                    if !path.contains(&old) {
                        notes.push(format!("the parameter {:?} is not in the path, and is left out", parameter.name));
                        continue;
                    }
                    path = path.replace(&old, &new);
                }
                _ => query.push(format!("{}={{{name}}}", escaped(parameter.name))),
            }
            let schema = parameter.schema(schemas);
            if matches!(schema.get("type").and_then(Value::as_str), Some("array" | "object")) {
                return Err(format!("the parameter {:?} of the {} is not one value", parameter.name, parameter.place));
            }
            fields.insert(name.clone(), schema);
            required.push(json!(name));
            seen.insert(name);
        }
        for name in undeclared(&path, &seen) {
            notes.push(format!("the parameter {name:?} of the path is not described: it is taken for a text"));
            fields.insert(name.clone(), json!({"type": "string"}));
            required.push(json!(name));
        }
        let mut schema = json!({"type": "object", "properties": fields});
        if !required.is_empty() {
            schema["required"] = Value::Array(required);
        }
        notes.extend(schemas.take_notes());
        let title = text("summary").map(short);
        let description = text("description").map(short).or_else(|| title.clone());
        let separator = if path.contains('?') { "&" } else { "?" };
        let query = if query.is_empty() { String::new() } else { format!("{separator}{}", query.join("&")) };
        let tags = operation.get("tags").and_then(Value::as_array).into_iter().flatten();
        Ok(Self {
            id: text("operationId").map_or_else(|| made_up(method, &path), str::to_owned),
            description: description.unwrap_or_else(|| format!("{} {path}", method.to_uppercase())),
            title,
            method: method.to_uppercase(),
            path: format!("{path}{query}"),
            send: (is_json != is_post).then_some(if is_json { "json" } else { "query" }),
            tags: tags.filter_map(Value::as_str).map(str::to_owned).collect(),
            schema,
            notes,
        })
    }
}

/// The parameters, each once: a parameter of the operation overrides the one of the path.
fn parameters_of<'a>(item: &'a Value, operation: &'a Value, schemas: &Schemas<'a>) -> Vec<Parameter<'a>> {
    let mut parameters: Vec<Parameter<'a>> = Vec::new();
    let all = [item, operation].into_iter().filter_map(|of| of.get("parameters")?.as_array()).flatten();
    for value in all.map(|value| schemas.target(value)) {
        let field = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, place) = (field("name"), field("in"));
        if name.is_empty() {
            continue;
        }
        let is_required = place == "path" || value.get("required") == Some(&Value::Bool(true));
        let parameter = Parameter { name, place, is_required, value };
        match parameters.iter_mut().find(|other| (other.name, other.place) == (name, place)) {
            Some(other) => *other = parameter,
            None => parameters.push(parameter),
        }
    }
    parameters
}

impl<'a> Parameter<'a> {
    fn schema(&self, schemas: &mut Schemas<'a>) -> Value {
        let mut schema = self.value.get("schema").map_or_else(|| json!({}), |schema| schemas.whole(schema));
        if let (Some(map), Some(said)) = (schema.as_object_mut(), self.value.get("description")) {
            map.entry("description").or_insert_with(|| short(said.as_str().unwrap_or_default()).into());
        }
        schema
    }
}

/// A name that a URL takes, and that no other field has.
fn free_name(parameter: &Parameter<'_>, fields: &Map<String, Value>) -> String {
    let is_usual = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let plain: String = parameter.name.chars().map(|char| if is_usual(char) { char } else { '_' }).collect();
    let mut name = plain.clone();
    let mut number = 1;
    while fields.contains_key(&name) {
        name = match number {
            1 => format!("{}_{plain}", parameter.place),
            _ => format!("{}_{plain}_{number}", parameter.place),
        };
        number += 1;
    }
    name
}

/// The fields of a path that no parameter describes, if they have names that a URL takes.
fn undeclared(path: &str, known: &BTreeSet<String>) -> BTreeSet<String> {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
    // A name after a dollar sign is not a field, and is refused with the whole path.
    let names = names.filter(|name| !name.is_empty() && !path.contains(&format!("${{{name}}}")));
    names.filter(|name| !known.contains(*name)).map(str::to_owned).collect()
}

/// The fields of a body. Only an object can be one, since the input of a tool is.
fn body_of<'a>(body: &'a Value, schemas: &mut Schemas<'a>, notes: &mut Vec<String>) -> Result<Option<Body>, String> {
    let content = body.get("content").and_then(Value::as_object);
    let json = content.into_iter().flatten().find(|(kind, _)| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind == "application/json" || kind.ends_with("+json")
    });
    let is_required = body.get("required") == Some(&Value::Bool(true));
    let Some(schema) = json.and_then(|(_, media)| media.get("schema")) else {
        if is_required {
            return Err("its body is not JSON".to_owned());
        }
        notes.push("its body is not JSON, and is left out".to_owned());
        return Ok(None);
    };
    let schema = merged(schemas.whole(schema));
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return Err("its body is not an object with known fields".to_owned());
    };
    let required = schema.get("required").and_then(Value::as_array).filter(|_| is_required);
    Ok(Some(Body { fields: fields.clone(), required: required.cloned().unwrap_or_default() }))
}

/// An object that is made of several, as one.
fn merged(schema: Value) -> Value {
    let Some(all) = schema.get("allOf").and_then(Value::as_array).cloned() else { return schema };
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in all.into_iter().map(merged).chain([schema]) {
        let fields = part.get("properties").and_then(Value::as_object).into_iter().flatten();
        properties.extend(fields.map(|(name, field)| (name.clone(), field.clone())));
        for name in part.get("required").and_then(Value::as_array).into_iter().flatten() {
            if !required.contains(name) {
                required.push(name.clone());
            }
        }
    }
    json!({"type": "object", "properties": properties, "required": required})
}

fn made_up(method: &str, path: &str) -> String {
    let words = path.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(method).chain(words).collect::<Vec<_>>().join("_")
}

/// A name in a query, in a URL that is a template.
fn escaped(name: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

/// A text on one line.
fn short(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_DESCRIPTION).collect()
}
