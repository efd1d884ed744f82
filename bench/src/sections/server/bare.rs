//! The baseline: an axum handler that turns a model's events into typed chunks and those into bytes, and nothing else.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    body::Body,
    http::header,
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use futures::{Stream, StreamExt};
use holdpoint_protocol::{
    chunk::{Chunk, Finish, Start, TextDelta},
    sse,
};
use holdpoint_runtime::model::{Model, ModelEvent, ModelRequest};

use super::{DELTAS, models::Talks};
use crate::capture;

/// The number of chunks per write: as many events as our runtime takes from a model at once.
const TOGETHER: usize = 256;

pub(super) fn router() -> Router {
    let mut ready = vec![start()];
    ready.push(capture::text_start());
    ready.extend((0..DELTAS).map(|n| capture::text_delta(capture::TEXTS[n % capture::TEXTS.len()])));
    ready.extend([capture::text_end(), finish()]);
    let ready: Arc<[Chunk]> = ready.into();
    Router::new()
        .route("/together", post(async |_: Bytes| response(talk(TOGETHER))))
        .route("/waits", post(async || response(waits())))
        .route("/each", post(async |_: Bytes| response(talk(1))))
        .route("/ready-made", post(async move |_: Bytes| response(ready_made(ready))))
}

fn response(stream: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(stream.map(Ok::<_, Infallible>))).into_response()
}

/// One event, and then nothing.
fn waits() -> impl Stream<Item = Bytes> + Send {
    futures::stream::iter([Bytes::from_static(b"data: waits\n\n")]).chain(futures::stream::pending())
}

fn talk(at_once: usize) -> impl Stream<Item = Bytes> + Send {
    let request = ModelRequest { messages: Arc::new([]), tools: Arc::new([]), instructions: Arc::new([]) };
    let mut is_first = true;
    Talks(DELTAS).stream(request).ready_chunks(at_once).map(move |events| {
        let mut out = Vec::new();
        if std::mem::take(&mut is_first) {
            sse::encode(&start(), &mut out);
        }
        for event in events {
            match event {
                Ok(ModelEvent::TextStart) => sse::encode(&capture::text_start(), &mut out),
                Ok(ModelEvent::TextDelta(delta)) => {
                    let delta = TextDelta { id: "0".into(), delta, provider_metadata: None };
                    sse::encode(&delta.into(), &mut out);
                }
                Ok(ModelEvent::TextEnd) => sse::encode(&capture::text_end(), &mut out),
                _ => {
                    sse::encode(&finish(), &mut out);
                    sse::encode_done(&mut out);
                }
            }
        }
        Bytes::from(out)
    })
}

fn ready_made(chunks: Arc<[Chunk]>) -> impl Stream<Item = Bytes> + Send {
    let batches = (0..chunks.len()).step_by(TOGETHER).map(move |from| {
        let mut out = Vec::new();
        for chunk in chunks[from..].iter().take(TOGETHER) {
            sse::encode(chunk, &mut out);
        }
        if from + TOGETHER >= chunks.len() {
            sse::encode_done(&mut out);
        }
        Bytes::from(out)
    });
    futures::stream::iter(batches)
}

fn start() -> Chunk {
    Start { message_id: Some("message".into()), message_metadata: None }.into()
}

fn finish() -> Chunk {
    Finish { finish_reason: Some(holdpoint_protocol::chunk::FinishReason::Stop), message_metadata: None }.into()
}
