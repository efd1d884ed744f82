//! The path of new facts: written to the log, then shown, then carried out (`react.rs`).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;

use super::{
    append, audit,
    chat::{ChatError, ChatTask},
    drive::OnConflict,
    follow::Foreign,
    grants,
    head::{HeadData, Hold},
    load::title_of,
    react::AppendedBy,
    weight,
};
use crate::{
    fact::{Fact, Outcome},
    log::{Append, AppendId, AuditRow, Key, LogError, Ownership},
};

/// How long text may stay unwritten.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
/// How much text may stay unwritten, in facts and in bytes.
const FLUSH_FACTS: usize = 1024;
const FLUSH_BYTES: usize = 256 * 1024;

/// How facts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writing {
    pub(super) on_conflict: OnConflict,
    /// Whether nothing is written if there is no room in memory for what it adds. Otherwise it is written all the same: it has
    /// happened.
    pub(super) may_refuse: bool,
}

impl Writing {
    /// For what has happened here, whatever others append.
    pub(super) const HAPPENED: Self = Self { on_conflict: OnConflict::Rebase, may_refuse: false };
}

impl ChatTask {
    /// Shows facts, after writing those that must be durable, and carries out their effects.
    pub(super) async fn record(&mut self, facts: Vec<Fact>, writing: Writing) -> Result<(), ChatError> {
        if facts.is_empty() {
            return Ok(());
        }
        let facts: Vec<Arc<Fact>> = facts.into_iter().map(Arc::new).collect();
        facts.iter().for_each(|fact| self.note(fact));
        if facts.iter().any(|fact| fact.must_be_durable()) {
            self.commit(facts, writing).await
        } else {
            self.pending_bytes += facts.iter().map(|fact| fact.text_len()).sum::<usize>();
            self.pending.extend(facts.iter().cloned());
            self.feed.push(facts);
            self.flush_at.get_or_insert_with(|| Instant::now() + FLUSH_INTERVAL);
            if self.pending.len() < FLUSH_FACTS && self.pending_bytes < FLUSH_BYTES {
                return Ok(());
            }
            self.commit(Vec::new(), Writing::HAPPENED).await
        }
    }

