//! Where the issuer's keys come from, and the cache of the last good set.
//!
//! One task fetches: at intervals, sooner after a failure, and when a token names an unknown key, but never more often
//! than the gap allows, whatever clients send. A set that was fetched stays in use while the source is away.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jsonwebtoken::Algorithm;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    JwksError, JwtError, SharedKey,
    jwks::{KeySet, MAX_BYTES, Match},
};

/// When keys are fetched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    /// The interval between fetches.
    pub(super) interval: Duration,
    /// The interval while fetches fail.
    pub(super) retry: Duration,
    /// The shortest time between two fetches.
    pub(super) gap: Duration,
    /// How long a request waits for a fetch.
    pub(super) patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(600),
            retry: Duration::from_secs(30),
            gap: Duration::from_secs(10),
            patience: Duration::from_secs(5),
        }
    }
}

/// The time limit of a fetch.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the keys come from.
#[derive(Debug)]
pub(super) enum Source {
    File(PathBuf),
    Url { url: reqwest::Url, client: reqwest::Client },
}

/// Why a fetch failed.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Without the URL: it is logged beside it.
    #[error("{0}")]
    Http(reqwest::Error),
    #[error("the response has status {0}")]
    Status(reqwest::StatusCode),
    #[error(transparent)]
    Set(#[from] JwksError),
}

impl Source {
    /// Keys that come over an open network could be anybody's.
    pub(super) fn url(text: &str) -> Result<Self, JwtError> {
        let wrong = || JwtError::Url(text.to_owned());
        let url = reqwest::Url::parse(text).map_err(|_| wrong())?;
        let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        if !(url.scheme() == "https" || url.scheme() == "http" && is_here) {
            return Err(wrong());
        }
        if url.password().is_some() || !url.username().is_empty() {
            // The text is not shown: it has a password.
            return Err(JwtError::Url(url.host_str().unwrap_or_default().to_owned()));
        }
        let mut client = reqwest::Client::builder().timeout(FETCH_TIMEOUT).redirect(reqwest::redirect::Policy::none());
        if is_here {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| JwtError::Client(error.to_string()))?;
        Ok(Self::Url { url, client })
    }

    async fn fetch(&self) -> Result<KeySet, FetchError> {
        let bytes = match self {
            Self::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || read(&path)).await;
                read.map_err(std::io::Error::other)??
            }
            Self::Url { url, client } => {
                let failed = |error: reqwest::Error| FetchError::Http(error.without_url());
                let mut response = client.get(url.clone()).send().await.map_err(failed)?;
                if response.status() != reqwest::StatusCode::OK {
                    return Err(FetchError::Status(response.status()));
                }
                let mut bytes = Vec::new();
                while let Some(piece) = response.chunk().await.map_err(failed)? {
                    bytes.extend_from_slice(&piece);
                    if bytes.len() > MAX_BYTES {
                        return Err(JwksError::TooLarge.into());
                    }
                }
                bytes
            }
        };
        Ok(KeySet::read(&bytes)?)
    }

    fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Url { url, .. } => url.to_string(),
        }
    }
}

/// Reads a file, up to a little more than the limit.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The result of looking for a key.
#[derive(Debug)]
pub(super) enum Found {
    Key(SharedKey),
    None,
    /// It can't be told: the keys, or the newest of them, can't be fetched.
    Unavailable,
}

/// The last good set, and the task that keeps it fresh.
#[derive(Debug)]
pub(super) struct JwksCache {
    shared: Arc<Shared>,
    is_begun: AtomicBool,
    /// Ends the task.
    end: Mutex<Option<DropGuard>>,
}

#[derive(Debug)]
struct Shared {
    source: Source,
    timing: Timing,
    state: watch::Sender<State>,
    /// Asks for a fetch before its time.
    wanted: Notify,
}

#[derive(Debug, Clone, Default)]
struct State {
    keys: Option<Arc<KeySet>>,
    /// The number of fetches, good or bad.
    fetches: u64,
    is_failing: bool,
    /// The time of the last fetch.
    fetched: Option<Instant>,
}

