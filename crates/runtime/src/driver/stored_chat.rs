//! A chat as it is stored: its messages and its holds.

use std::sync::Arc;

use holdpoint_protocol::{holds::ChatHold, message::UiMessage};

use super::{RuntimeError, feed::FeedReader, memory::Memory};
use crate::{
    fact::Fact,
    identity::Identity,
    wire::{Listed, history, holds},
};

/// A chat opened for reading. It stays in memory while this exists.
pub struct StoredChat(pub(super) FeedReader);

impl StoredChat {
    /// The size in bytes, as stored: about that of the messages as JSON.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The stored messages.
    pub async fn messages(&self) -> Result<Vec<UiMessage>, RuntimeError> {
        let (facts, _memory) = self.facts().await?;
        Ok(history(&facts))
    }

    /// The holds, open and past, with their decisions. Each says what `by` may do about it.
    pub async fn holds(&self, listed: Listed, by: &Identity) -> Result<Vec<ChatHold>, RuntimeError> {
        let (facts, _memory) = self.facts().await?;
        Ok(holds(&facts, listed, by))
    }

    async fn facts(&self) -> Result<(Vec<Arc<Fact>>, Option<Memory>), RuntimeError> {
        // Before those that were read earlier: what is added meanwhile comes after them.
        let later = self.0.after(0);
        let (mut facts, memory) = self.0.earlier().await?;
        facts.extend(later);
        Ok((facts, memory))
    }
}
