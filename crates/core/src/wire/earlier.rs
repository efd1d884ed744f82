//! Responses that need no facts: about an earlier turn, or with nothing but a question.

use holdpoint_protocol::chunk::FinishReason;

use super::{Earlier, Event, Profile, ResponsePlan};
use crate::{fact::Outcome, model::Usage};

/// The approval requests that the client has answered without effect, once more.
pub fn asked_again(plan: &ResponsePlan) -> impl Iterator<Item = Event> {
    plan.still_asked.iter().map(|(id, approval)| Event::request(id, approval))
}

/// The whole response about an earlier turn: the outcomes of the calls that are still open for the client.
pub fn earlier(earlier: &Earlier, plan: &ResponsePlan, profile: Profile, model: &str) -> Vec<Event> {
    let mut events = vec![Event::start(&earlier.message)];
    for (id, outcome) in &earlier.outcomes {
        let outcome = match outcome {
            Outcome::Denied { .. } => plan.overrules(id).unwrap_or_else(|| outcome.clone()),
            outcome => outcome.clone(),
        };
        let outcome = if profile.has_denials() { outcome } else { outcome.without_denial() };
        events.push(Event::outcome(id, outcome));
    }
    if profile.has_steps() {
        events.extend([Event::StepStart, Event::StepEnd]);
    }
    let (reason, usage, of_turn) = (FinishReason::Stop, Usage::default(), Usage::default());
    events.push(Event::Finish { reason, usage, of_turn, model: model.to_owned() });
    events
}
