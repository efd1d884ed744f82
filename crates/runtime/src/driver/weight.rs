//! What facts take in memory. Their text says little about it: a number of two bytes takes a hundred times as much once it is
//! parsed.

use holdpoint_protocol::{
    json,
    message::{Part, UiMessage},
};
use serde_json::Value;

use super::{load::LoadError, runtime::Inner};
use crate::fact::Fact;

/// The weight from which on text is parsed, and messages are made, where nobody waits for the thread.
const HEAVY_BYTES: usize = 512 * 1024;

/// What always has room, so that decisions and short messages are written however much is in memory.
pub(super) const UNRESERVED_BYTES: usize = 64 * 1024;

/// How often each value is there: in its fact, and in the state that the facts lead to.
const COPIES: usize = 2;

/// What a fact of the model's text or of an input's text takes, and a part of a message that is text. There may be very many
/// of them, and they are not copied.
const TEXT_BYTES: usize = 400;

/// The most that facts of this text take.
pub(super) fn most(text: &[u8]) -> usize {
    json::kept_bytes(text).saturating_add(text.len()).saturating_mul(COPIES)
}

/// What facts take, which have this text.
pub(super) fn of<'a>(text: &[u8], facts: impl IntoIterator<Item = &'a Fact>) -> usize {
    // What the text of each has for sure, and a comma before it.
    let (delta, part) = (most(b"{,,[,"), most(b"{,,"));
    let known = |fact: &Fact| match fact {
        Fact::BlockDelta { .. } | Fact::InputDelta { .. } => delta - TEXT_BYTES,
        Fact::Said { message, .. } => text_parts(message) * (part - TEXT_BYTES),
        Fact::Context { messages } => messages.iter().map(text_parts).sum::<usize>() * (part - TEXT_BYTES),
        _ => 0,
    };
    most(text).saturating_sub(facts.into_iter().map(known).sum())
}

fn text_parts(message: &UiMessage) -> usize {
    message.parts.iter().filter(|part| matches!(part, Part::Text(_))).count()
}

/// What a value takes once it is kept.
pub(super) fn of_value(value: &Value) -> usize {
    json::kept_bytes_of(value).saturating_mul(COPIES)
}

/// What a text takes once it is kept.
pub(super) fn of_text(text: &str) -> usize {
    text.len().saturating_mul(COPIES)
}

impl Inner {
    /// Does work of this weight: on the threads of the executor if it is small, else beside them, one piece at a time, so
    /// that nobody else waits for it.
    pub(super) async fn beside<T: Send + 'static>(
        &self,
        weight: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        if weight < HEAVY_BYTES {
            return work();
        }
        // It is never closed.
        let _place = self.heavy.acquire().await;
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The executor shuts down, and this task with it.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// The facts of a batch, and their weight.
    pub(super) async fn facts_of(&self, batch: &crate::log::Batch) -> Result<(Vec<Fact>, usize), LoadError> {
        let text = batch.payload.clone();
        let read = self.beside(most(&text), move || {
            // Values in facts have their own reader: see `json::value`.
            let facts: Vec<Fact> = serde_json::from_slice(&text)?;
            let weight = of(&text, &facts);
            Ok::<_, serde_json::Error>((facts, weight))
        });
        read.await.map_err(|error| {
            super::counters::count(&self.counters.unreadable_chats);
            LoadError::Unreadable(format!("fact {}: {error}", batch.first))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        clock::Timestamp,
        fact::{Cause, Outcome},
    };

    fn settled(output: serde_json::Value) -> Fact {
        let (outcome, at) = (Outcome::Output(output), Timestamp(1));
        Fact::Settled { call: "c".into(), outcome, cause: Cause::Ran, at, channel: None, is_repeatable: false }
    }

    fn weight(facts: &[Fact]) -> usize {
        of(&serde_json::to_vec(facts).expect("JSON"), facts)
    }

    #[test]
    fn many_small_values_weigh_more_than_one_large_one() {
        let (many, one) = (weight(&[settled(json!(vec![1; 10_000]))]), weight(&[settled(json!("1".repeat(20_000)))]));
        assert!(many > 10_000 * COPIES * size_of::<Value>() && one < 50_000, "{many}, {one}");
        assert!(of_value(&json!(vec![1; 10_000])) > 10_000 * COPIES * size_of::<Value>());
    }

    #[test]
    fn text_in_small_pieces_weighs_what_its_facts_take() {
        let deltas: Vec<Fact> = (0..1000).map(|_| Fact::BlockDelta { id: "0".into(), delta: "word ".into() }).collect();
        let (weight, taken) = (weight(&deltas), 1000 * (size_of::<Fact>() + 16));
        assert!(weight > taken && weight < 4 * taken, "{weight}, {taken}");
        assert!(size_of::<Part>() < TEXT_BYTES, "{}", size_of::<Part>());
    }
}
