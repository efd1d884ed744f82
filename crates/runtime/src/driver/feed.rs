//! The facts of an awake chat, for everybody who follows it.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use holdpoint_protocol::ids::{ChatId, ToolCallId};
use tokio::sync::watch;

use super::{
    Next, RuntimeError,
    load::{self, Turn},
    look_back,
    memory::{Memory, Within},
    runtime::Inner,
};
use crate::{chat::Chat, fact::Fact, subject::Subject, turn::EarlierId};

/// Facts in memory, and a signal when there are more. Text appears here a little before it is on disk, all else after.
#[derive(Debug)]
pub(super) struct Feed {
    /// The state before the first of them.
    origin: Chat,
    /// Where the earlier ones are.
    earlier: Option<Earlier>,
    facts: RwLock<Vec<Arc<Fact>>>,
    len: watch::Sender<u64>,
    /// The size of the chat in bytes, as stored.
    bytes: AtomicUsize,
    /// What the facts in memory take.
    loaded: AtomicUsize,
    /// Whether the feed ends because the chat was deleted.
    is_deleted: AtomicBool,
}

/// The place of facts that are not in memory.
pub(super) struct Earlier {
    pub(super) inner: Arc<Inner>,
    pub(super) chat: ChatId,
    /// The number of facts that the log had of earlier chats with this id.
    pub(super) base: u64,
}

impl std::fmt::Debug for Earlier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Earlier({})", self.chat)
    }
}

impl Feed {
    pub(super) fn new(origin: Chat, earlier: Option<Earlier>) -> Self {
        let len = watch::Sender::new(origin.len);
        let (bytes, loaded, is_deleted) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        Self { origin, earlier, facts: RwLock::default(), len, bytes, loaded, is_deleted }
    }

    /// Adds facts and signals once.
    pub(super) fn push(&self, new: Vec<Arc<Fact>>) {
        if new.is_empty() {
            return;
        }
        let mut facts = self.facts.write().unwrap_or_else(PoisonError::into_inner);
        for fact in new {
            if *fact == Fact::StepAbandoned {
                take_back_step(&mut facts);
            }
            facts.push(fact);
        }
        let len = self.first() + facts.len() as u64;
        drop(facts);
        self.len.send_replace(len);
    }

    /// Blanks these facts for new readers: they were shown, but will never be written. Positions stay.
    pub(super) fn take_back(&self, unwritten: &[Arc<Fact>]) {
        if unwritten.is_empty() {
            return;
        }
        let mut facts = self.facts.write().unwrap_or_else(PoisonError::into_inner);
        for fact in facts.iter_mut().filter(|fact| unwritten.iter().any(|unwritten| Arc::ptr_eq(fact, unwritten))) {
            *fact = Arc::new(Fact::Nothing);
        }
    }

    /// Sets the size of the chat, and that of its part in memory.
    pub(super) fn set_bytes(&self, bytes: usize, loaded: usize) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.loaded.store(loaded, Ordering::Relaxed);
    }

    /// The position of the first fact.
    pub(super) fn first(&self) -> u64 {
        self.origin.len
    }

    /// The position behind the last fact.
    pub(super) fn end(&self) -> u64 {
        self.first() + self.facts.read().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    /// The facts from a position on, or from the first one on.
    pub(super) fn after(&self, position: u64) -> Vec<Arc<Fact>> {
        let facts = self.facts.read().unwrap_or_else(PoisonError::into_inner);
        let from = usize::try_from(position.saturating_sub(self.first())).unwrap_or(usize::MAX).min(facts.len());
        facts[from..].to_vec()
    }

    /// A reader of the feed. The chat stays awake while it has one, so create it before the task drops the feed.
    pub(super) fn reader(self: &Arc<Self>) -> FeedReader {
        let bell = self.len.subscribe();
        FeedReader { feed: Arc::clone(self), bell, known: self.end(), memory: None }
    }

    /// Whether the feed has readers.
    pub(super) fn is_watched(&self) -> bool {
        self.len.receiver_count() > 0
    }

    /// Completes when the feed has no readers.
    pub(super) async fn unwatched(&self) {
        self.len.closed().await;
    }

    /// The chat was deleted. Call it before the feed is closed.
    pub(super) fn set_deleted(&self) {
        self.is_deleted.store(true, Ordering::Release);
    }

    /// Closes the feed: this task adds no more facts.
    pub(super) fn close(&self) {
        self.len.send_replace(CLOSED);
    }
}

/// A reader of a chat's facts.
#[derive(Debug)]
pub(super) struct FeedReader {
    feed: Arc<Feed>,
    bell: watch::Receiver<u64>,
    /// The number of facts when the reader was created.
    pub(super) known: u64,
    /// What a response that follows the chat keeps of it.
    memory: Option<Memory>,
}

/// What a response may keep of a chat without being counted.
const UNCOUNTED_BYTES: usize = 64 * 1024;

impl FeedReader {
    /// The reader of a response. A response keeps about what it has read, until the client has: that counts as if the chat
    /// was in memory once more.
    pub(super) fn of_response(mut self, subject: &Subject) -> Self {
        self.memory = self.feed.earlier.as_ref().map(|earlier| Memory::new(&earlier.inner, Some(subject)));
        self
    }

