//! Looking at a chat: as it stands, one response, or a live connection.

use std::sync::Arc;

use holdpoint_protocol::{chunk::Chunks, holds::ChatHold, message::UiMessage};

use super::feed::Look;
use crate::{
    fact::Fact,
    project::{AdkLive, Flow, Follower, Listed, Out, Projection, Resume, View, history, holds, settled_in},
    subject::Subject,
    turn::{Follow, FollowTurn},
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
pub struct Subscription(Source);

/// Where the chunks come from.
#[allow(clippy::large_enum_variant, reason = "nearly all are followed")]
enum Source {
    Followed {
        look: Look,
        follower: Follower,
        is_first: bool,
    },
    /// All there is to say.
    Whole(Vec<Chunks>),
}

impl Subscription {
    pub(super) fn new(look: Look, projection: Box<dyn Projection>, follow: Follow) -> Self {
        let follower = Follower::new(projection, follow, look.known);
        Self(Source::Followed { look, follower, is_first: true })
    }

    pub(super) fn whole(chunks: Vec<Chunks>) -> Self {
        Self(Source::Whole(chunks))
    }

    /// Takes up what is being written, if anything is.
    pub(super) fn resume(look: Look, view: View, resume: Resume) -> Option<Self> {
        let mut facts = look.after(0);
        // What comes after this is followed, not replayed.
        facts.truncate(usize::try_from(look.known).unwrap_or(usize::MAX));
        let follower = Follower::resume(&facts, view, resume)?;
        Some(Self(Source::Followed { look, follower, is_first: true }))
    }

    /// Waits for the next chunks and appends all that are ready. Cancel-safe.
    pub async fn next(&mut self, out: &mut Vec<Chunks>) -> Next {
        let (look, follower, is_first) = match &mut self.0 {
            Source::Followed { look, follower, is_first } => (look, follower, is_first),
            Source::Whole(chunks) => {
                out.append(chunks);
                return Next::End;
            }
        };
        loop {
            let facts = if std::mem::take(is_first) {
                let mut facts = look.after(0);
                follower.skip_earlier_turns(&facts);
                facts.split_off(usize::try_from(follower.position()).unwrap_or(usize::MAX).min(facts.len()))
            } else {
                match look.next(follower.position()).await {
                    Some(facts) => facts,
                    None => return Next::Gone,
                }
            };
            if follower.take(facts.iter().map(|fact| &**fact), out) == Flow::End {
                return Next::End;
            }
            if !out.is_empty() {
                return Next::More;
            }
        }
    }
}

/// A chat as it stands when it is looked at. It stays in memory meanwhile.
pub struct StoredChat(pub(super) Look);

impl StoredChat {
    /// How many bytes it has, as it is stored: about what the messages have as JSON.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The stored messages.
    pub fn messages(&self) -> Vec<UiMessage> {
        history(&self.0.after(0))
    }

    /// The calls that wait or waited for somebody, and what was decided about them.
    pub fn holds(&self, listed: Listed) -> Vec<ChatHold> {
        holds(&self.0.after(0), listed)
    }
}

/// How a request was taken on a live connection.
#[derive(Debug)]
pub struct LiveTaken {
    /// What its response shows.
    pub follow: Follow,
    /// Whether it brought anything new.
    pub is_new: bool,
    /// What is told of a turn that a newer message has ended; then that is all.
    pub(super) earlier: Option<Vec<Chunks>>,
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
    /// Whether nothing was shown yet of the open turn; and the outcomes that it had when this connection came.
    unseen: Option<Vec<Out>>,
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
        Self { look, projection, view, position: position as u64, missed, subject, unseen: None }
    }

    /// Looks at a chat from now on: an open turn is not replayed, since nobody asked for it.
    pub(super) fn joining(look: Look, subject: Subject, view: View) -> Self {
        let mut live = Self::new(look, subject, view);
        let mut facts = live.look.after(live.position);
        facts.truncate(usize::try_from(live.look.known.saturating_sub(live.position)).unwrap_or(usize::MAX));
        let mut unseen = Vec::new();
        facts.iter().for_each(|fact| live.projection.apply(fact, &mut unseen));
        live.position += facts.len() as u64;
        live.unseen = Some(unseen);
        live
    }

    /// What a request gets at once. What follows from it comes by itself.
    pub fn respond(&mut self, taken: LiveTaken, out: &mut Vec<Out>) {
        let unseen = self.unseen.take();
        if let Some(chunks) = taken.earlier {
            out.extend(chunks.into_iter().map(Out::Chunks));
            return out.push(Out::End);
        }
        if taken.follow.turn != FollowTurn::Continued {
            return;
        }
        match unseen {
            // The connection is new to a turn that the client knows: it goes on with what the client has no outcome of.
            Some(unseen) if !self.projection.is_closed() => {
                out.extend(self.projection.start().map(Out::one));
                let is_missed =
                    |written: &Out| settled_in(written).is_some_and(|id| taken.follow.unsettled.contains(id));
                out.extend(unseen.into_iter().filter(is_missed));
            }
            _ if !taken.is_new => self.nothing_new(&taken.follow, out),
            _ => {}
        }
    }

    /// The answer to a request that brought nothing new: the last turn, if it ended before this connection was there; else a segment in
    /// which nothing happens, unless one is being written anyway.
    fn nothing_new(&mut self, follow: &Follow, out: &mut Vec<Out>) {
        if let Some(turn) = self.missed.take() {
            let known = usize::try_from(self.position.saturating_sub(turn)).unwrap_or(usize::MAX);
            let mut facts = self.look.after(turn);
            facts.truncate(known);
            let mut projection = AdkLive::new(self.view);
            projection.replay(facts.iter().map(|fact| &**fact));
            let mut written = Vec::new();
            facts.iter().for_each(|fact| projection.apply(fact, &mut written));
            // What the client has of it is not announced again.
            out.extend(written.into_iter().filter(|written| !follow.client_has(written)));
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
