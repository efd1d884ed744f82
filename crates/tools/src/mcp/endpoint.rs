//! A server behind a URL. Its messages are screened before `rmcp` parses them into `serde_json::Value`, which gives
//! objects with certain keys a special meaning (see `holdpoint_protocol::json`). Every response has a size limit.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream::BoxStream};
use holdpoint_protocol::json::Screen;
use reqwest::{
    Client, RequestBuilder, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        common::http_header::{EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE},
        streamable_http_client::{
            AuthRequiredError, HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
            StreamableHttpPostResponse,
        },
    },
};
use sse_stream::{Sse, SseStream};

use super::{
    screen::{LineScreen, ScreenError},
    tokens::SentTokens,
};

/// Maximum size of one message.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

type Error = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// A client for streamable HTTP.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) client: Client,
    pub(super) tokens: SentTokens,
}

impl StreamableHttpClient for Endpoint {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let has_session = session.is_some();
        let request = self.with(self.client.post(&*uri), session, auth, headers).json(&message);
        let response = request.send().await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(Error::SessionExpired);
        }
        refused(&response)?;
        let is_awaited = matches!(message, ClientJsonRpcMessage::Request(_));
        let session = header(&response, HEADER_SESSION_ID);
        let kind = header(&response, CONTENT_TYPE.as_str());
        let is = |wanted: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(wanted));
        if status.is_success() && is(EVENT_STREAM_MIME_TYPE) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        let is_json = is(JSON_MIME_TYPE);
        if status.is_success() && !is_json && is_awaited {
            return Err(Error::UnexpectedContentType(kind));
        }
        let busy = busy(&response);
        let body = read(response).await?;
        let parsed = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
        match (status.is_success(), parsed) {
            (true, Ok(parsed)) => Ok(StreamableHttpPostResponse::Json(parsed, session)),
            // It was a notification, so the response does not matter.
            (true, Err(_)) if !is_awaited => Ok(StreamableHttpPostResponse::Accepted),
            (true, Err(_)) => Err(unexpected("the answer is not a message of the protocol")),
            (false, parsed) => failed(&message, status, has_session, parsed.ok().filter(|_| is_json), session, busy),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<(), Error> {
        let response = self.with(self.client.delete(&*uri), Some(session), auth, headers).send().await?;
        match response.status() {
            // Support for this is optional.
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            _ => Ok(response.error_for_status().map(drop)?),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error> {
        let mut request = self.with(self.client.get(&*uri), session, auth, headers);
        if let Some(last_event) = last_event {
            request = request.header(HEADER_LAST_EVENT_ID, last_event);
        }
        let response = request.send().await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(Error::ServerDoesNotSupportSse);
        }
        refused(&response)?;
        if let Some(busy) = busy(&response) {
            return Err(busy.into());
        }
        let response = response.error_for_status()?;
        match header(&response, CONTENT_TYPE.as_str()) {
            Some(kind) if kind.starts_with(EVENT_STREAM_MIME_TYPE) => Ok(events(response)),
            kind => Err(Error::UnexpectedContentType(kind)),
        }
    }
}

impl Endpoint {
    fn with(
        &self,
        request: RequestBuilder,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> RequestBuilder {
        let mut request = request.header(ACCEPT, [EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE].join(", "));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(auth) = auth {
            self.tokens.add(&auth);
            request = request.bearer_auth(auth);
        }
        match session {
            Some(session) => request.header(HEADER_SESSION_ID, &*session),
            None => request,
        }
    }
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn unexpected(text: impl Into<Cow<'static, str>>) -> Error {
    Error::UnexpectedServerResponse(text.into())
}

/// The server requires authentication and says how.
fn refused(response: &Response) -> Result<(), Error> {
    match (response.status(), header(response, WWW_AUTHENTICATE.as_str())) {
        (StatusCode::UNAUTHORIZED, Some(how)) => Err(Error::AuthRequired(AuthRequiredError::new(how))),
        _ => Ok(()),
    }
}

/// The server is overloaded or has failed.
fn busy(response: &Response) -> Option<HttpStatusError> {
    let status = response.status();
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    is_busy.then(|| HttpStatusError::new(status.as_u16(), header(response, RETRY_AFTER.as_str())))
}

/// A non-2xx response. A protocol message in its body says more.
fn failed(
    message: &ClientJsonRpcMessage,
    status: StatusCode,
    has_session: bool,
    parsed: Option<ServerJsonRpcMessage>,
    session: Option<String>,
    busy: Option<HttpStatusError>,
) -> Result<StreamableHttpPostResponse, Error> {
    let is_about_us = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let error = match parsed {
        Some(JsonRpcMessage::Error(error)) if !is_about_us => Some(error),
        _ => None,
    };
    // A server older than this request rejects it in its own way. The library then falls back to the older handshake.
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && !is_about_us
        && !has_session
    {
        let refused = || ErrorData::invalid_request(format!("server/discover rejected with HTTP {status}"), None);
        let error = error.map_or_else(refused, |error| error.error);
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match (error, busy) {
        (_, Some(busy)) if busy.status == StatusCode::TOO_MANY_REQUESTS.as_u16() => Err(busy.into()),
        (Some(error), _) => Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), session)),
        (None, Some(busy)) => Err(busy.into()),
        (None, None) => Err(unexpected(format!("HTTP {status}"))),
    }
}

/// Reads a whole body.
async fn read(mut response: Response) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    let mut screen = Screen::default();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_MESSAGE_BYTES {
            return Err(unexpected(ScreenError::Size { limit: MAX_MESSAGE_BYTES }.to_string()));
        }
        if screen.feed(&chunk) {
            return Err(unexpected(ScreenError::Key.to_string()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    SseStream::from_bytes_stream(screened(response.bytes_stream().boxed())).boxed()
}

/// Why an event stream ends early.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Network(reqwest::Error),
    #[error(transparent)]
    Screened(ScreenError),
}

/// The same bytes, until an event has a reserved key, has too many levels or is too large.
fn screened(
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
) -> impl Stream<Item = Result<Bytes, Broken>> + Send + 'static {
    let state = Some((bytes, LineScreen::default(), Event::default()));
    futures::stream::unfold(state, async |state| {
        let (mut bytes, mut screen, mut event) = state?;
        let chunk = match bytes.next().await? {
            Ok(chunk) => chunk,
            Err(error) => return Some((Err(Broken::Network(error)), None)),
        };
        let error = match (screen.feed(&chunk), event.feed(&chunk)) {
            (Err(error), _) => Some(error),
            (_, size) if size > MAX_MESSAGE_BYTES => Some(ScreenError::Size { limit: MAX_MESSAGE_BYTES }),
            _ => None,
        };
        Some(match error {
            Some(error) => (Err(Broken::Screened(error)), None),
            None => (Ok(chunk), Some((bytes, screen, event))),
        })
    })
}

/// The size of the current event, which ends with an empty line.
#[derive(Default)]
struct Event {
    size: usize,
    is_line_empty: bool,
}

impl Event {
    /// Returns the largest event size within these bytes.
    fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut largest = 0;
        for byte in bytes {
            self.size += 1;
            match byte {
                b'\n' if self.is_line_empty => self.size = 0,
                b'\n' => self.is_line_empty = true,
                b'\r' => {}
                _ => self.is_line_empty = false,
            }
            largest = largest.max(self.size);
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_measured_one_by_one() {
        let mut event = Event::default();
        assert_eq!(event.feed(b"data: 123456\r\n\r\n"), 16 - 1);
        assert_eq!(event.feed(b"data: 1\n"), 8);
        assert_eq!(event.feed(b"data: 2\n\nx"), 16);
        assert_eq!(event.feed(b"yz"), 3);
    }
}
