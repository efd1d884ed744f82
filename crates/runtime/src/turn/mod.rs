//! The turn machine: pure. A chat's state is the fold of its facts; an input and the state give new facts, and nothing else happens
//! here. No clock, no I/O, no randomness: time and ids come in through [`Env`].

mod answers;
mod calls;
mod input;
mod message;
mod model;
mod recover;
mod state;
mod submit;
#[cfg(test)]
mod tests;

use holdpoint_protocol::{
    ids::{ApprovalId, MessageId, ToolCallId},
    request::{Answer, DecisionRequest},
};
pub use input::{
    Answered, Earlier, FrontendResult, Input, PlannedTurn, Refusal, Rejection, Reply, ResponsePlan, Submit,
};
pub use state::{ApprovalRequest, Call, ChatState, OpenInput, Phase, Stage, Turn};

use crate::{clock::Timestamp, fact::Fact, tool::ToolSet};

/// What the machine may know besides the chat.
pub struct Env<'a> {
    /// The time of the input.
    pub now: Timestamp,
    /// The tools on offer.
    pub tools: &'a ToolSet,
    /// The model's name.
    pub model: &'a str,
    /// How many steps a turn may take.
    pub max_steps: u32,
    /// How many holds a chat may have open.
    pub max_holds: usize,
    /// The limit that stands in the way of a new turn, if one does. Turns that have begun go on.
    pub refuses: Option<Refusal>,
    /// A new id each time, without a prefix.
    pub new_id: &'a mut dyn FnMut() -> String,
}

impl Env<'_> {
    fn message_id(&mut self) -> MessageId {
        MessageId::from(&*format!("msg_{}", (self.new_id)()))
    }

    fn call_id(&mut self) -> ToolCallId {
        ToolCallId::from(&*format!("call_{}", (self.new_id)()))
    }

    fn approval_id(&mut self) -> ApprovalId {
        ApprovalId::from(&*format!("approval_{}", (self.new_id)()))
    }
}

/// Takes one input: the facts that follow from it, in order, and what to tell whoever brought it. The state has taken the facts
/// already; should they turn out not to be the next ones in the log, it is to be thrown away and folded anew.
pub fn step(state: &mut ChatState, input: Input, env: &mut Env<'_>) -> (Vec<Fact>, Reply) {
    let mut facts = Vec::new();
    let reply = step_on(state, input, env, &mut facts);
    (facts, reply)
}

/// The same, after facts that were decided a moment ago and that nobody has seen yet: deltas are added to the last of them.
pub fn step_on(state: &mut ChatState, input: Input, env: &mut Env<'_>, facts: &mut Vec<Fact>) -> Reply {
    let draft_ref = &mut Draft { state, facts };
    let mut reply = Reply::None;
    match input {
        Input::Submit(submit) => reply = submit::submit(draft_ref, &submit, env),
        Input::Result { call, result } => reply = Reply::Answered(answers::result(draft_ref, &call, &result, env)),
        Input::Decide { approval, decision: DecisionRequest { approved, reason }, by } => {
            let answer = Answer::Approval { approval_id: approval, approved, reason };
            reply = Reply::Answered(answers::answer(draft_ref, answer, &by, env));
        }
        Input::Model(event) => model::event(draft_ref, event, env),
        Input::ModelFailed(message) => model::failed(draft_ref, message, env),
        Input::ToolDone { call, outcome } => calls::ran(draft_ref, &call, outcome, env),
        Input::Expired { call, is_watched } => calls::expired(draft_ref, &call, is_watched, env),
        Input::Stop { reason } => calls::stop(draft_ref, reason, env),
        Input::Prompt { by, prompt } => reply = calls::prompt(draft_ref, &by, prompt, env),
        Input::GoOn => calls::go_on(draft_ref, env),
        Input::Recover => recover::recover(draft_ref, env),
    }
    reply
}

/// The facts that are being decided; the state takes each at once, so that every decision sees the ones before it.
struct Draft<'a> {
    state: &'a mut ChatState,
    facts: &'a mut Vec<Fact>,
}

impl Draft<'_> {
    fn push(&mut self, fact: Fact) {
        self.state.apply(&fact);
        self.facts.push(fact);
    }

    fn call(&self, id: &ToolCallId) -> Option<&Call> {
        self.state.calls.get(id).map(|call| &**call)
    }
}
