//! From inputs to facts: the turn machine decides, the log takes what it has decided, and whoever has lost to another writer
//! decides again. This is the one place where anything is decided twice.

use std::{collections::BTreeSet, sync::Arc};

use holdpoint_protocol::ids::GrantId;

use super::{
    ChatTask,
    log::{Decided, Deciding, OnConflict, Writing},
    react::AppendedBy,
};
use crate::{
    driver::{
        command::ChatError,
        gate::ClosedGates,
        grants::{self, KnownGrants},
    },
    fact::Fact,
    subject::Subject,
    turn::{Input, Refusal, Reply},
};

impl OnConflict {
    fn of(input: &Input) -> Self {
        match input {
            Input::Model(_)
            | Input::CheckedCall(_)
            | Input::ModelFailed(_)
            | Input::ToolDone { .. }
            | Input::ToolCutOff { .. }
            | Input::Progress { .. }
            | Input::Prompt { .. }
            | Input::Save { .. } => Self::Rebase,
            Input::Submit(_)
            | Input::Result { .. }
            | Input::Decide { .. }
            | Input::Due { .. }
            | Input::Stop { .. }
            | Input::ResumeIdle
            | Input::Follow { .. }
            | Input::Recover => Self::Decide,
        }
    }
}

/// Whom inputs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// The server itself: what ran, what is due, what follows from what others have added.
    Server,
    /// A client that waits for the reply. `refuses` is the limit that prevents a new turn.
    Client { refuses: Option<Refusal> },
}

/// Why an input came to nothing.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing has changed, so the chat goes on.
    Refused(ChatError),
    /// What is known here is not what the log has, so the task ends. The next one reads it again.
    Lost(ChatError),
}

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        Self::Lost(error)
    }
}

impl From<Failure> for ChatError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) | Failure::Lost(error) => error,
        }
    }
}

/// What has come of inputs.
pub(super) struct Driven {
    /// The reply to the last one.
    pub(super) reply: Reply,
    /// Whether they added any facts. What others have added meanwhile does not count.
    pub(super) is_new: bool,
}

impl ChatTask {
    /// Drives one input of the server itself.
    pub(in crate::driver) async fn input(&mut self, input: Input) -> Result<Reply, ChatError> {
        let on_conflict = OnConflict::of(&input);
        Ok(self.drive(vec![input], on_conflict, Sender::Server).await?.reply)
    }

    /// Runs inputs through the turn machine and records what it decides, again until no other writer has come first.
    pub(super) async fn drive(
        &mut self,
        mut inputs: Vec<Input>,
        on_conflict: OnConflict,
        sender: Sender,
    ) -> Result<Driven, Failure> {
        // A client can send it again later.
        let may_refuse = inputs.iter().any(|input| matches!(input, Input::Submit(_) | Input::Result { .. }));
        let writing = Writing { on_conflict, may_refuse };
        let mut refused = BTreeSet::new();
        let done = loop {
            let grants = self.known_grants(&inputs, &refused).await;
            let gates = self.work.close_gates(&inputs).await;
            let before = self.log.before_grants(&grants);
            let again = (before.is_some() || on_conflict == OnConflict::Decide).then(|| inputs.clone());
            let (facts, reply) = self.decide(inputs, &grants, &gates, sender);
            let is_new = !facts.is_empty();
            let used: Vec<GrantId> = grants::used(&facts).collect();
            let recorded = self.record(facts, writing).await;
            drop(gates);
            match (recorded, before) {
                (Err(ChatError::Conflict), _) => {
                    self.after_conflict().await?;
                    refused.clear();
                }
                (Err(ChatError::NotGranted), Some(before)) => {
                    self.log.go_back(before);
                    refused.extend(used);
                }
                (Err(ChatError::NoRoom), _) => break Err(Failure::Refused(ChatError::NoRoom)),
                (Err(error), _) => break Err(Failure::Lost(error)),
                // Without an append, there is no conflict that would tell what other nodes have added.
                (Ok(()), _) if sender != Sender::Server && !is_new => match self.is_current().await {
                    Ok(true) => break Ok(Driven { reply, is_new }),
                    Ok(false) => refused.clear(),
                    Err(error) => break Err(Failure::Refused(error)),
                },
                (Ok(()), _) => break Ok(Driven { reply, is_new }),
            }
            // What can lose to another writer was kept.
            let Some(kept) = again else { break Err(Failure::Lost(ChatError::Lost)) };
            inputs = kept;
        };
        self.log.handled();
        self.count_turn();
        done
    }

