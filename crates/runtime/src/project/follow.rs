//! One response: a projection, from where the request came in to the end of the segment.

use std::collections::HashMap;

use holdpoint_protocol::{
    chunk::{Chunk, Chunks, DeltaOf, FinishReason, FinishStep, Run, StartStep, ToolOutputDenied},
    ids::ToolCallId,
};

use super::{AiSdk, Out, Profile, Projection, View, chunks};
use crate::{
    fact::{Fact, Outcome},
    model::Usage,
    turn::{ChatState, Earlier, Follow, FollowTurn},
};

/// Whether a response goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Flow {
    More,
    End,
}

/// What is shown of an answer that is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// The whole message: for a client that begins with an empty one.
    Message,
    /// The response that is open now: for a client that has seen the beginning of it.
    Segment,
}

/// Makes one response out of a chat's facts. It is fed from the beginning of the response's turn, or of the chat, which makes no difference;
/// what came before the request is folded without being shown.
pub struct Follower {
    projection: Box<dyn Projection>,
    follow: Follow,
    /// How many facts there were when the request was answered: a segment that ended before that does not end the response.
    known: u64,
    position: u64,
    has_joined: bool,
    has_started: bool,
    /// The `finish` that was left out because more had happened since.
    last_finish: Option<Chunks>,
    /// What the segment has had so far, for a replay.
    segment: Vec<Out>,
    /// Outcomes that earlier segments sent, of calls that this client has none of.
    sent: HashMap<ToolCallId, Chunk>,
}

impl Follower {
    /// Follows a chat that has `known` facts.
    pub fn new(projection: Box<dyn Projection>, follow: Follow, known: u64) -> Self {
        Self {
            projection,
            follow,
            known,
            position: 0,
            has_joined: false,
            has_started: false,
            last_finish: None,
            segment: Vec::new(),
            sent: HashMap::new(),
        }
    }

    /// Takes up what is being written in a chat that has these facts, in the ai-sdk profile; `None` when nothing is. The follower is fed
    /// them again.
    pub fn resume<T: AsRef<Fact>>(facts: &[T], view: View, resume: Resume) -> Option<Self> {
        let known = facts.len() as u64;
        let facts = facts.iter().map(AsRef::as_ref);
        // Whether anything is being written is the same for everybody, as in the history. A client that wants to resubmit gets a replay
        // that ends where it is to act.
        let (mut state, mut now) = (ChatState::default(), AiSdk::new(View { is_resubmit: false, ..view }));
        facts.clone().for_each(|fact| state.apply(fact));
        let turn = state.turns.last().map_or(0, |(position, _)| usize::try_from(*position).unwrap_or(usize::MAX));
        let facts = facts.skip(turn);
        facts.clone().for_each(|fact| now.apply(fact, &mut Vec::new()));
        if let Some(before) = state.next.len().checked_sub(1) {
            // Calls of the turn before still run. What is taken up is the turn that waits for them.
            let follow = Follow { turn: FollowTurn::Next { before }, ..Follow::from(known) };
            return Some(Self::new(Box::new(AiSdk::new(view)), follow, known));
        }
        if now.is_closed() || state.stands_still() {
            return None;
        }
        let (projection, from, is_replay) = match resume {
            Resume::Message => (AiSdk::replay(view, facts), state.turn?.position, false),
            Resume::Segment => (AiSdk::new(view), known.saturating_sub(1), true),
        };
        Some(Self::new(Box::new(projection), Follow { is_replay, ..Follow::from(from) }, known))
    }

    /// Skips the turns before the response's own, in a chat that has these facts. Called before the first of them is taken.
    pub(crate) fn skip_earlier_turns<T: AsRef<Fact>>(&mut self, facts: &[T]) {
        let from = usize::try_from(self.follow.from).unwrap_or(usize::MAX);
        let mut facts = facts.iter().map(AsRef::as_ref).take(from.saturating_add(1));
        let Some(turn) = facts.clone().rposition(|fact| matches!(fact, Fact::TurnStarted { .. })) else { return };
        // A client may have missed the outcome of a call of an earlier turn.
        let is_missed = |fact: &Fact| matches!(fact, Fact::Called { call, .. } if self.follow.unsettled.contains(call));
        if !facts.by_ref().take(turn).any(is_missed) {
            self.position = turn as u64;
        }
    }

