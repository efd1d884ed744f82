//! Loading a chat from the log.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

use holdpoint_protocol::ids::ChatId;

use super::{
    checkpoint::Checkpoint,
    command::ChatError,
    counters::count,
    feed::take_back_steps,
    head::{HeadData, Hold},
    memory::{Memory, Within},
    runtime::Inner,
    weight,
};
use crate::{
    chat::Chat,
    fact::{Fact, text_of},
    log::{Batch, Found, Head, LogError, NodeId, Stored},
    subject::Subject,
};

/// The maximum number of batches per read, and of the first read.
const MAX_PAGE: usize = 256;
const FIRST_PAGE: usize = 8;
/// About the number of bytes per read. What is read is not yet counted against a limit.
const PAGE_BYTES: usize = 2 * 1024 * 1024;

/// A chat from its checkpoint on, and the memory it occupies until dropped.
pub(super) struct Loaded {
    /// The state at the checkpoint.
    pub(super) origin: Chat,
    pub(super) checkpoint: Option<Checkpoint>,
    /// The title, if the facts from there on do not tell it.
    pub(super) title: String,
    /// The facts from there on.
    pub(super) facts: Vec<Arc<Fact>>,
    /// The number of facts that the log had of earlier chats with this id, which were deleted.
    pub(super) base: u64,
    /// The owner of those chats, if there is no chat now.
    pub(super) former_owner: Option<Subject>,
    /// The node that runs the turn.
    pub(super) owner: Option<NodeId>,
    /// Their size as stored.
    pub(super) bytes: usize,
    pub(super) memory: Memory,
}

/// Why a chat could not be loaded.
pub(super) enum LoadError {
    /// The log failed. A retry may succeed.
    Log(LogError),
    /// The stored facts can't be decoded.
    Unreadable(String),
    /// The chats in memory have reached the limit. A retry may succeed.
    NoRoom,
    /// Another subject than the one that asks owns it. Nothing of it was read.
    NotTheirs(Subject),
}

impl From<LoadError> for ChatError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Log(error) => Self::Log(error),
            LoadError::Unreadable(_) => Self::Unreadable,
            LoadError::NoRoom => Self::NoRoom,
            LoadError::NotTheirs(_) => Self::NotFound,
        }
    }
}

fn failed(inner: &Inner, error: LogError) -> LoadError {
    match error {
        LogError::Damaged(text) => {
            count(&inner.counters.unreadable_chats);
            LoadError::Unreadable(text)
        }
        failed => LoadError::Log(failed),
    }
}

/// Reads the facts of a batch. Their memory is reserved before they are parsed.
async fn facts_within(inner: &Inner, batch: &Batch, memory: &mut Memory) -> Result<Vec<Fact>, LoadError> {
    let most = weight::most(&batch.payload);
    if !memory.load(most) {
        return Err(LoadError::NoRoom);
    }
    let (facts, weight) = inner.facts_of(batch).await?;
    memory.give_back(most.saturating_sub(weight));
    Ok(facts)
}

/// The number of batches per read. It doubles while those that were read are small.
struct PageSize(usize);

impl PageSize {
    fn next(&mut self, last: &[Batch]) {
        let bytes: usize = last.iter().map(|batch| batch.payload.len()).sum();
        let fitting = PAGE_BYTES / (bytes / last.len().max(1)).max(1);
        self.0 = fitting.min(2 * self.0).clamp(1, MAX_PAGE);
    }
}

/// Reads the facts of a chat from a position on, of which only a few are in memory at a time.
pub(super) struct FactReader<'a> {
    inner: &'a Inner,
    chat: ChatId,
    position: u64,
    page: PageSize,
    ready: VecDeque<Batch>,
}

impl<'a> FactReader<'a> {
    /// A reader from the place on that a key leads to: the beginning of its turn.
    pub(super) fn new(inner: &'a Inner, found: Found) -> Self {
        let position = found.at;
        Self { inner, chat: found.chat, position, page: PageSize(1), ready: VecDeque::new() }
    }

    /// The facts of the next batch; `None` at the end of the chat.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Fact>>, ChatError> {
        if self.ready.is_empty() {
            let read = self.inner.log.read(&self.chat, self.position, self.page.0).await;
            self.ready = read.map_err(|error| failed(self.inner, error))?.into();
            self.page.next(self.ready.make_contiguous());
        }
        let Some(batch) = self.ready.pop_front() else { return Ok(None) };
        let (mut facts, _) = self.inner.facts_of(&batch).await?;
        // The first position may be inside a batch.
        let before = usize::try_from(self.position.saturating_sub(batch.first)).unwrap_or(usize::MAX);
        facts.drain(..before.min(facts.len()));
        self.position = batch.first + u64::from(batch.count);
        Ok(Some(facts))
    }
}

