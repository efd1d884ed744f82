//! An OpenAPI description: its operations, where they are, and what they ask for.

use std::{sync::mpsc, thread, time::Duration};

use holdpoint_protocol::json::{self, JsonLimits, ReadError};
use serde_json::Value;

use super::{
    operation::Operation,
    schema::Schemas,
    security::{Credential, Headers, Security},
};

/// The methods of operations.
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];
/// How many operations are read.
const MAX_OPERATIONS: usize = 1000;
/// How much JSON is read. The YAML parser has a similar limit of levels.
const LIMITS: JsonLimits = JsonLimits { levels: 120, nodes: 2_000_000 };
/// How many brackets may be open in a line of YAML. Only texts have some that are never closed.
const MAX_OPEN: usize = 500;
/// How long the YAML parser may take: some YAML takes it the square of its length.
const PARSE_TIMEOUT: Duration = Duration::from_secs(20);

/// An API.
pub(super) struct Api {
    pub(super) title: String,
    pub(super) calls: Vec<Call>,
    pub(super) notes: Vec<String>,
}

/// An operation, with where it is and what is sent with it.
pub(super) struct Call {
    pub(super) operation: Operation,
    /// As in the description: `GET /pets`.
    pub(super) label: String,
    pub(super) base: String,
    pub(super) headers: Headers,
}

impl Api {
    pub(super) fn read(bytes: Vec<u8>, base: Option<&str>) -> Result<Self, String> {
        let root = parse(bytes, PARSE_TIMEOUT)?;
        let version = root.get("openapi").and_then(Value::as_str).unwrap_or_default();
        if !version.starts_with("3.") {
            return Err("not an OpenAPI description of version 3: `openapi` must be 3.0 or 3.1".to_owned());
        }
        let given = base.map(|base| whole(base, None)).transpose()?;
        let usual = match &given {
            Some(base) => base.clone(),
            None => server(&root).ok_or("`servers` has no whole URL: say where the API is with --base-url")??,
        };
        let title = root.pointer("/info/title").and_then(Value::as_str).unwrap_or("an API").to_owned();
        let security = Security::new(&root, &title);
        let mut schemas = Schemas::new(&root);
        let (mut calls, mut notes) = (Vec::new(), Vec::new());
        let paths = root.get("paths").and_then(Value::as_object).into_iter().flatten();
        let operations = paths.flat_map(|(path, item)| METHODS.map(|method| (path, item, method)));
        for (path, item, method) in operations {
            let item = schemas.target(item);
            let Some(operation) = item.get(method) else { continue };
            if calls.len() == MAX_OPERATIONS {
                notes.push(format!("only the first {MAX_OPERATIONS} operations were read"));
                break;
            }
            let label = format!("{} {path}", method.to_uppercase());
            let own = if given.is_some() { None } else { server(operation).or_else(|| server(item)) };
            let read = own.transpose().and_then(|own| {
                let mut operation = Operation::read(path, method, item, operation, &mut schemas)?;
                let base = own.unwrap_or_else(|| usual.clone());
                if base != usual {
                    operation.notes.push(format!("it is called at {base}, which is not where the others are"));
                }
                Ok((base, operation))
            });
            let (base, mut read) = match read {
                Ok(read) => read,
                Err(problem) => {
                    notes.push(format!("{label} is left out: {problem}"));
                    continue;
                }
            };
            let headers = match security.of(operation) {
                Credential::Headers(headers) => headers,
                Credential::Unknown => {
                    read.notes.push("its credential can't be set here: add `headers` to it".to_owned());
                    Headers::new()
                }
            };
            calls.push(Call { operation: read, label, base, headers });
        }
        Ok(Self { title, calls, notes })
    }
}

/// Parses YAML, of which JSON is a part, within this time.
fn parse(bytes: Vec<u8>, timeout: Duration) -> Result<Value, String> {
    // JSON has a parser that is fast whatever it gets. What is not JSON may be YAML.
    match json::parse_within(&bytes, LIMITS) {
        Ok(root) => return Ok(root),
        Err(ReadError::Syntax(_)) => {}
        Err(beyond) => return Err(beyond.to_string()),
    }
    // The parser of YAML notices only at the end, and gets there slowly.
    if bytes.split(|byte| *byte == b'\n').any(|line| open_brackets(line) > MAX_OPEN) {
        return Err(ReadError::TooDeep { limit: LIMITS.levels }.to_string());
    }
    let (sender, parsed) = mpsc::channel();
    // It can't be stopped. It ends with the process, which has nothing else to do.
    thread::spawn(move || {
        let read: Result<Value, _> = serde_yaml_ng::from_slice(&bytes);
        let _ = sender.send(read.map_err(|error| error.to_string()));
    });
    let late = || format!("it can't be read within {} s: is it nested very deeply?", timeout.as_secs_f32());
    parsed.recv_timeout(timeout).unwrap_or_else(|_| Err(late()))
}

/// How many brackets are open at once in a line, at most.
fn open_brackets(line: &[u8]) -> usize {
    let mut open: usize = 0;
    let after = line.iter().map(|byte| {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open
    });
    after.max().unwrap_or_default()
}

/// Where a description, a path or an operation says that it is.
fn server(of: &Value) -> Option<Result<String, String>> {
    let server = of.pointer("/servers/0")?;
    Some(whole(server.get("url").and_then(Value::as_str).unwrap_or_default(), server.get("variables")))
}

/// A base URL, with the defaults of its variables.
fn whole(url: &str, variables: Option<&Value>) -> Result<String, String> {
    let mut whole = url.trim().trim_end_matches('/').to_owned();
    for (name, variable) in variables.and_then(Value::as_object).into_iter().flatten() {
        if let Some(default) = variable.get("default").and_then(Value::as_str) {
            whole = whole.replace(&format!("{{{name}}}"), default);
        }
    }
    if !whole.starts_with("http://") && !whole.starts_with("https://") {
        return Err(format!("{url:?} is not a whole URL: say where the API is with --base-url"));
    }
    if whole.contains(['{', '}']) {
        return Err(format!("the URL {url} has variables without a default: say where the API is with --base-url"));
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_that_takes_too_long_is_given_up() {
        let slow = "- [1, 2]\n".repeat(200_000);
        let error = parse(slow.into_bytes(), Duration::ZERO).unwrap_err();
        assert!(error.contains("can't be read within"), "{error}");
        let yaml = format!("openapi: 3.0.0\npaths: {}", "[".repeat(100_000));
        let json = format!("{{\"paths\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        for deep in [yaml, json] {
            let error = parse(deep.into_bytes(), Duration::ZERO).unwrap_err();
            assert!(error.contains("nested deeper than 120 levels"), "{error}");
        }
        assert_eq!(parse(b"a: 1".to_vec(), PARSE_TIMEOUT), Ok(serde_json::json!({"a": 1})));
    }

    #[test]
    fn a_server_has_a_whole_url() {
        let variables = serde_json::json!({"a": {"default": "eu"}, "b": {}});
        assert_eq!(whole("https://{a}.example/v1/", Some(&variables)).as_deref(), Ok("https://eu.example/v1"));
        assert!(whole("https://{b}.example", Some(&variables)).is_err());
        assert!(whole("/v1", None).is_err() && whole("", None).is_err());
    }
}
