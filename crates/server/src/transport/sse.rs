//! Responses as server-sent events. Events that are ready together are written together, and a comment breaks a
//! silence.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::Stream;
use holdpoint_protocol::{
    chunk::{Chunks, Error, Finish},
    sse,
};
use holdpoint_runtime::{
    clock::Clock,
    driver::{Next, ResponseStream},
};

use crate::app::StreamPlace;

/// How long a response may be silent.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The approximate size of one write, so that a long text is not in memory a second time as a whole.
const WRITE_BYTES: usize = 64 * 1024;

/// A source of events.
pub(super) trait Events: Send + 'static {
    /// Waits for events and appends all that are ready; returns `false` after the last one. Cancel-safe.
    fn next(&mut self, out: &mut Vec<u8>) -> impl Future<Output = bool> + Send;
}

/// The response.
pub(super) fn response(events: impl Events, clock: Arc<dyn Clock>, place: StreamPlace) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // Without `no-transform`, proxies compress the stream, and buffer it to do so.
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
        (header::HeaderName::from_static("x-vercel-ai-ui-message-stream"), "v1"),
    ];
    (headers, Body::from_stream(stream(events, clock, place))).into_response()
}

fn stream(
    events: impl Events,
    clock: Arc<dyn Clock>,
    place: StreamPlace,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    futures::stream::unfold(Some((events, clock, place)), async |state| {
        let (mut events, clock, place) = state?;
        let mut out = Vec::new();
        let silence = clock.sleep_until(clock.now().after(KEEP_ALIVE_INTERVAL));
        let goes_on = tokio::select! {
            biased;
            goes_on = events.next(&mut out) => goes_on,
            () = silence => {
                sse::encode_comment("ping", &mut out);
                true
            }
        };
        place.sent(out.len());
        Some((Ok(Bytes::from(out)), goes_on.then_some((events, clock, place))))
    })
}

/// One segment of a turn.
pub(super) struct TurnEvents {
    response: ResponseStream,
    /// Chunks that are ready but not written yet.
    ready: VecDeque<Chunks>,
    is_over: bool,
}

impl TurnEvents {
    pub(super) fn new(response: ResponseStream) -> Self {
        Self { response, ready: VecDeque::new(), is_over: false }
    }

    async fn wait(&mut self) {
        let mut chunks = Vec::new();
        let next = self.response.read(&mut chunks).await;
        self.ready.extend(chunks);
        if next == Next::Gone {
            let error_text = "The server is restarting, or the chat was deleted. Please try again.".to_owned();
            self.ready.push_back(Chunks::One(Error { error_text }.into()));
            self.ready.push_back(Chunks::One(Finish { finish_reason: None, message_metadata: None }.into()));
        }
        self.is_over = next != Next::More;
    }
}

impl Events for TurnEvents {
    async fn next(&mut self, out: &mut Vec<u8>) -> bool {
        if self.ready.is_empty() {
            self.wait().await;
        }
        while out.len() < WRITE_BYTES {
            match self.ready.pop_front() {
                Some(chunks) => sse::encode_chunks(&chunks, out),
                None => break,
            }
        }
        let goes_on = !self.is_over || !self.ready.is_empty();
        if !goes_on {
            sse::encode_done(out);
        }
        goes_on
    }
}
