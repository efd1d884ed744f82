//! HTTP endpoints as tools: the input is sent as JSON or as a query, and the response is the output.

mod address;
mod answer;
mod call;
mod connect;
mod template;

use std::{sync::Arc, time::Duration};

use call::PreparedCall;
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Value, json};
use template::Template;
pub use template::TemplateError;

use super::{Execution, Secret, ToolBuilder, ToolContext, ToolSource};
use holdpoint_core::redact::Mask;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_MAX_BYTES: usize = 1 << 20;

/// How the input is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InputPlacement {
    /// As a JSON body.
    Json,
    /// As the query of the URL.
    Query,
}

/// An HTTP endpoint used as a tool.
#[derive(Debug, Clone)]
pub struct HttpEndpoint {
    /// The URL. `{field}` in its path or query is replaced by the input's field.
    pub url: String,
    /// The method.
    pub method: String,
    /// Headers, with secret values.
    pub headers: Vec<(String, Secret)>,
    /// How the input is sent. By default, as a query for GET, HEAD and DELETE, and as JSON otherwise.
    pub send: Option<InputPlacement>,
    /// Timeout for the whole response.
    pub timeout: Duration,
    /// Maximum size of the response.
    pub max_bytes: usize,
    /// Whether it may be on this machine or in a private network.
    pub allow_private: bool,
    /// Whether a call can be made again without harm: after a crash, and by the model. What only reads always can.
    pub idempotent: bool,
}

/// Why an endpoint can't be used as a tool.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum HttpToolError {
    #[error(transparent)]
    Url(#[from] TemplateError),
    #[error("`{method}` is not an HTTP method")]
    Method { method: String },
    #[error("CONNECT is for proxies: an endpoint can't be called with it")]
    Connect,
    #[error("the header `{name}` can't be sent: a name has letters, digits and dashes, a value no line breaks")]
    Header { name: String },
    #[error("`{{{field}}}` in the URL is not a field of the input: add it to the properties of `input_schema`")]
    Field { field: String },
    #[error(
        "the field `{field}` of the input has the name of a parameter of the URL, which would then be sent twice: rename one"
    )]
    Overrides { field: String },
    #[error("{host} is an address of this machine or of a private network: set `allow_private = true` to allow it")]
    Private { host: String },
    #[error("no HTTP client can be made: {0}")]
    Client(#[source] reqwest::Error),
}

impl HttpEndpoint {
    /// An endpoint with POST, JSON, a timeout of 30 seconds and a limit of one megabyte.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            method: "POST".to_owned(),
            headers: Vec::new(),
            send: None,
            timeout: DEFAULT_TIMEOUT,
            max_bytes: DEFAULT_MAX_BYTES,
            allow_private: false,
            idempotent: false,
        }
    }

    /// Builds the tool. Without a schema, its input is the fields of the URL.
    pub fn tool(self, name: &str, description: &str, schema: Option<Value>) -> Result<ToolBuilder, HttpToolError> {
        let schema = match schema {
            Some(schema) => schema,
            None => schema_of(&Template::read(&self.url)?),
        };
        let source = ToolSource::Endpoint { method: self.method.to_ascii_uppercase(), url: self.url.clone() };
        let (is_idempotent, is_read) = (self.idempotent, self.is_read());
        let call = Arc::new(self.prepare(&schema, address::system())?);
        let builder = ToolBuilder::browser::<Value>(name, description, Execution::Server).schema(schema).source(source);
        let builder = if is_idempotent { builder.idempotent() } else { builder };
        let builder = if is_read { builder.reads() } else { builder };
        Ok(builder.handler(move |input: Value, context: ToolContext| {
            let call = Arc::clone(&call);
            async move { call.run(&context, input).await }
        }))
    }

    /// Whether the method is one that only reads.
    fn is_read(&self) -> bool {
        ["GET", "HEAD", "OPTIONS"].iter().any(|method| self.method.eq_ignore_ascii_case(method))
    }

    /// Validates everything before the first call.
    fn prepare(self, schema: &Value, lookup: address::Lookup) -> Result<PreparedCall, HttpToolError> {
        let template = Template::read(&self.url)?;
        let known = schema.get("properties").and_then(Value::as_object);
        if let Some(field) = template.fields().find(|field| !known.is_some_and(|known| known.contains_key(*field))) {
            return Err(HttpToolError::Field { field: field.to_owned() });
        }
        // Names are checked when they are resolved. An IP address is never resolved, so it is checked here.
        if !self.allow_private
            && address::literal(template.origin()).is_some_and(|address| !address::is_public(address))
        {
            return Err(HttpToolError::Private { host: template.origin().host_str().unwrap_or_default().to_owned() });
        }
        let unknown = || HttpToolError::Method { method: self.method.clone() };
        let method = Method::from_bytes(self.method.to_ascii_uppercase().as_bytes()).map_err(|_| unknown())?;
        if method == Method::CONNECT {
            return Err(HttpToolError::Connect);
        }
        let is_repeatable = self.idempotent || self.is_read();
        let send = self.send.unwrap_or(match method {
            Method::GET | Method::HEAD | Method::DELETE => InputPlacement::Query,
            _ => InputPlacement::Json,
        });
        let fields = known.into_iter().flat_map(serde_json::Map::keys);
        if let Some(field) = template.clash(fields).filter(|_| send == InputPlacement::Query) {
            return Err(HttpToolError::Overrides { field: field.clone() });
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let wrong = || HttpToolError::Header { name: name.clone() };
            let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.append(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
        }
        let client = address::client(self.allow_private, lookup).map_err(HttpToolError::Client)?;
        let mask = Mask::of_headers_in_errors(&self.headers).and_url(&self.url);
        let echo = Mask::of_headers(&self.headers);
        Ok(PreparedCall {
            template,
            method,
            headers,
            send,
            is_repeatable,
            timeout: self.timeout,
            max_bytes: self.max_bytes,
            client,
            mask,
            echo,
        })
    }
}

fn schema_of(template: &Template) -> Value {
    let fields: Vec<&str> = template.fields().collect();
    let properties: serde_json::Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": ["string", "number", "boolean"]}))).collect();
    json!({"type": "object", "properties": properties, "required": fields})
}
