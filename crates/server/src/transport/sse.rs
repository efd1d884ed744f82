//! Responses as server-sent events. Events that are ready together are written together, and a comment breaks a
//! silence.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{Stream, future::BoxFuture};
use holdpoint_protocol::{
    chunk::{Chunks, Error, Finish},
    sse,
};
use holdpoint_runtime::{GONE, Identity, Next, ResponseStream, clock::Clock, gone_chunks, gone_message};

use crate::{
    app::StreamPlace,
    auth::{EXPIRED, expiry},
};

/// How long a response may be silent.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The approximate size of one write, so that a long text is not in memory a second time as a whole.
const WRITE_BYTES: usize = 64 * 1024;

/// A source of events.
pub(super) trait Events: Send + 'static {
    /// Waits for events and appends all that are ready. Cancel-safe.
    fn next(&mut self, out: &mut Vec<u8>) -> impl Future<Output = Flow> + Send;

    /// Appends the end of a stream whose login has ended. Returns `Flow::End`, or `Flow::Broken` if nothing can be said.
    fn expire(&mut self, out: &mut Vec<u8>) -> Flow;
}

/// What follows the events that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// More events.
    More,
    /// The end.
    End,
    /// Nothing, because it failed: the connection is broken off, so that the client does not take it for the end.
    Broken,
}

/// The response. It ends with the login of the identity that asked for it.
pub(super) fn response(
    events: impl Events,
    identity: &Identity,
    clock: &Arc<dyn Clock>,
    place: StreamPlace,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // Without `no-transform`, proxies compress the stream, and buffer it to do so.
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
        (header::HeaderName::from_static("x-vercel-ai-ui-message-stream"), "v1"),
    ];
    (headers, Body::from_stream(stream(events, expiry(identity, &**clock), clock.clone(), place))).into_response()
}

fn stream(
    events: impl Events,
    expiry: BoxFuture<'static, ()>,
    clock: Arc<dyn Clock>,
    place: StreamPlace,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    futures::stream::unfold(Some((events, expiry, clock, place)), async |state| {
        let (mut events, mut expiry, clock, place) = state?;
        let mut out = Vec::new();
        let silence = clock.sleep_until(clock.now().after(KEEP_ALIVE_INTERVAL));
        let flow = tokio::select! {
            biased;
            () = &mut expiry => events.expire(&mut out),
            flow = events.next(&mut out) => flow,
            () = silence => {
                sse::encode_comment("ping", &mut out);
                Flow::More
            }
        };
        if flow == Flow::Broken {
            return Some((Err(io::Error::other(GONE)), None));
        }
        place.sent(out.len());
        Some((Ok(Bytes::from(out)), (flow == Flow::More).then_some((events, expiry, clock, place))))
    })
}

/// One segment of a turn.
pub(super) struct TurnEvents {
    response: ResponseStream,
    /// Chunks that are ready but not written yet.
    ready: VecDeque<Chunks>,
    /// The number of pieces of the first of them that are written.
    written: usize,
    /// Whether the last write was a long one.
    is_long: bool,
    has_begun: bool,
    flow: Flow,
}

impl TurnEvents {
    pub(super) fn new(response: ResponseStream) -> Self {
        Self { response, ready: VecDeque::new(), written: 0, is_long: false, has_begun: false, flow: Flow::More }
    }

    async fn wait(&mut self) {
        let mut chunks = Vec::new();
        let next = self.response.read(&mut chunks).await;
        self.ready.extend(chunks);
        self.has_begun |= !self.ready.is_empty();
        self.flow = match gone_message(next) {
            None if next == Next::More => Flow::More,
            None => Flow::End,
            Some(message) => match gone_chunks(message, self.has_begun) {
                Some(chunks) => {
                    self.ready.extend(chunks.map(Chunks::One));
                    Flow::End
                }
                None => Flow::Broken,
            },
        };
    }
}

/// The end of a segment that can't go on.
fn failed(text: &str) -> [Chunks; 2] {
    let error = Error { error_text: text.to_owned() };
    [error.into(), Finish { finish_reason: None, message_metadata: None }.into()].map(Chunks::One)
}

impl Events for TurnEvents {
    async fn next(&mut self, out: &mut Vec<u8>) -> Flow {
        if std::mem::take(&mut self.is_long) {
            // The system may take all of a long replay at once. Others come in between.
            tokio::task::yield_now().await;
        }
        if self.ready.is_empty() {
            self.wait().await;
        }
        while out.len() < WRITE_BYTES {
            let rest = match self.ready.front() {
                Some(Chunks::One(chunk)) => {
                    sse::encode(chunk, out);
                    None
                }
                Some(Chunks::Run(run)) => sse::encode_some(run, self.written, WRITE_BYTES, out),
                None => break,
            };
            self.written = rest.unwrap_or_default();
            if rest.is_none() {
                self.ready.pop_front();
            }
        }
        self.is_long = out.len() >= WRITE_BYTES;
        if !self.ready.is_empty() {
            return Flow::More;
        }
        if self.flow == Flow::End {
            sse::encode_done(out);
        }
        self.flow
    }

    fn expire(&mut self, out: &mut Vec<u8>) -> Flow {
        if !self.has_begun {
            // A segment without its `start` breaks the client (rule M1).
            return Flow::Broken;
        }
        failed(EXPIRED).iter().for_each(|chunks| sse::encode_chunks(chunks, out));
        sse::encode_done(out);
        Flow::End
    }
}
