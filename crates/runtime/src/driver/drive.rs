//! From inputs to facts: the turn machine decides, `record.rs` writes what it has decided, and whoever has lost to another
//! writer decides again. This is the one place where anything is decided twice.

use std::{collections::BTreeSet, sync::Arc};

use holdpoint_protocol::{audit::AuditChannel, ids::GrantId};
use serde_json::Value;

use super::{
    chat::{ChatError, ChatTask},
    gate::ClosedGates,
    grants::{self, KnownGrants},
    record::Writing,
    weight,
};
use crate::{
    chat::{Chat, Phase},
    fact::Fact,
    subject::Subject,
    turn::{Env, Input, Refusal, Reply, step_on},
    wire::Channel,
};

/// What to do when another node has appended first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnConflict {
    /// Append the same behind it: what this node runs does not depend on what others may append.
    Rebase,
    /// Decide again.
    Decide,
}

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

impl ChatTask {
    /// Drives one input of the server itself.
    pub(super) async fn input(&mut self, input: Input) -> Result<Reply, ChatError> {
        let on_conflict = OnConflict::of(&input);
        Ok(self.drive(vec![input], on_conflict, Sender::Server).await?)
    }

    /// Runs inputs through the turn machine and records what it decides, again until no other writer has come first.
    pub(super) async fn drive(
        &mut self,
        mut inputs: Vec<Input>,
        on_conflict: OnConflict,
        sender: Sender,
    ) -> Result<Reply, Failure> {
        // A client can send it again later.
        let may_refuse = inputs.iter().any(|input| matches!(input, Input::Submit(_) | Input::Result { .. }));
        let writing = Writing { on_conflict, may_refuse };
        let mut refused = BTreeSet::new();
        let done = loop {
            let grants = self.known_grants(&inputs, &refused).await;
            let gates = self.close_gates(&inputs).await;
            let before = self.before_grants(&grants);
            let again = (before.is_some() || on_conflict == OnConflict::Decide).then(|| inputs.clone());
            let known = self.state.len;
            let (facts, reply) = self.decide(inputs, &grants, &gates, sender);
            let used: Vec<GrantId> = grants::used(&facts).collect();
            let recorded = self.record(facts, writing).await;
            drop(gates);
            match (recorded, before) {
                (Err(ChatError::Conflict), _) => {
                    self.after_conflict().await?;
                    refused.clear();
                }
                (Err(ChatError::NotGranted), Some(before)) => {
                    self.state = before;
                    refused.extend(used);
                }
                (Err(ChatError::NoRoom), _) => break Err(Failure::Refused(ChatError::NoRoom)),
                (Err(error), _) => break Err(Failure::Lost(error)),
                // Without an append, there is no conflict that would tell what other nodes have added.
                (Ok(()), _) if sender != Sender::Server && self.state.len == known => match self.is_current().await {
                    Ok(true) => break Ok(reply),
                    Ok(false) => refused.clear(),
                    Err(error) => break Err(Failure::Refused(error)),
                },
                (Ok(()), _) => break Ok(reply),
            }
            // What can lose to another writer was kept.
            let Some(kept) = again else { break Err(Failure::Lost(ChatError::Lost)) };
            inputs = kept;
        };
        self.reserved_inputs = 0;
        if self.pending.is_empty() {
            // Nothing came of the inputs, or it is counted.
            self.memory.give_back(std::mem::take(&mut self.reserved));
        }
        self.count_turn();
        done
    }

