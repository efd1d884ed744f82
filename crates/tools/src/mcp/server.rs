//! One MCP server: kept running, with an up-to-date list of tools.

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::{ClientRequest, DiscoverRequest, DiscoverRequestParams, PingRequest},
    service::Peer,
};
use tokio::{
    sync::{Notify, oneshot, watch},
    time::Instant,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    McpError, McpProblem, McpSettings, McpTransport, McpWarning, Secret,
    calls::Calls,
    connect::{Connection, Running, connect},
    handshake::Handshake,
    lines::LastLines,
    list::{Listed, list},
    listing::{self, Listing},
    rounds::is_modern,
    run,
    subscription::subscribe,
    tokens::SentTokens,
    watch::McpWatch,
};
use crate::{
    Handler, Instructions, Tool, ToolContext, ToolError,
    backoff::{self, Backoff},
};
use holdpoint_core::redact::Mask;

/// Delays before a disconnected server is started again.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// The backoff starts again after a connection of this length.
const BACKOFF_RESET: Duration = Duration::from_secs(60);

/// How long a server has to close.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(3);

/// The state shared by a server's task, its tools and its handle.
pub(super) struct Shared {
    pub(super) settings: McpSettings,
    pub(super) mask: Mask,
    /// Masks the secrets that an answer repeats. A program's environment is also made of paths and names, so only what is
    /// secret by its name counts.
    pub(super) echo: Mask,
    /// Those of a login that were sent last. An answer may repeat them too.
    pub(super) tokens: SentTokens,
    pub(super) calls: Arc<Calls>,
    /// Notified when the list of tools is out of date.
    pub(super) relist: Notify,
    /// Notified when the connection may be stale: over HTTP, a restart of the server goes unnoticed.
    pub(super) recheck: Notify,
    pub(super) peer: watch::Sender<Option<Peer<RoleClient>>>,
    /// `None` until they are first listed.
    pub(super) tools: watch::Sender<Option<Arc<[Tool]>>>,
    /// What the server says about the use of its tools.
    pub(super) instructions: Mutex<Option<Instructions>>,
    /// Whether a connection has failed.
    has_failed: OnceLock<()>,
    problem: Mutex<Option<String>>,
    warnings: Mutex<Vec<McpWarning>>,
    /// Tools that have the name of another one.
    pub(super) clashes: Mutex<Vec<McpWarning>>,
    pub(super) lines: LastLines,
    handshake: Mutex<Handshake>,
    stop: CancellationToken,
}

impl Shared {
    /// Waits for the connection. `None` once the server has stopped.
    pub(super) async fn peer(&self) -> Option<Peer<RoleClient>> {
        let mut peer = self.peer.subscribe();
        tokio::select! {
            () = self.stop.cancelled() => None,
            found = peer.wait_for(|peer| peer.as_ref().is_some_and(|peer| !peer.is_transport_closed())) => {
                found.ok().and_then(|peer| peer.clone())
            }
        }
    }

    /// Checks the connection. A program's exit is noticed at once, but a server behind a URL has to be pinged.
    pub(super) fn recheck_if_http(&self) {
        if matches!(self.settings.transport, McpTransport::Http { .. }) {
            // Calls wait for the result.
            self.peer.send_replace(None);
            self.recheck.notify_one();
        }
    }

    /// How the connection begins.
    pub(super) fn handshake(&self) -> MutexGuard<'_, Handshake> {
        self.handshake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the server is not connected.
    pub(super) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn warnings(&self) -> Vec<McpWarning> {
        let of = |warnings: &Mutex<Vec<_>>| warnings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        [of(&self.warnings), of(&self.clashes)].concat()
    }

    /// Says once what has no effect.
    fn set_warnings(&self, of: &Mutex<Vec<McpWarning>>, warnings: Vec<McpWarning>) {
        let mut known = of.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in warnings.iter().filter(|warning| !known.contains(warning)) {
            tracing::warn!(server = self.settings.name, %warning, "settings of an MCP server");
        }
        *known = warnings;
    }

    /// What is wrong, unless something else is known by now, or the tools are listed.
    fn set_problem_if_none(&self, problem: String) {
        let mut known = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if self.tools.borrow().is_none() {
            known.get_or_insert(problem);
        }
    }

    fn set_problem(&self, problem: Option<String>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }
}

/// An MCP server, kept running until dropped.
pub struct McpServer {
    shared: Arc<Shared>,
    tools: watch::Receiver<Option<Arc<[Tool]>>>,
    tasks: TaskTracker,
    _stop: DropGuard,
}

