//! One call to an endpoint.

use std::{borrow::Cow, error::Error as _, time::Duration};

use super::{
    InputPlacement,
    address::{OtherHost, PrivateAddress},
    answer::{self, Kind},
    connect,
    template::{self, Template},
};
use crate::{FileLink, NotOurs, ToolContext, ToolError, text::plain};
use holdpoint_core::{
    redact::Mask,
    value::{MAX_LEVELS, MAX_NODES},
};
use holdpoint_protocol::json::{self, JsonLimits, ReadError};
use reqwest::{
    Client, Method, Response, Url,
    header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Map, Value, json};

/// Identifies the call to the endpoint. A header in the settings takes precedence.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Characters of an error body that are reported.
const MAX_ERROR_CHARS: usize = 300;
/// Characters of the name of an encoding that are reported.
const MAX_ENCODING_CHARS: usize = 40;
/// Bytes of an error body that are read.
const MAX_ERROR_BYTES: usize = 4096;

/// The statuses with which a gateway says that it has got no usable answer of the endpoint behind it. The last two are
/// Cloudflare's.
const NO_ANSWER_BEHIND: [u16; 5] = [502, 503, 504, 520, 524];

/// The limits of the log. Nothing larger is built.
const LIMITS: JsonLimits = JsonLimits { levels: MAX_LEVELS, nodes: MAX_NODES };

