//! Facts that other nodes append to a chat that is awake here.
//!
//! They are folded behind what is already shown here, be it on disk or not: what another node may append while this one
//! runs the turn (decisions, results, expiries, new messages, requests to stop) does not depend on the order.

use std::{sync::Arc, time::Duration};

use super::{
    chat::{ChatError, ChatTask},
    head::Hold,
    react::AppendedBy,
};
use crate::{
    backoff::{self, Backoff},
    fact::Fact,
    log::{LogError, NodeId, Stored},
    turn::Input,
};

/// How often a chat that is longer than what was read of it is read again.
const MAX_ATTEMPTS: usize = 8;
/// The number of batches per read.
const PAGE: usize = 64;
/// Delays between attempts to read. System time: the cause is the log, and no deadline depends on it.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// A log that can't be read at the moment is no reason to give up a chat. It is read again a little later.
pub(super) async fn unless_unreadable(read: Result<(), ChatError>) -> Result<(), ChatError> {
    match read {
        Err(ChatError::Log(LogError::Failed(_))) => {
            tokio::time::sleep(INITIAL_BACKOFF).await;
            Ok(())
        }
        other => other,
    }
}

/// Facts that were appended elsewhere.
#[derive(Default)]
pub(super) struct Foreign {
    pub(super) facts: Vec<Arc<Fact>>,
    owner: Option<NodeId>,
    bytes: usize,
    weight: usize,
}

impl Foreign {
    /// None yet, in a chat with this owner.
    pub(super) fn of(owner: Option<NodeId>) -> Self {
        Self { owner, ..Self::default() }
    }

    /// The same, followed by an append that left this owner.
    pub(super) fn now_owned_by(self, owner: Option<NodeId>) -> Self {
        Self { owner, ..self }
    }

    /// Whether this node owns the chat after them.
    pub(super) fn is_owned_by(&self, node: NodeId) -> bool {
        self.owner == Some(node)
    }
}

impl ChatTask {
    /// Whether another node runs the turn.
    pub(super) fn is_elsewhere(&self) -> bool {
        // On a log of one node at a time, another owner is gone.
        self.inner.lease.is_shared() && self.owner.is_some_and(|owner| owner != self.inner.node)
    }

    /// Reads what others have appended, and acts on it. Returns whether there was anything.
    pub(super) async fn catch_up(&mut self) -> Result<bool, ChatError> {
        let mut foreign = Foreign::of(self.owner);
        self.read_on(&mut foreign).await?;
        let is_news = !foreign.facts.is_empty();
        self.absorb(foreign).await;
        Ok(is_news)
    }

    /// Like `catch_up`, for who wants to read: whatever was acknowledged by any node is seen on every node. If the log
    /// can't be read, the reader is told, and what runs here goes on.
    pub(super) async fn catch_up_for_reader(&mut self) -> Result<Result<(), LogError>, ChatError> {
        if !self.inner.lease.is_shared() {
            return Ok(Ok(()));
        }
        match self.catch_up().await {
            Err(ChatError::Log(error @ LogError::Failed(_))) => Ok(Err(error)),
            caught_up => caught_up.map(|_| Ok(())),
        }
    }

    /// Whether what is known of the chat is all there is, for an input that appended nothing: without an append, there is
    /// no conflict that would tell what other nodes have added. If not, that is read.
    pub(super) async fn is_current(&mut self) -> Result<bool, ChatError> {
        Ok(!self.inner.lease.is_shared() || !self.catch_up().await?)
    }

    /// Like `catch_up`, for a chat that has changed as far as is known. Without new facts, it was deleted.
    pub(super) async fn catch_up_or_end(&mut self) -> Result<(), ChatError> {
        for _ in 0..MAX_ATTEMPTS {
            if self.catch_up().await? {
                return Ok(());
            }
            return match self.inner.log.stored(&self.id).await? {
                Some(Stored::Chat { len, .. }) if len == self.base + self.durable => Ok(()),
                // It was appended to in between.
                Some(Stored::Chat { len, .. }) if len > self.base + self.durable => continue,
                Some(Stored::Chat { .. }) => Err(ChatError::Lost),
                None if self.base + self.durable == 0 => Ok(()),
                Some(Stored::Tombstone { len, .. }) if self.durable == 0 && len == self.base => Ok(()),
                Some(Stored::Tombstone { .. }) | None => Err(ChatError::NotFound),
            };
        }
        Err(ChatError::Lost)
    }

    /// Reads what has caused a conflict. If that can't be found, the chat is read anew.
    pub(super) async fn after_conflict(&mut self) -> Result<(), ChatError> {
        let mut foreign = Foreign::of(self.owner);
        self.must_read_on(&mut foreign).await?;
        if foreign.facts.is_empty() {
            return Err(ChatError::Lost);
        }
        self.absorb(foreign).await;
        Ok(())
    }

