//! What a client has been shown of a call: one record, whoever keeps it. A [profile](super::Projection) knows what it has
//! written, and a [plan](ResponsePlan) what the client's message shows. What a client has is not written again.

use std::collections::HashMap;

use holdpoint_protocol::ids::ToolCallId;

use super::{Event, Projection, ResponsePlan};
use crate::fact::{Fact, Outcome};

/// How much a client has of a call. It may be more than the responses have shown, because the history shows everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientHas {
    /// The beginning of its input.
    Start,
    /// Its input.
    Input,
    /// Its approval request.
    Request,
    /// That it is to run, because the client has run it.
    Run,
    /// Its outcome.
    Outcome,
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

/// The calls that a profile has shown, over all segments of a turn.
#[derive(Debug, Default)]
pub(super) struct Shown {
    calls: HashMap<ToolCallId, CallShown>,
    /// The number of the current segment.
    segment: u32,
}

/// What a profile has shown of a call.
#[derive(Debug, Clone, Copy, Default)]
struct CallShown {
    has: Option<ClientHas>,
    /// The first segment that has shown its input.
    segment: u32,
    /// The segment that has shown its approval request.
    asked_in: Option<u32>,
    /// Whether the client has got pieces of its input.
    has_deltas: bool,
    /// Whether an approver has changed the input that the client has.
    is_stale: bool,
}

impl Shown {
    /// A new segment begins.
    pub(super) fn next_segment(&mut self) {
        self.segment += 1;
    }

    fn get(&self, id: &ToolCallId) -> CallShown {
        self.calls.get(id).copied().unwrap_or_default()
    }

    /// The client gets this of a call. Returns whether it has had less of it.
    pub(super) fn give(&mut self, id: &ToolCallId, has: ClientHas) -> bool {
        let call = self.calls.entry(id.clone()).or_default();
        let is_new = call.has < Some(has);
        call.has = call.has.max(Some(has));
        match has {
            // A call that is announced again stays one of the step that it was shown with.
            ClientHas::Input if is_new => call.segment = self.segment,
            ClientHas::Request if is_new => call.asked_in = Some(self.segment),
            // It is told the input that it is to run with.
            ClientHas::Run => call.is_stale = false,
            ClientHas::Start | ClientHas::Input | ClientHas::Request | ClientHas::Outcome => {}
        }
        is_new
    }

    /// The client gets a piece of the input of a call.
    pub(super) fn give_delta(&mut self, id: &ToolCallId) {
        self.calls.entry(id.clone()).or_default().has_deltas = true;
    }

    /// An approver has put another input in place of the one that the client may have.
    pub(super) fn edit(&mut self, id: &ToolCallId) {
        if let Some(call) = self.calls.get_mut(id) {
            call.is_stale = call.has >= Some(ClientHas::Input);
        }
    }

    /// Whether the client has an input that an approver has changed. From now on it has the right one.
    pub(super) fn take_edit(&mut self, id: &ToolCallId) -> bool {
        self.calls.get_mut(id).is_some_and(|call| std::mem::take(&mut call.is_stale))
    }

    /// Whether the client has at least this of a call.
    pub(super) fn has(&self, id: &ToolCallId, has: ClientHas) -> bool {
        self.get(id).has >= Some(has)
    }

    /// Whether the client has pieces of the input of a call.
    pub(super) fn has_deltas(&self, id: &ToolCallId) -> bool {
        self.get(id).has_deltas
    }

    /// The segment that shows the input of a call.
    pub(super) fn segment_of(&self, id: &ToolCallId) -> Option<u32> {
        self.calls.get(id).map(|call| call.segment)
    }

    /// Whether the current segment shows the input of a call.
    pub(super) fn is_in_this_segment(&self, id: &ToolCallId) -> bool {
        self.segment_of(id) == Some(self.segment)
    }

    /// Whether an earlier segment has asked about a call: the client's next request has answered it.
    pub(super) fn was_asked_before(&self, id: &ToolCallId) -> bool {
        self.get(id).asked_in.is_some_and(|segment| segment != self.segment)
    }

    /// Whether a segment has asked about a call.
    pub(super) fn was_asked(&self, id: &ToolCallId) -> bool {
        self.get(id).asked_in.is_some()
    }

    /// The calls of which the client has something.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCallId> {
        self.calls.keys()
    }

    /// Removes a call whose step is abandoned. Returns whether the client has something of it.
    pub(super) fn remove(&mut self, id: &ToolCallId) -> bool {
        self.calls.remove(id).is_some_and(|call| call.has.is_some())
    }

    /// Removes the calls that a client does not show: it has not got the segments with them.
    pub(super) fn retain(&mut self, mut shows: impl FnMut(&ToolCallId) -> bool) {
        self.calls.retain(|id, _| shows(id));
    }
}

/// What a response that has not begun yet knows of the calls.
#[derive(Debug, Default)]
pub(super) struct Missed(HashMap<ToolCallId, MissedCall>);

