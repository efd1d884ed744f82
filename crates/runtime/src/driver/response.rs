//! Readers of an awake chat: one response, or a live connection.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures::future::BoxFuture;
use holdpoint_protocol::chunk::{Chunk, Chunks};

use super::feed::FeedReader;
use crate::{
    fact::Fact,
    subject::Subject,
    wire::{AdkLive, Event, PlannedTurn, Projection, Response, ResponsePlan, Resume, StepShown, View, asked_again},
};

/// The result of waiting for chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More chunks, with more to follow.
    More,
    /// The end of the segment.
    End,
    /// The chat is no longer served here: another node has it, or this one is shutting down. The client may try again.
    Gone,
    /// The chat was deleted.
    Deleted,
}

/// One response: a stream of its chunks. It ends with the response, or when the chat is no longer served here.
///
/// [`ResponseStream::read`] reads all chunks that are ready at once, and tells these two ends apart. A program with a protocol of
/// its own reads the [events](ResponseStream::read_events) that it writes.
pub struct ResponseStream {
    source: Source,
    /// Chunks that were read but not returned yet, the next one last.
    ready: Vec<Chunk>,
}

/// The source of the chunks.
#[allow(clippy::large_enum_variant, reason = "nearly all are live")]
enum Source {
    Live {
        reader: FeedReader,
        response: Response,
        is_first: bool,
        /// Facts that were read but not taken yet, the next one last. Only a piece of a long replay is made at a time: a
        /// client that does not read it would otherwise keep all of it in memory.
        waiting: Vec<Arc<Fact>>,
    },
    /// A complete response.
    Whole(Vec<Event>),
    /// A read that was begun by polling.
    Reading(BoxFuture<'static, (Box<Source>, Vec<Event>, Next)>),
    Ended(Next),
}

impl From<Source> for ResponseStream {
    fn from(source: Source) -> Self {
        Self { source, ready: Vec::new() }
    }
}

impl ResponseStream {
    pub(super) fn new(reader: FeedReader, projection: Box<dyn Projection>, plan: ResponsePlan) -> Self {
        let response = Response::new(projection, plan, reader.known);
        Source::Live { reader, response, is_first: true, waiting: Vec::new() }.into()
    }

    pub(super) fn whole(events: Vec<Event>) -> Self {
        Source::Whole(events).into()
    }

    /// Resumes the message that is being written, if any.
    pub(super) fn resume(reader: FeedReader, view: View, resume: Resume) -> Option<Self> {
        let mut facts = reader.after(0);
        // Later facts are streamed, not replayed.
        facts.truncate(usize::try_from(reader.known - reader.origin().len).unwrap_or(usize::MAX));
        let response = Response::resume_from(reader.origin(), &facts, view, resume)?;
        Some(Source::Live { reader, response, is_first: true, waiting: Vec::new() }.into())
    }

    /// Waits for the next chunks and appends all that are ready. Cancel-safe.
    pub async fn read(&mut self, out: &mut Vec<Chunks>) -> Next {
        out.extend(self.ready.drain(..).rev().map(Chunks::One));
        let mut events = Vec::new();
        let next = self.read_events(&mut events).await;
        out.extend(events.into_iter().filter_map(Event::into_chunks));
        next
    }

