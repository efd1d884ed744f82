//! Recovery of a turn after a restart: the model step is run again, started calls are resumed from their saved state, and
//! those without one are settled as interrupted.

use holdpoint_protocol::ids::ToolCallId;

use super::{Draft, Env, calls, resume};
use crate::{
    call::Call,
    chat::Phase,
    fact::{Cause, Fact, Outcome},
};

/// The error text of a call that was cut off, by a crash, a shutdown, a stop or a newer message.
pub const INTERRUPTED: &str = "interrupted: outcome unknown";

/// What becomes of a started call.
enum Next {
    Resume,
    Repeat,
    Settle,
}

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
    let next = |call: &Call| match call {
        // Also on a grant that was revoked meanwhile: the call has begun, and a revocation does not end calls that run. If
        // the process had not gone down, the call would have gone on as well.
        call if resume::can_resume(call, env) => Next::Resume,
        // The grant may have been revoked meanwhile, and then nothing may run on it any more.
        call if call.is_granted() => Next::Settle,
        call if env.tools.get(&call.name).is_some_and(|tool| tool.is_idempotent) => Next::Repeat,
        _ => Next::Settle,
    };
    let running = draft.state.open_calls().filter(|(_, call)| call.runs_here());
    let started: Vec<(ToolCallId, Next)> = running.map(|(id, call)| (id.clone(), next(call))).collect();
    for (id, next) in started {
        match next {
            // Its prompts stay open: the tool waits for them again.
            Next::Resume => draft.push(Fact::Started { call: id, deadline: None, at: env.now }),
            Next::Repeat => {
                // The tool will prompt again, and begins anew.
                calls::drop_prompts(draft, &id, Cause::Interrupted, env);
                if draft.call(&id).is_some_and(|call| call.resume.is_some()) {
                    draft.push(Fact::Resumable { call: id.clone(), state: None });
                }
                draft.push(Fact::Started { call: id, deadline: None, at: env.now });
            }
            Next::Settle => {
                calls::settle(draft, &id, Outcome::Error(INTERRUPTED.to_owned()), Cause::Interrupted, env);
            }
        }
    }
    if is_stopped {
        return calls::follow(draft, false, env);
    }
    if !calls::expired_last(draft.state) {
        calls::advance(draft, env);
    }
}
