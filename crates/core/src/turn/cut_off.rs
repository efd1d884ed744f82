//! Calls of which nobody knows whether they were carried out: they were cut off while they ran, by a shutdown, a stop or a
//! newer message, or their tools say so.

use holdpoint_protocol::ids::ToolCallId;

use super::{Draft, Env, INTERRUPTED, calls};
use crate::{
    call::Call,
    fact::{Cause, Outcome},
};

/// Settles a call whose tool was cut off, or does not know what it has done.
pub(super) fn cut_off(
    draft: &mut Draft<'_>,
    id: &ToolCallId,
    may_have_run: bool,
    said: Option<&str>,
    env: &mut Env<'_>,
) {
    if draft.call(id).is_some_and(Call::runs_here) {
        let (outcome, cause) = match (may_have_run, said) {
            (true, None) => interrupted(),
            (true, Some(said)) => (Outcome::Error(format!("{INTERRUPTED}: {said}")), Cause::Interrupted),
            (false, _) => {
                let text = "not run: the server went down before the call was made";
                (Outcome::Error(text.to_owned()), Cause::Stopped)
            }
        };
        calls::settle(draft, id, outcome, cause, env);
        calls::advance(draft, env);
    }
}

/// The outcome of a call of which nobody knows whether it was carried out.
pub(super) fn interrupted() -> (Outcome, Cause) {
    (Outcome::Error(INTERRUPTED.to_owned()), Cause::Interrupted)
}

/// Whether a call can be made again, whatever came of it.
pub(super) fn is_repeatable(call: &Call, env: &Env<'_>) -> bool {
    env.tools.of_origin(&call.name, call.origin.as_ref()).is_some_and(|tool| tool.is_repeatable())
}

/// Whether a call that is ended now may have been carried out.
pub(super) fn may_have_run(draft: &Draft<'_>, id: &ToolCallId, env: &Env<'_>) -> bool {
    draft.call(id).is_some_and(Call::runs_here) && !env.unsent.contains(id)
}
