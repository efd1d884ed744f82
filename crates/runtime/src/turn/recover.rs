//! Recovery of a turn after a restart: the model step is run again, and started calls are settled as interrupted.

use holdpoint_protocol::ids::ToolCallId;

use super::{Draft, Env, Phase, calls};
use crate::fact::{Cause, Fact, Outcome};

/// Recovers a turn. Started calls are not run again, unless the tool is idempotent.
pub(super) fn recover(draft: &mut Draft<'_>, env: &mut Env<'_>) {
    // Another node was first to take the turn over.
    let Some(turn) = draft.state.turn.as_ref().filter(|_| !env.is_elsewhere) else { return };
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
    let running = draft.state.open_calls().filter(|(_, call)| call.runs_here());
    let started: Vec<(ToolCallId, String, bool)> =
        running.map(|(id, call)| (id.clone(), call.name.clone(), call.used.is_some())).collect();
    for (id, name, is_granted) in started {
        // The grant may have been revoked meanwhile, and then nothing may run on it any more.
        if !is_granted && env.tools.get(&name).is_some_and(|tool| tool.spec.is_idempotent) {
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
