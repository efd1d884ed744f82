//! Import of chats into a log.

use bytes::Bytes;
use holdpoint_protocol::{
    ids::ChatId,
    json::{self, has_forbidden_key},
};
use serde::Deserialize;
use serde_json::Value;

use super::{Line, VERSION};
use holdpoint_core::is_unseen;

use crate::{
    chat::Chat,
    clock::Timestamp,
    driver::{
        audit,
        head::{HeadData, Hold, keys_of},
    },
    fact::{Fact, text_of},
    log::{
        self, Append, AppendId, AppendResult, AuditRow, BatchHash, Break, GrantChanges, HoldChanges, Key, LogError,
        NodeId, Ownership, Store, Stored, Walk,
    },
    subject::Subject,
    tool::MAX_CALL_STATE_BYTES,
};

/// The maximum length of a chat id.
const MAX_ID_BYTES: usize = 256;
/// The maximum size of a chat in memory before it is written.
const MAX_CHAT_BYTES: usize = 256 * 1024 * 1024;

/// The result of importing a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    /// The chat was written.
    Written {
        /// The chat.
        chat: ChatId,
        /// The number of facts.
        length: u64,
    },
    /// The log already has this chat, fact for fact.
    Known {
        /// The chat.
        chat: ChatId,
    },
    /// A different chat has this id. Nothing was changed.
    Taken {
        /// The chat.
        chat: ChatId,
    },
}

/// Why a line can't be imported. The chats before it were imported.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum ImportError {
    #[error("it is not a line of an export: {0}")]
    Line(String),
    #[error("it is of version {0}, and this holdpoint knows {VERSION}: use a newer one")]
    Version(u32),
    #[error("the id of a chat has 1 to {MAX_ID_BYTES} bytes, and no control or other invisible character")]
    Id,
    #[error("it belongs to no chat that has begun")]
    Stray,
    #[error("{0} is not complete: its `end` is missing")]
    Unfinished(ChatId),
    #[error("{chat} has {found} facts here, and the line begins at or ends with {wanted}")]
    Gap { chat: ChatId, found: u64, wanted: u64 },
    #[error("fact {at} can't be decoded: {problem}")]
    Fact { at: u64, problem: String },
    #[error("{0} does not begin with its subject, or names another one")]
    Subject(ChatId),
    #[error("{chat} was changed since it was recorded: {broken}")]
    Chain { chat: ChatId, broken: Box<Break> },
    #[error("{0} is larger than {MAX_CHAT_BYTES} bytes")]
    TooLarge(ChatId),
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Reads the lines of an export, and writes each chat once it is complete: whole, or not at all.
pub struct Importer<'a> {
    log: &'a dyn Store,
    chat: Option<Draft>,
}

/// A chat that is being read.
struct Draft {
    chat: ChatId,
    subject: Subject,
    updated_at: Timestamp,
    state: Chat,
    title: String,
    bytes: usize,
    /// Where the last turn begins.
    turn: u64,
    batches: Vec<Batch>,
    /// Where it began in the log that it comes from.
    position: u64,
    chain: Walk,
}

struct Batch {
    first: u64,
    count: u32,
    payload: Bytes,
    keys: Vec<Key>,
    audit: Vec<AuditRow>,
}

impl<'a> Importer<'a> {
    /// An importer into this log.
    pub fn new(log: &'a dyn Store) -> Self {
        Self { log, chat: None }
    }

