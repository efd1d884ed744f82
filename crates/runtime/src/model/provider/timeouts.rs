//! Time limits of a provider's response.

use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, future::BoxFuture};
use rig_core::http_client::{
    self, BoxedStream, Error, HttpClientExt, LazyBody, MultipartForm, Request, Response, StreamingResponse,
};
use tokio::time::Instant;

/// How long a model may take in one step. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the first byte of the response: the provider queues the request, or a local server loads the model.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the response.
    pub idle: Option<Duration>,
    /// For the whole response.
    pub whole: Option<Duration>,
}

impl Timeouts {
    /// The default of `first_byte` and `idle`.
    pub const DEFAULT_SILENCE: Duration = Duration::from_secs(120);
    /// The default of `whole`. A model that writes all the time may write for long.
    pub const DEFAULT_WHOLE: Duration = Duration::from_secs(600);
    /// No limits. For tests, and for HTTP clients with limits of their own.
    pub const NONE: Self = Self { first_byte: None, idle: None, whole: None };
}

impl Default for Timeouts {
    fn default() -> Self {
        let silence = Some(Self::DEFAULT_SILENCE);
        Self { first_byte: silence, idle: silence, whole: Some(Self::DEFAULT_WHOLE) }
    }
}

/// The limit that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TimeLimit {
    #[error("the first byte did not come in time")]
    FirstByte,
    #[error("no further byte came in time")]
    Idle,
    #[error("the response was not complete in time")]
    Whole,
}

/// A client whose responses have time limits.
#[derive(Debug, Clone)]
pub(super) struct Timed<C> {
    pub(super) client: C,
    pub(super) timeouts: Timeouts,
}

impl<C: HttpClientExt + Clone + Send + Sync + 'static> HttpClientExt for Timed<C> {
    fn send<T, U>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = http_client::Result<Response<LazyBody<U>>>> + Send + 'static
    where
        T: Into<Bytes> + Send,
        U: From<Bytes> + Send + 'static,
    {
        let clock = Clock::start(self.timeouts);
        let sent = self.client.send::<T, U>(request);
        async move { Ok(clock.wait(sent).await?.map(|body| lazy(body, clock))) }
    }

    fn send_multipart<U>(
        &self,
        request: Request<MultipartForm>,
    ) -> impl Future<Output = http_client::Result<Response<LazyBody<U>>>> + Send + 'static
    where
        U: From<Bytes> + Send + 'static,
    {
        let clock = Clock::start(self.timeouts);
        let sent = self.client.send_multipart::<U>(request);
        async move { Ok(clock.wait(sent).await?.map(|body| lazy(body, clock))) }
    }

    fn send_streaming<T>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = http_client::Result<StreamingResponse>> + Send
    where
        T: Into<Bytes> + Send,
    {
        let client = self.client.clone();
        let clock = Clock::start(self.timeouts);
        async move { Ok(clock.wait(client.send_streaming(request)).await?.map(|body| stream(body, clock))) }
    }
}

fn lazy<U: Send + 'static>(body: LazyBody<U>, clock: Clock) -> LazyBody<U> {
    let timed: BoxFuture<'static, http_client::Result<U>> = Box::pin(async move { clock.wait(body).await });
    timed
}

fn stream(body: BoxedStream, clock: Clock) -> BoxedStream {
    let timed = futures::stream::unfold(Some((body, clock)), async |state| {
        let (mut body, clock) = state?;
        match clock.wait(async { body.next().await.transpose() }).await {
            Ok(Some(bytes)) => Some((Ok(bytes), Some((body, clock.byte())))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    Box::pin(timed)
}

/// When the next byte and the end of a response are due.
#[derive(Debug, Clone, Copy)]
struct Clock {
    timeouts: Timeouts,
    begun: Instant,
    /// When the last byte came.
    last: Option<Instant>,
}

impl Clock {
    fn start(timeouts: Timeouts) -> Self {
        Self { timeouts, begun: Instant::now(), last: None }
    }

    fn byte(self) -> Self {
        Self { last: Some(Instant::now()), ..self }
    }

    /// The next limit, and when it is exceeded. A time too far away to be computed is no limit.
    fn next(&self) -> Option<(Instant, TimeLimit)> {
        let (since, silence, limit) = match self.last {
            None => (self.begun, self.timeouts.first_byte, TimeLimit::FirstByte),
            Some(last) => (last, self.timeouts.idle, TimeLimit::Idle),
        };
        let silence = silence.and_then(|time| Some((since.checked_add(time)?, limit)));
        let whole = self.timeouts.whole.and_then(|time| Some((self.begun.checked_add(time)?, TimeLimit::Whole)));
        silence.into_iter().chain(whole).min_by_key(|(at, _)| *at)
    }

    async fn wait<T>(&self, work: impl Future<Output = http_client::Result<T>>) -> http_client::Result<T> {
        match self.next() {
            None => work.await,
            Some((at, limit)) => match tokio::time::timeout_at(at, work).await {
                Ok(done) => done,
                Err(_) => Err(Error::instance(limit)),
            },
        }
    }
}
