//! A chat's log as its task knows it: what is on disk, what is about to be written, and the state that both lead to.
//!
//! It begins with what was loaded, and follows the log from there: by what this task appends (`commit.rs`) and by what others
//! have appended (`read.rs`). It ends with the task. What it has not written by then is lost: text of a moment ago, which is
//! written before a task ends by itself.
//!
//! Invariants:
//! - `state` is the fold of what the followers have been shown: facts on disk, and those that are pending. Between
//!   [`ChatLog::decide`] and [`ChatLog::commit`] it is ahead by the facts that were decided. If these are not written, it goes
//!   back.
//! - The position of the next append is `end`. If something else is there, the append is a conflict.
//! - An owner changes with a committed append, ours or another node's; [`ChatLog::claim`] only prepares the next one.

mod commit;
mod look_back;
mod read;
mod room;
mod step;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use holdpoint_protocol::ids::ChatId;
use tokio::time::Instant;

use self::{commit::Pending, room::Room};
pub(in crate::driver) use self::{
    commit::{OnConflict, Writing},
    read::Foreign,
    step::{Decided, Deciding},
};
use crate::{
    chat::Chat,
    clock::Timestamp,
    driver::{
        checkpoint::{AtCheckpoint, ConversationSource},
        feed::{Earlier, Feed},
        head::Hold,
        load::{Loaded, title_of},
        runtime::Inner,
    },
    fact::Fact,
    log::NodeId,
    model::ModelError,
    subject::Subject,
    turn::Input,
};

/// A chat's log.
pub(in crate::driver) struct ChatLog {
    inner: Arc<Inner>,
    id: ChatId,
    /// The number of facts that the log had of earlier chats with this id, which were deleted.
    base: u64,
    /// The owner of those chats. Nobody else may use the id.
    former_owner: Option<Subject>,
    stored: Stored,
    pending: Pending,
    state: Chat,
    /// The state before the first fact that is shown. Partial, unless an input needed all turns before it.
    origin: Chat,
    checkpoint: AtCheckpoint,
    title: String,
    room: Room,
    /// Whether others have appended something that may have consequences, which are not drawn yet.
    has_news: bool,
}

/// What is on disk.
struct Stored {
    /// The number of facts, and their size.
    len: u64,
    bytes: usize,
    /// The node that runs the turn.
    owner: Option<NodeId>,
    /// The chat was this node's then, according to its last append.
    owned_at: Instant,
    /// The open holds.
    holds: Vec<Hold>,
    /// The time of the last change that a list shows.
    updated_at: Timestamp,
}