    /// Reserves what a response keeps. Returns whether there was room.
    pub(super) fn has_room(&mut self) -> bool {
        let loaded = self.feed.loaded.load(Ordering::Relaxed);
        loaded <= UNCOUNTED_BYTES || self.memory.as_mut().is_none_or(|memory| memory.raise(loaded))
    }

    /// The size of the chat in bytes, as stored.
    pub(super) fn bytes(&self) -> usize {
        self.feed.bytes.load(Ordering::Relaxed)
    }

    /// What the facts in memory take.
    pub(super) fn weight(&self) -> usize {
        self.feed.loaded.load(Ordering::Relaxed)
    }

    /// The runtime of the chat.
    pub(super) fn inner(&self) -> Option<&Arc<Inner>> {
        self.feed.earlier.as_ref().map(|earlier| &earlier.inner)
    }

    /// The state before the first fact that it has.
    pub(super) fn origin(&self) -> &Chat {
        &self.feed.origin
    }

    /// The facts before the first one, from the log, and the memory they occupy.
    pub(super) async fn earlier(&self) -> Result<(Vec<Arc<Fact>>, Option<Memory>), RuntimeError> {
        match &self.feed.earlier {
            Some(Earlier { inner, chat, base }) if self.feed.first() > 0 => {
                // It is read for a moment, and however long the chat is.
                let mut memory = Memory::new(inner, self.feed.origin.subject.as_ref());
                memory.within = Within::Half;
                let (facts, memory) = load::earlier_within(inner, memory, chat, *base, self.feed.first()).await?;
                Ok((facts, Some(memory)))
            }
            _ => Ok((Vec::new(), None)),
        }
    }

    /// The turns of these calls before the first fact, oldest first, from the log.
    pub(super) async fn turns_of(&self, calls: Vec<ToolCallId>) -> Result<Vec<Turn>, RuntimeError> {
        self.turns_with(calls.into_iter().map(EarlierId::Call)).await
    }

    /// The turns of these ids before the first fact, oldest first, from the log.
    pub(super) async fn turns_with(&self, ids: impl IntoIterator<Item = EarlierId>) -> Result<Vec<Turn>, RuntimeError> {
        let (Some(Earlier { inner, chat, base }), Some(subject)) = (&self.feed.earlier, &self.feed.origin.subject)
        else {
            return Ok(Vec::new());
        };
        if self.feed.first() == 0 {
            return Ok(Vec::new());
        }
        let mut turns: Vec<Turn> = Vec::new();
        for id in ids {
            if turns.iter().any(|turn| turn.facts.iter().any(|fact| id.is_of(fact))) {
                continue;
            }
            match look_back::turn_of(inner, subject, chat, *base, self.feed.first(), &id).await? {
                look_back::Found::Nothing => {}
                look_back::Found::Turn(turn) => turns.push(turn),
                look_back::Found::NeedsAll => {
                    let (facts, memory) =
                        load::earlier(inner, self.feed.origin.subject.as_ref(), chat, *base, self.feed.first()).await?;
                    return Ok(vec![Turn { first: 0, facts, memory }]);
                }
            }
        }
        turns.sort_unstable_by_key(|turn| turn.first);
        Ok(turns)
    }

    /// The turn that begins at a position before the first fact, from the log.
    pub(super) async fn turn_at(&self, position: u64) -> Result<Option<Turn>, RuntimeError> {
        let Some(Earlier { inner, chat, base }) = &self.feed.earlier else { return Ok(None) };
        let owner = self.feed.origin.subject.as_ref();
        Ok(load::turn(inner, owner, chat, *base, position..self.feed.first(), |_| true).await?)
    }

    /// The facts from a position on, or from the first one on, without waiting.
    pub(super) fn after(&self, position: u64) -> Vec<Arc<Fact>> {
        self.feed.after(position)
    }

    /// Why a feed that is closed has ended.
    pub(super) fn end(&self) -> Next {
        if self.feed.is_deleted.load(Ordering::Acquire) { Next::Deleted } else { Next::Gone }
    }

    /// Waits for facts from a position on; `None` once the feed is closed. Cancel-safe.
    pub(super) async fn next(&mut self, position: u64) -> Option<Vec<Arc<Fact>>> {
        loop {
            // Mark the signal as seen before reading the facts: whatever comes in between signals again.
            let is_closed = *self.bell.borrow_and_update() == CLOSED;
            let facts = self.feed.after(position);
            if !facts.is_empty() {
                return Some(facts);
            }
            if is_closed || self.bell.changed().await.is_err() {
                return None;
            }
        }
    }
}

/// The length that signals the end.
const CLOSED: u64 = u64::MAX;

/// Blanks the abandoned steps.
pub(super) fn take_back_steps(facts: &mut [Arc<Fact>]) {
    for at in 0..facts.len() {
        if *facts[at] == Fact::StepAbandoned {
            take_back_step(&mut facts[..at]);
        }
    }
}

