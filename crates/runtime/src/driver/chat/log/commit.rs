//! Writing: the facts that are pending and those that were decided, in one append.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;

use super::{ChatLog, Foreign};
use crate::{
    driver::{
        append, audit,
        checkpoint::{Moved, Moving},
        command::ChatError,
        feed::Feed,
        grants,
        head::{HeadData, Hold, keys_of},
        weight,
    },
    fact::Fact,
    log::{Append, AppendId, AuditRow, LogError, Ownership},
    subject::Subject,
};

/// How long text may stay unwritten.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
/// How much text may stay unwritten, in facts and in bytes.
const FLUSH_FACTS: usize = 1024;
const FLUSH_BYTES: usize = 256 * 1024;

/// What to do when another node has appended first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) enum OnConflict {
    /// Append the same behind it: what this node runs does not depend on what others may append.
    Rebase,
    /// Decide again.
    Decide,
}

/// How facts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) struct Writing {
    pub(in crate::driver) on_conflict: OnConflict,
    /// Whether nothing is written if there is no room in memory for what it adds. Otherwise it is written all the same: it has
    /// happened.
    pub(in crate::driver) may_refuse: bool,
}

impl Writing {
    /// For what has happened here, whatever others append.
    pub(in crate::driver) const HAPPENED: Self = Self { on_conflict: OnConflict::Rebase, may_refuse: false };
}

/// What has come of an append.
pub(in crate::driver) struct Committed {
    /// Whether the facts are on disk. If not, another node has taken over the turn, and what comes of it is that node's.
    pub(in crate::driver) is_written: bool,
    /// What others had appended before.
    pub(in crate::driver) foreign: Foreign,
}

/// Facts that are shown and not on disk yet: text, for a moment.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) facts: Vec<Arc<Fact>>,
    bytes: usize,
    flush_at: Option<Instant>,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }
}

/// The facts of an append, and what they take.
struct Batch<'a> {
    facts: Vec<&'a Fact>,
    /// The number of them that are shown already.
    pending: usize,
    /// Their size, as stored and in memory.
    bytes: usize,
    weight: usize,
}

impl ChatLog {
    /// Whether text is shown that is not on disk yet.
    pub(in crate::driver) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// When it is to be written at the latest.
    pub(in crate::driver) fn flush_at(&self) -> Option<Instant> {
        self.pending.flush_at
    }

    /// Takes text that is written a little later. Returns whether there is so much of it that it is to be written now.
    pub(in crate::driver) fn put_off(&mut self, facts: &[Arc<Fact>]) -> bool {
        let pending = &mut self.pending;
        pending.bytes += facts.iter().map(|fact| fact.text_len()).sum::<usize>();
        pending.facts.extend(facts.iter().cloned());
        pending.flush_at.get_or_insert_with(|| Instant::now() + FLUSH_INTERVAL);
        pending.facts.len() >= FLUSH_FACTS || pending.bytes >= FLUSH_BYTES
    }

    /// Writes what is pending, and these facts, which were decided. If they are not written, the state goes back to what is
    /// shown; only after [`ChatError::NotGranted`] is that for the caller to do.
    pub(in crate::driver) async fn commit(
        &mut self,
        facts: &[Arc<Fact>],
        writing: Writing,
        shown: &Feed,
    ) -> Result<Committed, ChatError> {
        let mut foreign = Foreign::of(self.stored.owner);
        let Some(subject) = self.state.subject.clone() else { return Ok(Committed { is_written: false, foreign }) };
        let title = self.title.clone();
        facts.iter().for_each(|fact| self.note_title(fact));
        let pending = std::mem::take(&mut self.pending);
        let all = [&pending.facts[..], facts].concat();
        let written = self.write(&subject, &all, pending.facts.len(), writing, shown, &mut foreign).await;
        if !matches!(written, Ok(true)) {
            // The text that is shown is still to be written.
            self.pending = pending;
            self.title = title;
            if !matches!(written, Err(ChatError::NotGranted)) {
                self.go_back_to(shown);
            }
        }
        let is_written = written?;
        if is_written {
            foreign = foreign.now_owned_by(self.stored.owner);
        }
        Ok(Committed { is_written, foreign })
    }

