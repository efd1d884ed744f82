//! What others have appended: read behind what is known, and folded behind what is shown.

use std::{sync::Arc, time::Duration};

use super::ChatLog;
use crate::{
    backoff::{self, Backoff},
    driver::{command::ChatError, head::Hold},
    fact::Fact,
    log::{LogError, NodeId},
};

/// The number of batches per read.
const PAGE: usize = 64;
/// Delays between attempts to read. System time: the cause is the log, and no deadline depends on it.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// Facts that were appended elsewhere.
#[derive(Default)]
pub(in crate::driver) struct Foreign {
    facts: Vec<Arc<Fact>>,
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

    pub(in crate::driver) fn facts(&self) -> &[Arc<Fact>] {
        &self.facts
    }
}

impl ChatLog {
    /// Reads what others have appended.
    pub(in crate::driver) async fn read(&mut self) -> Result<Foreign, ChatError> {
        let mut foreign = Foreign::of(self.stored.owner);
        self.read_on(&mut foreign).await?;
        Ok(foreign)
    }

    /// Reads what has caused a conflict.
    pub(in crate::driver) async fn read_conflict(&mut self) -> Result<Foreign, ChatError> {
        let mut foreign = Foreign::of(self.stored.owner);
        self.must_read_on(&mut foreign).await?;
        Ok(foreign)
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
    async fn read_on(&mut self, foreign: &mut Foreign) -> Result<(), ChatError> {
        loop {
            let position = self.end() + foreign.facts.len() as u64;
            let batches = self.inner.log.read(&self.id, position, PAGE).await?;
            if batches.is_empty() {
                return Ok(());
            }
            for batch in batches {
                if batch.first != self.end() + foreign.facts.len() as u64 {
                    // The chat was deleted, and its id is used again.
                    return Err(ChatError::Lost);
                }
                let (facts, weight) = self.inner.facts_of(&batch).await.map_err(|error| {
                    tracing::error!(chat = %self.id, "facts of another node can't be decoded");
                    ChatError::from(error)
                })?;
                let is_known = self.stored.len + foreign.facts.len() as u64 > 0;
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

    /// Folds what others have appended. If another node has taken over the turn by that, returns the text that was shown and
    /// will not be written: that node goes on from what is on disk.
    pub(in crate::driver) fn absorb(&mut self, foreign: &Foreign) -> Option<Vec<Arc<Fact>>> {
        let is_taken_over = self.is_ours() && !foreign.is_owned_by(self.inner.node);
        self.fold(&foreign.facts);
        self.room.grew(foreign.weight);
        self.stored.len += foreign.facts.len() as u64;
        self.stored.bytes += foreign.bytes;
        self.stored.owner = foreign.owner;
        self.stored.holds = Hold::of(&self.state);
        self.has_news = true;
        is_taken_over.then(|| std::mem::take(&mut self.pending).facts)
    }
}
