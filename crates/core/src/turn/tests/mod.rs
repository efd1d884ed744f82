//! The turn machine by example: given these facts, this input gives these facts. One file per topic.
//!
//! The notation is that of `notation.rs`.

mod answers;
mod browser;
mod budget;
mod deadlines;
mod grants;
mod messages;
mod model;
mod nodes;
mod order;
mod prompts;
mod recovery;
mod resume;
mod stopping;

use std::{collections::HashMap, num::NonZeroU64, sync::Arc, time::Duration};

use holdpoint_protocol::{
    chunk::FinishReason,
    ids::{ApprovalId, ToolCallId},
    request::ChatRequest,
};
use serde_json::{Value, json};

use super::*;
use crate::{
    fact::{CallOrder, Cause, NextTurn},
    identity::Identity,
    model::{ModelEvent, Usage},
    notation::{START, TIMEOUT, facts, message, short, tools},
    wire::ResponsePlan,
};

/// One row of a table: facts, separated by commas; an input; and the facts that follow.
struct Case {
    given: &'static str,
    /// Facts after these that have no notation.
    more: Vec<Fact>,
    /// Seconds after the given facts.
    at: u64,
    is_refused: bool,
    max_steps: u32,
    max_holds: usize,
    is_elsewhere: bool,
    grants: Vec<UsableGrant>,
    budget: Budget,
    /// The calls that have certainly not been carried out.
    unsent: BTreeSet<ToolCallId>,
}

/// A chat with these facts.
fn given(given: &'static str) -> Case {
    let (more, grants) = (Vec::new(), Vec::new());
    let (is_elsewhere, budget) = (false, Budget::default());
    let unsent = BTreeSet::new();
    let (at, is_refused, max_steps, max_holds) = (0, false, 3, 2);
    Case { given, more, at, is_refused, max_steps, max_holds, is_elsewhere, grants, budget, unsent }
}

impl Case {
    /// These facts follow.
    fn and(mut self, facts: impl IntoIterator<Item = Fact>) -> Self {
        self.more = facts.into_iter().collect();
        self
    }

    /// The input comes this many seconds later.
    fn after(mut self, seconds: u64) -> Self {
        self.at = seconds;
        self
    }

    /// A limit prevents new turns.
    fn over_the_limit(mut self) -> Self {
        self.is_refused = true;
        self
    }

    /// Another node runs the turn.
    fn elsewhere(mut self) -> Self {
        self.is_elsewhere = true;
        self
    }

    /// The request of this call has not been sent.
    fn unsent(mut self, call: &str) -> Self {
        self.unsent.insert(ToolCallId::from(call));
        self
    }

    /// There are these grants.
    fn with(mut self, grants: impl IntoIterator<Item = UsableGrant>) -> Self {
        self.grants = grants.into_iter().collect();
        self
    }

    fn max_steps(mut self, steps: u32) -> Self {
        self.max_steps = steps;
        self
    }

    /// A turn and a chat may use this many tokens; 0 is any number.
    fn budget(mut self, turn: u64, chat: u64) -> Self {
        self.budget = Budget { turn: NonZeroU64::new(turn), chat: NonZeroU64::new(chat) };
        self
    }

    fn max_holds(mut self, holds: usize) -> Self {
        self.max_holds = holds;
        self
    }

    /// The facts that follow from an input, and the reply.
    fn when(self, input: Input) -> (String, Reply) {
        let (facts, reply, _) = self.run(input);
        (facts, reply)
    }

    /// The facts that follow from a request, and the plan of its response.
    fn plan(self, request: Input) -> (String, ResponsePlan) {
        let (facts, reply, state) = self.run(request.clone());
        (facts, ResponsePlan::of(&state, &request, &reply).expect("the request is accepted"))
    }

    fn run(self, input: Input) -> (String, Reply, Chat) {
        let (mut state, tools) = (Chat::default(), tools());
        facts(self.given).iter().chain(&self.more).for_each(|fact| state.apply(fact));
        let mut ids = 0;
        let mut new_id = || {
            ids += 1;
            ids.to_string()
        };
        let mut env = Env {
            now: START.after(Duration::from_secs(self.at)),
            tools: &tools,
            model: "dice",
            max_steps: self.max_steps,
            max_holds: self.max_holds,
            budget: self.budget,
            is_elsewhere: self.is_elsewhere,
            grants: &self.grants,
            full_of_grants: None,
            unsent: &self.unsent,
            refuses: self.is_refused.then_some(Refusal::Turns { limit: 1 }),
            channel: holdpoint_protocol::audit::AuditChannel::Inbox,
            new_id: &mut new_id,
            has_room: &mut |_| true,
        };
        let (facts, reply) = step(&mut state, input, &mut env);
        let names: HashMap<ToolCallId, String> =
            state.calls.iter().map(|(id, call)| (id.clone(), call.name.clone())).collect();
        let written: Vec<String> = facts.iter().map(|fact| short(fact, &names)).collect();
        (written.join(", "), reply, state)
    }
}

/// The facts that follow from an input, where the reply does not matter.
fn facts_of((facts, _): (String, Reply)) -> String {
    facts
}

/// A chat request with this body.
fn request(body: Value) -> Input {
    let request: ChatRequest = serde_json::from_value(body).expect("a valid body");
    let next = NextTurn { order: CallOrder::Together, holds_text: false, is_resubmit: false };
    Input::Submit(Arc::new(Submit { request, by: Identity::local(), next }))
}

fn say(id: &str) -> Input {
    request(json!({"messages": [message(id)]}))
}

fn decide(call: &str, approved: bool) -> Input {
    Input::Decide { approval: ApprovalId::from(call), decision: approved.into(), by: Arc::new(Identity::local()) }
}

fn model_calls(name: &str, input: Value) -> Input {
    Input::Model(ModelEvent::Call { id: "x".to_owned(), name: name.to_owned(), input: Ok(input) })
}

fn model_finishes() -> Input {
    model_ends(FinishReason::Stop)
}

fn model_ends(reason: FinishReason) -> Input {
    Input::Model(ModelEvent::Finish { usage: Usage::default(), reason, version: None, state: None })
}

fn tool_done(call: &str, outcome: Result<Value, &str>) -> Input {
    Input::ToolDone { call: ToolCallId::from(call), outcome: outcome.map_err(str::to_owned), files: Arc::default() }
}

fn expired(call: &str, is_watched: bool) -> Input {
    Input::Due { call: ToolCallId::from(call), is_watched }
}