    /// The position of the next fact that it takes.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Takes the next facts and appends what the response gets. All facts that were known must come in the first call.
    pub fn take<'a>(&mut self, facts: impl IntoIterator<Item = &'a Fact>, out: &mut Vec<Chunks>) -> Flow {
        let mut written = Vec::new();
        for fact in facts {
            let is_first = self.position >= self.follow.from;
            self.has_joined |= is_first && !self.follow.is_replay && self.is_wanted(fact);
            self.position += 1;
            self.projection.apply(fact, &mut written);
            if !self.has_joined {
                written.drain(..).for_each(|written| self.keep(written));
                if is_first && self.follow.is_replay {
                    written = self.replay();
                }
            }
            if self.forward(&mut written, out) == Flow::End {
                return Flow::End;
            }
        }
        if self.position < self.known {
            return Flow::More;
        }
        if self.has_started {
            // The last segment had ended before the request came, and nothing has followed.
            let end = self.last_finish.take().filter(|_| self.projection.is_closed());
            let flow = if end.is_some() { Flow::End } else { Flow::More };
            out.extend(end);
            return flow;
        }
        if matches!(self.follow.turn, FollowTurn::Next { .. }) && !self.has_joined {
            return Flow::More;
        }
        // There is nothing to show yet: the client learns at least which message it is about.
        self.begin(out);
        if !self.projection.is_closed() {
            return Flow::More;
        }
        self.projection.nothing(&mut written);
        self.forward(&mut written, out)
    }

    /// Whether a response that has not begun begins with this fact.
    fn is_wanted(&mut self, fact: &Fact) -> bool {
        let FollowTurn::Next { before } = &mut self.follow.turn else { return true };
        let begins = matches!(fact, Fact::TurnStarted { .. });
        if begins && *before > 0 {
            *before -= 1;
            return false;
        }
        begins
    }

    /// From here on it is shown; first what the segment has had so far.
    fn replay(&mut self) -> Vec<Out> {
        self.has_joined = true;
        let segment = std::mem::take(&mut self.segment);
        for id in segment.iter().filter_map(settled_in) {
            self.sent.remove(id);
        }
        segment
    }

    fn forward(&mut self, written: &mut Vec<Out>, out: &mut Vec<Chunks>) -> Flow {
        for written in written.drain(..) {
            match written {
                Out::Chunks(Chunks::One(Chunk::Start(_))) => self.begin(out),
                Out::Chunks(chunks) if self.follow.is_replay && self.follow.has_chunks(&chunks) => {}
                Out::Chunks(chunks) => {
                    self.begin(out);
                    self.last_finish = None;
                    out.push(self.overruled(chunks));
                }
                Out::End if self.position >= self.known => return Flow::End,
                // More has happened since: the response goes on with it.
                Out::End => self.last_finish = out.pop_if(|last| matches!(last, Chunks::One(Chunk::Finish(_)))),
            }
        }
        Flow::More
    }

    /// `start`, once, and what the client has missed.
    fn begin(&mut self, out: &mut Vec<Chunks>) {
        if !std::mem::replace(&mut self.has_started, true) {
            out.extend(self.projection.start().map(Chunks::One));
            for id in &self.follow.unsettled {
                let missed = self.sent.remove(id).map(|chunk| self.overruled(Chunks::One(chunk)));
                out.extend(missed);
            }
        }
    }

    /// A client that has said yes itself is told of a denial as an error.
    fn overruled(&self, chunks: Chunks) -> Chunks {
        let Chunks::One(Chunk::ToolOutputDenied(denied)) = &chunks else { return chunks };
        match self.follow.overruled.iter().find(|(id, _)| *id == denied.tool_call_id) {
            Some((id, text)) => Chunks::One(chunks::outcome(id, &Outcome::Error(text.clone()))),
            None => chunks,
        }
    }

    /// Remembers what is not shown, as far as it may have to be.
    fn keep(&mut self, written: Out) {
        if let (Some(id), Out::Chunks(Chunks::One(chunk))) = (settled_in(&written), &written)
            && self.follow.unsettled.contains(id)
        {
            self.sent.insert(id.clone(), chunk.clone());
        }
        if self.follow.is_replay {
            if matches!(written, Out::Chunks(Chunks::One(Chunk::Start(_)))) {
                self.segment.clear();
            }
            self.segment.push(written);
        }
    }
}

impl Follow {
    /// Whether it is the announcement or the outcome of a call that the client has already.
    fn has_chunks(&self, chunks: &Chunks) -> bool {
        if let Chunks::One(chunk) = chunks
            && let Some(id) = settled_call(chunk)
        {
            return self.has_outcome.contains(id);
        }
        announced_in(chunks).is_some_and(|id| self.has.contains(id))
    }

    /// The same on a live connection, where a call that was answered is not announced once more.
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

/// The whole response about a turn that a newer message has ended: what became of the calls that the client takes for open.
pub fn earlier(earlier: &Earlier, follow: &Follow, profile: Profile, model: &str) -> Vec<Chunks> {
    let mut chunks = vec![chunks::start(&earlier.message)];
    for (id, outcome) in &earlier.outcomes {
        let is_denied = matches!(outcome, Outcome::Denied { .. });
        let overruled = follow.overruled.iter().find(|(overruled, _)| overruled == id);
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
        Chunk::ToolOutputAvailable(c) => Some(&c.tool_call_id),
        Chunk::ToolOutputError(c) => Some(&c.tool_call_id),
        Chunk::ToolOutputDenied(c) => Some(&c.tool_call_id),
        _ => None,
    }
}
