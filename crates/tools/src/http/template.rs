//! URL templates with fields of the input in the path and query.

use std::fmt::Write as _;

use reqwest::Url;
use serde_json::{Map, Value};

use crate::text::{plain, show};

/// How much is shown of the name of a field.
const MAX_NAME_CHARS: usize = 64;

/// Why a URL can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum TemplateError {
    #[error("the URL must begin with http:// or https:// and name a host")]
    NotHttp,
    #[error("the URL's host can't come from the input: the model would choose where to call")]
    FieldInHost,
    #[error("the URL must have no user and no password: put what is secret into `headers`")]
    UserInfo,
    #[error("the URL must have no `#` part: it is never sent")]
    Fragment,
    #[error(
        "`${{…}}` is not replaced in the URL of a tool, so no variable is read: write the host and path as they are, and put \
         what is secret into `headers`"
    )]
    Variable,
    #[error("unbalanced `{{` or `}}` in the URL, or not a field name between them")]
    Braces,
}

/// A piece of the path or the query.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(String),
}

/// A URL template.
#[derive(Debug, Clone)]
pub(super) struct Template {
    origin: Url,
    /// One list per path segment.
    path: Vec<Vec<Piece>>,
    query: Option<Vec<Piece>>,
}

impl Template {
    pub(super) fn read(text: &str) -> Result<Self, TemplateError> {
        // Before all else: of a host it would be said that it comes from the input.
        if text.contains("${") {
            return Err(TemplateError::Variable);
        }
        let (scheme, rest) = text.split_once("://").ok_or(TemplateError::NotHttp)?;
        let host_end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (host, rest) = rest.split_at(host_end);
        if host.contains(['{', '}']) {
            return Err(TemplateError::FieldInHost);
        }
        if host.contains('@') {
            return Err(TemplateError::UserInfo);
        }
        if rest.contains('#') {
            return Err(TemplateError::Fragment);
        }
        let origin = Url::parse(&format!("{scheme}://{host}/")).map_err(|_| TemplateError::NotHttp)?;
        if !matches!(origin.scheme(), "http" | "https") || !origin.has_host() {
            return Err(TemplateError::NotHttp);
        }
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let path = path.strip_prefix('/').unwrap_or(path);
        Ok(Self {
            origin,
            path: path.split('/').map(pieces).collect::<Result<_, _>>()?,
            query: query.map(pieces).transpose()?,
        })
    }

    /// Scheme, host and port.
    pub(super) fn origin(&self) -> &Url {
        &self.origin
    }

    /// The fields that it needs, each once.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> = Vec::new();
        for piece in self.path.iter().flatten().chain(self.query.iter().flatten()) {
            if let Piece::Field(name) = piece
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        names.into_iter()
    }

    /// The parameters of the query, without what the input makes of them.
    fn plain_query(&self) -> String {
        let plain = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            // No name of a parameter has it.
            Piece::Field(_) => "\u{0}".to_owned(),
        };
        self.query.iter().flatten().map(plain).collect()
    }

    /// The field that has the name of a parameter of the query, and would be sent beside it.
    pub(super) fn clash<'a>(&self, mut fields: impl Iterator<Item = &'a String>) -> Option<&'a String> {
        let mut url = self.origin.clone();
        url.set_query(Some(&self.plain_query()));
        let own: Vec<&str> = self.fields().collect();
        fields.find(|field| !own.contains(&field.as_str()) && is_set(&url, field))
    }

    /// Refuses a parameter whose name comes from the input if it is another one's.
    fn check_query(&self, url: &Url) -> Result<(), String> {
        let mut fixed = self.origin.clone();
        fixed.set_query(Some(&self.plain_query()));
        let pairs = url.query_pairs().zip(fixed.query_pairs()).enumerate();
        let named_by_input = pairs.filter(|(_, ((name, _), (fixed, _)))| name != fixed);
        for (at, ((name, _), _)) in named_by_input {
            let mut others = url.query_pairs().enumerate().filter(|(other, _)| *other != at);
            if others.any(|(_, (other, _))| base(&other) == base(&name)) {
                return Err(overrides(&name));
            }
        }
        Ok(())
    }

    /// The URL for this input. Removes the used fields from the input.
    pub(super) fn fill(&self, input: &mut Map<String, Value>) -> Result<Url, String> {
        let mut segments = Vec::with_capacity(self.path.len());
        for segment in &self.path {
            let text = fill(segment, input)?;
            // Such a segment would lead to a different path than the template's.
            let plain = text.to_ascii_lowercase().replace("%2e", ".");
            let has_field = segment.iter().any(|piece| matches!(piece, Piece::Field(_)));
            if has_field && matches!(plain.as_str(), "" | "." | "..") {
                return Err("a field that is a part of the URL's path is empty, `.` or `..`".to_owned());
            }
            segments.push(text);
        }
        let mut url = self.origin.clone();
        url.set_path(&segments.join("/"));
        if let Some(query) = &self.query {
            url.set_query(Some(&fill(query, input)?));
            self.check_query(&url)?;
        }
        for field in self.fields() {
            input.shift_remove(field);
        }
        Ok(url)
    }
}

