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
const LINE: usize = 16 * 1024 * 1024;
/// The fields with pieces of a call's arguments, which are JSON themselves.
const ARGUMENTS: [&str; 2] = ["arguments", "partial_json"];

/// Maximum depth and size of a call's arguments. Arguments within these, but over the limits of a call's input, become
/// an error that the model sees.
const DEEPEST: usize = 128;
const LARGEST: usize = 4 * 1024 * 1024;

/// Why a response can't be given to `rig`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unfit {
    #[error("the answer has an object key that can't be read")]
    Key,
    #[error("the answer has a line of more than {LINE} bytes")]
    Line,
    /// `rig` repairs arguments that it can't parse, at a cost quadratic in their depth.
    #[error("the arguments of a call are nested deeper than {DEEPEST} levels")]
    Depth,
    #[error("the arguments of a call are larger than {LARGEST} bytes")]
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
        let mut answer = Answer::default();
        answer.take(&bytes).and_then(|()| answer.end()).map_err(Error::instance)?;
        Ok(U::from(bytes))
    });
    screened
}

fn stream(body: BoxedStream) -> BoxedStream {
    let screened = futures::stream::unfold(Some((body, Answer::default())), async |state| {
        let (mut body, mut answer) = state?;
        match body.next().await {
            Some(Ok(bytes)) => match answer.take(&bytes) {
                Ok(()) => Some((Ok(bytes), Some((body, answer)))),
                Err(unfit) => Some((Err(Error::instance(unfit)), None)),
            },
            Some(Err(error)) => Some((Err(error), None)),
            // `rig` treats the end of the stream as the end of the last line.
            None => answer.end().err().map(|unfit| (Err(Error::instance(unfit)), None)),
        }
    });
    Box::pin(screened)
}

/// Error bodies are parsed too.
fn screen_error(error: Error) -> Error {
    let is_fit = error.non_success_body().is_none_or(|body| !Screen::default().feed(body.as_bytes()));
    if is_fit { error } else { Error::instance(Unfit::Key) }
}

/// A response so far.
#[derive(Default)]
struct Answer {
    screen: Screen,
    line: Vec<u8>,
    /// The arguments of calls so far, by the indexes on the path to their pieces.
    arguments: HashMap<Vec<u64>, (Screen, usize)>,
}

impl Answer {
    /// Screens more bytes, before they are passed on.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Unfit> {
        if self.screen.feed(bytes) {
            return Err(Unfit::Key);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() > LINE {
                return Err(Unfit::Line);
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end()?;
            }
        }
        Ok(())
    }

    /// Ends the line.
    fn end(&mut self) -> Result<(), Unfit> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_prefix(b"data:").unwrap_or(&line).trim_ascii();
        // Only an object contains arguments. If it is not JSON, `rig` reports it.
        if !line.starts_with(b"{") {
            return Ok(());
        }
        match json::parse(line) {
            Ok(event) => self.event(&event, &mut Vec::new()),
            Err(_) => Ok(()),
        }
    }

    fn event(&mut self, value: &Value, path: &mut Vec<u64>) -> Result<(), Unfit> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.event(item, path)),
            Value::Object(fields) => {
                let index = fields.get("index").and_then(Value::as_u64);
                path.extend(index);
                for (key, field) in fields {
                    match field {
                        Value::String(piece) if ARGUMENTS.contains(&key.as_str()) => {
                            let (screen, size) = self.arguments.entry(path.clone()).or_default();
                            *size += piece.len();
                            match (screen.feed(piece.as_bytes()), screen.deepest(), *size) {
                                (true, ..) => return Err(Unfit::Key),
                                (_, levels, _) if levels > DEEPEST => return Err(Unfit::Depth),
                                (.., size) if size > LARGEST => return Err(Unfit::Size),
                                _ => {}
                            }
                        }
                        other => self.event(other, path)?,
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

    fn takes(lines: &[Value]) -> Result<(), Unfit> {
        let mut answer = Answer::default();
        for line in lines {
            // In small pieces, as from a network.
            for piece in format!("data: {line}\n\n").as_bytes().chunks(7) {
                answer.take(piece)?;
            }
        }
        answer.end()
    }

    fn openai(index: u64, arguments: &str) -> Value {
        let call = json!({"index": index, "function": {"arguments": arguments}});
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
    }

    #[test]
    fn arguments_are_neither_deep_nor_huge() {
        let deep = |levels: usize| openai(0, &"[".repeat(levels));
        assert_eq!(takes(&[deep(DEEPEST)]), Ok(()));
        assert_eq!(takes(&[deep(DEEPEST + 1)]), Err(Unfit::Depth));
        assert_eq!(takes(&[deep(DEEPEST), deep(1)]), Err(Unfit::Depth), "in pieces");
        assert_eq!(takes(&[openai(0, &"[]".repeat(1000)), openai(1, "[")]), Ok(()), "calls have their own");
        let large = || openai(0, &"x".repeat(LARGEST / 2));
        assert_eq!(takes(&[large(), large()]), Ok(()));
        assert_eq!(takes(&[large(), large(), openai(0, "x")]), Err(Unfit::Size));
    }

    #[test]
    fn keys_are_found_in_the_pieces_of_arguments() {
        let pieces = [r#"{"a": {"$serde_json::pri"#, r#"vate::RawValue": "1"}}"#];
        assert_eq!(takes(&pieces.map(|piece| openai(0, piece))), Err(Unfit::Key));
        let anthropic =
            |piece: &str| json!({"type": "content_block_delta", "index": 1, "delta": {"partial_json": piece}});
        assert_eq!(takes(&pieces.map(anthropic)), Err(Unfit::Key));
        // Two calls written at the same time are screened separately.
        assert_eq!(takes(&[openai(0, pieces[0]), openai(1, "{}"), openai(0, pieces[1])]), Err(Unfit::Key));
        assert_eq!(takes(&[openai(0, pieces[0]), openai(1, pieces[1])]), Ok(()));
        let gemini = json!({"candidates": [{"content": {"parts": [{"functionCall": {"args": {"$serde_json::private::RawValue": "1"}}}]}}]});
        assert_eq!(takes(&[gemini]), Err(Unfit::Key));
    }

    #[test]
    fn text_about_them_is_text() {
        let text = json!({"choices": [{"index": 0, "delta": {"content": "{\"$serde_json::private::RawValue\": 1}"}}]});
        assert_eq!(takes(&[text, openai(0, r#"{"text": "$serde_json::private::RawValue"}"#)]), Ok(()));
        assert_eq!(takes(&[json!([1]), json!("x")]), Ok(()));
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut answer = Answer::default();
        let piece = vec![b'x'; LINE / 2];
        assert_eq!((answer.take(&piece), answer.take(&piece)), (Ok(()), Ok(())));
        assert_eq!(answer.take(b"x"), Err(Unfit::Line));
    }
}
