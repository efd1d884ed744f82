//! Earlier turns, for an input or a response that refers to one of them. What that costs depends on that turn: its ids are
//! keys, and a key says where its turn begins.

use std::sync::Arc;

use holdpoint_protocol::ids::ChatId;

use super::{
    chat::{ChatError, ChatTask},
    checkpoint::message_key,
    load::{self, Turn},
    runtime::Inner,
};
use crate::{
    chat::Chat,
    log::LogError,
    subject::Subject,
    turn::{EarlierId, Input, NeedsEarlier, needs_earlier},
};

/// Where the turn of an id begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The chat does not know the id.
    Nowhere,
    /// The chat knows the id, but not from where on: the key is damaged.
    Somewhere,
    /// At this position, or in one of the next turns.
    At(u64),
}

impl ChatTask {
    /// Loads what the input needs of the turns before the feed.
    pub(super) async fn look_back(&mut self, input: &Input) -> Result<(), ChatError> {
        // A decision and a result depend on a call alone.
        let needs_messages = matches!(input, Input::Submit(_));
        let mut tried = Vec::new();
        loop {
            let id = match needs_earlier(&self.state, input) {
                NeedsEarlier::Always => return self.load_all().await,
                NeedsEarlier::If(ids) => ids.into_iter().find(|id| !tried.contains(id)),
            };
            let (Some(id), Some(subject)) = (id, self.state.subject.clone()) else { return Ok(()) };
            let (inner, chat, before) = (Arc::clone(&self.inner), self.id.clone(), self.feed.first());
            match turn_of(&inner, &subject, &chat, self.base, before, &id).await? {
                Found::Nothing => {}
                Found::Turn(turn) if !needs_messages || self.state.knows_cuts_of(turn.first, &turn.facts) => {
                    self.origin.include(turn.first, &turn.facts);
                    self.earlier_memory.push(turn.memory);
                    self.restore();
                }
                Found::Turn(_) | Found::NeedsAll => return self.load_all().await,
            }
            tried.push(id);
        }
    }

    /// Loads all turns before the feed.
    async fn load_all(&mut self) -> Result<(), ChatError> {
        let (facts, memory) =
            load::earlier(&self.inner, self.state.subject.as_ref(), &self.id, self.base, self.feed.first()).await?;
        self.earlier_memory = vec![memory];
        let mut state = Chat::default();
        facts.iter().for_each(|fact| state.apply(fact));
        self.origin = state;
        self.restore();
        Ok(())
    }
}

/// What is known of an id in the turns before a position.
pub(super) enum Found {
    /// Nothing.
    Nothing,
    /// Its turn.
    Turn(Turn),
    /// It is known, but not where: all turns have to be read.
    NeedsAll,
}

/// Loads the turn of an id, if it comes before a position.
pub(super) async fn turn_of(
    inner: &Arc<Inner>,
    subject: &Subject,
    chat: &ChatId,
    base: u64,
    before: u64,
    id: &EarlierId,
) -> Result<Found, ChatError> {
    let first = match place(inner, subject, chat, base, id).await? {
        Place::Nowhere => return Ok(Found::Nothing),
        Place::At(first) if first >= before => return Ok(Found::Nothing),
        Place::Somewhere => return Ok(Found::NeedsAll),
        Place::At(first) => first,
    };
    let turn = load::turn(inner, Some(subject), chat, base, first..before, |fact| id.is_of(fact)).await?;
    // A damaged key leads elsewhere.
    Ok(turn.map_or(Found::NeedsAll, Found::Turn))
}

async fn place(inner: &Inner, subject: &Subject, chat: &ChatId, base: u64, id: &EarlierId) -> Result<Place, LogError> {
    let key = match id {
        EarlierId::Message(id) => message_key(chat, id),
        EarlierId::Call(id) => id.as_str().into(),
        EarlierId::Approval(id) => id.as_str().into(),
    };
    let found = inner.log.find(subject, &key).await?.filter(|found| found.chat == *chat);
    Ok(match found {
        None => Place::Nowhere,
        Some(found) => found.at.checked_sub(base).map_or(Place::Somewhere, Place::At),
    })
}
