//! What a fact calls for, once it is on disk. This is the one place where facts have consequences outside the log: the model
//! is asked, tools start and end, prompts are answered.

use std::sync::Arc;

use futures::{FutureExt, StreamExt, stream};

use super::{
    agent::{Offer, TurnTools},
    chat::{ChatError, ChatTask},
    checks::checked,
    journal,
    ready::ReadyEvents,
    work::prompt_response,
};
use crate::{
    chat::Phase,
    fact::Fact,
    model::{ModelError, ModelRequest},
    tool::ApprovalContext,
};

/// Who has appended a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppendedBy {
    /// This task.
    Us,
    /// Another node.
    Another,
}

impl ChatTask {
    /// Carries out what a fact calls for. What another node has appended starts nothing here, it only ends what runs: what
    /// follows from it is decided first (`follow.rs`).
    pub(super) fn react(&mut self, fact: &Fact, by: AppendedBy) {
        let is_ours = by == AppendedBy::Us;
        if is_ours {
            self.inner.metrics.fact(fact, &self.state, self.channel);
            journal::write(fact, self.channel);
        }
        match fact {
            Fact::TurnStarted { .. } => {
                self.turn_tools = TurnTools::default();
                self.is_resumed_turn = !is_ours;
            }
            // A step that only asks whether to go on has ended already.
            Fact::StepStarted if is_ours && self.state.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Model) => {
                self.ask_model();
            }
            Fact::StepEnded { usage, version: Some(model), .. }
                if is_ours && usage.total() == 0 && !self.inner.limits.budget.is_none() =>
            {
                tracing::warn!(chat = %self.id, model, "the model reports no usage, so the token budget does not count it");
            }
            Fact::Started { call, .. } if is_ours => self.start_tool(call),
            Fact::Settled { call, outcome, cause, .. } => {
                if let Some(answer) = self.prompts.remove(call) {
                    let _ = answer.send(prompt_response(outcome, *cause));
                }
                self.cancel_tool(call);
            }
            Fact::TurnEnded { .. } | Fact::StepAbandoned => self.answer = None,
            _ => {}
        }
    }

    /// Asks the model for the step that has begun.
    fn ask_model(&mut self) {
        let Some(subject) = self.state.subject.clone() else { return };
        let (conversation, model) = (self.conversation(), Arc::clone(self.model()));
        let (own, turn_tools) = (self.agent.as_ref().map(|agent| agent.tools.clone()), self.turn_tools.clone());
        let (inner, context) = (Arc::clone(&self.inner), ApprovalContext::new(self.id.clone(), subject));
        let is_resumed = self.is_resumed_turn && own.is_none();
        let step = async move {
            if is_resumed {
                // After a restart, the model is to have the tools that it had.
                inner.tools_to_come().await;
            }
            let tools = own.unwrap_or_else(|| inner.tools());
            let Offer { tools: specs, instructions } = turn_tools.of(&tools);
            let step = async move {
                match conversation.read().await {
                    Ok(messages) => {
                        model.stream(ModelRequest { messages: messages.into(), tools: specs, instructions })
                    }
                    Err(error) => stream::iter([Err(unread(&error))]).boxed(),
                }
            };
            checked(inner.metrics.model(step.flatten_stream().boxed()), tools, context)
        };
        self.answer = Some(ReadyEvents::of(step.flatten_stream().boxed()));
    }
}

/// The conversation can't be read, so the model can't be called.
fn unread(error: &ChatError) -> ModelError {
    let message = "The earlier messages of this chat can't be read at the moment. Please try again.".to_owned();
    ModelError { message, detail: format!("the conversation can't be read: {error}") }
}
