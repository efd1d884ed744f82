//! Screening of provider responses before `rig` parses them. `rig` reads into `serde_json::Value`, which gives objects
//! with certain keys a special meaning (see `holdpoint_protocol::json`): a model tricked into writing such a key would
//! crash the process.

use std::collections::HashMap;

use bytes::Bytes;
use futures::{StreamExt, future::BoxFuture};
use holdpoint_protocol::json::{self, Screen};
use rig_core::http_client::{
    self, BoxedStream, Error, HttpClientExt, LazyBody, MultipartForm, Request, Response, StreamingResponse,
};
use serde_json::Value;

/// Maximum length of a line, which is one event of a stream.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// The fields with pieces of a call's arguments, which are JSON themselves.
const ARGUMENTS: [&str; 2] = ["arguments", "partial_json"];
/// The event with a piece of a call's arguments in its `delta`, where text is in a `delta` too.
const RESPONSES_PIECE: &str = "response.function_call_arguments.delta";

/// Maximum depth and size of a call's arguments. Arguments within these, but over the limits of a call's input, become
/// an error that the model sees.
const MAX_DEPTH: usize = 128;
const MAX_ARGUMENT_BYTES: usize = 4 * 1024 * 1024;

/// Why a response can't be given to `rig`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScreenError {
    #[error("the response contains a reserved object key")]
    Key,
    #[error("the response has a line of more than {MAX_LINE_BYTES} bytes")]
    Line,
    /// `rig` repairs arguments that it can't parse, at a cost quadratic in their depth.
    #[error("the arguments of a call are nested deeper than {MAX_DEPTH} levels")]
    Depth,
    #[error("the arguments of a call are larger than {MAX_ARGUMENT_BYTES} bytes")]
    Size,
}

/// A client whose responses are screened.
#[derive(Debug, Clone)]
pub(super) struct Screened<C>(pub(super) C);

impl<C: HttpClientExt + Clone + Send + Sync + 'static> HttpClientExt for Screened<C> {
    fn send<T, U>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = http_client::Result<Response<LazyBody<U>>>> + Send + 'static
    where
        T: Into<Bytes> + Send,
        U: From<Bytes> + Send + 'static,
    {
        let sent = self.0.send::<T, Bytes>(request);
        async move { Ok(sent.await.map_err(screen_error)?.map(lazy)) }
    }

    fn send_multipart<U>(
        &self,
        request: Request<MultipartForm>,
    ) -> impl Future<Output = http_client::Result<Response<LazyBody<U>>>> + Send + 'static
    where
        U: From<Bytes> + Send + 'static,
    {
        let sent = self.0.send_multipart::<Bytes>(request);
        async move { Ok(sent.await.map_err(screen_error)?.map(lazy)) }
    }

    fn send_streaming<T>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = http_client::Result<StreamingResponse>> + Send
    where
        T: Into<Bytes> + Send,
    {
        let client = self.0.clone();
        async move { Ok(client.send_streaming(request).await.map_err(screen_error)?.map(stream)) }
    }
}

fn lazy<U: From<Bytes> + Send + 'static>(body: LazyBody<Bytes>) -> LazyBody<U> {
    let screened: BoxFuture<'static, http_client::Result<U>> = Box::pin(async move {
        let bytes = body.await.map_err(screen_error)?;
        let mut response = ResponseScreen::default();
        response.take(&bytes).and_then(|()| response.end()).map_err(Error::instance)?;
        Ok(U::from(bytes))
    });
    screened
}

fn stream(body: BoxedStream) -> BoxedStream {
    let screened = futures::stream::unfold(Some((body, ResponseScreen::default())), async |state| {
        let (mut body, mut response) = state?;
        match body.next().await {
            Some(Ok(bytes)) => match response.take(&bytes) {
                Ok(()) => Some((Ok(bytes), Some((body, response)))),
                Err(error) => Some((Err(Error::instance(error)), None)),
            },
            Some(Err(error)) => Some((Err(error), None)),
            // `rig` treats the end of the stream as the end of the last line.
            None => response.end().err().map(|error| (Err(Error::instance(error)), None)),
        }
    });
    Box::pin(screened)
}

/// Error bodies are parsed too.
fn screen_error(error: Error) -> Error {
    let is_fit = error.non_success_body().is_none_or(|body| !Screen::default().feed(body.as_bytes()));
    if is_fit { error } else { Error::instance(ScreenError::Key) }
}

/// A response so far.
#[derive(Default)]
struct ResponseScreen {
    screen: Screen,
    line: Vec<u8>,
    /// The arguments of calls so far, by the indexes on the path to their pieces.
    arguments: HashMap<Vec<u64>, Arguments>,
}

/// The arguments of a call so far, and their size.
type Arguments = (Screen, usize);

fn screen((screen, size): &mut Arguments, piece: &str) -> Result<(), ScreenError> {
    *size += piece.len();
    match (screen.feed(piece.as_bytes()), screen.deepest(), *size) {
        (true, ..) => Err(ScreenError::Key),
        (_, levels, _) if levels > MAX_DEPTH => Err(ScreenError::Depth),
        (.., size) if size > MAX_ARGUMENT_BYTES => Err(ScreenError::Size),
        _ => Ok(()),
    }
}

