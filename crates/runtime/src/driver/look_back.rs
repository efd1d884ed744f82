//! Earlier turns, for an input or a response that refers to one of them. What that costs depends on that turn: its ids are
//! keys, and a key says where its turn begins.

use std::sync::Arc;

use holdpoint_protocol::ids::ChatId;

use super::{
    checkpoint::message_key,
    command::ChatError,
    load::{self, Turn},
    runtime::Inner,
};
use crate::{log::LogError, subject::Subject, turn::EarlierId};

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
