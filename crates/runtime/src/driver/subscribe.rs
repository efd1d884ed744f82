//! Looking at a chat: one response, or a live connection.

use std::sync::Arc;

use holdpoint_protocol::chunk::Chunks;

use super::feed::Look;
use crate::{
    fact::Fact,
    project::{AdkLive, Flow, Follower, Out, Projection, Resume, View},
    subject::Subject,
    turn::Follow,
};

/// What came next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More chunks, and more to come.
    More,
    /// The segment is over.
    End,
    /// The chat went away under us: another node has it, or it was deleted. The client may come again.
    Gone,
}

/// One response.
pub struct Subscription {
    look: Look,
    follower: Follower,
    is_first: bool,
}

impl Subscription {
    pub(super) fn new(look: Look, projection: Box<dyn Projection>, follow: Follow) -> Self {
        let follower = Follower::new(projection, follow, look.known);
        Self { look, follower, is_first: true }
    }

    /// Takes up what is being written, if anything is.
    pub(super) fn resume(look: Look, view: View, resume: Resume) -> Option<Self> {
        let mut facts = look.after(0);
        // What comes after this is followed, not replayed.
        facts.truncate(usize::try_from(look.known).unwrap_or(usize::MAX));
        let follower = Follower::resume(&facts, view, resume)?;
        Some(Self { look, follower, is_first: true })
    }

    /// Waits for the next chunks and appends all that are ready. Cancel-safe.
    pub async fn next(&mut self, out: &mut Vec<Chunks>) -> Next {
        loop {
            let facts = if std::mem::take(&mut self.is_first) {
                self.look.after(0)
            } else {
                match self.look.next(self.follower.position()).await {
                    Some(facts) => facts,
                    None => return Next::Gone,
                }
            };
            if self.follower.take(facts.iter().map(|fact| &**fact), out) == Flow::End {
                return Next::End;
            }
            if !out.is_empty() {
                return Next::More;
            }
        }
    }
}

/// A connection to `/live`: turn after turn.
pub struct LiveSubscription {
    look: Look,
    projection: AdkLive,
    view: View,
    position: u64,
    /// Where the last turn began, if it was over when this connection came.
    missed: Option<u64>,
    /// Who looks. A chat that did not exist when they began to may turn out to be somebody else's.
    subject: Subject,
}

impl LiveSubscription {
    /// Looks at a chat. A turn that is open is replayed from its beginning.
    pub(super) fn new(look: Look, subject: Subject, view: View) -> Self {
        let facts = look.after(0);
        let started = facts.iter().rposition(|fact| matches!(**fact, Fact::TurnStarted { .. }));
        let is_over = |at: usize| facts[at..].iter().any(|fact| matches!(**fact, Fact::TurnEnded { .. }));
        let position = started.filter(|at| !is_over(*at)).unwrap_or(facts.len());
        let mut projection = AdkLive::new(view);
        projection.replay(facts[position..].iter().map(|fact| &**fact));
        let missed = started.filter(|at| is_over(*at)).map(|at| at as u64);
        Self { look, projection, view, position: position as u64, missed, subject }
    }

    /// The answer to a request that brought nothing new: the last turn, if it ended before this connection was there; else a segment in
    /// which nothing happens, unless one is being written anyway.
    pub fn nothing_new(&mut self, out: &mut Vec<Out>) {
        if let Some(turn) = self.missed.take() {
            let known = usize::try_from(self.position.saturating_sub(turn)).unwrap_or(usize::MAX);
            let mut facts = self.look.after(turn);
            facts.truncate(known);
            let mut projection = AdkLive::new(self.view);
            projection.replay(facts.iter().map(|fact| &**fact));
            facts.iter().for_each(|fact| projection.apply(fact, out));
            return;
        }
        if self.projection.is_closed()
            && let Some(start) = self.projection.start()
        {
            out.push(Out::one(start));
            self.projection.nothing(out);
        }
    }

    /// Waits for what comes next and appends all that is ready. Cancel-safe.
    pub async fn next(&mut self, out: &mut Vec<Out>) -> Next {
        loop {
            let Some(facts) = self.look.next(self.position).await else { return Next::Gone };
            self.position += facts.len() as u64;
            self.missed = None;
            let is_theirs = |fact: &Arc<Fact>| matches!(&**fact, Fact::Opened { subject } if *subject != self.subject);
            if facts.iter().any(is_theirs) {
                return Next::Gone;
            }
            facts.iter().for_each(|fact| self.projection.apply(fact, out));
            if !out.is_empty() {
                return Next::More;
            }
        }
    }
}
