//! The saved state of a running call, from which it is resumed when its process has gone down.

use std::fmt;

use futures::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use holdpoint_protocol::ids::ToolCallId;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::{Prompt, PromptResponse, ToolContext};

/// The maximum size of a saved state. A call with a larger one works, but it does not survive a restart.
pub const MAX_CALL_STATE_BYTES: usize = 64 * 1024;

/// What a running call can be resumed from. It is opaque, goes to nobody but the tool that it comes from, and never to a
/// client.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallState {
    /// The origin of the tool that it comes from. Another one does not get it.
    pub origin: Option<String>,
    /// In the tool's own format.
    pub data: String,
    /// The prompts that the call waits for, in the tool's order; `None` for one that could not be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<Option<ToolCallId>>,
}

impl fmt::Debug for CallState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The data may be all that protects the call at its server.
        let Self { origin, data, prompts } = self;
        f.debug_struct("CallState")
            .field("origin", origin)
            .field("bytes", &data.len())
            .field("prompts", prompts)
            .finish()
    }
}

/// The call is not run here any more: it was stopped, or another node has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call is not run here any more")]
pub(crate) struct NotOurs;

/// Completes with the answer to a prompt. One that is closed was dismissed.
pub(crate) type Answer = oneshot::Receiver<PromptResponse>;

/// Keeps the state of one running call in its chat.
pub(crate) trait StateKeeper: Send + Sync {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_in_no_log() {
        let state = CallState { origin: Some("mcp bank pay".to_owned()), data: "hunter2".to_owned(), prompts: vec![] };
        let debug = format!("{state:?}");
        assert!(debug.contains("mcp bank pay") && !debug.contains("hunter2"), "{debug}");
    }
}