impl McpServer {
    /// Connects and lists the tools. An unreachable server is not an error, and neither is one that does not answer
    /// within [`McpSettings::start_wait`]: the connection is retried, and its tools appear later; [`Self::problem`] says
    /// what is wrong. Settings that can never work are an error.
    pub async fn start(settings: McpSettings) -> Result<Self, McpError> {
        let server = settings.name.clone();
        let failed = |problem| McpError { server: server.clone(), problem };
        settings.check().map_err(failed)?;
        let mask = |secrets: &[(String, Secret)]| Mask::of(secrets.iter().map(|(_, secret)| secret));
        let (mask, echo) = match &settings.transport {
            McpTransport::Command { env, .. } => (mask(env), Mask::of_environment(env)),
            McpTransport::Http { headers, url } => (url.mask(mask(headers)), url.echo(Mask::of_headers(headers))),
        };
        let wait = settings.start_wait;
        let handshake = Mutex::new(Handshake::new(settings.protocol));
        let stop = CancellationToken::new();
        let (tools, listed) = watch::channel(None);
        let shared = Arc::new(Shared {
            settings,
            mask,
            echo,
            tokens: SentTokens::default(),
            calls: Arc::default(),
            relist: Notify::new(),
            recheck: Notify::new(),
            peer: watch::Sender::new(None),
            tools,
            instructions: Mutex::default(),
            has_failed: OnceLock::new(),
            problem: Mutex::default(),
            warnings: Mutex::default(),
            clashes: Mutex::default(),
            lines: LastLines::default(),
            handshake,
            stop: stop.clone(),
        });
        let (begun, beginning) = oneshot::channel();
        let tasks = TaskTracker::new();
        tasks.spawn(keep(Arc::clone(&shared), begun));
        tasks.close();
        let mut started = Self { shared, tools: listed, tasks, _stop: stop.drop_guard() };
        match tokio::time::timeout(wait, beginning).await {
            Ok(Ok(Err(problem))) => Err(failed(problem)),
            Err(_) => {
                let problem = format!("It has not answered yet, after {} s", wait.as_secs_f32());
                tracing::warn!(server, %problem, "the server starts without the tools of an MCP server");
                started.shared.set_problem_if_none(problem);
                Ok(started)
            }
            Ok(Ok(Ok(())) | Err(_)) => {
                // The initial tools are not a change.
                started.tools.mark_unchanged();
                Ok(started)
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.shared.settings.name
    }

    /// Its tools. Those of a disconnected server stay: a call waits until it is back.
    pub fn tools(&self) -> Arc<[Tool]> {
        self.tools.borrow().clone().unwrap_or_default()
    }

    /// What it says about the use of its tools, if it does, and if its settings let it.
    pub fn instructions(&self) -> Option<Instructions> {
        self.shared.instructions()
    }

    /// Whether it has listed its tools at any time since its start.
    pub fn is_listed(&self) -> bool {
        self.tools.borrow().is_some()
    }

    /// Whether it has listed its tools, or failed to.
    pub(super) fn is_decided(&self) -> bool {
        self.is_listed() || self.shared.has_failed.get().is_some()
    }

    /// Its name, and how long a call waits until it has listed its tools.
    pub(super) fn pending(&self) -> (String, Duration) {
        let settings = &self.shared.settings;
        (settings.name.clone(), settings.timeout)
    }

    /// A handle that reads its state, also after the server itself was given away.
    pub fn watch(&self) -> McpWatch {
        McpWatch(Arc::clone(&self.shared))
    }

    /// Why it is not connected, if it is not.
    pub fn problem(&self) -> Option<String> {
        self.shared.problem()
    }

    /// What in its settings has no effect, as far as its tools are known.
    pub fn warnings(&self) -> Vec<McpWarning> {
        self.shared.warnings()
    }

    /// Sets which of its tools have the name of another one, and are left out.
    pub(super) fn set_clashes(&self, clashes: Vec<McpWarning>) {
        self.shared.set_warnings(&self.shared.clashes, clashes);
    }

    /// The last lines that its program wrote to standard error, with secrets masked.
    pub fn last_lines(&self) -> Vec<String> {
        self.shared.lines.read()
    }

    /// Completes when the tools have changed, or the first connection has failed.
    pub async fn changed(&mut self) {
        if self.tools.changed().await.is_err() {
            // The task has ended, so nothing changes any more.
            std::future::pending::<()>().await;
        }
    }

    /// Closes the connection, and stops the program if it has one.
    pub async fn stop(&self) {
        self.shared.stop.cancel();
        self.tasks.wait().await;
    }
}

/// Connects, stays connected, and reconnects.
async fn keep(shared: Arc<Shared>, begun: oneshot::Sender<Result<(), McpProblem>>) {
    let mut begun = Some(begun);
    let mut backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
    loop {
        let connected = tokio::select! {
            () = shared.stop.cancelled() => return,
            connected = connect(&shared) => connected,
        };
        match connected {
            Ok(Connection { running, listed, log }) => {
                let is_said_anew = shared.read_instructions(running.peer());
                offer(&shared, &listed, is_said_anew);
                shared.set_problem(None);
                shared.peer.send_replace(Some(running.peer().clone()));
                if let Some(begun) = begun.take() {
                    let _ = begun.send(Ok(()));
                }
                let since = Instant::now();
                let end = stay(&shared, running).await;
                shared.peer.send_replace(None);
                if let Some(log) = log {
                    log.finish().await;
                }
                let stderr = shared.lines.joined();
                match end {
                    End::Stopped => return,
                    End::Gone => tracing::warn!(server = shared.settings.name, stderr, "an MCP server disconnected"),
                    End::Stale => {
                        tracing::warn!(server = shared.settings.name, "an MCP server has lost our session");
                    }
                }
                shared.set_problem(Some("It disconnected and is being restarted".to_owned()));
                if since.elapsed() > BACKOFF_RESET {
                    backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
                }
            }
            Err(problem) => {
                let stderr = shared.lines.joined();
                tracing::warn!(server = shared.settings.name, %problem, stderr, "an MCP server can't be connected");
                shared.set_problem(Some(problem.to_string()));
                if shared.has_failed.set(()).is_ok() {
                    // Nobody needs to wait for its tools any more.
                    shared.tools.send_modify(|_| {});
                }
                if let Some(begun) = begun.take() {
                    let is_final = problem.is_final();
                    let told = begun.send(if is_final { Err(problem) } else { Ok(()) });
                    // Nobody waits for it any more if it took too long; then it is tried again.
                    if is_final && told.is_ok() {
                        return;
                    }
                }
            }
        }
        tokio::select! {
            () = shared.stop.cancelled() => return,
            () = backoff::wait(&mut backoff) => {}
        }
    }
}

/// Why a connection ended.
enum End {
    /// We stopped it.
    Stopped,
    /// The server is gone.
    Gone,
    /// The server does not know us any more.
    Stale,
}

/// Runs until the server disconnects or is stopped, and waits for its end.
async fn stay(shared: &Arc<Shared>, running: Running) -> End {
    let (peer, closing) = (running.peer().clone(), running.cancellation_token());
    let gone = running.waiting();
    tokio::pin!(gone);
    let subscription = subscribe(shared, &peer);
    tokio::pin!(subscription);
    let end = loop {
        tokio::select! {
            biased;
            () = shared.stop.cancelled() => break End::Stopped,
            _ = &mut gone => return End::Gone,
            never = &mut subscription => match never {},
            () = shared.recheck.notified() => {
                if !is_alive(&peer).await {
                    break End::Stale;
                }
                shared.peer.send_replace(Some(peer.clone()));
            }
            () = shared.relist.notified() => {
                let listed = tokio::time::timeout(shared.settings.timeout, list(shared, &peer)).await;
                match listed.unwrap_or(Err(McpProblem::Slow(shared.settings.timeout))) {
                    Ok(listed) => offer(shared, &listed, false),
                    Err(problem) => {
                        tracing::warn!(server = shared.settings.name, %problem, "the tools of an MCP server stay as they were");
                    }
                }
            }
        }
    };
    closing.cancel();
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, gone).await;
    end
}

async fn is_alive(peer: &Peer<RoleClient>) -> bool {
    // The newer protocol has no ping.
    let ping = if is_modern(peer) {
        ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}))
    } else {
        ClientRequest::PingRequest(PingRequest::default())
    };
    matches!(tokio::time::timeout(PING_TIMEOUT, peer.send_request(ping)).await, Ok(Ok(_)))
}

