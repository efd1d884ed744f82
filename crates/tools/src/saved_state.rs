//! How a running call saves its state, and shows prompts with it.

use futures::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use holdpoint_protocol::ids::ToolCallId;
use tokio::sync::oneshot;

use super::{CallState, Prompt, PromptResponse, ToolContext};

/// The call is not run here any more: it was stopped, or another node has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call is not run here any more")]
pub struct NotOurs;

/// Completes with the answer to a prompt. One that is closed was dismissed.
pub type Answer = oneshot::Receiver<PromptResponse>;

/// Keeps the state of one running call in its chat.
pub trait StateKeeper: Send + Sync {
    /// Saves the state, or withdraws it, and shows prompts. Completes once that is durable, all at once.
    fn save(&self, data: Option<String>, prompts: Vec<Prompt>) -> BoxFuture<'static, Result<Vec<Answer>, NotOurs>>;

    /// The answers to the prompts of the saved state, be they open or answered.
    fn answers(&self, prompts: Vec<Option<ToolCallId>>) -> BoxFuture<'static, Result<Vec<Answer>, NotOurs>>;
}

impl ToolContext {
    /// Shows prompts and waits for the answers to all. Before they are shown, the state from which the call can be
    /// resumed is durable.
    pub(crate) async fn save_and_prompt(
        &self,
        data: String,
        prompts: Vec<Prompt>,
    ) -> Result<Vec<PromptResponse>, NotOurs> {
        match &self.keeper {
            Some(keeper) => Ok(all(keeper.save(Some(data), prompts).await?).await),
            None => Ok(join_all(prompts.into_iter().map(|prompt| self.prompt(prompt))).await),
        }
    }

    /// Waits for the answers to the prompts of the state from which the call is resumed.
    pub(crate) async fn saved_answers(&self, state: &CallState) -> Result<Vec<PromptResponse>, NotOurs> {
        match &self.keeper {
            Some(keeper) => Ok(all(keeper.answers(state.prompts.clone()).await?).await),
            None => Err(NotOurs),
        }
    }

    /// Saves the state from which the call can be resumed from now on. With `None`, it can't be any more: do this before
    /// anything that must not be done twice.
    pub(crate) async fn save(&self, data: Option<String>) -> Result<(), NotOurs> {
        match &self.keeper {
            Some(keeper) => keeper.save(data, Vec::new()).await.map(drop),
            None => Ok(()),
        }
    }
}

async fn all(answers: Vec<Answer>) -> Vec<PromptResponse> {
    let dismissed = |answer: Result<_, _>| answer.unwrap_or(PromptResponse::Cancelled);
    join_all(answers.into_iter().map(|answer| answer.map(dismissed))).await
}
