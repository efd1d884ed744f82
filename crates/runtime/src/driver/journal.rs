//! Events for the server's own log: ids and kinds, never contents.

use holdpoint_protocol::ids::ChatId;

use super::command::ChatError;
use crate::{
    fact::{Fact, TurnEnd},
    wire::Channel,
};

/// Logs a fact once it is on disk. The chat id is in the span of its task.
pub(super) fn write(fact: &Fact, channel: Channel) {
    match fact {
        Fact::TurnStarted { .. } => tracing::info!("a turn began"),
        Fact::StepStarted => tracing::debug!("the model is called"),
        Fact::StepEnded { usage, reason, .. } => {
            let (prompt, completion) = (usage.prompt_tokens, usage.completion_tokens);
            tracing::debug!(prompt, completion, ?reason, "the model has ended a step");
        }
        Fact::StepAbandoned => tracing::info!("a step was cut off and is done again"),
        Fact::Called { call, name, .. } => tracing::info!(%call, tool = name, "a tool was called"),
        // The name is the model's own text, so it is left out.
        Fact::Invalid { call, .. } => tracing::info!(%call, "a call was not valid"),
        Fact::Asked { call, approval, .. } => tracing::info!(%call, %approval, "an approval is requested"),
        Fact::Voted { call, .. } => tracing::info!(%call, ?channel, "a vote is in force"),
        Fact::Escalated { call, .. } => tracing::info!(%call, "an approval request is escalated"),
        Fact::Decided { call, verdict, .. } => {
            tracing::info!(%call, decision = ?verdict.kind(), ?channel, "a decision is in force");
        }
        Fact::Granted { call, grant, .. } => tracing::info!(%call, %grant, "an approval is remembered"),
        Fact::Used { call, grant, .. } => tracing::info!(%call, %grant, "a grant approves a call"),
        Fact::Started { call, .. } => tracing::info!(%call, "a call was started"),
        Fact::Settled { call, cause, .. } => tracing::info!(%call, ?cause, "a call was settled"),
        Fact::TurnEnded { end, .. } => {
            let end = match end {
                TurnEnd::Finished { .. } => "finished",
                TurnEnd::Failed { .. } => "failed",
                TurnEnd::Stopped { .. } => "stopped",
                TurnEnd::Superseded => "superseded",
            };
            tracing::info!(end, "a turn ended");
        }
        _ => {}
    }
}

/// Logs that a chat's task ended early.
pub(super) fn left(chat: &ChatId, error: &ChatError) {
    match error {
        ChatError::NotFound => tracing::info!(%chat, "a chat was deleted"),
        ChatError::Closing => {}
        error => tracing::warn!(%chat, %error, "a chat is given up, to be read again"),
    }
}