/// What happened to a call, and what earlier segments have said of that.
#[derive(Debug, Default)]
struct MissedCall {
    /// Whether they have asked about it.
    was_asked: bool,
    is_decided: bool,
    is_edited: bool,
    is_started: bool,
    is_settled: bool,
    /// What the client lacks: the outcome, or that an approved call is to run in the browser.
    said: Vec<Event>,
}

impl Missed {
    /// Notes what a fact means for what the client lacks.
    pub(super) fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Started { call, .. } => self.call(call).is_started = true,
            Fact::Settled { call, .. } => self.call(call).is_settled = true,
            Fact::Decided { call, verdict, .. } => {
                let call = self.call(call);
                call.is_decided = true;
                call.is_edited |= verdict.edited_input().is_some();
            }
            _ => {}
        }
    }

    /// Keeps what an earlier segment said. `is_lacking` are the calls of which the client may lack it.
    pub(super) fn keep(&mut self, event: &Event, is_lacking: impl Fn(&ToolCallId) -> bool) {
        let (id, is_news) = match event {
            Event::Request { call, .. } => return self.call(call).was_asked = true,
            Event::Input { call, .. } => (call, self.0.get(call).is_some_and(|call| call.was_asked)),
            Event::Outcome { call, .. } => (call, true),
            _ => return,
        };
        if is_news && is_lacking(id) {
            let call = self.call(id);
            if !call.is_edited {
                // The outcome is all that is left to know.
                call.said.clear();
            }
            call.said.push(event.clone());
        }
    }

    /// What the client lacks of a call that is in this state for it.
    pub(super) fn take(&mut self, id: &ToolCallId, has: Option<ClientHas>) -> Vec<Event> {
        let Some(call) = self.0.get_mut(id) else { return Vec::new() };
        let mut said = std::mem::take(&mut call.said);
        // A client that has run the call, or shows it as one to run, knows that it is to run. And a call that is
        // settled is not to run any more, although its outcome is held back.
        let is_settled = call.is_settled && !said.iter().any(|event| event.settled().is_some());
        let is_told = has == Some(ClientHas::Input) || has >= Some(ClientHas::Run);
        said.retain(|event| !((is_told || is_settled) && matches!(event, Event::Input { .. })));
        said
    }

    /// Drops what is in a segment that is shown as a whole.
    pub(super) fn drop_shown(&mut self, segment: &[Event]) {
        for call in self.0.values_mut() {
            if call.said.iter().any(|event| segment.contains(event)) {
                call.said.clear();
            }
        }
    }

    /// Whether a call is decided or settled.
    pub(super) fn is_answered(&self, id: &ToolCallId) -> bool {
        self.0.get(id).is_some_and(|call| call.is_decided || call.is_settled)
    }

    /// Whether a call has started.
    pub(super) fn is_started(&self, id: &ToolCallId) -> bool {
        self.0.get(id).is_some_and(|call| call.is_started)
    }

    fn call(&mut self, id: &ToolCallId) -> &mut MissedCall {
        self.0.entry(id.clone()).or_default()
    }
}

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

/// Whether a client has something of the step that is being written. If that step is abandoned, it can't be taken back: the
/// client would show it beside its repetition.
#[derive(Debug, Clone, Copy, Default)]
pub struct StepShown {
    is_in_step: bool,
    is_shown: bool,
}

impl StepShown {
    /// Takes a fact, and what the client gets because of it. Returns whether the client has something of an abandoned step.
    pub fn is_taken_back<'a>(&mut self, fact: &Fact, written: impl IntoIterator<Item = &'a Event>) -> bool {
        match fact {
            Fact::StepStarted => *self = Self { is_in_step: true, is_shown: false },
            // What is shown from here on belongs to no step that could be abandoned.
            Fact::StepEnded { .. } => *self = Self::default(),
            Fact::StepAbandoned => return std::mem::take(self).is_shown,
            _ => {}
        }
        self.is_shown |= self.is_in_step && written.into_iter().any(is_content);
        false
    }
}

/// Whether a client keeps it as a part of the message.
fn is_content(event: &Event) -> bool {
    matches!(
        event,
        Event::BlockStart { .. }
            | Event::BlockDelta { .. }
            | Event::Call { .. }
            | Event::InputDelta { .. }
            | Event::Input { .. }
            | Event::InputError { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise its outcome would stay behind when those of its step are sent (rule K8).
    #[test]
    fn a_call_that_is_announced_again_stays_with_its_step() {
        let (mut shown, paid, located) = (Shown::default(), ToolCallId::from("pay"), ToolCallId::from("locate"));
        assert!(shown.give(&paid, ClientHas::Input) && shown.give(&located, ClientHas::Input));
        shown.next_segment();
        assert!(!shown.give(&located, ClientHas::Input));
        assert!(shown.give(&located, ClientHas::Run));
        assert_eq!(shown.segment_of(&located), shown.segment_of(&paid));
        assert!(!shown.is_in_this_segment(&located));
    }
}