    /// Runs the turn machine at one point in time. Once the model's step is over, the rest of its inputs is discarded.
    fn decide(
        &mut self,
        inputs: Vec<Input>,
        grants: &KnownGrants,
        gates: &ClosedGates,
        sender: Sender,
    ) -> (Vec<Fact>, Reply) {
        let mut new_id = || uuid::Uuid::now_v7().simple().to_string();
        let (tools, model) = (self.tools(), Arc::clone(self.model()));
        let is_elsewhere = self.is_elsewhere();
        let (memory, reserved, mut for_inputs) = (&mut self.memory, &mut self.reserved, self.reserved_inputs);
        let mut has_room = |value: &Value| {
            let weight = weight::of_value(value);
            if weight < weight::UNRESERVED_BYTES || for_inputs >= weight {
                for_inputs = for_inputs.saturating_sub(weight);
                return true;
            }
            let has_room = memory.reserve(weight);
            *reserved += if has_room { weight } else { 0 };
            has_room
        };
        let mut env = Env {
            now: self.inner.clock.now(),
            tools: tools.catalog(),
            model: model.version(),
            max_steps: self.inner.limits.steps,
            budget: self.inner.limits.budget,
            max_holds: self.inner.limits.holds_per_chat,
            is_elsewhere,
            grants: &grants.usable,
            full_of_grants: grants.full,
            unsent: &gates.unsent,
            refuses: match sender {
                Sender::Client { refuses } => refuses,
                Sender::Server => None,
            },
            channel: AuditChannel::Chat,
            new_id: &mut new_id,
            has_room: &mut has_room,
        };
        let (mut facts, mut reply) = (Vec::new(), Reply::None);
        for input in inputs {
            let is_models = matches!(input, Input::Model(_) | Input::CheckedCall(_) | Input::ModelFailed(_));
            env.channel = audit_channel(self.channel, &input);
            reply = step_on(&mut self.state, input, &mut env, &mut facts);
            let is_writing = self.state.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Model);
            if is_models && (!is_writing || matches!(facts.last(), Some(Fact::StepStarted))) {
                self.answer = None;
                break;
            }
        }
        (facts, reply)
    }

    /// The state to go back to, should one of these grants turn out to be unusable. What the model is writing is not in the
    /// log, so the state can't be folded again.
    fn before_grants(&self, grants: &KnownGrants) -> Option<Chat> {
        (!grants.usable.is_empty()).then(|| self.state.clone())
    }

    /// The limit that prevents a new turn. Without one, reserves a place for the turn.
    pub(super) async fn refusal(&mut self, subject: &Subject) -> Result<Option<Refusal>, ChatError> {
        let limits = &self.inner.limits;
        if self.bytes >= limits.chat_bytes {
            return Ok(Some(Refusal::FullChat { limit: limits.chat_bytes }));
        }
        let stored = self.inner.footprint(subject).await?;
        if stored.bytes >= limits.stored_bytes_per_subject {
            return Ok(Some(Refusal::StoredBytes { limit: limits.stored_bytes_per_subject }));
        }
        if self.state.subject.is_none() && stored.chats >= limits.chats_per_subject {
            return Ok(Some(Refusal::Chats { limit: limits.chats_per_subject }));
        }
        if self.place.is_some() || self.is_elsewhere() {
            return Ok(None);
        }
        if self.inner.counters.is_full(subject, self.memory.bytes(), limits) {
            return Err(ChatError::NoRoom);
        }
        let most = limits.open_chats_per_subject.max(limits.turns_per_subject);
        let elsewhere = self.inner.log.usage(subject, self.inner.node, most).await?;
        let is_open = !self.holds.is_empty();
        match self.inner.running.begin(&self.id, subject, limits, elsewhere, is_open) {
            Ok(place) => {
                self.place = Some(place);
                Ok(None)
            }
            Err(refusal) => Ok(Some(refusal)),
        }
    }

    /// Counts the turn while it runs, but not while it waits.
    pub(super) fn count_turn(&mut self) {
        let is_running_here = self.state.is_running() && !self.is_elsewhere();
        match (is_running_here, &self.place, &self.state.subject) {
            (true, None, Some(subject)) => self.place = Some(self.inner.running.resume(&self.id, subject)),
            (false, Some(_), _) => self.place = None,
            _ => {}
        }
    }
}

/// Through what an input came, for the record.
fn audit_channel(channel: Channel, input: &Input) -> AuditChannel {
    match (channel, input) {
        (Channel::Inbox, Input::Result { .. }) => AuditChannel::Ack,
        (Channel::Inbox, _) => AuditChannel::Inbox,
        (Channel::Chat | Channel::Ws, _) => AuditChannel::Chat,
        (Channel::Live, _) => AuditChannel::Live,
    }
}
