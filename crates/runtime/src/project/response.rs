//! One response: a projection from the position of the request to the end of the segment.

use std::{collections::HashMap, ops::ControlFlow};

use holdpoint_protocol::{
    chunk::{Chunk, Chunks, DeltaOf, FinishReason, FinishStep, Run, StartStep, ToolOutputDenied},
    ids::ToolCallId,
};

use super::{AiSdk, Out, Profile, Projection, View, chunks};
use crate::{
    fact::{Fact, Outcome},
    model::Usage,
    turn::{ChatState, Earlier, PlannedTurn, ResponsePlan},
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
    /// A `finish` that was withheld because more facts followed.
    last_finish: Option<Chunks>,
    /// The segment so far, for a replay.
    segment: Vec<Out>,
    /// Outcomes that earlier segments sent but this client lacks.
    sent: HashMap<ToolCallId, Chunk>,
}

impl Response {
    /// Follows a chat that has `known` facts.
    pub fn new(projection: Box<dyn Projection>, plan: ResponsePlan, known: u64) -> Self {
        Self {
            projection,
            plan,
            known,
            position: 0,
            has_joined: false,
            has_started: false,
            last_finish: None,
            segment: Vec::new(),
            sent: HashMap::new(),
        }
    }

    /// Resumes what is being written in a chat with these facts, in the ai-sdk profile; `None` if nothing is. Feed it
    /// the same facts again.
    pub fn resume<T: AsRef<Fact>>(facts: &[T], view: View, resume: Resume) -> Option<Self> {
        Self::resume_from(&ChatState::default(), facts, view, resume)
    }

