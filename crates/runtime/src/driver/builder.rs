//! Making a runtime, and starting it: what waited before is waited for again.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Limits, Runtime, chat::Command, head::HeadData, holds::Holds, runtime::Inner};
use crate::{
    clock::{Clock, SystemClock},
    log::{HeadQuery, Log, LogError, MemoryLog},
    model::{DemoModel, Model},
    tool::{ToolSet, demo::demo_tools},
};

/// Makes a [`Runtime`]. What is not said is the demo: memory, the demo tools, the demo model.
pub struct RuntimeBuilder {
    log: Arc<dyn Log>,
    tools: ToolSet,
    model: Arc<dyn Model>,
    clock: Arc<dyn Clock>,
    limits: Limits,
}

impl Default for RuntimeBuilder {
    fn default() -> Self {
        Self {
            log: Arc::new(MemoryLog::default()),
            tools: demo_tools(),
            model: Arc::new(DemoModel),
            clock: Arc::new(SystemClock),
            limits: Limits::default(),
        }
    }
}

impl RuntimeBuilder {
    /// Where chats are kept.
    #[must_use]
    pub fn log(mut self, log: Arc<dyn Log>) -> Self {
        self.log = log;
        self
    }

    /// The tools on offer.
    #[must_use]
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = tools;
        self
    }

    /// The model.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = model;
        self
    }

    /// Where time comes from.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// What is too much.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Starts it: what waited before is waited for again, what was cut off goes on. Must be called inside a tokio runtime.
    pub async fn start(self) -> Result<Runtime, LogError> {
        let Self { log, tools, model, clock, limits } = self;
        let inner = Arc::new(Inner {
            log,
            tools: watch::Sender::new(tools),
            model,
            clock,
            limits,
            holds: Holds::new(),
            chats: Mutex::default(),
            tasks: TaskTracker::new(),
            ending: CancellationToken::new(),
            closing: CancellationToken::new(),
        });
        let mut query = HeadQuery { only_open: true, ..HeadQuery::default() };
        let mut cut_off = Vec::new();
        loop {
            let page = inner.log.heads(query.clone(), 1000).await?;
            let Some((last, ..)) = page.last() else { break };
            query.after = Some(last.clone());
            for (id, _, head) in page {
                let data = HeadData::read(&head);
                if data.is_running {
                    cut_off.push(id.clone());
                }
                inner.holds.set(&id, &head.subject, data.holds);
            }
        }
        tokio::spawn(keep_time(Arc::clone(&inner)));
        for id in cut_off {
            if let Some(chat) = inner.wake(&id) {
                // The mailbox was made just now.
                let _ = chat.send(Command::Recover).await;
            }
        }
        Ok(Runtime::own(inner))
    }
}

/// Tells chats when their deadlines come.
async fn keep_time(inner: Arc<Inner>) {
    loop {
        let (chat, call) = tokio::select! {
            expired = inner.holds.next_expired(&*inner.clock) => expired,
            () = inner.closing.cancelled() => return,
        };
        if let Some(mailbox) = inner.wake(&chat) {
            // A chat that has no room now is told again: one that is stuck must not hold up the deadlines of the others.
            let _ = mailbox.try_send(Command::Expired { call });
        }
    }
}
