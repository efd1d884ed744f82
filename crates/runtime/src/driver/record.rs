//! The path of new facts: written to the log, then shown, then carried out.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{FutureExt, StreamExt, stream};
use holdpoint_protocol::audit::AuditChannel;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    agent::{Offer, TurnTools},
    append, audit,
    chat::{ChatError, ChatTask},
    checks::checked,
    follow::Foreign,
    grants::{self, KnownGrants},
    head::{HeadData, Hold},
    journal,
    load::title_of,
    ready::ReadyEvents,
    weight,
    work::prompt_response,
};
use crate::{
    chat::{Chat, Phase},
    fact::{Fact, Outcome},
    log::{Append, AppendId, AuditRow, Key, LogError, Ownership},
    model::{ModelError, ModelRequest},
    subject::Subject,
    tool::ApprovalContext,
    turn::{Env, Input, Refusal, Reply, step_on},
    wire::Channel,
};

/// How long text may stay unwritten.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
/// How much text may stay unwritten, in facts and in bytes.
const FLUSH_FACTS: usize = 1024;
const FLUSH_BYTES: usize = 256 * 1024;

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

impl ChatTask {
    /// Runs one input through the turn machine, and carries out what follows.
    pub(super) async fn input(&mut self, input: Input) -> Result<Reply, ChatError> {
        loop {
            match self.input_within(input.clone(), None).await {
                Err(ChatError::Conflict) => self.after_conflict().await?,
                done => return done,
            }
        }
    }

