//! One response: a projection from the position of the request to the end of the segment.

use std::{collections::HashSet, ops::ControlFlow};

use holdpoint_protocol::ids::ToolCallId;

use super::{AiSdk, ClientHas, Event, Past, PlannedTurn, Projection, ResponsePlan, StepShown, View, shown::Missed};
use crate::{
    chat::Chat,
    fact::{Fact, Outcome},
};

/// What a resumed response shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// The whole message, for a client that starts with an empty one.
    Message,
    /// The open segment, for a client that has its beginning.
    Segment,
}

/// One response, cut out of a chat's facts. Feed it from the beginning of its turn or of the chat; both give the same
/// result. Facts before the request are folded but not shown.
pub struct Response {
    projection: Box<dyn Projection>,
    plan: ResponsePlan,
    /// The number of facts when the request was answered. A segment that ended earlier does not end the response.
    known: u64,
    position: u64,
    has_joined: bool,
    has_started: bool,
    /// Set until the projection knows what of the facts is past.
    must_set_past: bool,
    /// The position of the first fact of the segment that this response shows, until the projection knows of it.
    segment_at: Option<u64>,
    /// The calls whose outcome is among the known facts that it shows.
    over: HashSet<ToolCallId>,
    /// A `finish` that was withheld because more facts followed.
    last_finish: Option<Event>,
    /// The segment so far, for a replay.
    segment: Vec<Event>,
    /// What earlier segments said of calls that this client has answered, and lacks.
    missed: Missed,
    /// What the client has of the step that is being written.
    step: StepShown,
    is_cut_off: bool,
}

impl Response {
    /// Follows a chat that has `known` facts.
    pub fn new(projection: Box<dyn Projection>, plan: ResponsePlan, known: u64) -> Self {
        let plan_from = plan.from;
        Self {
            projection,
            plan,
            known,
            position: 0,
            has_joined: false,
            has_started: false,
            must_set_past: true,
            segment_at: Some(plan_from),
            over: HashSet::new(),
            last_finish: None,
            segment: Vec::new(),
            missed: Missed::default(),
            step: StepShown::default(),
            is_cut_off: false,
        }
    }

    /// Resumes what is being written in a chat with these facts; `None` if nothing is. Feed it the same facts again.
    pub fn resume<T: AsRef<Fact>>(facts: &[T], view: View, resume: Resume) -> Option<Self> {
        Self::resume_from(&Chat::default(), facts, view, resume)
    }

    /// Like `resume`, with the facts after this state, which is that between two turns.
    pub fn resume_from<T: AsRef<Fact>>(origin: &Chat, facts: &[T], view: View, resume: Resume) -> Option<Self> {
        let known = origin.len + facts.len() as u64;
        let facts = facts.iter().map(AsRef::as_ref);
        // Whether anything is being written does not depend on the client, as in the history. A resubmit client gets a
        // replay that ends where it has to act.
        let (mut state, mut now) = (origin.clone(), AiSdk::new(View { is_resubmit: false, ..view }));
        facts.clone().for_each(|fact| state.apply(fact));
        let turn = state.turns.last().map_or(0, |(position, _)| position.saturating_sub(origin.len));
        let facts = facts.skip(usize::try_from(turn).unwrap_or(usize::MAX));
        facts.clone().for_each(|fact| now.apply(fact, &mut Vec::new()));
        if let Some(before) = state.next.len().checked_sub(1) {
            // Calls of the previous turn still run: resume the turn that waits for them.
            let plan = ResponsePlan { turn: PlannedTurn::Next { before }, ..ResponsePlan::from(known) };
            return Some(Self::new(view.projection(), plan, known));
        }
        if now.is_closed() || state.is_idle() {
            return None;
        }
        let mut projection = view.projection();
        let (from, is_replay) = match resume {
            Resume::Message => {
                projection.set_past(Past::of(facts));
                (state.turn?.position, false)
            }
            Resume::Segment => (known.saturating_sub(1), true),
        };
        let response = Self::new(projection, ResponsePlan { is_replay, ..ResponsePlan::from(from) }, known);
        // A replay of the message is prepared already, and one of the segment repeats what was sent.
        Some(Self { must_set_past: false, ..response })
    }

    /// The position of the first fact that it shows.
    pub fn from(&self) -> u64 {
        self.plan.from
    }

    /// The calls that the client may lack the outcome of and that are not among these facts.
    pub fn lacking<T: AsRef<Fact>>(&self, facts: &[T]) -> Vec<ToolCallId> {
        let made = |id: &ToolCallId| {
            let is_call =
                |fact: &Fact| matches!(fact, Fact::Called { call, .. } | Fact::Invalid { call, .. } if call == id);
            facts.iter().any(|fact| is_call(fact.as_ref()))
        };
        self.plan.unsettled.iter().filter(|id| !made(id)).cloned().collect()
    }