/// Loads a chat from its checkpoint on. With `subject`, only if it is theirs.
pub(super) async fn load(inner: &Arc<Inner>, id: &ChatId, subject: Option<&Subject>) -> Result<Loaded, LoadError> {
    let mut loaded = Loaded::nothing(inner);
    match inner.log.stored(id).await.map_err(|error| failed(inner, error))? {
        None => return Ok(loaded),
        Some(Stored::Tombstone { len, subject, .. }) => {
            loaded.base = len;
            loaded.former_owner = Some(subject);
            return Ok(loaded);
        }
        Some(Stored::Chat { head, .. }) if subject.is_some_and(|subject| *subject != head.subject) => {
            return Err(LoadError::NotTheirs(head.subject));
        }
        Some(Stored::Chat { head, .. }) => {
            loaded.memory.belongs_to(&head.subject);
            // What the server resumes or settles by itself is not refused because its owner does much else.
            if subject.is_none() {
                loaded.memory.within = Within::All;
            }
            // Without a checkpoint, or if it can't be decoded, the whole chat is loaded.
            let data = HeadData::read(&head).ok();
            if let Some(HeadData { title, checkpoint: Some(checkpoint), .. }) = data {
                loaded.base = checkpoint.base;
                loaded.origin = checkpoint.state(&head.subject);
                loaded.title = title;
                loaded.checkpoint = Some(checkpoint);
            }
        }
    }
    // Nothing is read for which there is no room anyway.
    if !loaded.memory.load(0) {
        return Err(LoadError::NoRoom);
    }
    if loaded.read_on(inner, id).await? {
        loaded.memory.within = Within::Share;
        return Ok(loaded);
    }
    // The chat was deleted in between, and its id used again.
    let owner = loaded.memory.subject.clone();
    drop(loaded);
    whole(inner, id, owner.as_ref()).await
}

/// Loads a chat from its beginning.
async fn whole(inner: &Arc<Inner>, id: &ChatId, owner: Option<&Subject>) -> Result<Loaded, LoadError> {
    loop {
        let mut loaded = Loaded::nothing(inner);
        owner.into_iter().for_each(|owner| loaded.memory.belongs_to(owner));
        if loaded.read_on(inner, id).await? {
            return Ok(loaded);
        }
    }
}

impl Loaded {
    /// A chat without facts.
    fn nothing(inner: &Arc<Inner>) -> Self {
        Self {
            origin: Chat::default(),
            checkpoint: None,
            title: String::new(),
            facts: Vec::new(),
            base: 0,
            former_owner: None,
            owner: None,
            bytes: 0,
            memory: Memory::new(inner, None),
        }
    }

    /// Reads the facts from the checkpoint on. Returns whether they follow it, and each other: if not, the chat was deleted
    /// while it was read, and its id used again.
    async fn read_on(&mut self, inner: &Arc<Inner>, id: &ChatId) -> Result<bool, LoadError> {
        let from = self.base + self.origin.len;
        let mut page = PageSize(FIRST_PAGE);
        loop {
            let after = self.base + self.origin.len + self.facts.len() as u64;
            let batches = inner.log.read(id, after, page.0).await.map_err(|error| failed(inner, error))?;
            page.next(&batches);
            if batches.is_empty() {
                return Ok(self.checkpoint.is_none() || !self.facts.is_empty());
            }
            for batch in batches {
                let end = self.base + self.origin.len + self.facts.len() as u64;
                if !self.facts.is_empty() && batch.first != end {
                    return Ok(false);
                }
                if self.facts.is_empty() {
                    match self.checkpoint {
                        None => self.base = batch.first,
                        Some(_) if batch.first > from => return Ok(false),
                        Some(_) => {}
                    }
                }
                self.owner = batch.owner;
                self.bytes += batch.payload.len();
                let read = facts_within(inner, &batch, &mut self.memory).await?;
                // The checkpoint may be inside a batch.
                let before = usize::try_from(from.saturating_sub(batch.first)).unwrap_or(usize::MAX);
                self.facts.extend(read.into_iter().skip(before).map(Arc::new));
            }
        }
    }
}

/// Loads the facts of a chat before a position.
pub(super) async fn earlier(
    inner: &Arc<Inner>,
    owner: Option<&Subject>,
    id: &ChatId,
    base: u64,
    before: u64,
) -> Result<(Vec<Arc<Fact>>, Memory), ChatError> {
    earlier_within(inner, Memory::new(inner, owner), id, base, before).await
}

/// Like `earlier`, with a memory that has limits of its own.
pub(super) async fn earlier_within(
    inner: &Arc<Inner>,
    mut memory: Memory,
    id: &ChatId,
    base: u64,
    before: u64,
) -> Result<(Vec<Arc<Fact>>, Memory), ChatError> {
    let mut facts: Vec<Arc<Fact>> = Vec::new();
    let mut page = PageSize(FIRST_PAGE);
    while (facts.len() as u64) < before {
        let position = base + facts.len() as u64;
        let batches = inner.log.read(id, position, page.0).await.map_err(|error| failed(inner, error))?;
        page.next(&batches);
        if batches.is_empty() {
            return Err(ChatError::NotFound);
        }
        for batch in batches {
            if facts.len() as u64 >= before {
                break;
            }
            if batch.first != base + facts.len() as u64 {
                // It was deleted, and its id is used again.
                return Err(ChatError::NotFound);
            }
            facts.extend(facts_within(inner, &batch, &mut memory).await?.into_iter().map(Arc::new));
        }
    }
    facts.truncate(usize::try_from(before).unwrap_or(usize::MAX));
    take_back_steps(&mut facts);
    Ok((facts, memory))
}

