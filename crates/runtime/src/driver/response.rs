//! Readers of an awake chat: its stored messages, one response, or a live connection.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures::future::BoxFuture;
use holdpoint_protocol::{
    chunk::{Chunk, Chunks},
    holds::ChatHold,
    message::UiMessage,
};

use super::{RuntimeError, feed::FeedReader, memory::Memory};
use crate::{
    fact::Fact,
    identity::Identity,
    project::{
        AdkLive, Listed, Out, Projection, Response, Resume, View, asked_again, history, holds, is_step, settled_in,
    },
    subject::Subject,
    tool::ToolSet,
    turn::{PlannedTurn, ResponsePlan},
};

/// The result of waiting for chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More chunks, with more to follow.
    More,
    /// The end of the segment.
    End,
    /// The chat is no longer served here: another node has it, or it was deleted. The client may try again.
    Gone,
}

/// One response: a stream of its chunks. It ends with the response, or when the chat is no longer served here.
///
/// [`ResponseStream::read`] reads all chunks that are ready at once, and tells these two ends apart.
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
    },
    /// A complete response.
    Whole(Vec<Chunks>),
    /// A read that was begun by polling.
    Reading(BoxFuture<'static, (Box<Source>, Vec<Chunks>, Next)>),
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
        Source::Live { reader, response, is_first: true }.into()
    }

    pub(super) fn whole(chunks: Vec<Chunks>) -> Self {
        Source::Whole(chunks).into()
    }

    /// Resumes the message that is being written, if any.
    pub(super) fn resume(reader: FeedReader, view: View, resume: Resume) -> Option<Self> {
        let mut facts = reader.after(0);
        // Later facts are streamed, not replayed.
        facts.truncate(usize::try_from(reader.known - reader.origin().len).unwrap_or(usize::MAX));
        let response = Response::resume_from(reader.origin(), &facts, view, resume)?;
        Some(Source::Live { reader, response, is_first: true }.into())
    }

    /// Waits for the next chunks and appends all that are ready. Cancel-safe.
    pub async fn read(&mut self, out: &mut Vec<Chunks>) -> Next {
        out.extend(self.ready.drain(..).rev().map(Chunks::One));
        if let Source::Reading(reading) = &mut self.source {
            let (source, chunks, next) = reading.await;
            self.source = *source;
            out.extend(chunks);
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
                    let (source, chunks, next) = ready!(reading.as_mut().poll(context));
                    chunks.into_iter().for_each(|chunks| chunks.for_each(|chunk| this.ready.push(chunk)));
                    this.ready.reverse();
                    this.source = if next == Next::More { *source } else { Source::Ended(next) };
                }
                _ => {
                    let mut source = std::mem::replace(&mut this.source, Source::Ended(Next::End));
                    this.source = Source::Reading(Box::pin(async move {
                        let mut chunks = Vec::new();
                        let next = source.read(&mut chunks).await;
                        (Box::new(source), chunks, next)
                    }));
                }
            }
        }
    }
}

impl Source {
    async fn read(&mut self, out: &mut Vec<Chunks>) -> Next {
        let (reader, response, is_first) = match self {
            Source::Live { reader, response, is_first } => (reader, response, is_first),
            Source::Whole(chunks) => {
                out.append(chunks);
                return Next::End;
            }
            Source::Ended(next) => return *next,
            // `ResponseStream::read` finishes it, and polling does not read a source that is being read.
            Source::Reading(_) => return Next::Gone,
        };
        loop {
            if !reader.has_room() {
                return Next::Gone;
            }
            let facts = if std::mem::take(is_first) {
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
                facts.split_off(skipped.min(facts.len()))
            } else {
                match reader.next(response.position()).await {
                    Some(facts) => facts,
                    None => return Next::Gone,
                }
            };
            if response.take(facts.iter().map(|fact| &**fact), out).is_break() {
                return Next::End;
            }
            if !out.is_empty() {
                return Next::More;
            }
        }
    }
}

/// A chat opened for reading. It stays in memory while this exists.
pub struct StoredChat(pub(super) FeedReader);

impl StoredChat {
    /// The size in bytes, as stored: about that of the messages as JSON.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The stored messages.
    pub async fn messages(&self) -> Result<Vec<UiMessage>, RuntimeError> {
        let (facts, _memory) = self.facts().await?;
        Ok(history(&facts))
    }

    /// The holds, open and past, with their decisions.
    ///
    /// `tools` are those of the chat ([`Runtime::tools_of`](super::Runtime::tools_of)): they say what a person may decide.
    /// `by` is who asks: each hold says what they may do about it.
    pub async fn holds(&self, listed: Listed, tools: &ToolSet, by: &Identity) -> Result<Vec<ChatHold>, RuntimeError> {
        let (facts, _memory) = self.facts().await?;
        Ok(holds(&facts, listed, tools, by))
    }