/// Offers what is listed. It counts as a change if anything differs, also what the server says about it.
fn offer(shared: &Arc<Shared>, listed: &Listed, is_said_anew: bool) {
    let made = |name, timeout| handler(Arc::downgrade(shared), name, timeout);
    let Listing { tools, warnings } = listing::tools(&shared.settings, listed, made);
    shared.set_warnings(&shared.warnings, warnings);
    let is_same =
        |old: &Arc<[Tool]>| old.len() == tools.len() && old.iter().zip(&*tools).all(|(old, new)| is_equal(old, new));
    shared.tools.send_if_modified(|old| {
        let is_other = is_said_anew || !old.as_ref().is_some_and(is_same);
        if is_other {
            *old = Some(Arc::clone(&tools));
        }
        is_other
    });
}

fn is_equal(old: &Tool, new: &Tool) -> bool {
    let (old, new) = (&old.spec, &new.spec);
    old.name == new.name
        && old.title == new.title
        && old.description == new.description
        && old.approval == new.approval
        && old.input.as_value() == new.input.as_value()
}

/// Weak: the server holds its tools, so they must not hold it.
fn handler(shared: Weak<Shared>, tool: String, timeout: Duration) -> Handler {
    Arc::new(move |input, context: ToolContext| {
        let (shared, tool) = (shared.upgrade(), tool.clone());
        Box::pin(async move {
            match shared {
                Some(shared) => run::call(shared, tool, timeout, input, context).await,
                None => Err(ToolError::new("The tool's MCP server was stopped")),
            }
        })
    })
}