/// Facts of a chat that begin between two turns and end with a turn.
pub(super) struct Turn {
    /// The position of the first one.
    pub(super) first: u64,
    pub(super) facts: Vec<Arc<Fact>>,
    pub(super) memory: Memory,
}

/// Loads the facts of a chat in a range of positions, up to the end of the turn with the wanted one; `None` if the wanted
/// one is not among them.
pub(super) async fn turn(
    inner: &Arc<Inner>,
    owner: Option<&Subject>,
    id: &ChatId,
    base: u64,
    range: Range<u64>,
    is_wanted: impl Fn(&Fact) -> bool,
) -> Result<Option<Turn>, ChatError> {
    let (mut facts, mut memory) = (Vec::new(), Memory::new(inner, owner));
    let (mut is_found, mut is_complete) = (false, range.is_empty());
    let mut page = PageSize(FIRST_PAGE);
    while !is_complete {
        let position = base + range.start + facts.len() as u64;
        let batches = inner.log.read(id, position, page.0).await.map_err(|error| failed(inner, error))?;
        page.next(&batches);
        if batches.is_empty() {
            return Err(ChatError::NotFound);
        }
        for batch in batches {
            let position = base + range.start + facts.len() as u64;
            // The first position may be inside a batch.
            let Some(before) = position.checked_sub(batch.first).filter(|before| *before == 0 || facts.is_empty())
            else {
                // It was deleted, and its id is used again.
                return Err(ChatError::NotFound);
            };
            let before = usize::try_from(before).unwrap_or(usize::MAX);
            for fact in facts_within(inner, &batch, &mut memory).await?.into_iter().skip(before) {
                is_found |= is_wanted(&fact);
                is_complete = is_found && matches!(fact, Fact::TurnEnded { .. });
                facts.push(Arc::new(fact));
                is_complete |= range.start + facts.len() as u64 >= range.end;
                if is_complete {
                    break;
                }
            }
            if is_complete {
                break;
            }
        }
    }
    take_back_steps(&mut facts);
    Ok(is_found.then_some(Turn { first: range.start, facts, memory }))
}

/// The fact at a position of the log.
pub(super) async fn fact_at(inner: &Inner, id: &ChatId, position: u64) -> Result<Option<Fact>, LogError> {
    let batches = inner.log.read(id, position, 1).await?;
    let Some(batch) = batches.first() else { return Ok(None) };
    let within = position.checked_sub(batch.first).and_then(|within| usize::try_from(within).ok());
    let facts: Vec<Fact> = serde_json::from_slice(&batch.payload).unwrap_or_default();
    Ok(within.and_then(|within| facts.into_iter().nth(within)))
}

/// The data of a chat's head. If it can't be decoded, it is computed from the facts.
pub(super) async fn head(inner: &Arc<Inner>, id: &ChatId, head: &Head) -> HeadData {
    let error = match HeadData::read(head) {
        Ok(data) => return data,
        Err(error) => error,
    };
    inner.counters.unreadable_heads.fetch_add(1, Ordering::Relaxed);
    tracing::error!(chat = %id, %error, "the head of a chat can't be decoded; the chat is folded instead");
    match whole(inner, id, Some(&head.subject)).await {
        Ok(loaded) => {
            let mut state = Chat::default();
            loaded.facts.iter().for_each(|fact| state.apply(fact));
            HeadData::of(&state, &title(&loaded.facts), &Hold::of(&state), None)
        }
        Err(LoadError::Log(error)) => {
            tracing::error!(chat = %id, %error, "the chat can't be read either");
            HeadData::default()
        }
        Err(LoadError::Unreadable(error)) => {
            tracing::error!(chat = %id, %error, "the chat can't be decoded either: its holds are lost");
            HeadData::default()
        }
        Err(LoadError::NoRoom | LoadError::NotTheirs(_)) => {
            tracing::error!(chat = %id, "there is no room to load the chat");
            HeadData::default()
        }
    }
}

/// The beginning of the first user message.
fn title(facts: &[Arc<Fact>]) -> String {
    facts.iter().find_map(|fact| title_of(fact)).unwrap_or_default()
}

/// The title that a chat gets from its first message.
pub(super) fn title_of(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Said { message, .. } => {
            Some(text_of(message).chars().take(80).collect::<String>()).filter(|title| !title.is_empty())
        }
        _ => None,
    }
}