    /// Reads one line. Returns the result of the chat that it completes, if any.
    pub async fn line(&mut self, line: &[u8]) -> Result<Option<Imported>, ImportError> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let wrong = |error: serde_json::Error| ImportError::Line(error.to_string());
        match Line::deserialize(json::parse(line).map_err(wrong)?).map_err(wrong)? {
            Line::Chat { version, chat, subject, updated_at, position } => {
                self.finish()?;
                self.chat = Some(Draft { position, ..Draft::new(version, chat, subject, updated_at)? });
                Ok(None)
            }
            Line::Facts { chat, first, facts, previous_hash } => {
                let draft = self.chat.as_mut().filter(|draft| draft.chat == chat).ok_or(ImportError::Stray)?;
                draft.add(first, &facts, previous_hash)?;
                Ok(None)
            }
            Line::End { chat, length, hash } => {
                let draft = self.chat.take().filter(|draft| draft.chat == chat).ok_or(ImportError::Stray)?;
                if draft.state.len != length || length == 0 {
                    return Err(ImportError::Gap { chat, found: draft.state.len, wanted: length });
                }
                let end = draft.chain.end(draft.chain.position(), hash);
                end.map_err(|broken| ImportError::Chain { chat, broken: Box::new(broken) })?;
                self.write(draft).await.map(Some)
            }
        }
    }

    /// Ends the import. Fails if a chat is incomplete.
    pub fn finish(&mut self) -> Result<(), ImportError> {
        match self.chat.take() {
            Some(draft) => Err(ImportError::Unfinished(draft.chat)),
            None => Ok(()),
        }
    }

    async fn write(&self, draft: Draft) -> Result<Imported, ImportError> {
        let Draft { chat, subject, updated_at, state, title, batches, .. } = draft;
        // Positions of a deleted chat are not used again.
        let base = match self.log.stored(&chat).await? {
            None => 0,
            Some(Stored::Tombstone { len, subject: owner, .. }) if owner == subject => len,
            Some(Stored::Tombstone { .. }) => return Ok(Imported::Taken { chat }),
            Some(Stored::Chat { .. }) => {
                let is_same = self.has(&chat, &batches, state.len).await?;
                return Ok(if is_same { Imported::Known { chat } } else { Imported::Taken { chat } });
            }
        };
        let holds = Hold::of(&state);
        let bytes = batches.iter().map(|batch| batch.payload.len()).sum();
        let head = HeadData::of(&state, &title, &holds, None).of_size(bytes).write(&subject, updated_at);
        // The next start recovers what was running: its owner is a node that does not exist.
        let ownership = if state.is_running() { Ownership::Take(NodeId(0)) } else { Ownership::Release };
        let changes = Hold::changes(&[], &holds);
        let last = batches.len() - 1;
        let appends = batches.into_iter().enumerate().map(|(number, batch)| Append {
            chat: chat.clone(),
            expected: base + batch.first,
            append_id: AppendId(uuid::Uuid::new_v4().as_u128()),
            count: batch.count,
            payload: batch.payload,
            head: head.clone(),
            keys: batch.keys.into_iter().map(|key| Key { at: base + key.at, ..key }).collect(),
            holds: if number == last { changes.clone() } else { HoldChanges::default() },
            ownership,
            digest: None,
            audit: batch.audit,
            // A grant is for the log in which a person made it.
            grants: GrantChanges::default(),
        });
        // One call of the log writes everything or nothing.
        let results = self.log.append_many(appends.collect()).await;
        match results.iter().all(|result| matches!(result, AppendResult::Committed { .. })) {
            true => Ok(Imported::Written { chat, length: state.len }),
            false => Err(LogError::Failed(format!("chat {chat} could not be written")).into()),
        }
    }

    /// Whether the log has exactly these facts for a chat.
    async fn has(&self, chat: &ChatId, batches: &[Batch], length: u64) -> Result<bool, ImportError> {
        let mut wanted: Vec<Value> = Vec::new();
        for batch in batches {
            wanted.extend(serde_json::from_slice::<Vec<Value>>(&batch.payload).unwrap_or_default());
        }
        let (mut at, mut base) = (0, None);
        while at < length {
            let found = self.log.read(chat, base.unwrap_or_default() + at, 64).await?;
            if found.is_empty() {
                return Ok(false);
            }
            for batch in found {
                let base = *base.get_or_insert(batch.first);
                let facts: Vec<Value> = serde_json::from_slice(&batch.payload).unwrap_or_default();
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                let is_same = batch.first == base + at && wanted.get(from..from + facts.len()) == Some(&facts[..]);
                if !is_same || facts.is_empty() {
                    return Ok(false);
                }
                at += facts.len() as u64;
            }
        }
        Ok(at == length)
    }
}

impl Draft {
    fn new(version: u32, chat: ChatId, subject: Subject, updated_at: Timestamp) -> Result<Self, ImportError> {
        if version != VERSION {
            return Err(ImportError::Version(version));
        }
        if !(1..=MAX_ID_BYTES).contains(&chat.as_str().len()) || chat.as_str().chars().any(is_unseen) {
            return Err(ImportError::Id);
        }
        let (state, title, chain) = (Chat::default(), String::new(), Walk::new(chat.clone()));
        let (batches, position) = (Vec::new(), 0);
        Ok(Self { chat, subject, updated_at, state, title, bytes: 0, turn: 0, batches, position, chain })
    }

    fn add(&mut self, first: u64, values: &[Value], previous_hash: Option<BatchHash>) -> Result<(), ImportError> {
        if first != self.state.len || values.is_empty() {
            return Err(ImportError::Gap { chat: self.chat.clone(), found: self.state.len, wanted: first });
        }
        let (mut keys, mut facts) = (Vec::new(), Vec::new());
        for value in values {
            let at = self.state.len;
            let wrong = |problem: String| ImportError::Fact { at, problem };
            if has_forbidden_key(value) {
                return Err(wrong("it has a key that no browser can show".to_owned()));
            }
            let fact = Fact::deserialize(value).map_err(|error| wrong(error.to_string()))?;
            if matches!(&fact, Fact::Resumable { state: Some(state), .. } if state.data.len() > MAX_CALL_STATE_BYTES) {
                return Err(wrong(format!("a saved state is larger than {MAX_CALL_STATE_BYTES} bytes")));
            }
            let is_opening = matches!(&fact, Fact::Opened { subject } if *subject == self.subject);
            if is_opening != (at == 0) || !is_opening && matches!(fact, Fact::Opened { .. }) {
                return Err(ImportError::Subject(self.chat.clone()));
            }
            if let Fact::Said { message, .. } = &fact
                && self.title.is_empty()
            {
                self.title = text_of(message).chars().take(80).collect();
            }
            keys.extend(keys_of(&fact, self.turn));
            self.state.apply(&fact);
            if matches!(fact, Fact::TurnEnded { .. }) {
                self.turn = self.state.len;
            }
            facts.push(fact);
        }
        // The same rows as when it was written.
        let audit = audit::rows(&facts.iter().collect::<Vec<_>>(), &self.state);
        let payload = serde_json::to_vec(values).map_err(|error| ImportError::Line(error.to_string()))?;
        self.bytes += payload.len();
        let count = u32::try_from(values.len()).ok().filter(|_| self.bytes <= MAX_CHAT_BYTES);
        let count = count.ok_or_else(|| ImportError::TooLarge(self.chat.clone()))?;
        let payload = Bytes::from(payload);
        let position = self.position.checked_add(first).ok_or_else(|| ImportError::TooLarge(self.chat.clone()))?;
        let stored = log::Batch { first: position, count, payload: payload.clone(), owner: None, previous_hash };
        let chat = || self.chat.clone();
        self.chain.batch(&stored).map_err(|broken| ImportError::Chain { chat: chat(), broken: Box::new(broken) })?;
        self.batches.push(Batch { first, count, payload, keys, audit });
        Ok(())
    }
}
