//! Saved states of running calls.

use std::sync::Arc;

use holdpoint_protocol::ids::ToolCallId;

use super::{Draft, Env, Reply, calls};
use crate::{
    call::Call,
    fact::Fact,
    tool::{CallState, MAX_CALL_STATE_BYTES, Prompt},
};

/// Saves the state from which a call can be resumed, together with the prompts that it waits for: a prompt that can be
/// seen can be answered after a crash.
pub(super) fn save(
    draft: &mut Draft<'_>,
    id: &ToolCallId,
    data: Option<Arc<str>>,
    prompts: &[Prompt],
    env: &mut Env<'_>,
) -> Reply {
    let Some(call) = draft.call(id).filter(|call| call.runs_here()) else { return Reply::None };
    let (origin, was_saved) = (call.origin.clone(), call.resume.is_some());
    let shown = |prompt: &Prompt| match calls::prompt(draft, id, prompt.clone(), env) {
        Reply::Prompted(call) => Some(call),
        _ => None,
    };
    let shown: Vec<Option<ToolCallId>> = prompts.iter().map(shown).collect();
    // Without a prompt to wait for, the call goes on at once.
    let waits = prompts.is_empty() || shown.iter().any(Option::is_some);
    let data = data.filter(|data| data.len() <= MAX_CALL_STATE_BYTES && waits);
    let state = data.map(|data| Arc::new(CallState { origin, data: data.as_ref().to_owned(), prompts: shown.clone() }));
    if state.is_some() || was_saved {
        draft.push(Fact::Resumable { call: id.clone(), state });
    }
    Reply::Saved(shown)
}

/// Whether a started call can be resumed: it has a state, and its tool is there or will be.
pub(super) fn can_resume(call: &Call, env: &Env<'_>) -> bool {
    let origin = call.origin.as_ref();
    let is_saved = call.resume.as_ref().is_some_and(|state| state.origin.as_ref() == origin);
    is_saved && (env.tools.of_origin(&call.name, origin).is_some() || env.tools.pending_timeout(origin).is_some())
}