/// A validated, ready-to-use call.
pub(super) struct PreparedCall {
    pub(super) template: Template,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) send: InputPlacement,
    /// Whether a call can be made again: it changes nothing, or nothing a second time.
    pub(super) is_repeatable: bool,
    pub(super) timeout: Duration,
    pub(super) max_bytes: usize,
    pub(super) client: Client,
    pub(super) mask: Mask,
    /// Masks the secrets that an answer repeats.
    pub(super) echo: Mask,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("{0}")]
    Input(String),
    #[error("The endpoint did not answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    #[error("The endpoint can't be reached within {} s, so the call was not made", .0.as_secs_f32())]
    Unreached(Duration),
    #[error("The call was stopped before it was sent")]
    Stopped,
    #[error("The call was stopped after it was sent")]
    CutOff,
    #[error("The endpoint's host has a private address, and this tool may not call those")]
    Private,
    #[error("The endpoint redirected to another host, which is refused")]
    Redirect,
    #[error("The endpoint can't be reached, so the call was not made")]
    Unreachable(#[source] reqwest::Error),
    #[error("The connection to the endpoint broke off after the call was sent")]
    Lost(#[source] reqwest::Error),
    #[error("The endpoint's answer broke off")]
    Broken(#[source] reqwest::Error),
    #[error("The endpoint's answer is larger than {0} bytes and was not read")]
    TooLarge(usize),
    #[error("The endpoint answered {status}{text}")]
    Status { status: reqwest::StatusCode, text: String },
    #[error("The endpoint's response is not the JSON that its content type announces")]
    NotJson,
    #[error("The endpoint's answer has the content encoding {0}, which it was asked not to use, and was not read")]
    Encoded(String),
    #[error("The endpoint's answer can't be used ({0})")]
    Unusable(ReadError),
}

impl CallError {
    /// The same error, as it is after this request, or before it was sent.
    fn after(self, is_sent: bool) -> Self {
        match self {
            Self::Stopped if is_sent => Self::CutOff,
            Self::Timeout(limit) if !is_sent => Self::Unreached(limit),
            // It was sent, and answered with a redirect to where nobody is.
            Self::Unreachable(error) if is_sent => Self::Lost(error),
            other => other,
        }
    }

    /// Whether the call may have been carried out. What an endpoint answers says what came of it, a failure included; if
    /// nothing can be read, or somebody else answers, nobody knows.
    fn is_unknown(&self) -> bool {
        match self {
            Self::Input(_) | Self::Stopped | Self::Private | Self::Unreached(_) | Self::Unreachable(_) => false,
            Self::Status { status, .. } => NO_ANSWER_BEHIND.contains(&status.as_u16()),
            Self::Timeout(_) | Self::CutOff | Self::Redirect | Self::Lost(_) | Self::Broken(_) => true,
            Self::TooLarge(_) | Self::NotJson | Self::Encoded(_) | Self::Unusable(_) => true,
        }
    }

    fn text(&self, is_repeatable: bool) -> String {
        match self {
            Self::TooLarge(_) if is_repeatable => format!("{self}: ask for less"),
            _ => self.to_string(),
        }
    }

    fn of(error: ReadError) -> Self {
        match error {
            ReadError::Syntax(_) => Self::NotJson,
            beyond => Self::Unusable(beyond),
        }
    }
}

impl PreparedCall {
    pub(super) async fn run(&self, context: &ToolContext, input: Value) -> Result<Value, ToolError> {
        context.nothing_done().await;
        let answered = tokio::select! {
            biased;
            () = context.cancellation.cancelled() => Err(CallError::Stopped),
            answered = tokio::time::timeout(self.timeout, self.answer(context, input)) => {
                answered.unwrap_or(Err(CallError::Timeout(self.timeout)))
            }
        };
        let answered = answered.map(|mut answer| {
            self.echo.hide_in(&mut answer);
            answer
        });
        answered.map_err(|error| {
            let error = error.after(context.is_sent());
            if let Some(source) = error.source() {
                let detail = self.mask.hide(&chain(source));
                tracing::warn!(host = self.template.origin().host_str(), %detail, "an HTTP tool failed");
            }
            let text = self.mask.hide(&error.text(self.is_repeatable));
            if error.is_unknown() { ToolError::outcome_unknown(text) } else { ToolError::new(text) }
        })
    }

    async fn answer(&self, context: &ToolContext, input: Value) -> Result<Value, CallError> {
        let Value::Object(mut input) = input else {
            return Err(CallError::Input("the input is not an object".to_owned()));
        };
        let mut url = self.template.fill(&mut input).map_err(CallError::Input)?;
        let mut request = match self.send {
            InputPlacement::Query => {
                template::check_names(&url, input.keys()).map_err(CallError::Input)?;
                extend(&mut url, &input);
                self.client.request(self.method.clone(), url)
            }
            InputPlacement::Json => self.client.request(self.method.clone(), url).json(&input),
        };
        request =
            request.header(ACCEPT, "application/json, text/*;q=0.9, */*;q=0.1").header(ACCEPT_ENCODING, "identity");
        // The same for every delivery of a call, so that the endpoint can detect a repeated one, and find one whose
        // outcome is unknown here.
        if let Ok(key) = HeaderValue::from_str(context.call.as_str()) {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        let request = request.headers(self.headers.clone());
        let response = connect::sending(context, request.send()).await.map_err(no_answer)?;
        let status = response.status();
        let encoding = answer::encoding(response.headers());
        let kind = Kind::of(response.headers());
        if !status.is_success() {
            let (body, _) = read(response, MAX_ERROR_BYTES).await.unwrap_or_default();
            let text = match encoding {
                Some(_) => Cow::Borrowed(""),
                None => kind.decode(&body).unwrap_or_else(|| String::from_utf8_lossy(&body)),
            };
            // Mask before cutting: half a secret would not be recognized.
            let text = plain(self.mask.hide(text.trim()).as_str(), MAX_ERROR_CHARS);
            let text = if text.is_empty() { text } else { format!(": {text}") };
            return Err(CallError::Status { status, text });
        }
        if response.content_length().is_some_and(|length| length > self.max_bytes as u64) {
            return Err(CallError::TooLarge(self.max_bytes));
        }
        let (body, is_whole) = read(response, self.max_bytes).await.map_err(CallError::Broken)?;
        if !is_whole {
            return Err(CallError::TooLarge(self.max_bytes));
        }
        if body.is_empty() {
            return Ok(json!({"status": status.as_u16()}));
        }
        // A decoder would need a limit of its own, and a secret in an encoded file could not be found.
        if let Some(encoding) = encoding {
            return Err(CallError::Encoded(plain(&encoding, MAX_ENCODING_CHARS)));
        }
        if kind.is_json() {
            let text = kind.decode(&body).ok_or(CallError::NotJson)?;
            return json::parse_within(text.as_bytes(), LIMITS).map_err(CallError::of);
        }
        match kind.text(&body) {
            Some(text) => Ok(Value::String(text.into_owned())),
            None => Ok(json!(self.store(context, kind.of_file(&body), &body))),
        }
    }

    /// Stores a file, unless it repeats a secret: masking it would break the file.
    fn store(&self, context: &ToolContext, media_type: &str, body: &[u8]) -> FileLink {
        match self.echo.is_in(body) {
            true => FileLink::not_stored(media_type, body.len(), "it contains a secret that was sent with the call"),
            false => context.store_file(media_type, body),
        }
    }
}

/// The body up to a limit, and whether that is all of it.
async fn read(mut response: Response, limit: usize) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

fn extend(url: &mut Url, input: &Map<String, Value>) {
    if input.values().all(Value::is_null) {
        return;
    }
    let mut pairs = url.query_pairs_mut();
    for (name, value) in input {
        match value {
            Value::Null => {}
            Value::String(text) => drop(pairs.append_pair(name, text)),
            Value::Array(values) if values.iter().all(|value| !value.is_array() && !value.is_object()) => {
                for value in values {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    pairs.append_pair(name, &text);
                }
            }
            other => drop(pairs.append_pair(name, &other.to_string())),
        }
    }
}

/// Why no response came. The URL is left out, since it may contain the input.
fn no_answer(error: reqwest::Error) -> CallError {
    let mut source = error.source();
    while let Some(inner) = source {
        if inner.is::<PrivateAddress>() {
            return CallError::Private;
        }
        if inner.is::<OtherHost>() {
            return CallError::Redirect;
        }
        if inner.is::<NotOurs>() {
            return CallError::Stopped;
        }
        source = inner.source();
    }
    // Only a call that failed to connect was certainly not sent.
    match error.is_connect() || error.is_builder() {
        true => CallError::Unreachable(error.without_url()),
        false => CallError::Lost(error.without_url()),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;
    use crate::http::{HttpEndpoint, address::Lookup};

    /// Resolves a name that is not in the real DNS to this machine.
    fn lookup(asked: &Arc<AtomicUsize>) -> Lookup {
        let asked = Arc::clone(asked);
        Arc::new(move |name| {
            assert_eq!(name, "rebind.invalid");
            asked.fetch_add(1, Ordering::SeqCst);
            Box::pin(async { Ok(vec![[127, 0, 0, 1].into()]) })
        })
    }

    #[tokio::test]
    async fn the_connection_goes_to_the_address_that_was_checked() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://rebind.invalid:{}/", listener.local_addr().unwrap().port());
        let answering = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let read = stream.read(&mut [0; 1024]).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
            read
        });
        let asked = Arc::new(AtomicUsize::new(0));
        let schema = json!({"type": "object"});
        let prepare = |allow_private| {
            HttpEndpoint { allow_private, ..HttpEndpoint::new(&url) }.prepare(&schema, lookup(&asked)).expect("good")
        };
        let context = ToolContext::new("chat", "ann", "c");
        let refused = prepare(false).run(&context, json!({})).await.unwrap_err();
        assert!(refused.0.contains("private address"), "{refused}");
        // The system can't resolve the name: that the call arrives shows that it used our lookup, once per call.
        assert_eq!(prepare(true).run(&context, json!({})).await, Ok(json!("ok")));
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        assert!(answering.await.unwrap() > 0);
    }
}