    /// Like [`read`](Self::read), before anything is written in a protocol. Chunks that were polled and not returned yet are not
    /// among them: read a response in one of the three ways.
    pub async fn read_events(&mut self, out: &mut Vec<Event>) -> Next {
        if let Source::Reading(reading) = &mut self.source {
            let (source, events, next) = reading.await;
            self.source = *source;
            out.extend(events);
            return next;
        }
        self.source.read(out).await
    }
}

/// The chunks one by one.
impl futures::Stream for ResponseStream {
    type Item = Chunk;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Chunk>> {
        let this = self.get_mut();
        loop {
            if let Some(chunk) = this.ready.pop() {
                return Poll::Ready(Some(chunk));
            }
            match &mut this.source {
                Source::Ended(_) => return Poll::Ready(None),
                Source::Reading(reading) => {
                    let (source, events, next) = ready!(reading.as_mut().poll(context));
                    let chunks = events.into_iter().filter_map(Event::into_chunks);
                    chunks.for_each(|chunks| chunks.for_each(|chunk| this.ready.push(chunk)));
                    this.ready.reverse();
                    this.source = if next == Next::More { *source } else { Source::Ended(next) };
                }
                _ => {
                    let mut source = std::mem::replace(&mut this.source, Source::Ended(Next::End));
                    this.source = Source::Reading(Box::pin(async move {
                        let mut events = Vec::new();
                        let next = source.read(&mut events).await;
                        (Box::new(source), events, next)
                    }));
                }
            }
        }
    }
}

/// The size of what is made to events at a time, and what a fact counts besides its text.
const PIECE_BYTES: usize = 64 * 1024;
const PER_FACT_BYTES: usize = 256;

impl Source {
    async fn read(&mut self, out: &mut Vec<Event>) -> Next {
        let (reader, response, is_first, waiting) = match self {
            Source::Live { reader, response, is_first, waiting } => (reader, response, is_first, waiting),
            Source::Whole(events) => {
                out.append(events);
                return Next::End;
            }
            Source::Ended(next) => return *next,
            // `ResponseStream::read` finishes it, and polling does not read a source that is being read.
            Source::Reading(_) => return Next::Gone,
        };
        while !response.is_cut_off() {
            if !reader.has_room() {
                return Next::Gone;
            }
            if !waiting.is_empty() {
                // Those that are known are taken below.
            } else if std::mem::take(is_first) {
                let mut first = reader.origin().len;
                let mut facts = reader.after(0);
                // If an earlier turn can't be read, the outcomes that the client lacks are not shown.
                for turn in reader.turns_of(response.lacking(&facts)).await.unwrap_or_default() {
                    response.recall(turn.facts.iter().map(|fact| &**fact));
                }
                if response.from() < first {
                    // It shows an earlier turn, from its beginning to its end.
                    let Ok(Some(turn)) = reader.turn_at(response.from()).await else { return Next::Gone };
                    (first, facts) = (turn.first, turn.facts);
                }
                response.skip_earlier_turns(first, &facts);
                let skipped = usize::try_from(response.position() - first).unwrap_or(usize::MAX);
                *waiting = facts.split_off(skipped.min(facts.len()));
                response.prepare(waiting.iter().map(|fact| &**fact));
                waiting.reverse();
            } else {
                match reader.next(response.position()).await {
                    Some(facts) => *waiting = facts,
                    None => return reader.end(),
                }
                waiting.reverse();
            }
            let mut bytes = 0;
            let is_next = |fact: &&Arc<Fact>| {
                bytes += PER_FACT_BYTES + fact.text_len();
                bytes < PIECE_BYTES
            };
            let count = waiting.iter().rev().take_while(is_next).count().max(1);
            let piece = waiting.split_off(waiting.len().saturating_sub(count));
            if response.take(piece.iter().rev().map(|fact| &**fact), out).is_break() {
                return if response.is_cut_off() { Next::Gone } else { Next::End };
            }
            if !out.is_empty() {
                return Next::More;
            }
        }
        Next::Gone
    }
}

/// A request taken on a live connection.
#[derive(Debug)]
#[non_exhaustive]
pub struct LiveTaken {
    /// What its response shows.
    pub plan: ResponsePlan,
    /// Whether it added any facts.
    pub is_new: bool,
    /// The whole response, if the request is about an earlier turn.
    pub(super) earlier: Option<Vec<Event>>,
}

/// A connection to `/live`, with one turn after another.
pub struct LiveStream {
    reader: FeedReader,
    projection: AdkLive,
    view: View,
    position: u64,
    /// The position of the last turn.
    turn: Option<u64>,
    /// The subject that follows the chat. A chat that did not exist at first may turn out to be owned by another.
    subject: Subject,
    /// Whether this connection has shown the beginning of the last turn.
    is_begun: bool,
    /// What the client has of the step that is being written.
    step: StepShown,
    /// Whether the response under way is that to a request of this connection.
    is_asked: bool,
    /// Requests that came again while their response was under way. Each gets its own once the turn has ended: a client that
    /// reads on would show a question twice.
    owed: Vec<LiveTaken>,
}

/// The number of requests that may be sent again while their response is under way.
const MAX_OWED: usize = 64;

impl LiveStream {
    /// Follows a chat. An open turn is replayed from its beginning.
    pub(super) fn new(reader: FeedReader, subject: Subject, view: View) -> Self {
        let (first, facts) = (reader.origin().len, reader.after(0));
        let started = facts.iter().rposition(|fact| matches!(**fact, Fact::TurnStarted { .. }));
        let is_over = |at: usize| facts[at..].iter().any(|fact| matches!(**fact, Fact::TurnEnded { .. }));
        let position = started.filter(|at| !is_over(*at)).unwrap_or(facts.len());
        let mut projection = AdkLive::new(view);
        projection.replay(facts[position..].iter().map(|fact| &**fact));
        let turn = started.map(|at| first + at as u64);
        Self {
            reader,
            projection,
            view,
            position: first + position as u64,
            turn,
            subject,
            is_begun: false,
            step: StepShown::default(),
            is_asked: false,
            owed: Vec::new(),
        }
    }