    /// Appends facts, of which the first ones are shown already. Returns whether they are on disk; if not, another node runs
    /// the turn now.
    async fn write(
        &mut self,
        subject: &Subject,
        all: &[Arc<Fact>],
        pending: usize,
        writing: Writing,
        shown: &Feed,
        foreign: &mut Foreign,
    ) -> Result<bool, ChatError> {
        let Ok(count) = u32::try_from(all.len()) else { return Err(ChatError::Lost) };
        let facts: Vec<&Fact> = all.iter().map(|fact| &**fact).collect();
        self.inner.must_be_readable(&facts)?;
        let payload = serde_json::to_vec(&facts).map_err(|error| LogError::Failed(error.to_string()))?;
        let (bytes, weight) = (payload.len(), weight::of(&payload, facts.iter().copied()));
        if writing.may_refuse && !self.room.reserve(weight) {
            return Err(ChatError::NoRoom);
        }
        if all.len() > pending {
            // Text alone is no change that a list shows.
            self.stored.updated_at = self.inner.clock.now();
        }
        let batch = Batch { facts, pending, bytes, weight };
        let holds = Hold::of(&self.state);
        let mut moved = self.moved(all, pending, shown);
        let mut append = self.append(subject, &batch, count, Bytes::from(payload), &holds, moved.as_mut());
        loop {
            let asked_at = Instant::now();
            match append::append(&self.inner, append.clone()).await {
                Ok(()) => {
                    self.stored.owned_at = asked_at;
                    break;
                }
                Err(ChatError::Conflict) if writing.on_conflict == OnConflict::Rebase => {}
                Err(error) => return Err(error),
            }
            let known = foreign.facts().len();
            self.must_read_on(foreign).await?;
            if foreign.facts().len() == known {
                // Nothing was added to the chat, so it was deleted.
                return Err(ChatError::Lost);
            }
            if !foreign.is_owned_by(self.inner.node) {
                return Ok(false);
            }
            // The next turn moves it: its position would be another one here.
            moved = None;
            self.put_behind(foreign, &batch, shown, &mut append);
        }
        self.stored.len += u64::from(count);
        self.stored.bytes += batch.bytes;
        self.stored.holds = holds;
        self.stored.owner = match append.ownership {
            Ownership::Keep => self.stored.owner,
            Ownership::Take(node) => Some(node),
            Ownership::Release => None,
        };
        self.room.written(subject, batch.weight);
        self.inner.footprints.grew(subject, usize::from(append.expected == self.base), batch.bytes);
        if let Some(moved) = moved {
            self.checkpoint.move_to(moved);
        }
        Ok(true)
    }

    /// The checkpoint that an append of these facts leads to.
    fn moved(&self, all: &[Arc<Fact>], pending: usize, shown: &Feed) -> Option<Moved> {
        if self.is_elsewhere() {
            return None;
        }
        self.checkpoint.moved(&Moving {
            chat: &self.id,
            base: self.base,
            durable: self.stored.len,
            bytes: self.stored.bytes,
            batch: all,
            pending,
            shown,
        })
    }

    /// An append behind what is known.
    fn append(
        &self,
        subject: &Subject,
        batch: &Batch<'_>,
        count: u32,
        payload: Bytes,
        holds: &[Hold],
        moved: Option<&mut Moved>,
    ) -> Append {
        let ownership = match (self.is_elsewhere(), self.state.is_running()) {
            (true, _) => Ownership::Keep,
            (false, true) => Ownership::Take(self.inner.node),
            (false, false) => Ownership::Release,
        };
        // Wherever the facts end up, they come after it.
        let turn = self.base + self.checkpoint.position();
        let checkpoint = moved.as_ref().map_or(self.checkpoint.checkpoint(), |moved| Some(&moved.checkpoint));
        let mut append = Append {
            chat: self.id.clone(),
            expected: self.end(),
            append_id: AppendId(uuid::Uuid::new_v4().as_u128()),
            count,
            payload,
            head: HeadData::of(&self.state, &self.title, holds, checkpoint)
                .of_size(self.stored.bytes + batch.bytes)
                .write(subject, self.stored.updated_at),
            keys: batch.facts.iter().flat_map(|fact| keys_of(fact, turn)).collect(),
            holds: Hold::changes(&self.stored.holds, holds),
            ownership,
            digest: moved.as_ref().map(|moved| moved.digest.clone()),
            audit: audit::rows(&batch.facts, &self.state),
            grants: grants::changes(&batch.facts, &self.state),
        };
        Hold::tell_of_outcomes(&batch.facts, &self.state, &mut append.holds.told);
        append.keys.extend(moved.into_iter().flat_map(|moved| std::mem::take(&mut moved.keys)));
        append
    }

    /// Puts an append behind what others have appended.
    fn put_behind(&self, foreign: &Foreign, batch: &Batch<'_>, shown: &Feed, append: &mut Append) {
        append.expected = self.end() + foreign.facts().len() as u64;
        append.digest = None;
        append.audit = self.rows_behind(foreign, batch, shown);
        let mut state = self.state.clone();
        foreign.facts().iter().for_each(|fact| state.apply(fact));
        append.head = HeadData::of(&state, &self.title, &Hold::of(&state), self.checkpoint.checkpoint())
            .of_size(self.stored.bytes + batch.bytes)
            .write(&append.head.subject, self.stored.updated_at);
        // The chat stays this node's until it has acted on what others have added. If it dies before that, whoever takes over
        // does.
        if state.is_running() || state.is_unfinished() {
            append.ownership = Ownership::Take(self.inner.node);
        }
    }

    /// What a batch adds to the record if it is written behind facts of others. The record follows the order of the log, and
    /// what is shown here has them in another one.
    fn rows_behind(&self, foreign: &Foreign, batch: &Batch<'_>, shown: &Feed) -> Vec<AuditRow> {
        let (mut state, shown) = (self.origin.clone(), shown.after(0));
        let durable = shown.len().saturating_sub(batch.pending);
        shown.iter().take(durable).chain(foreign.facts()).for_each(|fact| state.apply(fact));
        batch.facts.iter().for_each(|fact| state.apply(fact));
        audit::rows(&batch.facts, &state)
    }
}
