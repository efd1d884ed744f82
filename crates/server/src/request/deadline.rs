//! The time limit for the body of a request, whichever handler reads it.

use std::{
    future::{Ready, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
};
use futures::future::BoxFuture;
use holdpoint_runtime::clock::Clock;
use hyper::body::{Frame, SizeHint};

/// The body did not arrive in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body did not come within {} s", .0.as_secs_f32())]
pub(crate) struct BodyTimedOut(pub(crate) Duration);

/// Limits the time for the bodies of requests, counted from the start of reading.
pub(crate) fn deadline(clock: Arc<dyn Clock>, time: Duration) -> impl Fn(Request) -> Ready<Request> + Clone {
    move |request: Request| {
        ready(match request.body().is_end_stream() {
            true => request,
            false => request.map(|body| Body::new(Timed { body, clock: Arc::clone(&clock), time, left: None })),
        })
    }
}

struct Timed {
    body: Body,
    clock: Arc<dyn Clock>,
    time: Duration,
    left: Option<BoxFuture<'static, ()>>,
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if frame.is_ready() {
            return frame;
        }
        let Self { clock, time, left, .. } = &mut *self;
        let time = *time;
        left.get_or_insert_with(|| clock.sleep(time))
            .as_mut()
            .poll(cx)
            .map(|()| Some(Err(axum::Error::new(BodyTimedOut(time)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