    /// Follows a chat from now on. An open turn is not replayed, because the client did not ask for it.
    pub(super) fn joining(reader: FeedReader, subject: Subject, view: View) -> Self {
        let mut live = Self::new(reader, subject, view);
        let mut facts = live.reader.after(live.position);
        facts.truncate(usize::try_from(live.reader.known.saturating_sub(live.position)).unwrap_or(usize::MAX));
        facts.iter().for_each(|fact| live.projection.apply(fact, &mut Vec::new()));
        live.position += facts.len() as u64;
        live
    }

    /// Writes the immediate response to a request. What follows from the request comes through `next`.
    ///
    /// A client may have missed what was sent since its approval request, even on this connection: some read nothing
    /// between that and their next request. So an answer to what is settled gets what followed, every time.
    ///
    /// Returns whether it gets a response. It gets none if it is one of too many that came again meanwhile.
    #[must_use]
    pub fn respond(&mut self, taken: LiveTaken, out: &mut Vec<Event>) -> bool {
        if let Some(events) = taken.earlier {
            out.extend(events);
            out.push(Event::End);
            return true;
        }
        if taken.plan.turn != PlannedTurn::Continued {
            self.is_asked = true;
            return true;
        }
        let unread = self.reader.after(self.position);
        let is_under_way = !unread.is_empty() || !self.is_at_rest();
        let is_owed = !taken.is_new && self.is_asked && is_under_way;
        if is_owed && self.owed.len() >= MAX_OWED {
            return false;
        }
        self.is_asked = true;
        // Otherwise its turn follows.
        if taken.is_new || !unread.iter().any(|fact| matches!(**fact, Fact::TurnStarted { .. })) {
            self.continue_turn(&taken, !unread.is_empty(), out);
        }
        if is_owed {
            self.owed.push(taken);
        }
        true
    }

    /// Whether the client acts next: the turn has ended, or waits for a decision.
    fn is_at_rest(&self) -> bool {
        self.projection.is_closed() || self.projection.waits_for_person()
    }

    /// Writes what a client lacks of the last turn, and its end if nothing more comes.
    fn continue_turn(&mut self, taken: &LiveTaken, has_unread: bool, out: &mut Vec<Event>) {
        let Some(replay) = self.replay(taken, has_unread) else { return };
        let is_open = !replay.projection.is_closed();
        if is_open && self.is_begun && replay.missed.is_empty() {
            // The response goes on by itself.
            return out.extend(asked_again(&taken.plan));
        }
        self.is_begun = true;
        out.extend(replay.projection.start());
        let (end, missed): (Vec<Event>, Vec<Event>) = replay.missed.into_iter().partition(Event::is_end);
        out.extend(missed);
        out.extend(asked_again(&taken.plan));
        // A turn that a newer message has superseded never ended on the wire.
        match (is_open || has_unread, end.is_empty()) {
            (true, _) => {}
            (false, false) => out.extend(end),
            (false, true) => {
                let (mut projection, mut end) = (replay.projection, Vec::new());
                projection.nothing(&mut end);
                out.extend(end.into_iter().filter(|written| !written.is_step()));
            }
        }
    }

