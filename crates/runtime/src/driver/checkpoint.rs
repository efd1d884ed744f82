//! Checkpoints: where the last turn of a chat begins, and what is needed of the turns before it. So what a request costs
//! depends on that turn, and not on the length of the chat.
//!
//! A checkpoint is part of the chat's head. It moves with the append that begins a turn. The same append stores what the
//! model is sent of the turns that are left behind, as a digest, and the ids of their messages, as keys. Whatever else is
//! asked of them is read from the log.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use holdpoint_protocol::{
    ids::{ChatId, MessageId},
    message::Role,
};
use serde::{Deserialize, Serialize};

use super::{
    command::ChatError,
    feed::Feed,
    load,
    runtime::Inner,
    seal::{seal, unseal},
};
use crate::{
    backoff::{self, Backoff},
    chat::{Chat, Cuts, Spent},
    fact::{Fact, NextTurn, Outcome},
    log::{Key, LogError, Store},
    model::ModelMessage,
    subject::Subject,
    wire::{Conversation, Passage},
};

/// The format of a digest. A digest of another one is not read; the facts are.
const DIGEST_VERSION: u32 = 1;
/// The number of digests per read.
const PAGE: usize = 256;
/// The maximum number of tools whose last output is remembered across turns.
const MAX_OUTPUTS: usize = 256;

/// Delays between attempts to read. System time: the cause is the log, and no deadline depends on it.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// Where the last turn of a chat begins.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Checkpoint {
    /// The number of facts that the log had of earlier chats with this id.
    pub(super) base: u64,
    /// The position: the number of facts before it.
    pub(super) at: u64,
    /// The size of those facts in bytes.
    pub(super) bytes: usize,
    /// Turns that were to begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    next: Vec<NextTurn>,
    /// The last messages, each with its position.
    messages: Vec<(MessageId, Role, u64)>,
    /// Where messages of those turns were cut.
    #[serde(default, skip_serializing_if = "Cuts::is_none")]
    cuts: Cuts,
    /// The position of the last output of each tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    outputs: BTreeMap<String, u64>,
    /// The tokens that those turns have used.
    #[serde(default, skip_serializing_if = "Spent::is_zero")]
    spent: Spent,
}

impl Checkpoint {
    /// The state at this point.
    pub(super) fn state(&self, subject: &Subject) -> Chat {
        Chat {
            len: self.at,
            subject: Some(subject.clone()),
            messages: self.messages.clone(),
            next: self.next.clone(),
            cuts: self.cuts.clone(),
            spent: self.spent,
            is_partial: true,
            ..Chat::default()
        }
    }
}

/// What an append stores that moves the checkpoint.
pub(super) struct Moved {
    pub(super) checkpoint: Checkpoint,
    pub(super) digest: Bytes,
    pub(super) keys: Vec<Key>,
    state: Chat,
}

/// What the model is sent of the turns between two checkpoints.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Digest {
    version: u32,
    from: u64,
    to: u64,
    passage: Passage,
}

/// The key of a message. Other than those of calls, ids of messages are the client's, so they count in their chat only.
pub(super) fn message_key(chat: &ChatId, message: &MessageId) -> Box<str> {
    format!("message\u{1f}{chat}\u{1f}{message}").into()
}

/// The checkpoint of an awake chat, and the state there.
pub(super) struct AtCheckpoint {
    /// `None` at the beginning of the chat.
    checkpoint: Option<Checkpoint>,
    /// The partial state.
    state: Chat,
}

/// An append that may move the checkpoint.
pub(super) struct Moving<'a> {
    pub(super) chat: &'a ChatId,
    /// The number of facts that the log had of earlier chats with this id.
    pub(super) base: u64,
    /// The number of facts on disk, and their size.
    pub(super) durable: u64,
    pub(super) bytes: usize,
    /// The facts to be written. The first of them, text, are already among those that are shown.
    pub(super) batch: &'a [Arc<Fact>],
    pub(super) pending: usize,
    pub(super) shown: &'a Feed,
}

impl AtCheckpoint {
    pub(super) fn new(checkpoint: Option<Checkpoint>, state: Chat) -> Self {
        Self { checkpoint, state }
    }

