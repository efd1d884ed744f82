//! What facts call for, once they are on disk. This is the one place where a fact has consequences outside the log: the model
//! is asked, tools start and end, prompts are answered.

use std::sync::Arc;

use super::{ChatTask, work::Start};
use crate::{chat::Phase, driver::journal, fact::Fact};
use holdpoint_protocol::ids::ToolCallId;

/// Who has appended a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppendedBy {
    /// This task.
    Us,
    /// Another node.
    Another,
}

impl ChatTask {
    /// Carries out what facts call for. What another node has appended starts nothing here, it only ends what runs: what
    /// follows from it is decided first (`follow.rs`).
    pub(super) fn react(&mut self, facts: &[Arc<Fact>], by: AppendedBy) {
        facts.iter().for_each(|fact| self.work.note_output(fact, self.log.state()));
        facts.iter().for_each(|fact| self.react_to(fact, by));
    }

    fn react_to(&mut self, fact: &Fact, by: AppendedBy) {
        let is_ours = by == AppendedBy::Us;
        if is_ours {
            let channel = self.mailbox.channel();
            self.inner.metrics.fact(fact, self.log.state(), channel);
            journal::write(fact, channel);
        }
        match fact {
            Fact::TurnStarted { .. } => self.work.turn_began(is_ours),
            Fact::StepStarted if is_ours => self.ask_model(),
            Fact::StepEnded { usage, version: Some(model), .. }
                if is_ours && usage.total() == 0 && !self.inner.limits.budget.is_none() =>
            {
                tracing::warn!(chat = %self.id, model, "the model reports no usage, so the token budget does not count it");
            }
            Fact::Started { call, .. } if is_ours => self.start_tool(call),
            Fact::Settled { call, outcome, cause, .. } => self.work.settled(call, outcome, *cause),
            Fact::TurnEnded { .. } | Fact::StepAbandoned => self.work.end_model(),
            _ => {}
        }
    }

    fn ask_model(&mut self) {
        let state = self.log.state();
        if state.turn.as_ref().is_none_or(|turn| turn.phase != Phase::Model) {
            // A step that only asks whether to go on has ended already.
            return;
        }
        let Some(subject) = state.subject.clone() else { return };
        self.work.ask_model(self.log.conversation(self.followers.shown()), subject);
    }

    fn start_tool(&mut self, id: &ToolCallId) {
        let state = self.log.state();
        let (Some(call), Some(subject)) = (state.calls.get(id), state.subject.clone()) else { return };
        let start = Start { subject, owned_at: self.log.owned_at(), last_output: self.log.last_output(&call.name) };
        self.work.start_tool(id, call, start);
    }
}
