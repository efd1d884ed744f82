//! What the turn machine decides, from the state of the log.

use std::collections::BTreeSet;

use holdpoint_protocol::{audit::AuditChannel, ids::ToolCallId};
use serde_json::Value;

use super::ChatLog;
use crate::{
    chat::{Chat, Phase},
    driver::{feed::Feed, grants::KnownGrants},
    fact::Fact,
    tool::ToolCatalog,
    turn::{Env, Input, Refusal, Reply, step_on},
    wire::Channel,
};

/// What is decided with, besides the state.
pub(in crate::driver) struct Deciding<'a> {
    pub(in crate::driver) tools: &'a ToolCatalog,
    /// The model's name.
    pub(in crate::driver) model: &'a str,
    pub(in crate::driver) grants: &'a KnownGrants,
    /// The running calls that have certainly not been carried out.
    pub(in crate::driver) unsent: &'a BTreeSet<ToolCallId>,
    /// The limit that prevents a new turn.
    pub(in crate::driver) refuses: Option<Refusal>,
    /// The endpoint of the last input.
    pub(in crate::driver) channel: Channel,
}

/// What was decided.
pub(in crate::driver) struct Decided {
    pub(in crate::driver) facts: Vec<Fact>,
    /// The reply to the last input.
    pub(in crate::driver) reply: Reply,
    /// Whether the model's step has ended. The inputs behind its end were discarded.
    pub(in crate::driver) is_step_over: bool,
}

impl ChatLog {
    /// Runs the turn machine at one point in time. The facts are in the state from then on.
    pub(in crate::driver) fn decide(&mut self, inputs: Vec<Input>, with: &Deciding<'_>) -> Decided {
        let is_elsewhere = self.is_elsewhere();
        let limits = &self.inner.limits;
        let mut left = self.room.for_inputs();
        let room = &mut self.room;
        let mut new_id = || uuid::Uuid::now_v7().simple().to_string();
        let mut has_room = |value: &Value| room.has_room_for(value, &mut left);
        let mut env = Env {
            now: self.inner.clock.now(),
            tools: with.tools,
            model: with.model,
            max_steps: limits.steps,
            budget: limits.budget,
            max_holds: limits.holds_per_chat,
            is_elsewhere,
            grants: &with.grants.usable,
            full_of_grants: with.grants.full,
            unsent: with.unsent,
            refuses: with.refuses,
            channel: AuditChannel::Chat,
            new_id: &mut new_id,
            has_room: &mut has_room,
        };
        let mut decided = Decided { facts: Vec::new(), reply: Reply::None, is_step_over: false };
        for input in inputs {
            let is_models = matches!(input, Input::Model(_) | Input::CheckedCall(_) | Input::ModelFailed(_));
            env.channel = audit_channel(with.channel, &input);
            decided.reply = step_on(&mut self.state, input, &mut env, &mut decided.facts);
            let is_writing = self.state.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Model);
            if is_models && (!is_writing || matches!(decided.facts.last(), Some(Fact::StepStarted))) {
                decided.is_step_over = true;
                break;
            }
        }
        decided
    }

    /// The state to go back to, should a grant turn out to be unusable. What the model is writing is not in the log, so the
    /// state can't be folded again.
    pub(in crate::driver) fn before_grants(&self, grants: &KnownGrants) -> Option<Chat> {
        (!grants.usable.is_empty()).then(|| self.state.clone())
    }

    /// Goes back to a state, because what was decided since was not written.
    pub(in crate::driver) fn go_back(&mut self, state: Chat) {
        self.state = state;
    }

    /// Goes back to the state of what is shown.
    pub(super) fn go_back_to(&mut self, shown: &Feed) {
        let mut state = self.origin.clone();
        shown.after(0).iter().for_each(|fact| state.apply(fact));
        if let (Some(turn), Some(before)) = (&mut state.turn, &self.state.turn) {
            // The model's own ids are not in the log.
            for input in &mut turn.inputs {
                if let Some(known) = before.inputs.iter().find(|known| known.call == input.call) {
                    input.provider_call_id.clone_from(&known.provider_call_id);
                }
            }
        }
        self.state = state;
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