    /// Like `resume`, with the facts after this state, which is that between two turns.
    pub fn resume_from<T: AsRef<Fact>>(origin: &ChatState, facts: &[T], view: View, resume: Resume) -> Option<Self> {
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
            return Some(Self::new(Box::new(AiSdk::new(view)), plan, known));
        }
        if now.is_closed() || state.is_idle() {
            return None;
        }
        let (projection, from, is_replay) = match resume {
            Resume::Message => (AiSdk::replay(view, facts), state.turn?.position, false),
            Resume::Segment => (AiSdk::new(view), known.saturating_sub(1), true),
        };
        Some(Self::new(Box::new(projection), ResponsePlan { is_replay, ..ResponsePlan::from(from) }, known))
    }

    /// Whether a call that the client may lack the outcome of is not among these facts.
    pub(crate) fn lacks_calls<T: AsRef<Fact>>(&self, facts: &[T]) -> bool {
        let made = |id: &ToolCallId| {
            let is_call =
                |fact: &Fact| matches!(fact, Fact::Called { call, .. } | Fact::Invalid { call, .. } if call == id);
            facts.iter().any(|fact| is_call(fact.as_ref()))
        };
        self.plan.unsettled.iter().any(|id| !made(id))
    }

    /// Skips the turns before the response's own, in a chat with these facts, of which the first is at a position. Call it
    /// before the first `take`.
    pub(crate) fn skip_earlier_turns<T: AsRef<Fact>>(&mut self, first: u64, facts: &[T]) {
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

    /// The position of the next fact to take.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Takes facts and appends the chunks of the response. Breaks at its end. The first call must bring all `known`
    /// facts.
    pub fn take<'a>(&mut self, facts: impl IntoIterator<Item = &'a Fact>, out: &mut Vec<Chunks>) -> ControlFlow<()> {
        let mut written = Vec::new();
        for fact in facts {
            let is_first = self.position >= self.plan.from;
            self.has_joined |= is_first && !self.plan.is_replay && self.is_wanted(fact);
            self.position += 1;
            self.projection.apply(fact, &mut written);
            if !self.has_joined {
                written.drain(..).for_each(|written| self.keep(written));
                if is_first && self.plan.is_replay {
                    written = self.replay();
                }
            }
            self.forward(&mut written, out)?;
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
        self.forward(&mut written, out)
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

    /// Starts showing chunks, and returns the segment so far.
    fn replay(&mut self) -> Vec<Out> {
        self.has_joined = true;
        let segment = std::mem::take(&mut self.segment);
        for id in segment.iter().filter_map(settled_in) {
            self.sent.remove(id);
        }
        segment
    }

    fn forward(&mut self, written: &mut Vec<Out>, out: &mut Vec<Chunks>) -> ControlFlow<()> {
        for written in written.drain(..) {
            match written {
                Out::Chunks(Chunks::One(Chunk::Start(_))) => self.begin(out),
                Out::Chunks(chunks) if self.plan.is_replay && self.plan.has_chunks(&chunks) => {}
                Out::Chunks(chunks) => {
                    self.begin(out);
                    self.last_finish = None;
                    out.push(self.overruled(chunks));
                }
                Out::End if self.position >= self.known => return ControlFlow::Break(()),
                // More facts follow, so the response continues.
                Out::End => self.last_finish = out.pop_if(|last| matches!(last, Chunks::One(Chunk::Finish(_)))),
            }
        }
        ControlFlow::Continue(())
    }

    /// Writes `start`, once, and the outcomes that the client lacks.
    fn begin(&mut self, out: &mut Vec<Chunks>) {
        if !std::mem::replace(&mut self.has_started, true) {
            out.extend(self.projection.start().map(Chunks::One));
            for id in &self.plan.unsettled {
                let missed = self.sent.remove(id).map(|chunk| self.overruled(Chunks::One(chunk)));
                out.extend(missed);
            }
        }
    }

    /// Turns a denial into an error if this client has approved the call.
    fn overruled(&self, chunks: Chunks) -> Chunks {
        let Chunks::One(Chunk::ToolOutputDenied(denied)) = &chunks else { return chunks };
        match self.plan.overruled.iter().find(|(id, _)| *id == denied.tool_call_id) {
            Some((id, text)) => Chunks::One(chunks::outcome(id, &Outcome::Error(text.clone()))),
            None => chunks,
        }
    }

    /// Keeps a chunk that is not shown but may be needed later.
    fn keep(&mut self, written: Out) {
        if let (Some(id), Out::Chunks(Chunks::One(chunk))) = (settled_in(&written), &written)
            && self.plan.unsettled.contains(id)
        {
            self.sent.insert(id.clone(), chunk.clone());
        }
        if self.plan.is_replay {
            if matches!(written, Out::Chunks(Chunks::One(Chunk::Start(_)))) {
                self.segment.clear();
            }
            self.segment.push(written);
        }
    }
}

impl ResponsePlan {
    /// Whether the client already has this announcement or outcome.
    fn has_chunks(&self, chunks: &Chunks) -> bool {
        if let Chunks::One(chunk) = chunks
            && let Some(id) = settled_call(chunk).or_else(|| progressed_call(chunk))
        {
            return self.has_outcome.contains(id);
        }
        announced_in(chunks).is_some_and(|id| self.has.contains(id))
    }

    /// Like `has_chunks`, for a live connection: an answered call is not announced again.
    pub(crate) fn client_has(&self, written: &Out) -> bool {
        let Out::Chunks(chunks) = written else { return false };
        self.has_chunks(chunks) || announced_in(chunks).is_some_and(|id| self.unsettled.contains(id))
    }
}

fn announced_in(chunks: &Chunks) -> Option<&ToolCallId> {
    match chunks {
        Chunks::One(Chunk::ToolInputStart(c)) => Some(&c.tool_call_id),
        Chunks::One(Chunk::ToolInputAvailable(c)) => Some(&c.tool_call_id),
        Chunks::One(Chunk::ToolInputError(c)) => Some(&c.tool_call_id),
        Chunks::One(Chunk::ToolApprovalRequest(c)) => Some(&c.tool_call_id),
        Chunks::Run(Run { of: DeltaOf::ToolInput(id), .. }) => Some(id),
        Chunks::One(Chunk::ToolInputDelta(c)) => Some(&c.tool_call_id),
        _ => None,
    }
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
    chunks.push(chunks::finish(FinishReason::Stop, Usage::default(), model));
    chunks.into_iter().map(Chunks::One).collect()
}

pub(crate) fn settled_in(written: &Out) -> Option<&ToolCallId> {
    match written {
        Out::Chunks(Chunks::One(chunk)) => settled_call(chunk),
        _ => None,
    }
}

fn settled_call(chunk: &Chunk) -> Option<&ToolCallId> {
    match chunk {
        Chunk::ToolOutputAvailable(c) => (c.preliminary != Some(true)).then_some(&c.tool_call_id),
        Chunk::ToolOutputError(c) => Some(&c.tool_call_id),
        Chunk::ToolOutputDenied(c) => Some(&c.tool_call_id),
        _ => None,
    }
}

fn progressed_call(chunk: &Chunk) -> Option<&ToolCallId> {
    match chunk {
        Chunk::ToolOutputAvailable(c) if c.preliminary == Some(true) => Some(&c.tool_call_id),
        _ => None,
    }
}