/// Blanks an abandoned step for new readers. Positions stay, for readers that have seen it.
fn take_back_step(facts: &mut [Arc<Fact>]) {
    let step = facts.iter().rposition(|fact| **fact == Fact::StepStarted).unwrap_or(facts.len());
    for fact in &mut facts[step..] {
        *fact = Arc::new(Fact::Nothing);
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{
        chunk::FinishReason,
        ids::{MessageId, PartId},
    };
    use serde_json::json;

    use super::*;
    use crate::{
        clock::Timestamp,
        fact::{BlockKind, CallOrder, Caller, Cause, Outcome},
        model::Usage,
        tool::{Execution, Returns, Wait},
    };

    const AT: Timestamp = Timestamp(1_000_000);

    fn fact(text: &str) -> Fact {
        let (kind, name) = text.split_once(' ').unwrap_or((text, ""));
        let call = name.into();
        match (kind, name) {
            ("opened", _) => Fact::Opened { subject: Subject::local() },
            ("said", id) => {
                let message = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "go"}]});
                let message = serde_json::from_value(message).expect("a message");
                Fact::Said { message, cut: None, next: None }
            }
            ("turn", _) => Fact::TurnStarted {
                message: MessageId::from("answer"),
                order: CallOrder::Together,
                holds_text: false,
                can_ask: true,
                is_resubmit: false,
                model: "dice".to_owned(),
                at: AT,
            },
            ("step", "") => Fact::StepStarted,
            ("step", _) => {
                let (usage, reason) = (Usage::default(), FinishReason::ToolCalls);
                Fact::StepEnded { usage, reason, version: None, state: None }
            }
            ("text", _) => Fact::BlockStarted { kind: BlockKind::Text, id: PartId::from("0") },
            ("called", name) => Fact::Called {
                call,
                by: Caller::Model,
                name: name.to_owned(),
                input: json!({"n": 1}),
                execution: Execution::Server,
                wait: Wait::default(),
                returns: Returns::default(),
                origin: None,
                needs_approval: false,
                checked: None,
                at: AT,
            },
            ("started", _) => Fact::Started { call, deadline: None, at: AT },
            ("ran", _) => Fact::Settled {
                call,
                outcome: Outcome::Output(json!(1)),
                cause: Cause::Ran,
                at: AT,
                channel: None,
                is_repeatable: false,
            },
            ("abandoned", _) => Fact::StepAbandoned,
            _ => panic!("there is no fact {text:?}"),
        }
    }

    /// The facts of a comma-separated list. The id of a call is the name of its tool.
    fn facts(list: &str) -> Vec<Arc<Fact>> {
        list.split(", ").map(|text| Arc::new(fact(text))).collect()
    }

    fn feed(facts: Vec<Arc<Fact>>) -> Feed {
        let feed = Feed::new(Chat::default(), None);
        feed.push(facts);
        feed
    }

    #[tokio::test]
    async fn a_reader_gets_what_comes_after_its_position_and_then_the_end() {
        let feed = Arc::new(feed(facts("opened, said u1")));
        let mut reader = feed.reader();
        assert_eq!(reader.known, 2);
        feed.push(facts("turn, step"));
        assert_eq!(reader.next(2).await, Some(facts("turn, step")));
        let waiting = tokio::spawn(async move { (reader.next(4).await, reader) });
        tokio::task::yield_now().await;
        feed.push(facts("text"));
        let (next, mut reader) = waiting.await.expect("no panic");
        assert_eq!(next, Some(facts("text")));
        feed.close();
        assert_eq!(reader.next(4).await, Some(facts("text")), "what is there is read before the end");
        assert_eq!(reader.next(5).await, None);
    }

    #[test]
    fn an_abandoned_step_keeps_its_positions() {
        let feed = feed(facts("opened, said u1, turn, step, text"));
        feed.push(vec![Arc::new(Fact::StepAbandoned), Arc::new(Fact::StepStarted)]);
        let after: Vec<Fact> = feed.after(3).iter().map(|fact| (**fact).clone()).collect();
        assert_eq!(after, [Fact::Nothing, Fact::Nothing, Fact::StepAbandoned, Fact::StepStarted]);
    }

    /// The calls of the step before are not those of the step that was abandoned.
    #[test]
    fn the_state_is_the_same_without_the_facts_of_an_abandoned_step() {
        let all = facts(
            "opened, said u1, turn, step, called look, step ended, started look, ran look, step, called pay, abandoned, step",
        );
        let feed = feed(all.clone());
        let fold = |facts: &[Arc<Fact>]| {
            let mut state = Chat::default();
            facts.iter().for_each(|fact| state.apply(fact));
            (
                state.calls.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(),
                state.turn.map(|turn| turn.steps),
                state.len,
            )
        };
        assert_eq!(fold(&feed.after(0)), fold(&all));
        assert_eq!(fold(&all), (vec!["look".into()], Some(2), 12));
    }

    #[tokio::test]
    async fn a_chat_is_watched_while_somebody_reads() {
        let feed = Arc::new(feed(Vec::new()));
        assert!(!feed.is_watched());
        let reader = feed.reader();
        assert!(feed.is_watched());
        drop(reader);
        feed.unwatched().await;
        assert!(!feed.is_watched());
    }
}