    pub(super) fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// Its position.
    pub(super) fn position(&self) -> u64 {
        self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.at)
    }

    /// The checkpoint that an append leads to, if it begins a turn.
    pub(super) fn moved(&self, append: &Moving<'_>) -> Option<Moved> {
        let Moving { chat, base, durable, bytes, batch, pending, shown } = *append;
        if shown.end() != durable + pending as u64 {
            // The feed has text that was shown and never written, because another node had taken over the turn. Its
            // positions are not those of the log.
            return None;
        }
        let begun = batch.iter().rposition(|fact| matches!(**fact, Fact::TurnStarted { .. }))?;
        let ended = batch[..begun].iter().rposition(|fact| matches!(**fact, Fact::TurnEnded { .. }));
        // Without a turn that ends here, there was none.
        let at = durable + ended.map_or(0, |ended| ended as u64 + 1);
        let from = self.position();
        let length = usize::try_from(at.checked_sub(from)?).ok().filter(|length| *length > 0)?;
        let mut facts = shown.after(from);
        facts.extend_from_slice(&batch[pending..]);
        facts.truncate(length);
        let mut state = self.state.clone();
        let mut outputs = self.checkpoint.as_ref().map(|checkpoint| checkpoint.outputs.clone()).unwrap_or_default();
        let mut keys = Vec::new();
        // Where the turn of the fact begins.
        let mut begun = from;
        for (position, fact) in (from..).zip(&facts) {
            state.apply(fact);
            let key = |message: &MessageId| Key { id: message_key(chat, message), at: base + begun, is_shared: false };
            match &**fact {
                Fact::Said { message, .. } => keys.push(key(&message.id)),
                Fact::TurnStarted { message, .. } => keys.push(key(message)),
                Fact::Context { messages } => keys.extend(messages.iter().map(|message| key(&message.id))),
                Fact::TurnEnded { .. } => begun = position + 1,
                Fact::Settled { call, outcome: Outcome::Output(_), .. } => {
                    outputs.extend(state.calls.get(call).map(|call| (call.name.clone(), position)));
                }
                _ => {}
            }
        }
        while outputs.len() > MAX_OUTPUTS {
            let oldest = outputs.iter().min_by_key(|(_, position)| **position).map(|(name, _)| name.clone())?;
            outputs.remove(&oldest);
        }
        let digest = Digest { version: DIGEST_VERSION, from, to: at, passage: Passage::of(&facts) };
        let state = state.into_partial();
        let (next, messages, cuts) = (state.next.clone(), state.messages.clone(), state.cuts.clone());
        let checkpoint = Checkpoint { base, at, bytes, next, messages, cuts, outputs, spent: state.spent };
        Some(Moved { checkpoint, digest: seal(&digest), keys, state })
    }

    /// The append that moves it is committed.
    pub(super) fn move_to(&mut self, moved: Moved) {
        self.checkpoint = Some(moved.checkpoint);
        self.state = moved.state;
    }

    /// The position of the last output of a tool, if it is of a turn before the checkpoint.
    pub(super) fn last_output(&self, tool: &str) -> Option<u64> {
        self.checkpoint.as_ref()?.outputs.get(tool).copied()
    }
}

/// A conversation to be read.
pub(super) struct ConversationSource {
    pub(super) inner: Arc<Inner>,
    pub(super) chat: ChatId,
    pub(super) owner: Option<Subject>,
    pub(super) base: u64,
    /// The position of the checkpoint.
    pub(super) at: u64,
    /// The facts from there on.
    pub(super) facts: Vec<Arc<Fact>>,
}

impl ConversationSource {
    /// Reads it. While the log can't be read, it waits.
    pub(super) async fn read(self) -> Result<Vec<ModelMessage>, ChatError> {
        let mut backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
        loop {
            match self.earlier().await {
                Ok(earlier) => return Ok(earlier.followed_by(&self.facts)),
                Err(ChatError::Log(LogError::Failed(_)) | ChatError::NoRoom) => backoff::wait(&mut backoff).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// The conversation before the checkpoint.
    async fn earlier(&self) -> Result<Conversation, ChatError> {
        if self.at == 0 {
            return Ok(Conversation::default());
        }
        if let Some(earlier) = digested(&*self.inner.log, &self.chat, self.base, self.at).await? {
            return Ok(earlier);
        }
        tracing::warn!(chat = %self.chat, "the digests of a chat can't be used; its facts are read instead");
        let (facts, _memory) = load::earlier(&self.inner, self.owner.as_ref(), &self.chat, self.base, self.at).await?;
        let mut earlier = Conversation::default();
        earlier.add(Passage::of(&facts));
        Ok(earlier)
    }
}

/// The conversation up to a position, from digests; `None` if they do not lead there.
async fn digested(log: &dyn Store, chat: &ChatId, base: u64, at: u64) -> Result<Option<Conversation>, LogError> {
    let mut digests: Vec<Digest> = Vec::new();
    let mut from = base;
    loop {
        let page = log.digests(chat, from, PAGE).await?;
        for (first, data) in &page {
            from = first + 1;
            let Ok(digest) = unseal::<Digest>(data) else { return Ok(None) };
            if digest.version != DIGEST_VERSION {
                return Ok(None);
            }
            // A node that did not know of the later checkpoint, or could not use it, has begun at an earlier one.
            while digests.last().is_some_and(|last| last.from >= digest.from) {
                digests.pop();
            }
            digests.push(digest);
        }
        if page.len() < PAGE {
            break;
        }
    }
    let (mut conversation, mut end) = (Conversation::default(), 0);
    for digest in digests.into_iter().filter(|digest| digest.to <= at) {
        if digest.from != end {
            return Ok(None);
        }
        end = digest.to;
        conversation.add(digest.passage);
    }
    Ok((end == at).then_some(conversation))
}