impl ChatLog {
    /// What was loaded, and the facts of it.
    pub(super) fn new(inner: Arc<Inner>, id: ChatId, loaded: Loaded) -> (Self, Vec<Arc<Fact>>) {
        let Loaded { origin, checkpoint, title, facts, base, former_owner, owner, bytes, memory } = loaded;
        let stored = Stored {
            len: origin.len + facts.len() as u64,
            bytes: checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.bytes) + bytes,
            owner,
            owned_at: Instant::now(),
            holds: Vec::new(),
            updated_at: Timestamp(0),
        };
        let mut log = Self {
            inner,
            id,
            base,
            former_owner,
            stored,
            pending: Pending::default(),
            state: origin.clone(),
            checkpoint: AtCheckpoint::new(checkpoint, origin.clone()),
            origin,
            title,
            room: Room::new(memory),
            has_news: false,
        };
        log.fold(&facts);
        log.stored.holds = Hold::of(&log.state);
        (log, facts)
    }

    /// Folds facts that are on disk.
    fn fold(&mut self, facts: &[Arc<Fact>]) {
        for fact in facts {
            self.state.apply(fact);
            self.note_title(fact);
        }
    }

    /// The first message gives the chat its title.
    fn note_title(&mut self, fact: &Fact) {
        if self.title.is_empty() && matches!(fact, Fact::Said { .. }) {
            self.title = title_of(fact).unwrap_or_default();
        }
    }

    /// The state.
    pub(in crate::driver) fn state(&self) -> &Chat {
        &self.state
    }

    /// The state before the first fact that is shown.
    pub(super) fn origin(&self) -> &Chat {
        &self.origin
    }

    /// The owner of the chat, once it has facts.
    pub(in crate::driver) fn subject(&self) -> Option<&Subject> {
        self.state.subject.as_ref()
    }

    /// Whether a subject may begin a chat with this id.
    pub(super) fn may_be_begun_by(&self, subject: &Subject) -> bool {
        self.state.subject.is_none() && self.former_owner.as_ref().is_none_or(|owner| owner == subject)
    }

    /// The position behind the last fact on disk.
    pub(in crate::driver) fn end(&self) -> u64 {
        self.base + self.stored.len
    }

    /// Whether there is no fact on disk. The log may have had earlier chats with this id.
    pub(in crate::driver) fn is_new(&self) -> bool {
        self.stored.len == 0
    }

    /// Where facts are that are not in memory.
    pub(super) fn earlier(&self) -> Earlier {
        Earlier { inner: Arc::clone(&self.inner), chat: self.id.clone(), base: self.base }
    }

    /// The size of the chat, as stored.
    pub(in crate::driver) fn bytes(&self) -> usize {
        self.stored.bytes
    }

    /// What is in memory of it.
    pub(in crate::driver) fn loaded_bytes(&self) -> usize {
        self.room.bytes()
    }

    /// Whether something is held, as of what is on disk.
    pub(in crate::driver) fn has_holds(&self) -> bool {
        !self.stored.holds.is_empty()
    }

    /// The node that runs the turn.
    pub(in crate::driver) fn owner(&self) -> Option<NodeId> {
        self.stored.owner
    }

    /// Whether this node runs the turn, or is to act on what others have added.
    pub(in crate::driver) fn is_ours(&self) -> bool {
        self.stored.owner == Some(self.inner.node)
    }

    /// Whether another node runs the turn.
    pub(in crate::driver) fn is_elsewhere(&self) -> bool {
        // On a log of one node at a time, another owner is gone.
        self.inner.lease.is_shared() && self.stored.owner.is_some_and(|owner| owner != self.inner.node)
    }

    /// When the chat was certainly this node's.
    pub(in crate::driver) fn owned_at(&self) -> Instant {
        self.stored.owned_at
    }

    /// Takes the chat over, with the next append. If another node wins the race, this node finds out then.
    pub(in crate::driver) fn claim(&mut self) {
        self.stored.owner = Some(self.inner.node);
    }

    /// The consequences of what others have appended are to be drawn.
    pub(in crate::driver) fn set_news(&mut self) {
        self.has_news = true;
    }

    /// Whether they are.
    pub(super) fn has_news(&self) -> bool {
        self.has_news
    }

    /// Whether they are. From now on they are taken for drawn.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Reserves room for what comes of the model's events. Returns whether there was any, and the limits leave more.
    pub(in crate::driver) fn reserve_for(&mut self, events: &[Result<Input, ModelError>]) -> bool {
        self.room.reserve_for(events) && !self.room.is_over()
    }

    /// The inputs are handled: what was reserved for them and is not needed is given back.
    pub(super) fn handled(&mut self) {
        self.room.handled(self.pending.is_empty());
    }

    /// The position of the last output of a tool, if it is of a turn that is not in memory.
    pub(super) fn last_output(&self, tool: &str) -> Option<u64> {
        Some(self.base + self.checkpoint.last_output(tool)?)
    }

    /// Where to read the conversation.
    pub(super) fn conversation(&self, shown: &Feed) -> ConversationSource {
        let at = self.checkpoint.position();
        ConversationSource {
            inner: Arc::clone(&self.inner),
            chat: self.id.clone(),
            owner: self.state.subject.clone(),
            base: self.base,
            at,
            facts: shown.after(at),
        }
    }
}