    /// Writes the pending facts and these, then shows these.
    pub(super) async fn commit(&mut self, facts: Vec<Arc<Fact>>, writing: Writing) -> Result<(), ChatError> {
        let pending = std::mem::take(&mut self.pending);
        let pending_bytes = std::mem::take(&mut self.pending_bytes);
        let flush_at = self.flush_at.take();
        let batch = [&pending[..], &facts].concat();
        let Some(subject) = self.state.subject.clone() else { return Ok(()) };
        let Ok(count) = u32::try_from(batch.len()) else { return Err(ChatError::Lost) };
        let encoded: Vec<&Fact> = batch.iter().map(|fact| &**fact).collect();
        self.inner.must_be_readable(&encoded)?;
        let payload = serde_json::to_vec(&encoded).map_err(|error| LogError::Failed(error.to_string()))?;
        let (size, weight) = (payload.len(), weight::of(&payload, encoded.iter().copied()));
        if writing.may_refuse && weight >= weight::UNRESERVED_BYTES {
            if !self.memory.reserve(weight) {
                (self.pending, self.pending_bytes, self.flush_at) = (pending, pending_bytes, flush_at);
                self.restore();
                return Err(ChatError::NoRoom);
            }
            self.reserved += weight;
        }
        let now = self.inner.clock.now();
        if !facts.is_empty() {
            // Text alone is no change that a list shows.
            self.updated_at = now;
        }
        let holds = Hold::of(&self.state);
        let ownership = match (self.is_elsewhere(), self.state.is_running()) {
            (true, _) => Ownership::Keep,
            (false, true) => Ownership::Take(self.inner.node),
            (false, false) => Ownership::Release,
        };
        let mut moved = if ownership == Ownership::Keep { None } else { self.moved(&batch, pending.len()) };
        // Wherever the facts end up, they come after it.
        let turn = self.base + self.checkpoint_at();
        let checkpoint = moved.as_ref().map_or(self.checkpoint.as_ref(), |moved| Some(&moved.checkpoint));
        let mut append = Append {
            chat: self.id.clone(),
            expected: self.base + self.durable,
            append_id: AppendId(uuid::Uuid::new_v4().as_u128()),
            count,
            payload: Bytes::from(payload),
            head: HeadData::of(&self.state, &self.title, &holds, checkpoint)
                .of_size(self.bytes + size)
                .write(&subject, self.updated_at),
            keys: encoded.iter().flat_map(|fact| keys_of(fact, turn)).collect(),
            holds: Hold::changes(&self.holds, &holds),
            ownership,
            digest: moved.as_ref().map(|moved| moved.digest.clone()),
            audit: audit::rows(&encoded, &self.state),
            grants: grants::changes(&encoded, &self.state),
        };
        Hold::tell_of_outcomes(&encoded, &self.state, &mut append.holds.told);
        append.keys.extend(moved.iter_mut().flat_map(|moved| std::mem::take(&mut moved.keys)));
        let mut foreign = Foreign::of(self.owner);
        loop {
            let asked_at = Instant::now();
            match append::append(&self.inner, append.clone()).await {
                Ok(()) => {
                    self.owned_at = asked_at;
                    break;
                }
                Err(ChatError::Conflict) => {}
                Err(error) => {
                    if error == ChatError::NotGranted {
                        (self.pending, self.pending_bytes, self.flush_at) = (pending, pending_bytes, flush_at);
                    }
                    return Err(error);
                }
            }
            if writing.on_conflict == OnConflict::Decide {
                // The text that is shown is still to be written.
                (self.pending, self.pending_bytes, self.flush_at) = (pending, pending_bytes, flush_at);
                self.restore();
                return Err(ChatError::Conflict);
            }
            let known = foreign.facts.len();
            self.must_read_on(&mut foreign).await?;
            if foreign.facts.len() == known {
                // Nothing was added to the chat, so it was deleted.
                return Err(ChatError::Lost);
            }
            if !foreign.is_owned_by(self.inner.node) {
                // What ran here is another node's now, and so is what comes of it.
                self.pending = pending;
                self.restore();
                self.absorb(foreign).await;
                return Ok(());
            }
            append.expected = self.base + self.durable + foreign.facts.len() as u64;
            let mut state = self.state.clone();
            foreign.facts.iter().for_each(|fact| state.apply(fact));
            // The next turn moves it: its position would be another one here.
            (moved, append.digest) = (None, None);
            append.audit = self.rows_behind(&foreign.facts, &encoded, pending.len());
            append.head = HeadData::of(&state, &self.title, &Hold::of(&state), self.checkpoint.as_ref())
                .of_size(self.bytes + size)
                .write(&subject, self.updated_at);
            // The chat stays this node's until it has acted on what others have added. If it dies before that, whoever
            // takes over does.
            if state.is_running() || state.is_unfinished() {
                append.ownership = Ownership::Take(self.inner.node);
            }
        }
        self.durable += u64::from(count);
        self.holds = holds;
        self.owner = match append.ownership {
            Ownership::Keep => self.owner,
            Ownership::Take(node) => Some(node),
            Ownership::Release => None,
        };
        self.memory.belongs_to(&subject);
        self.bytes += size;
        self.memory.grow(weight);
        self.memory.give_back(std::mem::take(&mut self.reserved));
        self.inner.footprints.grew(&subject, usize::from(append.expected == self.base), size);
        self.feed.set_bytes(self.bytes, self.memory.bytes());
        if let Some(moved) = moved {
            self.move_to(moved);
        }
        if !facts.is_empty() {
            self.feed.push(facts.clone());
            facts.iter().for_each(|fact| self.react(fact, AppendedBy::Us));
        }
        let foreign = foreign.now_owned_by(self.owner);
        self.absorb(foreign).await;
        Ok(())
    }

    /// What a batch adds to the record if it is written behind facts of others. The record follows the order of the log, and
    /// what is shown here has them in another one.
    fn rows_behind(&self, foreign: &[Arc<Fact>], batch: &[&Fact], pending: usize) -> Vec<AuditRow> {
        let (mut state, shown) = (self.origin.clone(), self.feed.after(0));
        let durable = shown.len().saturating_sub(pending);
        shown.iter().take(durable).chain(foreign).for_each(|fact| state.apply(fact));
        batch.iter().for_each(|fact| state.apply(fact));
        audit::rows(batch, &state)
    }

    /// Updates what is kept about the whole chat.
    pub(super) fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Said { .. } if self.title.is_empty() => self.title = title_of(fact).unwrap_or_default(),
            Fact::Settled { call, outcome: Outcome::Output(output), .. } => {
                if let Some(call) = self.state.calls.get(call) {
                    self.last_outputs.insert(call.name.clone(), Arc::new(output.clone()));
                }
            }
            _ => {}
        }
    }
}

/// The keys by which this fact makes the chat findable, in a turn that begins at a position. Approval requests are found
/// by others than the owner too.
pub(super) fn keys_of(fact: &Fact, turn: u64) -> Vec<Key> {
    let key = |id: &str, is_shared| Key { id: id.into(), at: turn, is_shared };
    match fact {
        Fact::Called { call, .. } => vec![key(call.as_str(), false)],
        Fact::Asked { approval, .. } => vec![key(approval.as_str(), false), key(approval.as_str(), true)],
        _ => Vec::new(),
    }
}