    /// What the client lacks of what was sent of the last turn.
    fn replay(&self, taken: &LiveTaken, has_unread: bool) -> Option<Replay> {
        let (plan, turn) = (&taken.plan, self.turn?);
        let mut facts = self.reader.after(turn);
        facts.truncate(usize::try_from(self.position.saturating_sub(turn)).unwrap_or(usize::MAX));
        // It has what precedes the answered calls' decisions.
        let is_missed = |(position, fact): (u64, &Arc<Fact>)| match &**fact {
            Fact::Decided { call, .. } | Fact::Settled { call, .. } if plan.unsettled.contains(call) => true,
            _ => plan.is_replay && position == plan.from,
        };
        let cut = (turn..).zip(&facts).position(is_missed).unwrap_or(facts.len());
        let (mut projection, mut written) = (AdkLive::new(self.view), Vec::new());
        facts[..cut].iter().for_each(|fact| projection.apply(fact, &mut written));
        let known = written.len();
        projection.replay(facts.iter().map(|fact| &**fact));
        facts[cut..].iter().for_each(|fact| projection.apply(fact, &mut written));
        let mut missed = written[known..].to_vec();
        missed.retain(|written| !written.is_start() && !plan.client_has(written));
        drop_empty_steps(&mut missed);
        if missed.is_empty() && !taken.is_new && !has_unread && projection.waits_for_person() {
            // The client has everything, and is asked the same again: its response has to end somewhere.
            let question = written.iter().rposition(Event::is_call).unwrap_or(written.len());
            missed = written.split_off(question);
        }
        Some(Replay { projection, missed })
    }

    /// Waits for output and appends all that is ready. Cancel-safe.
    pub async fn next(&mut self, out: &mut Vec<Event>) -> Next {
        loop {
            let Some(facts) = self.reader.next(self.position).await else { return self.reader.end() };
            if !self.reader.has_room() {
                return Next::Gone;
            }
            if let Some(at) = facts.iter().rposition(|fact| matches!(**fact, Fact::TurnStarted { .. })) {
                self.turn = Some(self.position + at as u64);
            }
            self.position += facts.len() as u64;
            let is_theirs = |fact: &Arc<Fact>| matches!(&**fact, Fact::Opened { subject } if *subject != self.subject);
            if facts.iter().any(is_theirs) {
                return Next::Gone;
            }
            for fact in &facts {
                let sent = out.len();
                self.projection.apply(fact, out);
                if self.step.is_taken_back(fact, &out[sent..]) {
                    return Next::Gone;
                }
            }
            self.is_begun = out.iter().any(Event::is_start) || self.is_begun && !self.projection.is_closed();
            self.is_asked &= !self.is_at_rest() || !self.reader.after(self.position).is_empty();
            if !self.is_asked && self.projection.is_closed() {
                self.pay(out);
            }
            if !out.is_empty() {
                return Next::More;
            }
        }
    }
}

impl LiveStream {
    /// Writes the responses to the requests that came again, as if they came now: the turn has ended.
    fn pay(&mut self, out: &mut Vec<Event>) {
        for taken in std::mem::take(&mut self.owed) {
            self.continue_turn(&taken, false, out);
        }
        self.is_begun = false;
    }
}

/// Drops the steps whose approval request the client has.
fn drop_empty_steps(written: &mut Vec<Event>) {
    let mut kept: Vec<Event> = Vec::with_capacity(written.len());
    for next in written.drain(..) {
        match kept.last() {
            Some(Event::StepStart) if next.is_step() => drop(kept.pop()),
            _ => kept.push(next),
        }
    }
    *written = kept;
}

/// What a client lacks of a turn.
struct Replay {
    /// After all of it.
    projection: AdkLive,
    missed: Vec<Event>,
}
