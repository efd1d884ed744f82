//! Responses that need no facts: about an earlier turn, or with nothing but a question.

use holdpoint_protocol::chunk::{Chunks, FinishReason, FinishStep, StartStep, ToolOutputDenied};

use super::{Earlier, Out, Profile, ResponsePlan, chunks};
use crate::{fact::Outcome, model::Usage};

/// The approval requests that the client has answered without effect, once more.
pub fn asked_again(plan: &ResponsePlan) -> impl Iterator<Item = Out> {
    plan.still_asked.iter().map(|(id, approval)| Out::one(chunks::approval_request(id, approval)))
}

/// The whole response about an earlier turn: the outcomes of the calls that are still open for the client.
pub fn earlier(earlier: &Earlier, plan: &ResponsePlan, profile: Profile, model: &str) -> Vec<Chunks> {
    let mut chunks = vec![chunks::start(&earlier.message)];
    for (id, outcome) in &earlier.outcomes {
        let is_denied = matches!(outcome, Outcome::Denied { .. });
        let overruled = plan.overruled.iter().find(|(overruled, _)| overruled == id);
        chunks.push(match (profile, overruled) {
            (Profile::AiSdk, None) if is_denied => ToolOutputDenied { tool_call_id: id.clone() }.into(),
            (_, Some((_, text))) if is_denied => chunks::outcome(id, &Outcome::Error(text.clone())),
            _ => chunks::outcome(id, outcome),
        });
    }
    if profile == Profile::AiSdk {
        chunks.extend([StartStep {}.into(), FinishStep {}.into()]);
    }
    chunks.push(chunks::finish(FinishReason::Stop, chunks::usage_metadata(Usage::default(), Usage::default(), model)));
    chunks.into_iter().map(Chunks::One).collect()
}
