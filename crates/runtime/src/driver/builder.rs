//! The builder of a runtime. Starting it reads no chats: what waits stays in the log until it is due.

use std::{fmt, sync::Arc, time::Duration};

use holdpoint_protocol::ids::ChatId;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Agent, Limits, Runtime,
    agent::AgentChoice,
    append,
    awake::AwakeChats,
    changes::ChangeChannels,
    counters::Counters,
    deadlines, dispatch, lease,
    lease::Lease,
    lists::HoldCountCache,
    mend, recovery, retention,
    runtime::Inner,
    secrets::{self, Cipher, SecretsError},
};
use crate::{
    clock::{Clock, SharedClock, SystemClock},
    log::{LogError, MemoryLog, NodeId, Store},
    metrics::{MeteredLog, Metrics},
    model::Model,
    subject::Subject,
    tool::{BUDGET_TOOL, DuplicateTool, ToolSet, budget_tool},
};

/// Builds a [`Runtime`]. By default it has no tools, and its log is in memory.
pub struct RuntimeBuilder {
    log: Arc<dyn Store>,
    tools: ToolSet,
    model: Arc<dyn Model>,
    agents: Option<AgentChoice>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    retention: Option<Duration>,
    cipher: Option<Cipher>,
}

/// Why a runtime does not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Two tools have the same name.
    #[error(transparent)]
    DuplicateTool(#[from] DuplicateTool),
    /// The log can't be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The server's own secrets can't be read or made.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
}

impl fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeBuilder").field("log", &self.log).field("tools", &self.tools).finish_non_exhaustive()
    }
}

impl RuntimeBuilder {
    pub(super) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            log: Arc::new(MemoryLog::default()),
            tools: ToolSet::default(),
            model,
            agents: None,
            clock: Arc::new(SystemClock),
            limits: Limits::default(),
            retention: None,
            cipher: None,
        }
    }

    /// The log that stores the chats.
    #[must_use]
    pub fn log(mut self, log: Arc<dyn Store>) -> Self {
        self.log = log;
        self
    }

    /// The available tools.
    #[must_use]
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = tools;
        self
    }

    /// Chooses the tools and the model of each chat; `None` is those of the runtime. It is called for every message, and
    /// when a chat with open holds is woken, so it must be quick and give the same chat the same agent: a call whose tool
    /// is not among the chat's tools any more fails.
    #[must_use]
    pub fn agent_for(mut self, choose: impl Fn(&ChatId, &Subject) -> Option<Agent> + Send + Sync + 'static) -> Self {
        self.agents = Some(AgentChoice::new(choose));
        self
    }

    /// The clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Deletes chats that have not changed for this long. A chat in which something waits or runs is kept, however old.
    #[must_use]
    pub fn retention(mut self, age: Duration) -> Self {
        self.retention = Some(age);
        self
    }

    /// The key that encrypts the server's own secrets in the log: those by which the nodes find and check tickets. Without one they
    /// are stored as they are. One that is set later encrypts what is there. Afterwards every node needs the same one, or does
    /// not start.
    #[cfg(feature = "encryption")]
    #[must_use]
    pub fn secrets_key(mut self, key: &crate::tool::Secret) -> Self {
        self.cipher = Some(Cipher::new(key));
        self
    }

    /// Starts the runtime: holds wait again, and interrupted turns are recovered. Call it inside a Tokio runtime.
    pub async fn start(self) -> Result<Runtime, StartError> {
        self.tools.check()?;
        let Self { log, tools, model, agents, clock, limits, retention, cipher } = self;
        let budget_tool = match limits.budget.is_none() {
            true => None,
            false => Some(tools.get(BUDGET_TOOL).cloned().unwrap_or_else(budget_tool)),
        };
        let tools = tools.with_budget(budget_tool.as_ref());
        let (metrics, lease) = (Metrics::new(), log.cluster().lease());
        let shared_clock = lease.map(|_| SharedClock::new(Arc::clone(&clock)));
        let clock = shared_clock.clone().map_or(clock, |shared| shared as _);
        let (to_recover, recovering) = mpsc::unbounded_channel();
        let log: Arc<dyn Store> = Arc::new(MeteredLog::new(log, metrics.clone()));
        let secrets = secrets::open(&*log, cipher.as_ref(), clock.now()).await?;
        let inner = Arc::new(Inner {
            log,
            secrets,
            metrics,
            tools: watch::Sender::new(tools),
            budget_tool,
            model,
            agents,
            clock,
            shared_clock,
            limits,
            node: NodeId(uuid::Uuid::new_v4().as_u128()),
            running: Arc::default(),
            changes: ChangeChannels::default(),
            holds_changed: Notify::new(),
            hold_counts: HoldCountCache::default(),
            footprints: Default::default(),
            counters: Counters::default(),
            heavy: tokio::sync::Semaphore::new(1),
            lease: Lease::new(lease),
            to_recover,
            chats: AwakeChats::default(),
            tasks: TaskTracker::new(),
            ending: CancellationToken::new(),
            cancelling: CancellationToken::new(),
            closing: CancellationToken::new(),
        });
        lease::begin(&inner).await?;
        // Fails now rather than later if the log can't be read.
        inner.log.abandoned(inner.node, 1).await?;
        let wakeups = inner.log.wakeups();
        tokio::spawn(dispatch::run(Arc::clone(&inner), wakeups));
        tokio::spawn(dispatch::poll_chats(Arc::clone(&inner)));
        tokio::spawn(dispatch::poll_lists(Arc::clone(&inner)));
        tokio::spawn(deadlines::run(Arc::clone(&inner)));
        tokio::spawn(mend::sweep(Arc::clone(&inner)));
        tokio::spawn(recovery::run(Arc::clone(&inner), recovering));
        tokio::spawn(recovery::sweep(Arc::clone(&inner)));
        tokio::spawn(lease::keep(Arc::clone(&inner)));
        tokio::spawn(append::watch_health(Arc::clone(&inner)));
        if let Some(age) = retention {
            tokio::spawn(retention::keep(Arc::clone(&inner), age));
        }
        let runtime = Runtime::own(inner);
        runtime.admin().model_warnings();
        Ok(runtime)
    }
}