    async fn facts(&self) -> Result<(Vec<Arc<Fact>>, Option<Memory>), RuntimeError> {
        // Before those that were read earlier: what is added meanwhile comes after them.
        let later = self.0.after(0);
        let (mut facts, memory) = self.0.earlier().await?;
        facts.extend(later);
        Ok((facts, memory))
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
    pub(super) earlier: Option<Vec<Chunks>>,
}

/// A connection to `/live`, with one turn after another.
pub struct LiveStream {
    reader: FeedReader,
    projection: AdkLive,
    view: View,
    position: u64,
    /// The position of the last turn, if it had ended before this connection was opened.
    missed: Option<u64>,
    /// The subject that follows the chat. A chat that did not exist at first may turn out to be owned by another.
    subject: Subject,
    /// Set until something of the open turn is shown: its output before this connection was opened.
    unseen: Option<Vec<Out>>,
}

impl LiveStream {
    /// Follows a chat. An open turn is replayed from its beginning.
    pub(super) fn new(reader: FeedReader, subject: Subject, view: View) -> Self {
        let (first, facts) = (reader.origin().len, reader.after(0));
        let started = facts.iter().rposition(|fact| matches!(**fact, Fact::TurnStarted { .. }));
        let is_over = |at: usize| facts[at..].iter().any(|fact| matches!(**fact, Fact::TurnEnded { .. }));
        let position = started.filter(|at| !is_over(*at)).unwrap_or(facts.len());
        let mut projection = AdkLive::new(view);
        projection.replay(facts[position..].iter().map(|fact| &**fact));
        let missed = started.filter(|at| is_over(*at)).map(|at| first + at as u64);
        Self { reader, projection, view, position: first + position as u64, missed, subject, unseen: None }
    }

    /// Follows a chat from now on. An open turn is not replayed, because the client did not ask for it.
    pub(super) fn joining(reader: FeedReader, subject: Subject, view: View) -> Self {
        let mut live = Self::new(reader, subject, view);
        let mut facts = live.reader.after(live.position);
        facts.truncate(usize::try_from(live.reader.known.saturating_sub(live.position)).unwrap_or(usize::MAX));
        let mut unseen = Vec::new();
        facts.iter().for_each(|fact| live.projection.apply(fact, &mut unseen));
        live.position += facts.len() as u64;
        live.unseen = Some(unseen);
        live
    }

    /// Writes the immediate response to a request. What follows from the request comes through `next`.
    pub fn respond(&mut self, taken: LiveTaken, out: &mut Vec<Out>) {
        let unseen = self.unseen.take();
        if let Some(chunks) = taken.earlier {
            out.extend(chunks.into_iter().map(Out::Chunks));
            return out.push(Out::End);
        }
        if taken.plan.turn != PlannedTurn::Continued {
            return;
        }
        match unseen {
            // A new connection continues a turn that the client knows: it gets the outcomes that the client lacks.
            Some(unseen) if !self.projection.is_closed() => {
                out.extend(self.projection.start().map(Out::one));
                let is_missed = |written: &Out| settled_in(written).is_some_and(|id| taken.plan.unsettled.contains(id));
                out.extend(unseen.into_iter().filter(is_missed));
                out.extend(asked_again(&taken.plan));
            }
            _ if !taken.plan.still_asked.is_empty() => self.ask_again(&taken.plan, out),
            _ if !taken.is_new => self.nothing_new(&taken.plan, out),
            _ => {}
        }
    }

    /// Responds to a request that added no facts: with the last turn, if it ended before this connection was opened;
    /// else with an empty segment, unless one is open anyway.
    fn nothing_new(&mut self, plan: &ResponsePlan, out: &mut Vec<Out>) {
        let unread = self.reader.after(self.position);
        if unread.iter().any(|fact| matches!(**fact, Fact::TurnStarted { .. })) {
            // Its turn follows.
            return;
        }
        if let Some(turn) = self.missed.take() {
            let known = usize::try_from(self.position.saturating_sub(turn)).unwrap_or(usize::MAX);
            let mut facts = self.reader.after(turn);
            facts.truncate(known);
            let mut projection = AdkLive::new(self.view);
            projection.replay(facts.iter().map(|fact| &**fact));
            let mut written = Vec::new();
            facts.iter().for_each(|fact| projection.apply(fact, &mut written));
            // What the client already has is not announced again.
            out.extend(written.into_iter().filter(|written| !plan.client_has(written)));
            return;
        }
        if self.projection.is_closed()
            && let Some(start) = self.projection.start()
        {
            out.push(Out::one(start));
            self.projection.nothing(out);
        }
    }

    /// Asks again what the client has answered without effect.
    fn ask_again(&mut self, plan: &ResponsePlan, out: &mut Vec<Out>) {
        if !self.projection.is_closed() {
            return out.extend(asked_again(plan));
        }
        let Some(start) = self.projection.start() else { return };
        out.push(Out::one(start));
        out.extend(asked_again(plan));
        let mut end = Vec::new();
        self.projection.nothing(&mut end);
        out.extend(end.into_iter().filter(|written| !is_step(written)));
    }

    /// Waits for output and appends all that is ready. Cancel-safe.
    pub async fn next(&mut self, out: &mut Vec<Out>) -> Next {
        loop {
            let Some(facts) = self.reader.next(self.position).await else { return Next::Gone };
            if !self.reader.has_room() {
                return Next::Gone;
            }
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
