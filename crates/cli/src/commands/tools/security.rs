//! The headers with the credentials that an operation asks for.

use serde_json::{Map, Value};

/// Headers, by name.
pub(super) type Headers = Vec<(String, String)>;

/// The credentials of a description.
pub(super) struct Security<'a> {
    schemes: Option<&'a Map<String, Value>>,
    /// What an operation needs that does not say.
    usual: Option<&'a Value>,
    /// The beginning of the names of environment variables.
    prefix: String,
}

/// What is sent with an operation.
pub(super) enum Credential {
    /// These headers. There may be none.
    Headers(Headers),
    /// What it needs can't be set here.
    Unknown,
}

impl<'a> Security<'a> {
    pub(super) fn new(root: &'a Value, title: &str) -> Self {
        Self {
            schemes: root.pointer("/components/securitySchemes").and_then(Value::as_object),
            usual: root.get("security"),
            prefix: variable(title),
        }
    }

    /// The headers for an operation. Of several ways the first one that can be set is taken.
    pub(super) fn of(&self, operation: &Value) -> Credential {
        let Some(ways) = operation.get("security").or(self.usual).and_then(Value::as_array) else {
            return self.undeclared();
        };
        let ways: Vec<&Map<String, Value>> = ways.iter().filter_map(Value::as_object).collect();
        let found = ways.iter().filter(|way| !way.is_empty()).find_map(|way| self.headers(way.keys()));
        let is_open = ways.iter().all(|way| way.is_empty()) || ways.iter().any(|way| way.is_empty());
        match found {
            Some(headers) => Credential::Headers(headers),
            None if is_open => Credential::Headers(Headers::new()),
            None => Credential::Unknown,
        }
    }

    /// Many descriptions define how callers are known, and forget to say where.
    fn undeclared(&self) -> Credential {
        let Some(schemes) = self.schemes.filter(|schemes| !schemes.is_empty()) else {
            return Credential::Headers(Headers::new());
        };
        let first = schemes.keys().find_map(|name| self.headers([name]));
        first.map_or(Credential::Unknown, Credential::Headers)
    }

    /// The headers for all of these schemes, if each of them can be set.
    fn headers<'b>(&self, names: impl IntoIterator<Item = &'b String>) -> Option<Headers> {
        let mut headers = Headers::new();
        for name in names {
            let header = self.header(name)?;
            if headers.iter().any(|(other, _)| *other == header.0) {
                return None;
            }
            headers.push(header);
        }
        Some(headers)
    }

    fn header(&self, name: &str) -> Option<(String, String)> {
        let schemes = self.schemes?;
        let scheme = schemes.get(name)?;
        let field = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        let middle = if schemes.len() > 1 { variable(name) } else { String::new() };
        // The title is the description's own: "GitHub" must not take the `GITHUB_TOKEN` that is there for something else.
        let parts = [self.prefix.as_str(), &middle, "TOOLS_TOKEN"].into_iter().filter(|part| !part.is_empty());
        let parts: Vec<&str> = parts.collect();
        let parts = if parts.len() == 1 { vec!["API", "TOOLS_TOKEN"] } else { parts };
        let value = format!("${{{}}}", parts.join("_"));
        match (field("type"), field("scheme").to_ascii_lowercase().as_str(), field("in")) {
            ("http", "bearer", _) | ("oauth2" | "openIdConnect", ..) => {
                Some(("authorization".to_owned(), format!("Bearer {value}")))
            }
            ("http", "basic", _) => Some(("authorization".to_owned(), format!("Basic {value}"))),
            _ if !is_plain(field("name")) => None,
            ("apiKey", _, "header") => Some((field("name").to_ascii_lowercase(), value)),
            ("apiKey", _, "cookie") => Some(("cookie".to_owned(), format!("{}={value}", field("name")))),
            _ => None,
        }
    }
}

/// Whether a name of a header or a cookie is that and nothing else. In the settings, `${NAME}` would be another variable
/// of the environment, and `;` and `=` would be another cookie.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#%&'*+-.^_|~".contains(&byte))
}

/// A text as a part of the name of a variable.
fn variable(text: &str) -> String {
    let text = text.to_ascii_uppercase();
    let words = text.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}