impl JwksCache {
    /// Reads the keys of a file. Keys from a URL are fetched later, so the server starts even without them.
    pub(super) fn new(source: Source, timing: Timing) -> Result<Self, JwtError> {
        let keys = match &source {
            Source::Url { .. } => None,
            Source::File(path) => {
                let wrong = |problem: String| JwtError::File { path: path.display().to_string(), problem };
                let bytes = read(path).map_err(|error| wrong(error.to_string()))?;
                Some(Arc::new(KeySet::read(&bytes).map_err(|error| wrong(error.to_string()))?))
            }
        };
        let state = watch::Sender::new(State { keys, ..State::default() });
        let shared = Arc::new(Shared { source, timing, state, wanted: Notify::new() });
        Ok(Self { shared, is_begun: AtomicBool::new(false), end: Mutex::new(None) })
    }

    /// Starts the task, if it does not run yet.
    pub(super) fn begin(&self) {
        if self.is_begun.swap(true, Ordering::AcqRel) {
            return;
        }
        let (shared, end) = (Arc::clone(&self.shared), CancellationToken::new());
        let ended = end.clone();
        tokio::spawn(async move { ended.run_until_cancelled(shared.run()).await });
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end.drop_guard());
    }

    /// Fetches the keys once, and forgets them.
    pub(super) async fn check(&self) -> Result<(), JwtError> {
        let Shared { source, .. } = &*self.shared;
        let problem = |error: FetchError| JwtError::Keys { place: source.name(), problem: error.to_string() };
        source.fetch().await.map(drop).map_err(problem)
    }

    /// The key for a token. If its id is unknown, it waits for a newer set, within limits.
    pub(super) async fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Found {
        self.begin();
        let mut watched = self.shared.state.subscribe();
        let state = watched.borrow_and_update().clone();
        match state.keys.as_ref().map(|keys| keys.find(id, algorithm)) {
            Some(Match::Key(key)) => return Found::Key(key),
            Some(Match::None) => return Found::None,
            Some(Match::UnknownId) | None => {}
        }
        let Timing { gap, patience, .. } = self.shared.timing;
        if state.fetched.is_none_or(|at| at.elapsed() >= gap) {
            if state.fetches > 0 {
                self.shared.wanted.notify_one();
            }
            let _ = timeout(patience, watched.wait_for(|newer| newer.fetches > state.fetches)).await;
        }
        let State { keys, is_failing, .. } = watched.borrow().clone();
        match keys.map(|keys| keys.find(id, algorithm)) {
            Some(Match::Key(key)) => Found::Key(key),
            Some(Match::None) => Found::None,
            // The issuer may have new keys that are not known here.
            Some(Match::UnknownId) if is_failing => Found::Unavailable,
            Some(Match::UnknownId) => Found::None,
            None => Found::Unavailable,
        }
    }
}

impl Shared {
    async fn run(&self) {
        let Timing { interval, retry, gap, .. } = self.timing;
        loop {
            let is_failing = self.refresh().await;
            // Requests that arrive in the pause are served after it.
            sleep(gap).await;
            let rest = if is_failing { retry } else { interval }.saturating_sub(gap);
            let _ = timeout(rest, self.wanted.notified()).await;
        }
    }

    /// Fetches once. Returns whether it failed.
    async fn refresh(&self) -> bool {
        let fetched = self.source.fetch().await;
        let was_failing = self.state.borrow().is_failing;
        match &fetched {
            Err(error) if !was_failing => {
                tracing::warn!(source = self.source.name(), %error, "the keys for tokens can't be fetched; the last ones stay in use");
            }
            Ok(_) if was_failing => {
                tracing::warn!(source = self.source.name(), "the keys for tokens can be fetched again")
            }
            _ => {}
        }
        let is_failing = fetched.is_err();
        self.state.send_modify(|state| {
            state.fetches += 1;
            state.is_failing = is_failing;
            state.fetched = Some(Instant::now());
            if let Ok(keys) = fetched {
                state.keys = Some(Arc::new(keys));
            }
        });
        is_failing
    }
}
