//! Time limits of a provider's response.

use std::time::Duration;

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

/// When the next byte and the end of a response are due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    timeouts: Timeouts,
    begun: Instant,
    /// When the last byte came.
    last: Option<Instant>,
}

impl Clock {
    pub(super) fn start(timeouts: Timeouts) -> Self {
        Self { timeouts, begun: Instant::now(), last: None }
    }

    /// More of the response has come.
    pub(super) fn byte(&mut self) {
        self.last = Some(Instant::now());
    }

    /// The next limit, and when it is exceeded. A time that overflows counts as unlimited.
    fn next(&self) -> Option<(Instant, TimeLimit)> {
        let (since, silence, limit) = match self.last {
            None => (self.begun, self.timeouts.first_byte, TimeLimit::FirstByte),
            Some(last) => (last, self.timeouts.idle, TimeLimit::Idle),
        };
        let silence = silence.and_then(|time| Some((since.checked_add(time)?, limit)));
        let whole = self.timeouts.whole.and_then(|time| Some((self.begun.checked_add(time)?, TimeLimit::Whole)));
        silence.into_iter().chain(whole).min_by_key(|(at, _)| *at)
    }

    pub(super) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, TimeLimit> {
        match self.next() {
            None => Ok(work.await),
            Some((at, limit)) => tokio::time::timeout_at(at, work).await.map_err(|_| limit),
        }
    }
}
