//! What the owner of a chat does with it besides sending messages: reads it, resumes it, reports results, ends it.

use holdpoint_protocol::{
    ids::ChatId,
    message::UiMessage,
    request::{AckRequest, Answer, ChatRequest},
};
use serde_json::Value;

use super::{Chats, ResponseStream, RuntimeError, StoredChat};
use crate::{
    log::Stored,
    tool::ToolSet,
    turn::{Answered, FrontendResult, Input},
    wire::{Channel, Resume, View},
};

impl Chats<'_> {
    /// The chat that a request belongs to: the one that it names, or that of the calls that its last message answers, or
    /// else a new one.
    pub async fn chat_of(&self, request: &ChatRequest) -> Result<ChatId, RuntimeError> {
        if let Some(id) = &request.id {
            return Ok(id.clone());
        }
        for answer in request.messages.last().map(|message| message.answers()).unwrap_or_default() {
            let key = match &answer {
                Answer::Approval { approval_id, .. } => approval_id.as_str(),
                Answer::Result { tool_call_id, .. } => tool_call_id.as_str(),
            };
            if let Some(found) = self.runtime.inner.log.find(self.owner, key).await.map_err(RuntimeError::Log)? {
                return Ok(found.chat);
            }
        }
        Ok(ChatId::from(&*format!("chat_{}", uuid::Uuid::now_v7().simple())))
    }

    /// Whether the subject owns a chat with this id. `false` if the log can't tell.
    pub async fn owns(&self, chat: &ChatId) -> bool {
        let stored = self.runtime.inner.log.stored(chat).await;
        matches!(stored, Ok(Some(Stored::Chat { head, .. })) if head.subject == *self.owner)
    }

    /// Opens a chat for reading.
    pub async fn open(&self, chat: &ChatId) -> Result<StoredChat, RuntimeError> {
        Ok(StoredChat(self.runtime.inner.reader(self.owner, chat, false).await?))
    }

    /// The stored messages of a chat.
    pub async fn messages(&self, chat: &ChatId) -> Result<Vec<UiMessage>, RuntimeError> {
        self.open(chat).await?.messages().await
    }

    /// The tools of a chat.
    pub fn tools(&self, chat: &ChatId) -> ToolSet {
        self.runtime.inner.tools_of(chat, self.owner)
    }

    /// Takes a browser's ack.
    pub async fn ack(&self, ack: AckRequest, raw: Value) -> Result<Answered, RuntimeError> {
        let result =
            FrontendResult { status: ack.status, output: ack.output, error_text: ack.error_text, ack: Some(raw) };
        self.runtime.inner.take_result(self.owner, ack.tool_call_id, result, Channel::Inbox).await
    }

    /// Resumes the message that is being written: the whole message from its `start`, then what follows. With
    /// [`Resume::Segment`], only the open segment. `None` if nothing is being written.
    pub async fn resume(
        &self,
        chat: &ChatId,
        view: View,
        resume: Resume,
    ) -> Result<Option<ResponseStream>, RuntimeError> {
        match self.runtime.inner.response_reader(self.owner, chat).await {
            Ok(reader) => Ok(ResponseStream::resume(reader, view, resume)),
            // This must not reveal whether another subject has a chat with this id.
            Err(RuntimeError::NotFound | RuntimeError::IdTaken) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Stops the open turn of a chat, if there is one.
    pub async fn stop(&self, chat: &ChatId, reason: Option<String>) -> Result<(), RuntimeError> {
        self.runtime.inner.input(self.owner, chat, Input::Stop { reason }, Channel::Inbox).await.map(drop)
    }

    /// Deletes a chat and all its facts. Two nodes that do so at the same moment both succeed: a deletion is repeated when
    /// its result got lost, so a log can't tell the two from one that is repeated.
    pub async fn delete(&self, chat: &ChatId) -> Result<(), RuntimeError> {
        self.runtime.admin().delete(self.owner, chat, self.owner).await
    }

    /// Completes when nothing runs in a chat: its turn has ended, or waits at a hold.
    pub async fn idle(&self, chat: &ChatId) -> Result<(), RuntimeError> {
        loop {
            let mut reader = self.runtime.inner.reader(self.owner, chat, false).await?;
            let mut state = reader.origin().clone();
            reader.after(0).iter().for_each(|fact| state.apply(fact));
            while state.is_running() {
                match reader.next(state.len).await {
                    Some(facts) => facts.iter().for_each(|fact| state.apply(fact)),
                    // The task of the chat has ended. The next one continues the turn.
                    None => break,
                }
            }
            if !state.is_running() {
                return Ok(());
            }
        }
    }
}
