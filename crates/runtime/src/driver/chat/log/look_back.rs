//! Earlier turns, for an input that refers to one of them.

use std::sync::Arc;

use super::ChatLog;
use crate::{
    chat::Chat,
    driver::{
        command::ChatError,
        feed::Feed,
        load,
        look_back::{Found, turn_of},
    },
    turn::{Input, NeedsEarlier, needs_earlier},
};

impl ChatLog {
    /// Loads what the input needs of the turns before those that are shown.
    pub(in crate::driver) async fn look_back(&mut self, input: &Input, shown: &Feed) -> Result<(), ChatError> {
        // A decision and a result depend on a call alone.
        let needs_messages = matches!(input, Input::Submit(_));
        let mut tried = Vec::new();
        loop {
            let id = match needs_earlier(&self.state, input) {
                NeedsEarlier::Always => return self.load_all(shown).await,
                NeedsEarlier::If(ids) => ids.into_iter().find(|id| !tried.contains(id)),
            };
            let (Some(id), Some(subject)) = (id, self.state.subject.clone()) else { return Ok(()) };
            match turn_of(&self.inner, &subject, &self.id, self.base, shown.first(), &id).await? {
                Found::Nothing => {}
                Found::Turn(turn) if !needs_messages || self.state.knows_cuts_of(turn.first, &turn.facts) => {
                    self.origin.include(turn.first, &turn.facts);
                    self.room.add_earlier(turn.memory);
                    self.go_back_to(shown);
                }
                Found::Turn(_) | Found::NeedsAll => return self.load_all(shown).await,
            }
            tried.push(id);
        }
    }

    /// Loads all turns before those that are shown.
    async fn load_all(&mut self, shown: &Feed) -> Result<(), ChatError> {
        let (facts, memory) =
            load::earlier(&self.inner, self.state.subject.as_ref(), &self.id, self.base, shown.first()).await?;
        self.room.set_earlier(memory);
        let mut state = Chat::default();
        facts.iter().for_each(|fact: &Arc<_>| state.apply(fact));
        self.origin = state;
        self.go_back_to(shown);
        Ok(())
    }
}
