//! The operations of an OpenAPI description.

use serde_json::{Map, Value, json};

use super::schema::Schemas;

/// The methods of operations.
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];
/// How many operations are read.
const MAX_OPERATIONS: usize = 1000;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 1000;

/// An API.
pub(super) struct Api {
    pub(super) title: String,
    pub(super) base: String,
    /// The header with the credential.
    pub(super) header: Option<(String, String)>,
    pub(super) operations: Vec<Operation>,
    pub(super) notes: Vec<String>,
}

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

impl Api {
    pub(super) fn read(bytes: &[u8], base: Option<&str>) -> Result<Self, String> {
        let root: Value = serde_yaml_ng::from_slice(bytes).map_err(|error| error.to_string())?;
        let version = root.get("openapi").and_then(Value::as_str).unwrap_or_default();
        if !version.starts_with("3.") {
            return Err("not an OpenAPI description of version 3: `openapi` must be 3.0 or 3.1".to_owned());
        }
        let mut notes = Vec::new();
        let base = match base.or_else(|| root.pointer("/servers/0/url").and_then(Value::as_str)) {
            Some(base) if base.starts_with("http://") || base.starts_with("https://") => base.trim_end_matches('/'),
            _ => return Err("`servers` has no whole URL: say where the API is with --base-url".to_owned()),
        };
        if base.contains('{') {
            return Err(format!("the URL {base} has variables: say where the API is with --base-url"));
        }
        let mut schemas = Schemas::new(&root);
        let mut operations = Vec::new();
        let paths = root.get("paths").and_then(Value::as_object);
        for (path, item) in paths.into_iter().flatten() {
            let item = schemas.target(item);
            for method in METHODS {
                let Some(operation) = item.get(method) else { continue };
                if operations.len() == MAX_OPERATIONS {
                    notes.push(format!("only the first {MAX_OPERATIONS} operations were read"));
                    break;
                }
                match Operation::read(path, method, item, operation, &mut schemas) {
                    Ok(operation) => operations.push(operation),
                    Err(problem) => notes.push(format!("{} {path} is left out: {problem}", method.to_uppercase())),
                }
            }
        }
        let title = root.pointer("/info/title").and_then(Value::as_str).unwrap_or("an API").to_owned();
        let header = header(&root, &title, &mut notes);
        Ok(Self { title, base: base.to_owned(), header, operations, notes })
    }
}

impl Operation {
    fn read<'a>(
        path: &str,
        method: &str,
        item: &'a Value,
        operation: &'a Value,
        schemas: &mut Schemas<'a>,
    ) -> Result<Self, String> {
        let text =
            |key: &str| operation.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        let is_body = matches!(method, "post" | "put" | "patch");
        let (mut properties, mut required, mut notes) = (Map::new(), Vec::new(), Vec::new());
        let mut query = Vec::new();
        let parameters = [item, operation].into_iter().filter_map(|of| of.get("parameters")?.as_array()).flatten();
        for parameter in parameters {
            let parameter = schemas.target(parameter);
            let field = |key: &str| parameter.get(key).and_then(Value::as_str).unwrap_or_default();
            let (name, place) = (field("name"), field("in"));
            let is_required = place == "path" || parameter.get("required") == Some(&Value::Bool(true));
            match place {
                "path" => {}
                "query" if !is_body => {}
                "query" if is_required => query.push(format!("{name}={{{name}}}")),
                _ if is_required => return Err(format!("the parameter {name:?} is in the {place}, and is required")),
                _ => {
                    notes.push(format!("the parameter {name:?}, in the {place}, is left out"));
                    continue;
                }
            }
            let mut schema = parameter.get("schema").map_or_else(|| json!({}), |schema| schemas.whole(schema));
            if let (Some(map), Some(said)) = (schema.as_object_mut(), parameter.get("description")) {
                map.entry("description").or_insert_with(|| short(said.as_str().unwrap_or_default()).into());
            }
            if is_required && !required.contains(&json!(name)) {
                required.push(json!(name));
            }
            properties.insert(name.to_owned(), schema);
        }
        if let Some(body) = operation.get("requestBody") {
            body_of(schemas.target(body), schemas, &mut properties, &mut required)?;
        }
        let title = text("summary").map(short);
        let description = text("description").map(short).or_else(|| title.clone());
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = Value::Array(required);
        }
        Ok(Self {
            id: text("operationId").map_or_else(|| made_up(method, path), str::to_owned),
            description: description.unwrap_or_else(|| format!("{} {path}", method.to_uppercase())),
            title,
            method: method.to_uppercase(),
            path: format!("{path}{query}"),
            send: (!is_body && operation.get("requestBody").is_some()).then_some("json"),
            tags: operation
                .get("tags")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            schema,
            notes,
        })
    }
}