    /// Like `read_on`, but while the log can't be read, it waits: what happened here must not be lost by that.
    pub(super) async fn must_read_on(&mut self, foreign: &mut Foreign) -> Result<(), ChatError> {
        let mut backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
        loop {
            match self.read_on(foreign).await {
                Err(ChatError::Log(LogError::Failed(_))) => {}
                done => return done,
            }
            tokio::select! {
                biased;
                () = backoff::wait(&mut backoff) => {}
                () = self.inner.closing.cancelled() => return Err(ChatError::Closing),
            }
        }
    }

    /// Reads the facts behind those that are known and those that were read.
    pub(super) async fn read_on(&mut self, foreign: &mut Foreign) -> Result<(), ChatError> {
        loop {
            let position = self.base + self.durable + foreign.facts.len() as u64;
            let batches = self.inner.log.read(&self.id, position, PAGE).await?;
            if batches.is_empty() {
                return Ok(());
            }
            for batch in batches {
                if batch.first != self.base + self.durable + foreign.facts.len() as u64 {
                    // The chat was deleted, and its id is used again.
                    return Err(ChatError::Lost);
                }
                let (facts, weight) = self.inner.facts_of(&batch).await.map_err(|error| {
                    tracing::error!(chat = %self.id, "facts of another node can't be decoded");
                    ChatError::from(error)
                })?;
                let is_known = self.durable + foreign.facts.len() as u64 > 0;
                if is_known && facts.iter().any(|fact| matches!(fact, Fact::Opened { .. })) {
                    // The same: its positions follow those of the deleted one.
                    return Err(ChatError::Lost);
                }
                foreign.facts.extend(facts.into_iter().map(Arc::new));
                foreign.bytes += batch.payload.len();
                foreign.weight += weight;
                foreign.owner = batch.owner;
            }
        }
    }

    /// Folds and shows facts that were appended elsewhere. What follows from them is done next.
    pub(super) async fn absorb(&mut self, foreign: Foreign) {
        let Foreign { facts, owner, bytes, weight } = foreign;
        if facts.is_empty() {
            return;
        }
        let is_lost = self.owner == Some(self.inner.node) && owner != Some(self.inner.node);
        if is_lost {
            // Another node goes on from what is on disk.
            self.feed.take_back(&self.pending);
        }
        self.durable += facts.len() as u64;
        self.bytes += bytes;
        self.memory.grow(weight);
        self.feed.set_bytes(self.bytes, self.memory.bytes());
        facts.iter().for_each(|fact| self.state.apply(fact));
        facts.iter().for_each(|fact| self.note(fact));
        self.feed.push(facts.clone());
        self.owner = owner;
        self.holds = Hold::of(&self.state);
        if is_lost {
            tracing::warn!(chat = %self.id, "another node has taken over the chat");
            self.drop_work().await;
        }
        facts.iter().for_each(|fact| self.react(fact, AppendedBy::Another));
        self.must_follow = true;
    }

    /// Stops what runs here: it is another node's now.
    async fn drop_work(&mut self) {
        self.answer = None;
        self.running_tools.shutdown().await;
        self.running.clear();
        self.prompts.clear();
        self.pending.clear();
        self.pending_bytes = 0;
        self.flush_at = None;
        self.place = None;
    }

    /// Does what follows from facts that were appended elsewhere.
    pub(super) async fn follow(&mut self) -> Result<(), ChatError> {
        let is_watched = self.feed.is_watched();
        if self.owner == Some(self.inner.node) {
            self.input(Input::Follow { is_watched }).await?;
        } else if self.owner.is_none() && self.state.is_idle() && is_watched {
            // Its last hold expired on a node where nobody follows it.
            self.input(Input::ResumeIdle).await?;
        } else if !self.is_elsewhere() && self.state.is_running() {
            // The node that took it over from this one is gone too.
            self.input(Input::Recover).await?;
        }
        self.count_turn();
        if self.is_elsewhere() {
            return Ok(());
        }
        for command in std::mem::take(&mut self.deferred) {
            self.command(command).await?;
        }
        Ok(())
    }

    /// Undoes facts that were decided but not appended: the state is again that of what is shown.
    pub(super) fn restore(&mut self) {
        let mut state = self.origin.clone();
        self.feed.after(0).iter().for_each(|fact| state.apply(fact));
        if let (Some(turn), Some(before)) = (&mut state.turn, &self.state.turn) {
            // The model's own ids are not in the log.
            for input in &mut turn.inputs {
                if let Some(known) = before.inputs.iter().find(|known| known.call == input.call) {
                    input.provider_call_id.clone_from(&known.provider_call_id);
                }
            }
        }
        self.state = state;
    }
}
