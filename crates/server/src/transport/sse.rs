//! A response as server-sent events: what is ready together is written together, and silence is broken by a comment.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::Stream;
use holdpoint_protocol::{
    chunk::{Chunk, Error, Finish},
    sse,
};
use holdpoint_runtime::{
    clock::Clock,
    driver::{Next, Subscription},
};

use crate::app::StreamPlace;

/// How long a response may be silent.
const SILENCE: Duration = Duration::from_secs(15);

/// Something that writes events until it is over.
pub(super) trait Events: Send + 'static {
    /// Waits for more and appends all that is ready; `false` when that was all. Cancel-safe.
    fn next(&mut self, out: &mut Vec<u8>) -> impl Future<Output = bool> + Send;
}

/// The response.
pub(super) fn response(events: impl Events, clock: Arc<dyn Clock>, place: StreamPlace) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
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
        let silence = clock.sleep_until(clock.now().after(SILENCE));
        let goes_on = tokio::select! {
            biased;
            goes_on = events.next(&mut out) => goes_on,
            () = silence => {
                sse::encode_comment("ping", &mut out);
                true
            }
        };
        Some((Ok(Bytes::from(out)), goes_on.then_some((events, clock, place))))
    })
}

/// One segment of a turn.
pub(super) struct Segment {
    subscription: Subscription,
    chunks: Vec<Chunk>,
}

impl Segment {
    pub(super) fn new(subscription: Subscription) -> Self {
        Self { subscription, chunks: Vec::new() }
    }
}

impl Events for Segment {
    async fn next(&mut self, out: &mut Vec<u8>) -> bool {
        let next = self.subscription.next(&mut self.chunks).await;
        if next == Next::Gone {
            let error_text = "The server is restarting, or the chat was deleted. Please try again.".to_owned();
            self.chunks.push(Error { error_text }.into());
            self.chunks.push(Finish { finish_reason: None, message_metadata: None }.into());
        }
        for chunk in self.chunks.drain(..) {
            sse::encode(&chunk, out);
        }
        if next != Next::More {
            sse::encode_done(out);
        }
        next == Next::More
    }
}
