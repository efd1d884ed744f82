//! The nodes of a run, and what happens to them.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{Limits, Runtime, chat::Chat, subject::Subject};
use tokio::{task::AbortHandle, time::sleep};

use super::{
    condition::Condition,
    journal::{Defect, Journal, LEASE},
    model::SeededModel,
    node_log::NodeLog,
    random::{Random, SimulatedClock},
    tools::{Ledger, budget, tools},
    wire::Responses,
};

/// Everything in a run.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) clock: SimulatedClock,
    pub(crate) journal: Arc<Journal>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) responses: Responses,
    pub(crate) chats: Vec<ChatId>,
    nodes: Mutex<Vec<Node>>,
    /// How many of a thousand operations of the log fail or are late.
    faults: AtomicU64,
    lives: AtomicU64,
    violations: Mutex<Vec<String>>,
    /// Requests without a response so far.
    waiting: Mutex<Vec<(u64, String)>>,
}

struct Node {
    runtime: Option<Runtime>,
    condition: Arc<Condition>,
    /// What runs for it outside of its runtime: clients, wakeups.
    tasks: Vec<AbortHandle>,
}

pub(crate) fn me() -> Subject {
    Subject::local()
}

impl World {
    pub(crate) async fn new(seed: u64, defect: Option<Defect>) -> Arc<Self> {
        let mut random = Random::new(seed, "world");
        let clock = SimulatedClock::new();
        let journal = Arc::new(Journal::new(clock, defect));
        let world = Arc::new(Self {
            seed,
            clock,
            ledger: Arc::new(Ledger::new(Arc::clone(&journal))),
            journal,
            responses: Responses::default(),
            chats: (0..=random.below(2)).map(|number| ChatId::from(&*format!("chat-{number}"))).collect(),
            nodes: Mutex::default(),
            faults: AtomicU64::new(*random.pick(&[0, 10, 30, 100]).expect("one of them")),
            lives: AtomicU64::new(0),
            violations: Mutex::default(),
            waiting: Mutex::default(),
        });
        for node in 0..2 + random.index(3) {
            let condition = Arc::new(Condition::new(node, 0));
            world.nodes().push(Node { runtime: None, condition, tasks: Vec::new() });
            world.start(node).await;
        }
        world
    }

    fn nodes(&self) -> MutexGuard<'_, Vec<Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes().len()
    }

    /// Starts a node, or starts it again.
    pub(crate) async fn start(&self, node: usize) {
        let life = self.lives.fetch_add(1, Ordering::SeqCst);
        let condition = Arc::new(Condition::new(node, self.faults.load(Ordering::SeqCst)));
        self.nodes()[node].condition = Arc::clone(&condition);
        let random = Random::new(self.seed, ("log", life));
        let (log, passing) = NodeLog::new(Arc::clone(&self.journal), Arc::clone(&condition), random);
        self.nodes()[node].tasks.push(passing);
        loop {
            let model = SeededModel { seed: self.seed, condition: Arc::clone(&condition) };
            let builder = Runtime::builder(Arc::new(model)).log(Arc::clone(&log) as _);
            let builder = builder.tools(tools(self.seed, &self.ledger, &condition)).clock(Arc::new(self.clock));
            let builder = builder.limits(Limits { budget: budget(self.seed), ..Limits::default() });
            match builder.start().await {
                Ok(runtime) => return self.nodes()[node].runtime = Some(runtime),
                Err(_) => sleep(Duration::from_millis(500)).await,
            }
        }
    }

    /// Ends a node at once, with everything that it does and everybody who is connected to it.
    fn kill(&self, node: usize) {
        let mut nodes = self.nodes();
        let Node { runtime, condition, tasks } = &mut nodes[node];
        condition.kill();
        tasks.drain(..).for_each(|task| task.abort());
        let runtime = runtime.take();
        drop(nodes);
        drop(runtime);
        self.responses.cut(node);
    }

    /// A node that is up.
    pub(crate) fn runtime(&self, node: usize) -> Option<Runtime> {
        self.nodes()[node].runtime.clone()
    }

    /// Runs a client of a node, until the node dies.
    pub(crate) fn spawn(self: &Arc<Self>, node: usize, client: impl Future<Output = ()> + Send + 'static) {
        let mut nodes = self.nodes();
        if nodes[node].runtime.is_none() {
            return;
        }
        let world = Arc::clone(self);
        let client = tokio::spawn(async move {
            if AssertUnwindSafe(client).catch_unwind().await.is_err() {
                world.violation("a client panicked");
            }
        });
        nodes[node].tasks.push(client.abort_handle());
    }

    /// Notes a violation of what must always be true.
    pub(crate) fn violation(&self, text: impl Into<String>) {
        let text = format!("{} ms: {}", self.clock.millis(), text.into());
        self.violations.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.violations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that a request waits for its response, until the guard is dropped.
    pub(crate) fn waiting(self: &Arc<Self>, what: String) -> impl Drop + use<> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let number = waiting.last().map_or(0, |(number, _)| number + 1);
        waiting.push((number, what));
        Waiting(Arc::clone(self), number)
    }

    pub(crate) fn unanswered(&self) -> Vec<String> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.iter().map(|(_, what)| what.clone()).collect()
    }

    /// The state of a chat, as of the log.
    pub(crate) fn state(&self, chat: &ChatId) -> Chat {
        self.journal.state(chat)
    }

    /// Kills, pauses and cuts off nodes for a while.
    pub(crate) async fn disturb(self: Arc<Self>) {
        let mut random = Random::new(self.seed, "disturb");
        let lease = u64::try_from(LEASE.as_millis()).expect("short");
        for _ in 0..random.below(5) {
            sleep(random.millis(4000)).await;
            let node = random.index(self.len());
            let condition = Arc::clone(&self.nodes()[node].condition);
            match random.below(5) {
                0 | 1 => {
                    self.kill(node);
                    sleep(Duration::from_millis(1) + random.millis(2 * lease)).await;
                    self.start(node).await;
                }
                2 => condition.pause(random.millis(3 * lease)),
                3 => condition.cut(random.millis(3 * lease)),
                _ => condition.refuse_lease(random.millis(3 * lease)),
            }
        }
    }

    /// Ends all faults.
    pub(crate) fn calm(&self) {
        self.faults.store(0, Ordering::SeqCst);
        self.nodes().iter().for_each(|node| node.condition.heal());
    }

    /// Waits until nothing more is committed. Returns whether that happened.
    pub(crate) async fn settle(&self) -> bool {
        const QUIET: u64 = 25;
        let (mut known, mut since) = (self.journal.len(), 0);
        for _ in 0..240 {
            sleep(Duration::from_secs(1)).await;
            let len = self.journal.len();
            since = if len == known { since + 1 } else { 0 };
            known = len;
            if since == QUIET {
                return true;
            }
        }
        false
    }
}

struct Waiting(Arc<World>, u64);

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|(number, _)| *number != self.1);
    }
}