impl ResponseScreen {
    /// Screens more bytes, before they are passed on.
    fn take(&mut self, bytes: &[u8]) -> Result<(), ScreenError> {
        if self.screen.feed(bytes) {
            return Err(ScreenError::Key);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() > MAX_LINE_BYTES {
                return Err(ScreenError::Line);
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end()?;
            }
        }
        Ok(())
    }

    /// Ends the line.
    fn end(&mut self) -> Result<(), ScreenError> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_prefix(b"data:").unwrap_or(&line).trim_ascii();
        // Only an object contains arguments. If it is not JSON, `rig` reports it.
        if !line.starts_with(b"{") {
            return Ok(());
        }
        match json::parse(line) {
            Ok(event) => {
                // OpenAI's Responses: the type says what the pieces are, and later events have the arguments once more.
                let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
                if kind == RESPONSES_PIECE
                    && let Some(piece) = event.get("delta").and_then(Value::as_str)
                {
                    let index = event.get("output_index").and_then(Value::as_u64);
                    return screen(self.arguments.entry(Vec::from_iter(index)).or_default(), piece);
                }
                self.event(&event, &mut Vec::new(), kind.starts_with("response."))
            }
            Err(_) => Ok(()),
        }
    }

    /// `is_whole`: arguments are not pieces.
    fn event(&mut self, value: &Value, path: &mut Vec<u64>, is_whole: bool) -> Result<(), ScreenError> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.event(item, path, is_whole)),
            Value::Object(fields) => {
                let index = fields.get("index").and_then(Value::as_u64);
                path.extend(index);
                for (key, field) in fields {
                    match field {
                        Value::String(piece) if ARGUMENTS.contains(&key.as_str()) => match is_whole {
                            true => screen(&mut Arguments::default(), piece)?,
                            false => screen(self.arguments.entry(path.clone()).or_default(), piece)?,
                        },
                        other => self.event(other, path, is_whole)?,
                    }
                }
                path.truncate(path.len() - usize::from(index.is_some()));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn takes(lines: &[Value]) -> Result<(), ScreenError> {
        let mut response = ResponseScreen::default();
        for line in lines {
            // In small pieces, as from a network.
            for piece in format!("data: {line}\n\n").as_bytes().chunks(7) {
                response.take(piece)?;
            }
        }
        response.end()
    }

    fn openai(index: u64, arguments: &str) -> Value {
        let call = json!({"index": index, "function": {"arguments": arguments}});
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
    }

    #[test]
    fn arguments_are_neither_deep_nor_huge() {
        let deep = |levels: usize| openai(0, &"[".repeat(levels));
        assert_eq!(takes(&[deep(MAX_DEPTH)]), Ok(()));
        assert_eq!(takes(&[deep(MAX_DEPTH + 1)]), Err(ScreenError::Depth));
        assert_eq!(takes(&[deep(MAX_DEPTH), deep(1)]), Err(ScreenError::Depth), "in pieces");
        assert_eq!(takes(&[openai(0, &"[]".repeat(1000)), openai(1, "[")]), Ok(()), "calls have their own");
        let large = || openai(0, &"x".repeat(MAX_ARGUMENT_BYTES / 2));
        assert_eq!(takes(&[large(), large()]), Ok(()));
        assert_eq!(takes(&[large(), large(), openai(0, "x")]), Err(ScreenError::Size));
    }

    #[test]
    fn keys_are_found_in_the_pieces_of_arguments() {
        let pieces = [r#"{"a": {"$serde_json::pri"#, r#"vate::RawValue": "1"}}"#];
        assert_eq!(takes(&pieces.map(|piece| openai(0, piece))), Err(ScreenError::Key));
        let anthropic =
            |piece: &str| json!({"type": "content_block_delta", "index": 1, "delta": {"partial_json": piece}});
        assert_eq!(takes(&pieces.map(anthropic)), Err(ScreenError::Key));
        // Two calls written at the same time are screened separately.
        assert_eq!(takes(&[openai(0, pieces[0]), openai(1, "{}"), openai(0, pieces[1])]), Err(ScreenError::Key));
        assert_eq!(takes(&[openai(0, pieces[0]), openai(1, pieces[1])]), Ok(()));
        let gemini = json!({"candidates": [{"content": {"parts": [{"functionCall": {"args": {"$serde_json::private::RawValue": "1"}}}]}}]});
        assert_eq!(takes(&[gemini]), Err(ScreenError::Key));
    }

    #[test]
    fn text_about_them_is_text() {
        let text = json!({"choices": [{"index": 0, "delta": {"content": "{\"$serde_json::private::RawValue\": 1}"}}]});
        assert_eq!(takes(&[text, openai(0, r#"{"text": "$serde_json::private::RawValue"}"#)]), Ok(()));
        assert_eq!(takes(&[json!([1]), json!("x")]), Ok(()));
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut response = ResponseScreen::default();
        let piece = vec![b'x'; MAX_LINE_BYTES / 2];
        assert_eq!((response.take(&piece), response.take(&piece)), (Ok(()), Ok(())));
        assert_eq!(response.take(b"x"), Err(ScreenError::Line));
    }
}