    /// Runs the turn machine.
    fn decide(
        &mut self,
        inputs: Vec<Input>,
        grants: &KnownGrants,
        gates: &ClosedGates,
        sender: Sender,
    ) -> (Vec<Fact>, Reply) {
        let (tools, model) = (self.work.tools(), Arc::clone(self.work.model()));
        let refuses = match sender {
            Sender::Client { refuses } => refuses,
            Sender::Server => None,
        };
        let Decided { facts, reply, is_step_over } = self.log.decide(
            inputs,
            &Deciding {
                tools: tools.catalog(),
                model: model.name(),
                grants,
                unsent: &gates.unsent,
                refuses,
                channel: self.mailbox.channel(),
            },
        );
        if is_step_over {
            self.work.end_model();
        }
        (facts, reply)
    }

    /// Shows facts, after writing those that must be durable, and carries out what they call for.
    async fn record(&mut self, facts: Vec<Fact>, writing: Writing) -> Result<(), ChatError> {
        if facts.is_empty() {
            return Ok(());
        }
        let facts: Vec<Arc<Fact>> = facts.into_iter().map(Arc::new).collect();
        if facts.iter().any(|fact| fact.must_be_durable()) {
            return self.commit(facts, writing).await;
        }
        let is_much = self.log.put_off(&facts);
        self.followers.show(facts);
        if is_much { self.flush().await } else { Ok(()) }
    }

    /// Writes the text that is shown already.
    pub(super) async fn flush(&mut self) -> Result<(), ChatError> {
        self.commit(Vec::new(), Writing::HAPPENED).await
    }

    /// Writes facts, then shows them, then carries out what they call for.
    async fn commit(&mut self, facts: Vec<Arc<Fact>>, writing: Writing) -> Result<(), ChatError> {
        let committed = self.log.commit(&facts, writing, self.followers.shown()).await?;
        if committed.is_written {
            self.followers.set_bytes(self.log.bytes(), self.log.loaded_bytes());
            self.followers.show(facts.clone());
            self.react(&facts, AppendedBy::Us);
        }
        self.absorb(committed.foreign).await;
        Ok(())
    }

    /// Counts the turn while it runs here, but not while it waits.
    pub(super) fn count_turn(&mut self) {
        let is_running_here = self.log.state().is_running() && !self.log.is_elsewhere();
        self.work.count_turn(is_running_here, self.log.subject());
    }

    /// The limit that prevents a new turn. Without one, reserves a place for the turn.
    pub(super) async fn refusal(&mut self, subject: &Subject) -> Result<Option<Refusal>, ChatError> {
        let limits = &self.inner.limits;
        if self.log.bytes() >= limits.chat_bytes {
            return Ok(Some(Refusal::FullChat { limit: limits.chat_bytes }));
        }
        let stored = self.inner.footprint(subject).await?;
        if stored.bytes >= limits.stored_bytes_per_subject {
            return Ok(Some(Refusal::StoredBytes { limit: limits.stored_bytes_per_subject }));
        }
        if self.log.subject().is_none() && stored.chats >= limits.chats_per_subject {
            return Ok(Some(Refusal::Chats { limit: limits.chats_per_subject }));
        }
        if self.work.has_place() || self.log.is_elsewhere() {
            return Ok(None);
        }
        if self.inner.counters.is_full(subject, self.log.loaded_bytes(), limits) {
            return Err(ChatError::NoRoom);
        }
        let most = limits.open_chats_per_subject.max(limits.turns_per_subject);
        let elsewhere = self.inner.log.usage(subject, self.inner.node, most).await?;
        match self.inner.running.begin(&self.id, subject, limits, elsewhere, self.log.has_holds()) {
            Ok(place) => {
                self.work.take_place(place);
                Ok(None)
            }
            Err(refusal) => Ok(Some(refusal)),
        }
    }
}
