//! What a client already has of a call, and is not sent again.

use holdpoint_protocol::ids::ToolCallId;

use super::{ClientHas, Event, Projection, ResponsePlan};
use crate::fact::{Fact, Outcome};

impl ResponsePlan {
    /// How much the client has of a call.
    pub(super) fn level(&self, id: &ToolCallId) -> Option<ClientHas> {
        self.has.iter().find(|(has, _)| has == id).map(|(_, level)| *level)
    }

    /// The outcome that the client gets in place of a denial, if it has approved the call.
    pub(super) fn overrules(&self, id: &ToolCallId) -> Option<Outcome> {
        let (_, text) = self.overruled.iter().find(|(overruled, _)| overruled == id)?;
        Some(Outcome::Error(text.clone()))
    }

    /// Whether the client already has this announcement or outcome.
    pub(super) fn has_event(&self, event: &Event) -> bool {
        part_of_call(event).is_some_and(|(id, part)| self.level(id).is_some_and(|level| level >= part))
    }

    /// Drops the client's own results that responses have confirmed, as far as its message shows it: a client that has a call
    /// has got what was written before that. `projection` has seen nothing, and takes the facts.
    pub(super) fn drop_confirmed<'a>(
        &mut self,
        mut projection: Box<dyn Projection>,
        facts: impl Iterator<Item = &'a Fact>,
    ) {
        if self.own_results.is_empty() {
            return;
        }
        let (mut written, mut before) = (Vec::new(), Vec::new());
        for fact in facts {
            projection.apply(fact, &mut written);
            for written in written.drain(..) {
                before.extend(written.settled().cloned());
                if matches!(&written, Event::Call { call, .. } if self.level(call).is_some()) {
                    self.own_results.retain(|id| !before.contains(id));
                    before.clear();
                }
            }
        }
    }

    /// Like `has_event`, for a live connection: an answered call is not announced again, and a result that the client
    /// has sent is confirmed.
    pub fn client_has(&self, event: &Event) -> bool {
        part_of_call(event).is_some_and(|(id, part)| match part {
            ClientHas::Outcome => self.has_event(event) && !self.own_results.contains(id),
            _ => self.has_event(event) || self.unsettled.contains(id),
        })
    }
}

/// The call that an event is about, and how much a client has of it at least, once it has this.
fn part_of_call(event: &Event) -> Option<(&ToolCallId, ClientHas)> {
    match event {
        Event::Call { call, .. } | Event::InputDelta { call, .. } => Some((call, ClientHas::Start)),
        Event::Input { call, .. } | Event::InputError { call, .. } => Some((call, ClientHas::Input)),
        Event::Request { call, .. } => Some((call, ClientHas::Request)),
        Event::Progress { call, .. } | Event::Outcome { call, .. } => Some((call, ClientHas::Outcome)),
        Event::Start { .. }
        | Event::StepStart
        | Event::StepEnd
        | Event::BlockStart { .. }
        | Event::BlockDelta { .. }
        | Event::BlockEnd { .. }
        | Event::EditedInput { .. }
        | Event::Delayed { .. }
        | Event::Failed { .. }
        | Event::Aborted { .. }
        | Event::Finish { .. }
        | Event::End => None,
    }
}