/// Adds the fields of a body. Only an object can be one, since the input of a tool is.
fn body_of<'a>(
    body: &'a Value,
    schemas: &mut Schemas<'a>,
    properties: &mut Map<String, Value>,
    required: &mut Vec<Value>,
) -> Result<(), String> {
    let content = body.get("content").and_then(Value::as_object);
    let json = content.into_iter().flatten().find(|(kind, _)| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind == "application/json" || kind.ends_with("+json")
    });
    let Some(schema) = json.and_then(|(_, media)| media.get("schema")) else {
        return match body.get("required") {
            Some(Value::Bool(true)) => Err("its body is not JSON".to_owned()),
            _ => Ok(()),
        };
    };
    let schema = merged(schemas.whole(schema));
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return Err("its body is not an object with known fields".to_owned());
    };
    for (name, field) in fields {
        if properties.contains_key(name) {
            return Err(format!("{name:?} is both a parameter and a field of the body"));
        }
        properties.insert(name.clone(), field.clone());
    }
    if body.get("required") == Some(&Value::Bool(true)) {
        required.extend(schema.get("required").and_then(Value::as_array).into_iter().flatten().cloned());
    }
    Ok(())
}

/// An object that is made of several, as one.
fn merged(schema: Value) -> Value {
    let Some(all) = schema.get("allOf").and_then(Value::as_array).cloned() else { return schema };
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in all.into_iter().map(merged).chain([schema]) {
        properties.extend(
            part.get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(name, field)| (name.clone(), field.clone())),
        );
        required.extend(part.get("required").and_then(Value::as_array).into_iter().flatten().cloned());
    }
    json!({"type": "object", "properties": properties, "required": required})
}

/// The header with the credential that the API asks for, if it is one that can be set.
fn header(root: &Value, title: &str, notes: &mut Vec<String>) -> Option<(String, String)> {
    let schemes = root.pointer("/components/securitySchemes").and_then(Value::as_object)?;
    let variable: String =
        title.to_ascii_uppercase().chars().filter(|char| char.is_ascii_alphanumeric() || *char == ' ').collect();
    let variable = variable.split_whitespace().collect::<Vec<_>>().join("_");
    let variable = if variable.is_empty() { "API_TOKEN".to_owned() } else { format!("{variable}_TOKEN") };
    let found = schemes.values().find_map(|scheme| {
        let field = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        match (field("type"), field("scheme").to_ascii_lowercase().as_str(), field("in")) {
            ("http", "bearer", _) | ("oauth2" | "openIdConnect", ..) => {
                Some(("authorization".to_owned(), format!("Bearer ${{{variable}}}")))
            }
            ("http", "basic", _) => Some(("authorization".to_owned(), format!("Basic ${{{variable}}}"))),
            ("apiKey", _, "header") => Some((field("name").to_ascii_lowercase(), format!("${{{variable}}}"))),
            _ => None,
        }
    });
    match &found {
        Some((name, _)) => notes.push(format!("the header `{name}` is sent with the environment variable {variable}")),
        None => notes.push("how the API knows its callers can't be set: add `headers` to the tools".to_owned()),
    }
    found
}

fn made_up(method: &str, path: &str) -> String {
    let words = path.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(method).chain(words).collect::<Vec<_>>().join("_")
}

/// A text on one line.
fn short(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_DESCRIPTION).collect()
}
