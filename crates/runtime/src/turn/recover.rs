//! Recovery of a turn after a restart: the model step is run again, and started calls are settled as interrupted.

use holdpoint_protocol::ids::ToolCallId;

use super::{Draft, Env, calls, state::Phase};
use crate::fact::{Cause, Fact, Outcome};

/// Recovers a turn. Started calls are not run again, unless the tool is idempotent.
pub(super) fn recover(draft: &mut Draft<'_>, env: &mut Env<'_>) {
    let Some(turn) = &draft.state.turn else { return };
    let is_stopped = turn.stop.is_some();
    if turn.phase == Phase::Model {
        if is_stopped {
            return calls::follow(draft, false, env);
        }
        if turn.steps > 0 {
            draft.push(Fact::StepAbandoned);
        }
        return draft.push(Fact::StepStarted);
    }
    let started: Vec<(ToolCallId, String)> = draft
        .state
        .open_calls()
        .filter(|(_, call)| call.runs_here())
        .map(|(id, call)| (id.clone(), call.name.clone()))
        .collect();
    for (id, name) in started {
        if env.tools.get(&name).is_some_and(|tool| tool.spec.is_idempotent) {
            // The tool will prompt again.
            calls::drop_prompts(draft, &id, Cause::Interrupted, env);
            draft.push(Fact::Started { call: id, deadline: None, at: Some(env.now) });
        } else {
            let text = "interrupted: outcome unknown".to_owned();
            calls::settle(draft, &id, Outcome::Error(text), Cause::Interrupted, env);
        }
    }
    if is_stopped {
        return calls::follow(draft, false, env);
    }
    if !draft.state.expired_last() {
        calls::advance(draft, env);
    }
}
