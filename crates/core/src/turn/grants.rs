//! Grants: which one approves a call, and what an approval may grant.

use std::collections::BTreeSet;

use holdpoint_protocol::request::Verdict;

use super::{Draft, Env, Input};
use crate::{
    call::{ApprovalRequest, Call, Stage},
    chat::Chat,
    fact::{Cause, Fact},
    grants::{GrantTerms, Remember, RememberError, UsableGrant},
    identity::Identity,
    model::ModelEvent,
    subject::Subject,
    tool::{ApprovalPolicy, BUDGET_TOOL, ToolCatalog, ToolSpec},
};

/// The grant that approves a call which would need a question, if there is one. What was used in this step counts.
pub(super) fn covering<'a>(draft: &Draft<'_>, call: &Call, spec: &ToolSpec, env: &Env<'a>) -> Option<&'a UsableGrant> {
    // A call never runs on another tool of the same name.
    if !spec.allows_grants() || spec.origin != call.origin {
        return None;
    }
    // Whether an interrupted call has run is not known, so the same tool again in this turn is for a person to decide, unless
    // it does not matter.
    let is_in_doubt = |other: &Call| {
        other.turn == call.turn
            && other.name == call.name
            && other.settled.as_ref().is_some_and(|settled| settled.cause == Cause::Interrupted)
    };
    if !spec.is_repeatable() && draft.state.calls.iter().any(|(_, other)| is_in_doubt(other)) {
        return None;
    }
    let is_left = |grant: &UsableGrant| {
        let is_use = |fact: &&Fact| matches!(fact, Fact::Used { grant: used, .. } if *used == grant.id);
        grant.left.is_none_or(|left| (draft.facts.iter().filter(is_use).count() as u64) < left)
    };
    env.grants.iter().find(|grant| is_left(grant) && grant.covers(spec, &call.input, env.now))
}

/// What an approval grants. It is never more than its maker could decide alone, call by call.
pub(super) fn terms(
    call: &Call,
    request: &ApprovalRequest,
    verdict: &Verdict,
    remember: &Remember,
    by: &Identity,
    owner: &Subject,
    env: &Env<'_>,
) -> Result<GrantTerms, RememberError> {
    let input = match verdict {
        Verdict::Approve { input } => input.as_ref().unwrap_or(&call.input),
        Verdict::Deny | Verdict::Answer { .. } => return Err(RememberError::NotAllowed),
    };
    let tool = env.tools.of_origin(&call.name, call.origin.as_ref());
    let (Some(spec), Some(relied_on)) = (tool, request.terms.remember) else {
        return Err(RememberError::NotAllowed);
    };
    let terms = GrantTerms::new(remember, spec, input, env.now)?;
    if terms.tool != relied_on {
        return Err(RememberError::Changed);
    }
    // Those of its escalation could not decide at once about later calls.
    if !request.terms.approvers.let_decide(by, owner, false) {
        return Err(RememberError::NotAlone);
    }
    match env.full_of_grants {
        Some(limit) => Err(RememberError::TooMany { limit }),
        None => Ok(terms),
    }
}

/// The tools whose grants an input may use.
pub type AskedTools = BTreeSet<String>;

/// The tools of the calls that an input may take up and that may need approval: their grants are read before.
pub fn asked_tools<'a>(state: &Chat, inputs: impl IntoIterator<Item = &'a Input>, tools: &ToolCatalog) -> AskedTools {
    let (mut names, mut takes_up) = (BTreeSet::new(), false);
    for input in inputs {
        match input {
            Input::Model(ModelEvent::Call { name, .. }) => _ = names.insert(name.clone()),
            Input::CheckedCall(made) => _ = names.insert(made.name.clone()),
            Input::Model(ModelEvent::Finish { .. }) => takes_up = true,
            Input::Model(_)
            | Input::ModelFailed(_)
            | Input::Progress { .. }
            | Input::Prompt { .. }
            | Input::Save { .. } => {}
            Input::Submit(_)
            | Input::Result { .. }
            | Input::Decide { .. }
            | Input::ToolDone { .. }
            | Input::ToolCutOff { .. }
            | Input::Due { .. }
            | Input::Stop { .. }
            | Input::ResumeIdle
            | Input::Follow { .. }
            | Input::Recover => takes_up = true,
        }
    }
    if !takes_up {
        return BTreeSet::new();
    }
    // What follows may be a step for which no tokens are left.
    names.insert(BUDGET_TOOL.to_owned());
    let made = state.open_calls().filter(|(_, call)| call.stage() == Stage::Made);
    names.extend(made.map(|(_, call)| call.name.clone()));
    let may_ask = |name: &String| {
        tools.get(name).is_some_and(|tool| tool.allows_grants() && tool.approval != ApprovalPolicy::Never)
    };
    names.into_iter().filter(may_ask).collect()
}