/// Refuses fields that would be sent beside a parameter of the same name: many endpoints take the last one.
pub(super) fn check_names<'a>(url: &Url, mut fields: impl Iterator<Item = &'a String>) -> Result<(), String> {
    fields.find(|field| is_set(url, field)).map_or(Ok(()), |field| Err(overrides(field)))
}

fn overrides(name: &str) -> String {
    format!("{} can't be sent: the tool's URL sets it", plain(name, MAX_NAME_CHARS))
}

fn is_set(url: &Url, field: &str) -> bool {
    url.query_pairs().any(|(name, _)| base(&name) == base(field))
}

/// What an endpoint may take for the name of a parameter: some ignore case, and read `a[]` and `a[b]` as parts of `a`.
fn base(name: &str) -> String {
    name.split('[').next().unwrap_or_default().trim().to_lowercase()
}

fn pieces(text: &str) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(['{', '}']) {
        let (before, after) = rest.split_at(begin);
        let (name, after) =
            after.strip_prefix('{').and_then(|after| after.split_once('}')).ok_or(TemplateError::Braces)?;
        let is_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(TemplateError::Braces);
        }
        pieces.extend((!before.is_empty()).then(|| Piece::Text(before.to_owned())));
        pieces.push(Piece::Field(name.to_owned()));
        rest = after;
    }
    pieces.extend((!rest.is_empty()).then(|| Piece::Text(rest.to_owned())));
    Ok(pieces)
}

fn fill(pieces: &[Piece], input: &Map<String, Value>) -> Result<String, String> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(literal) => text.push_str(literal),
            Piece::Field(name) => match input.get(name) {
                Some(Value::String(value)) => encode(value, &mut text),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => encode(&value.to_string(), &mut text),
                None | Some(Value::Null) => return Err(format!("{name} is missing, and the URL needs it")),
                Some(other) => return Err(format!("{name} is {}, which can't be a part of a URL", show(other))),
            },
        }
    }
    Ok(text)
}

/// Escapes everything except letters, digits and `-._~`: any value stays a single part of the path or the query.
fn encode(value: &str, text: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            text.push(char::from(byte));
        } else {
            // Writing to a string can't fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str, input: Value) -> Result<String, String> {
        let Value::Object(mut input) = input else { panic!("an object, please") };
        Template::read(template).expect("a good template").fill(&mut input).map(|url| url.to_string())
    }

    #[test]
    fn fields_stay_where_they_are_put() {
        let template = "https://api.example/users/{id}/notes?q={q}&lang=en";
        let url = filled(template, json!({"id": "a/b?c#d", "q": "x&y=1 東"})).expect("a URL");
        assert_eq!(url, "https://api.example/users/a%2Fb%3Fc%23d/notes?q=x%26y%3D1%20%E6%9D%B1&lang=en");
        assert_eq!(filled("http://a.example/{n}-{b}", json!({"n": 7, "b": true})).unwrap(), "http://a.example/7-true");
        assert_eq!(filled("http://a.example:81", json!({})).unwrap(), "http://a.example:81/");
    }

    #[test]
    fn a_field_cannot_lead_elsewhere() {
        for (template, input) in [
            ("http://a.example/private/{id}/x", json!({"id": ".."})),
            ("http://a.example/private/{id}", json!({"id": ""})),
            ("http://a.example/private/{a}{b}", json!({"a": ".", "b": "."})),
            ("http://a.example/private/%2e{a}", json!({"a": "."})),
            ("http://a.example/{id}", json!({})),
            ("http://a.example/{id}", json!({"id": null})),
            ("http://a.example/{id}", json!({"id": ["x"]})),
        ] {
            assert!(filled(template, input.clone()).is_err(), "{template} with {input}");
        }
    }

    #[test]
    fn what_was_used_is_taken_out() {
        let mut input = Map::from_iter([("id".to_owned(), json!(1)), ("text".to_owned(), json!("hi"))]);
        let template = Template::read("http://a.example/{id}?again={id}").expect("good");
        assert_eq!(template.fields().collect::<Vec<_>>(), ["id"]);
        template.fill(&mut input).expect("a URL");
        assert_eq!(Value::Object(input), json!({"text": "hi"}));
    }

    #[test]
    fn a_bad_template_is_refused() {
        use TemplateError::{Braces, FieldInHost, Fragment, NotHttp, UserInfo, Variable};
        for (text, error) in [
            ("a.example/x", NotHttp),
            ("ftp://a.example/x", NotHttp),
            ("http://", NotHttp),
            ("http://{host}/x", FieldInHost),
            ("http://me:secret@a.example/x", UserInfo),
            ("http://a.example/x#y", Fragment),
            ("http://a.example/x?key=${KEY}", Variable),
            ("https://${HOST}/x", Variable),
            ("${URL}", Variable),
            ("http://a.example/{x", Braces),
            ("http://a.example/x}", Braces),
            ("http://a.example/{}", Braces),
            ("http://a.example/{a b}", Braces),
        ] {
            assert_eq!(Template::read(text).map(drop), Err(error), "{text}");
        }
    }
}
