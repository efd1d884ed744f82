//! The turn machine, a pure function: a chat's state and an input give new facts. The state is the fold of the facts.
//! There is no clock, no I/O and no randomness here: time and ids come in through [`Env`].
//!
//! Nor does it know what a client has seen, or what a response says: a reply says what became of the input, and
//! [`ResponsePlan`](crate::wire::ResponsePlan) makes the rest of it.

mod answers;
mod budget;
mod calls;
mod cut_off;
mod earlier;
mod grants;
mod input;
mod message;
mod model;
mod recover;
mod resume;
mod submit;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use earlier::{EarlierId, NeedsEarlier, needs_earlier};
pub use grants::{AskedTools, asked_tools};
use holdpoint_protocol::{
    audit::AuditChannel,
    ids::{ApprovalId, GrantId, MessageId, ToolCallId},
};
pub use input::{
    Answered, CheckedCall, FrontendResult, Input, Refusal, Rejection, Reply, Submit, Submitted, TakenAnswer,
};
pub use recover::INTERRUPTED;

use crate::{
    call::Call,
    chat::Chat,
    clock::Timestamp,
    fact::Fact,
    grants::UsableGrant,
    tool::{Budget, ToolCatalog},
};

/// What the machine knows besides the state of the chat.
pub struct Env<'a> {
    /// The time of the input.
    pub now: Timestamp,
    /// The available tools.
    pub tools: &'a ToolCatalog,
    /// The model's name.
    pub model: &'a str,
    /// The maximum number of steps in a turn.
    pub max_steps: u32,
    /// The tokens that may be used before a person is asked.
    pub budget: Budget,
    /// The maximum number of open holds in a chat.
    pub max_holds: usize,
    /// Whether another node runs the turn. Then an input adds what happened and nothing that follows from it: that node
    /// reads it and acts.
    pub is_elsewhere: bool,
    /// The grants that may approve calls of this chat.
    pub grants: &'a [UsableGrant],
    /// The limit on grants, if the owner of the chat has reached it.
    pub full_of_grants: Option<usize>,
    /// The started calls that have certainly not been carried out, of those that an input may cut off.
    pub unsent: &'a BTreeSet<ToolCallId>,
    /// The limit that prevents a new turn, if any. Open turns continue.
    pub refuses: Option<Refusal>,
    /// Through what the input came: a decision and a browser's result are recorded with it.
    pub channel: AuditChannel,
    /// Returns a new id each time, without a prefix.
    pub new_id: &'a mut dyn FnMut() -> String,
    /// Reserves the memory for a value that a call is to keep. Returns whether there is room: if not, the call fails.
    pub has_room: &'a mut dyn FnMut(&serde_json::Value) -> bool,
}

impl Env<'_> {
    fn message_id(&mut self) -> MessageId {
        MessageId::from(&*format!("msg_{}", (self.new_id)()))
    }

    fn call_id(&mut self) -> ToolCallId {
        ToolCallId::from(&*format!("call_{}", (self.new_id)()))
    }

    fn grant_id(&mut self) -> GrantId {
        GrantId::from(&*format!("grant_{}", (self.new_id)()))
    }

    fn approval_id(&mut self) -> ApprovalId {
        ApprovalId::from(&*format!("approval_{}", (self.new_id)()))
    }
}

/// Applies one input. Returns the facts that follow from it, in order, and the reply to its sender. The facts are
/// already applied to the state: if the append fails, discard the state and fold it again.
pub fn step(state: &mut Chat, input: Input, env: &mut Env<'_>) -> (Vec<Fact>, Reply) {
    let mut facts = Vec::new();
    let reply = step_on(state, input, env, &mut facts);
    (facts, reply)
}

/// Like [`step`], but extends facts that are not committed yet: deltas are merged into the last one.
pub fn step_on(state: &mut Chat, input: Input, env: &mut Env<'_>, facts: &mut Vec<Fact>) -> Reply {
    let draft_ref = &mut Draft { state, facts };
    let mut reply = Reply::None;
    match input {
        Input::Submit(submit) => reply = submit::submit(draft_ref, &submit, env),
        Input::Result { call, result } => reply = Reply::Answered(answers::result(draft_ref, &call, &result, env)),
        Input::Decide { approval, decision, by } => {
            reply = Reply::Answered(answers::decide(draft_ref, &approval, decision, &by, env));
        }
        Input::Model(event) => model::event(draft_ref, event, env),
        Input::CheckedCall(made) => model::checked_call(draft_ref, made, env),
        Input::ModelFailed(message) => model::failed(draft_ref, message, env),
        Input::ToolDone { call, outcome, files } => calls::ran(draft_ref, &call, outcome, files, env),
        Input::ToolCutOff { call, may_have_run, said } => {
            cut_off::cut_off(draft_ref, &call, may_have_run, said.as_deref(), env);
        }
        Input::Progress { call, output } => calls::progress(draft_ref, call, output),
        Input::Due { call, is_watched } => calls::due(draft_ref, &call, is_watched, env),
        Input::Stop { reason } => calls::stop(draft_ref, reason, env),
        Input::Prompt { by, prompt } => reply = calls::prompt(draft_ref, &by, prompt, env),
        Input::Save { call, data, prompts } => reply = resume::save(draft_ref, &call, data, &prompts, env),
        Input::ResumeIdle => calls::resume_if_idle(draft_ref, env),
        Input::Follow { is_watched } => calls::follow(draft_ref, is_watched, env),
        Input::Recover => recover::recover(draft_ref, env),
    }
    reply
}

/// The facts decided so far. Each is applied to the state at once, so that the next decision sees it.
struct Draft<'a> {
    state: &'a mut Chat,
    facts: &'a mut Vec<Fact>,
}

impl Draft<'_> {
    fn push(&mut self, fact: Fact) {
        self.state.apply(&fact);
        self.facts.push(fact);
    }

    fn call(&self, id: &ToolCallId) -> Option<&Call> {
        self.state.calls.get(id)
    }
}
