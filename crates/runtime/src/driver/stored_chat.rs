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
        self.with_facts(history).await
    }

    /// The stored messages, as JSON text. The messages themselves may take a hundred times as much memory.
    pub async fn messages_text(&self) -> Result<Vec<u8>, RuntimeError> {
        self.with_facts(|facts| text(&history(facts))).await
    }

    /// The holds, open and past, with their decisions. Each says what `by` may do about it.
    pub async fn holds(&self, listed: Listed, by: &Identity) -> Result<Vec<ChatHold>, RuntimeError> {
        let by = by.clone();
        self.with_facts(move |facts| holds(facts, listed, &by)).await
    }

    /// Like `holds`, as JSON text.
    pub async fn holds_text(&self, listed: Listed, by: &Identity) -> Result<Vec<u8>, RuntimeError> {
        let by = by.clone();
        self.with_facts(move |facts| text(&holds(facts, listed, &by))).await
    }

    /// Makes something of all facts, where nobody waits for it.
    async fn with_facts<T: Send + 'static>(
        &self,
        make: impl FnOnce(&[Arc<Fact>]) -> T + Send + 'static,
    ) -> Result<T, RuntimeError> {
        let (facts, memory) = self.facts().await?;
        let weight = self.0.weight() + memory.as_ref().map_or(0, Memory::bytes);
        let Some(inner) = self.0.inner() else { return Ok(make(&facts)) };
        let made = inner.beside(weight, move || {
            let made = make(&facts);
            drop((facts, memory));
            made
        });
        Ok(made.await)
    }

    async fn facts(&self) -> Result<(Vec<Arc<Fact>>, Option<Memory>), RuntimeError> {
        // Before those that were read earlier: what is added meanwhile comes after them.
        let later = self.0.after(0);
        let (mut facts, memory) = self.0.earlier().await?;
        facts.extend(later);
        Ok((facts, memory))
    }
}

fn text<T: serde::Serialize>(items: &[T]) -> Vec<u8> {
    // This can't fail: all keys are strings, and the writer is memory.
    serde_json::to_vec(items).unwrap_or_default()
}
