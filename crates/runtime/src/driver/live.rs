//! What a live connection does: it follows a chat, sends messages into it, and reports results of the browser.

use holdpoint_protocol::{
    ids::{ChatId, ToolCallId},
    request::ChatRequest,
};

use super::{Live, LiveStream, LiveTaken, RuntimeError, command::Taken};
use crate::{
    fact::CallOrder,
    turn::{Answered, FrontendResult, Input, Rejection},
    wire::{Channel, View, earlier},
};

impl Live<'_> {
    /// Follows a chat. The chat need not exist yet.
    pub async fn follow(&self, chat: &ChatId, view: View) -> Result<LiveStream, RuntimeError> {
        let (inner, subject) = (&self.runtime.inner, self.by.subject());
        let live = LiveStream::new(inner.response_reader(subject, chat).await?, subject.clone(), view);
        // The client has connected, so an idle turn resumes.
        match inner.input(subject, chat, Input::ResumeIdle, Channel::Live).await {
            Ok(_) | Err(RuntimeError::NotFound) => Ok(live),
            Err(error) => Err(error),
        }
    }

    /// Like [`follow`](Self::follow), but shows only what happens from now on.
    pub async fn follow_from_now(&self, chat: &ChatId, view: View) -> Result<LiveStream, RuntimeError> {
        let subject = self.by.subject();
        let reader = self.runtime.inner.response_reader(subject, chat).await?;
        Ok(LiveStream::joining(reader, subject.clone(), view))
    }

    /// Takes a chat request on a connection that already follows the chat: [`LiveStream::respond`] writes its response.
    pub async fn submit(&self, chat: &ChatId, request: ChatRequest, view: View) -> Result<LiveTaken, RuntimeError> {
        let (inner, by) = (&self.runtime.inner, self.by.clone());
        let taken = inner.input_request(by, chat, request, CallOrder::OneByOne, view, Channel::Live).await?;
        let Taken { plan: Some(plan), is_new, .. } = taken else { return Err(Rejection::NothingToDo.into()) };
        let model = inner.model_of(chat, self.by.subject());
        let earlier = plan.earlier.as_ref().map(|about| earlier(about, &plan, view.profile, model.name()));
        Ok(LiveTaken { plan, is_new, earlier })
    }

    /// Takes a browser's result.
    pub async fn result(&self, call: ToolCallId, result: FrontendResult) -> Result<Answered, RuntimeError> {
        self.runtime.inner.take_result(self.by.subject(), call, result, Channel::Live).await
    }
}