    /// Takes the facts of an earlier turn, for the outcomes that the client lacks. Call it before the first `take`.
    pub fn recall<'a>(&mut self, facts: impl IntoIterator<Item = &'a Fact>) {
        let mut written = Vec::new();
        for fact in facts {
            self.missed.note(fact);
            self.projection.apply(fact, &mut written);
            written.drain(..).for_each(|written| self.keep(written));
        }
    }

    /// Skips the turns before the response's own, in a chat with these facts, of which the first is at a position. Call it
    /// before the first `take`.
    pub fn skip_earlier_turns<T: AsRef<Fact>>(&mut self, first: u64, facts: &[T]) {
        self.position = first;
        let from = usize::try_from(self.plan.from.saturating_sub(first)).unwrap_or(usize::MAX);
        let mut facts = facts.iter().map(AsRef::as_ref).take(from.saturating_add(1));
        let Some(turn) = facts.clone().rposition(|fact| matches!(fact, Fact::TurnStarted { .. })) else { return };
        // A client may lack the outcome of a call of an earlier turn.
        let is_missed = |fact: &Fact| matches!(fact, Fact::Called { call, .. } if self.plan.unsettled.contains(call));
        if !facts.by_ref().take(turn).any(is_missed) {
            self.position = first + turn as u64;
        }
    }

    /// Begins with the fact at this position, which is that between two turns.
    pub fn begin_at(&mut self, position: u64) {
        self.position = position;
    }

    /// Whether it ended because the client has something of a step that was abandoned. A client that resumes gets the message
    /// anew, without that.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// The position of the next fact to take.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Looks at the facts that are known. Then they can be taken in pieces.
    pub fn prepare<'a>(&mut self, facts: impl Iterator<Item = &'a Fact> + Clone) {
        if std::mem::take(&mut self.must_set_past) {
            self.set_past(facts);
        }
    }

    /// Takes facts and appends the events of the response. Breaks at its end. Unless it is prepared, the first call must
    /// bring all `known` facts.
    pub fn take<'a>(
        &mut self,
        facts: impl IntoIterator<Item = &'a Fact, IntoIter: Clone>,
        out: &mut Vec<Event>,
    ) -> ControlFlow<()> {
        let mut written = Vec::new();
        let facts = facts.into_iter();
        self.prepare(facts.clone());
        for fact in facts {
            if self.segment_at.is_some_and(|at| self.position >= at) {
                self.begin_segment();
            }
            let is_first = self.position >= self.plan.from;
            self.has_joined |= is_first && !self.plan.is_replay && self.is_wanted(fact);
            self.position += 1;
            self.missed.note(fact);
            self.projection.apply(fact, &mut written);
            if !self.has_joined {
                written.drain(..).for_each(|written| self.keep(written));
                if is_first && self.plan.is_replay {
                    written = self.replay();
                }
            }
            let sent = out.len();
            let flow = self.forward(&mut written, out);
            if self.step.is_taken_back(fact, &out[sent.min(out.len())..]) {
                self.is_cut_off = true;
                return ControlFlow::Break(());
            }
            flow?;
            if self.has_joined && matches!(fact, Fact::TurnEnded { .. }) {
                return self.end_turn(out);
            }
        }
        if self.position < self.known {
            return ControlFlow::Continue(());
        }
        if self.has_started {
            // The last segment had ended before the request came, and nothing followed.
            let end = self.last_finish.take().filter(|_| self.projection.is_closed());
            let flow = if end.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            out.extend(end);
            return flow;
        }
        if matches!(self.plan.turn, PlannedTurn::Next { .. }) && !self.has_joined {
            return ControlFlow::Continue(());
        }
        // There is nothing to show yet, but the client learns the message id.
        self.begin(out);
        if !self.projection.is_closed() {
            return ControlFlow::Continue(());
        }
        self.projection.nothing(&mut written);
        if !self.plan.still_asked.is_empty() {
            // The client waits for an answer to what is asked again, so it needs no step that keeps it from sending.
            written.retain(|written| !written.is_step());
        }
        self.forward(&mut written, out)
    }

    /// Asks again what the client has answered without effect, before the response ends. Otherwise the client would wait
    /// for the outcome, or send its answer again and again.
    fn ask_again(&mut self, out: &mut Vec<Event>) {
        let asked = std::mem::take(&mut self.plan.still_asked).into_iter();
        let open = asked.filter(|(id, _)| !self.missed.is_answered(id));
        out.extend(open.map(|(call, approval)| Event::Request { call, approval }));
    }

    /// Tells the projection what of these facts is past. The client learns the end of it together with its beginning, so
    /// it is not asked what is decided, and does not run what has run.
    fn set_past<'a>(&mut self, facts: impl Iterator<Item = &'a Fact> + Clone) {
        let known = usize::try_from(self.known.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let facts = facts.take(known);
        let from = usize::try_from(self.plan.from.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let shown = if self.plan.is_replay { self.segment_start(facts.clone(), from) } else { from };
        if self.plan.is_replay {
            self.plan.drop_confirmed(self.projection.fresh(), facts.clone());
        }
        self.segment_at = Some(self.position.saturating_add(shown as u64));
        let shown = facts.skip(shown);
        self.over = shown
            .clone()
            .filter_map(|fact| match fact {
                Fact::Settled { call, .. } => Some(call.clone()),
                _ => None,
            })
            .collect();
        self.projection.set_past(Past::of(shown));
    }

    /// Prepares the projection for the segment.
    fn begin_segment(&mut self) {
        if self.segment_at.take().is_some() {
            let has: HashSet<&ToolCallId> = self.plan.has.iter().map(|(id, _)| id).collect();
            let has = (!has.is_empty()).then_some(&has);
            self.projection.begin_segment(std::mem::take(&mut self.over), has);
        }
    }

    /// The index of the first fact of the segment that has the fact at this index.
    fn segment_start<'a>(&self, facts: impl Iterator<Item = &'a Fact>, at: usize) -> usize {
        let (mut projection, mut written, mut start) = (self.projection.fresh(), Vec::new(), 0);
        for (index, fact) in facts.take(at.saturating_add(1)).enumerate() {
            projection.apply(fact, &mut written);
            if written.drain(..).any(|written| written.is_start()) {
                start = index;
            }
        }
        start
    }

    /// Ends the response with its turn, although more facts follow: they are of other turns.
    fn end_turn(&mut self, out: &mut Vec<Event>) -> ControlFlow<()> {
        if self.has_started {
            out.extend(self.last_finish.take());
            return ControlFlow::Break(());
        }
        self.begin(out);
        let mut written = Vec::new();
        self.projection.nothing(&mut written);
        self.forward(&mut written, out)?;
        out.extend(self.last_finish.take());
        ControlFlow::Break(())
    }

    /// Whether a response that has not begun yet begins with this fact.
    fn is_wanted(&mut self, fact: &Fact) -> bool {
        let PlannedTurn::Next { before } = &mut self.plan.turn else { return true };
        let begins = matches!(fact, Fact::TurnStarted { .. });
        if begins && *before > 0 {
            *before -= 1;
            return false;
        }
        begins
    }

    /// Starts showing events, and returns the segment so far.
    fn replay(&mut self) -> Vec<Event> {
        self.has_joined = true;
        let segment = std::mem::take(&mut self.segment);
        self.missed.drop_shown(&segment);
        segment
    }

    fn forward(&mut self, written: &mut Vec<Event>, out: &mut Vec<Event>) -> ControlFlow<()> {
        for event in written.drain(..) {
            match event {
                Event::Start { .. } => self.begin(out),
                Event::End if self.position >= self.known => return ControlFlow::Break(()),
                // More facts follow, so the response continues.
                Event::End => self.last_finish = out.pop_if(|last| matches!(last, Event::Finish { .. })),
                event if self.client_has(&event) => {}
                event => {
                    self.begin(out);
                    if matches!(event, Event::Finish { .. }) {
                        self.ask_again(out);
                    }
                    self.last_finish = None;
                    out.push(self.overruled(event));
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Writes `start`, once, and the outcomes that the client lacks.
    fn begin(&mut self, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.has_started, true) {
            self.begin_segment();
            out.extend(self.projection.start());
            for id in &self.plan.unsettled {
                let missed = self.missed.take(id, self.plan.level(id));
                out.extend(missed.into_iter().map(|event| self.overruled(event)));
            }
        }
    }

    /// Turns a denial into an error if this client has approved the call.
    fn overruled(&self, event: Event) -> Event {
        match event {
            Event::Outcome { call, outcome: outcome @ Outcome::Denied { .. } } => {
                let outcome = self.plan.overrules(&call).unwrap_or(outcome);
                Event::Outcome { call, outcome }
            }
            event => event,
        }
    }

    /// Whether the client has this already. That an approved call is to run in the browser is news to a client that has
    /// its approval request.
    fn client_has(&self, event: &Event) -> bool {
        let is_released =
            |id: &ToolCallId| self.missed.is_started(id) && self.plan.level(id) == Some(ClientHas::Request);
        // The client's own result, which the server has not confirmed.
        let is_own = |event: &Event| event.settled().is_some_and(|id| self.plan.own_results.contains(id));
        match event {
            Event::Input { call, .. } if is_released(call) => false,
            event if self.projection.holds_outcomes() && is_own(event) => false,
            event => self.plan.has_event(event),
        }
    }

    /// Keeps an event that is not shown but may be needed later.
    fn keep(&mut self, event: Event) {
        self.missed.keep(&event, |id| self.plan.unsettled.contains(id));
        if self.plan.is_replay {
            if event.is_start() {
                self.segment.clear();
            }
            self.segment.push(event);
        }
    }
}