    /// Like `input`, with a limit that may prevent a new turn. After a conflict, nothing has happened: catch up, and try
    /// again.
    pub(super) async fn input_within(&mut self, input: Input, refuses: Option<Refusal>) -> Result<Reply, ChatError> {
        let on_conflict = OnConflict::of(&input);
        // A client can send it again later.
        self.may_refuse = matches!(input, Input::Submit(_) | Input::Result { .. });
        let mut refused = BTreeSet::new();
        let channel = self.channel;
        let _closed = self.close_gates(&input).await;
        let recorded = loop {
            let known = self.known_grants(std::slice::from_ref(&input), &refused).await;
            let before = self.before_grants(&known);
            let mut facts = Vec::new();
            let mut reply = Reply::None;
            self.decide(&known, |state, env| {
                env.refuses = refuses;
                env.channel = audit_channel(channel, &input);
                reply = step_on(state, input.clone(), env, &mut facts);
            });
            refused.extend(grants::used(&facts));
            match (self.record(facts, on_conflict).await, before) {
                (Err(ChatError::NotGranted), Some(before)) => self.state = before,
                (recorded, _) => break recorded.map(|()| reply),
            }
        };
        self.may_refuse = false;
        self.count_turn();
        recorded
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

    /// Runs the turn machine at one point in time.
    pub(super) fn decide(&mut self, known: &KnownGrants, ask: impl FnOnce(&mut Chat, &mut Env<'_>)) {
        let mut new_id = || uuid::Uuid::now_v7().simple().to_string();
        let (tools, model) = (self.tools(), Arc::clone(self.model()));
        let is_elsewhere = self.is_elsewhere();
        let (memory, reserved, mut inputs) = (&mut self.memory, &mut self.reserved, self.reserved_inputs);
        let mut has_room = |value: &Value| {
            let weight = weight::of_value(value);
            if weight < weight::UNRESERVED_BYTES || inputs >= weight {
                inputs = inputs.saturating_sub(weight);
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
            grants: &known.usable,
            full_of_grants: known.full,
            unsent: &self.unsent,
            refuses: None,
            // That of the input, if it has one. Nothing that the model does is recorded with a channel.
            channel: AuditChannel::Chat,
            new_id: &mut new_id,
            has_room: &mut has_room,
        };
        ask(&mut self.state, &mut env);
    }

    /// The state to go back to, should one of these grants turn out to be unusable. What the model is writing is not in the
    /// log, so the state can't be folded again.
    pub(super) fn before_grants(&self, known: &KnownGrants) -> Option<Chat> {
        (!known.usable.is_empty()).then(|| self.state.clone())
    }

    /// Shows facts, after writing those that must be durable, and carries out their effects.
    pub(super) async fn record(&mut self, facts: Vec<Fact>, on_conflict: OnConflict) -> Result<(), ChatError> {
        if facts.is_empty() {
            return Ok(());
        }
        let facts: Vec<Arc<Fact>> = facts.into_iter().map(Arc::new).collect();
        facts.iter().for_each(|fact| self.note(fact));
        if facts.iter().any(|fact| fact.must_be_durable()) {
            self.commit(facts, on_conflict).await
        } else {
            self.pending_bytes += facts.iter().map(|fact| fact.text_len()).sum::<usize>();
            self.pending.extend(facts.iter().cloned());
            self.feed.push(facts);
            self.flush_at.get_or_insert_with(|| Instant::now() + FLUSH_INTERVAL);
            if self.pending.len() < FLUSH_FACTS && self.pending_bytes < FLUSH_BYTES {
                return Ok(());
            }
            self.commit(Vec::new(), OnConflict::Rebase).await
        }
    }

    /// Writes the pending facts and these, then shows these.
    pub(super) async fn commit(&mut self, facts: Vec<Arc<Fact>>, on_conflict: OnConflict) -> Result<(), ChatError> {
        let pending = std::mem::take(&mut self.pending);
        let pending_bytes = std::mem::take(&mut self.pending_bytes);
        let flush_at = self.flush_at.take();
        let batch = [&pending[..], &facts].concat();
        let Some(subject) = self.state.subject.clone() else { return Ok(()) };
        let Ok(count) = u32::try_from(batch.len()) else { return Err(ChatError::Lost) };
        let encoded: Vec<&Fact> = batch.iter().map(|fact| &**fact).collect();
        self.inner.must_be_readable(&encoded)?;
        let payload = serde_json::to_vec(&encoded).map_err(|error| LogError::Failed(error.to_string()))?;
        let (size, weight) = (payload.len(), weight::of(&payload, encoded.iter().copied()));
        if self.may_refuse && weight >= weight::UNRESERVED_BYTES {
            if !self.memory.reserve(weight) {
                (self.pending, self.pending_bytes, self.flush_at) = (pending, pending_bytes, flush_at);
                self.restore();
                return Err(ChatError::NoRoom);
            }
            self.reserved += weight;
        }
        let now = self.inner.clock.now();
        if !facts.is_empty() {
            // Text alone is no change that a list shows.
            self.updated_at = now;
        }
        let holds = Hold::of(&self.state);
        let ownership = match (self.is_elsewhere(), self.state.is_running()) {
            (true, _) => Ownership::Keep,
            (false, true) => Ownership::Take(self.inner.node),
            (false, false) => Ownership::Release,
        };
        let mut moved = if ownership == Ownership::Keep { None } else { self.moved(&batch, pending.len()) };
        // Wherever the facts end up, they come after it.
        let turn = self.base + self.checkpoint_at();
        let checkpoint = moved.as_ref().map_or(self.checkpoint.as_ref(), |moved| Some(&moved.checkpoint));
        let mut append = Append {
            chat: self.id.clone(),
            expected: self.base + self.durable,
            append_id: AppendId(uuid::Uuid::new_v4().as_u128()),
            count,
            payload: Bytes::from(payload),
            head: HeadData::of(&self.state, &self.title, &holds, checkpoint)
                .of_size(self.bytes + size)
                .write(&subject, self.updated_at),
            keys: encoded.iter().flat_map(|fact| keys_of(fact, turn)).collect(),
            holds: Hold::changes(&self.holds, &holds),
            ownership,
            digest: moved.as_ref().map(|moved| moved.digest.clone()),
            audit: audit::rows(&encoded, &self.state),
            grants: grants::changes(&encoded, &self.state),
        };
        Hold::tell_of_outcomes(&encoded, &self.state, &mut append.holds.told);
        append.keys.extend(moved.iter_mut().flat_map(|moved| std::mem::take(&mut moved.keys)));
        let mut foreign = Foreign::of(self.owner);
        loop {
            let asked_at = Instant::now();
            match append::append(&self.inner, append.clone()).await {
                Ok(()) => {
                    self.owned_at = asked_at;
                    break;
                }
                Err(ChatError::Conflict) => {}
                Err(error) => {
                    if error == ChatError::NotGranted {
                        (self.pending, self.pending_bytes, self.flush_at) = (pending, pending_bytes, flush_at);
                    }
                    return Err(error);
                }
            }
            if on_conflict == OnConflict::Decide {
                // The text that is shown is still to be written.
                (self.pending, self.pending_bytes, self.flush_at) = (pending, pending_bytes, flush_at);
                self.restore();
                return Err(ChatError::Conflict);
            }
            let known = foreign.facts.len();
            self.must_read_on(&mut foreign).await?;
            if foreign.facts.len() == known {
                // Nothing was added to the chat, so it was deleted.
                return Err(ChatError::Lost);
            }
            if !foreign.is_owned_by(self.inner.node) {
                // What ran here is another node's now, and so is what comes of it.
                self.pending = pending;
                self.restore();
                self.absorb(foreign).await;
                return Ok(());
            }
            append.expected = self.base + self.durable + foreign.facts.len() as u64;
            let mut state = self.state.clone();
            foreign.facts.iter().for_each(|fact| state.apply(fact));
            // The next turn moves it: its position would be another one here.
            (moved, append.digest) = (None, None);
            append.audit = self.rows_behind(&foreign.facts, &encoded, pending.len());
            append.head = HeadData::of(&state, &self.title, &Hold::of(&state), self.checkpoint.as_ref())
                .of_size(self.bytes + size)
                .write(&subject, self.updated_at);
            // The chat stays this node's until it has acted on what others have added. If it dies before that, whoever
            // takes over does.
            if state.is_running() || state.is_unfinished() {
                append.ownership = Ownership::Take(self.inner.node);
            }
        }
        self.durable += u64::from(count);
        self.holds = holds;
        self.owner = match append.ownership {
            Ownership::Keep => self.owner,
            Ownership::Take(node) => Some(node),
            Ownership::Release => None,
        };
        self.memory.belongs_to(&subject);
        self.bytes += size;
        self.memory.grow(weight);
        self.memory.give_back(std::mem::take(&mut self.reserved));
        self.inner.footprints.grew(&subject, usize::from(append.expected == self.base), size);
        self.feed.set_bytes(self.bytes, self.memory.bytes());
        if let Some(moved) = moved {
            self.move_to(moved);
        }
        if !facts.is_empty() {
            self.feed.push(facts.clone());
            facts.iter().for_each(|fact| self.effect(fact));
        }
        let foreign = foreign.now_owned_by(self.owner);
        self.absorb(foreign).await;
        Ok(())
    }

    /// What a batch adds to the record if it is written behind facts of others. The record follows the order of the log, and
    /// what is shown here has them in another one.
    fn rows_behind(&self, foreign: &[Arc<Fact>], batch: &[&Fact], pending: usize) -> Vec<AuditRow> {
        let (mut state, shown) = (self.origin.clone(), self.feed.after(0));
        let durable = shown.len().saturating_sub(pending);
        shown.iter().take(durable).chain(foreign).for_each(|fact| state.apply(fact));
        batch.iter().for_each(|fact| state.apply(fact));
        audit::rows(batch, &state)
    }

    /// Carries out the effect of a fact that is on disk.
    fn effect(&mut self, fact: &Fact) {
        self.inner.metrics.fact(fact, &self.state, self.channel);
        journal::write(fact, self.channel);
        match fact {
            // A step that only asks whether to go on has ended already.
            Fact::StepStarted if self.state.turn.as_ref().is_none_or(|turn| turn.phase != Phase::Model) => {}
            Fact::StepStarted => {
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
            Fact::StepEnded { usage, version: Some(model), .. }
                if usage.total() == 0 && !self.inner.limits.budget.is_none() =>
            {
                tracing::warn!(chat = %self.id, model, "the model reports no usage, so the token budget does not count it");
            }
            Fact::Started { call, .. } => self.start_tool(call),
            Fact::Settled { call, outcome, cause, .. } => {
                if let Some(answer) = self.prompts.remove(call) {
                    let _ = answer.send(prompt_response(outcome, *cause));
                }
                self.cancel_tool(call);
            }
            Fact::TurnStarted { .. } => {
                self.turn_tools = TurnTools::default();
                self.is_resumed_turn = false;
            }
            Fact::TurnEnded { .. } | Fact::StepAbandoned => self.answer = None,
            _ => {}
        }
    }

    /// Updates what is kept about the whole chat.
    pub(super) fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Said { .. } if self.title.is_empty() => self.title = title_of(fact).unwrap_or_default(),
            Fact::Settled { call, outcome: Outcome::Output(output), .. } => {
                if let Some(call) = self.state.calls.get(call) {
                    self.last_outputs.insert(call.name.clone(), Arc::new(output.clone()));
                }
            }
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

/// The conversation can't be read, so the model can't be called.
fn unread(error: &ChatError) -> ModelError {
    let message = "The earlier messages of this chat can't be read at the moment. Please try again.".to_owned();
    ModelError { message, detail: format!("the conversation can't be read: {error}") }
}

/// The keys by which this fact makes the chat findable, in a turn that begins at a position. Approval requests are found
/// by others than the owner too.
pub(super) fn keys_of(fact: &Fact, turn: u64) -> Vec<Key> {
    let key = |id: &str, is_shared| Key { id: id.into(), at: turn, is_shared };
    match fact {
        Fact::Called { call, .. } => vec![key(call.as_str(), false)],
        Fact::Asked { approval, .. } => vec![key(approval.as_str(), false), key(approval.as_str(), true)],
        _ => Vec::new(),
    }
}
