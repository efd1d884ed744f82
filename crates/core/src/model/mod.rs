//! The conversation with a model: the request, and the events streamed back. One request is one step of a turn.

mod conversation;

use std::{fmt, sync::Arc, time::Duration};

pub use conversation::{last_user_text, since_user};
use holdpoint_protocol::{chunk::FinishReason, ids::ToolCallId, json};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool::{Instructions, StoredFile, ToolSpec};

/// A request to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The conversation. Every call in it has a result, whatever its outcome.
    pub messages: Arc<[ModelMessage]>,
    /// The available tools.
    pub tools: Arc<[Arc<ToolSpec>]>,
    /// What MCP servers say about the use of their tools: for the system prompt, behind what the operator says.
    pub instructions: Arc<[Instructions]>,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ModelMessage {
    /// A user message.
    User(Vec<UserPart>),
    /// The model's text and calls in one step.
    Assistant {
        /// Its text.
        text: String,
        /// Its calls, in order.
        calls: Vec<ModelCall>,
        /// What the provider needs back of the step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<ProviderState>,
    },
    /// The results of the previous step's calls.
    Results(Vec<ModelResult>),
}

/// A part of a user message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum UserPart {
    Text(String),
    /// By URL or as a data URL.
    File {
        media_type: String,
        url: String,
        filename: Option<String>,
    },
}

/// A call that the model made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// Holdpoint's id of the call.
    pub id: ToolCallId,
    /// The tool.
    pub name: String,
    /// Its input.
    #[serde(deserialize_with = "json::value")]
    pub input: Value,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelResult {
    /// Holdpoint's id of the call.
    pub id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The output, or the error text for the model.
    #[serde(with = "outcome")]
    pub outcome: Result<Value, String>,
    /// How it came to that, for code: the text is not to be parsed.
    pub cause: ResultCause,
    /// The files that the output has links to.
    #[serde(default, skip_serializing_if = "has_none")]
    pub files: Arc<[StoredFile]>,
}

fn has_none(files: &Arc<[StoredFile]>) -> bool {
    files.is_empty()
}

/// An outcome as stored.
mod outcome {
    use holdpoint_protocol::json;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    #[derive(Serialize)]
    enum Written<'a> {
        Output(&'a Value),
        Error(&'a str),
    }

    #[derive(Deserialize)]
    enum Read {
        Output(#[serde(deserialize_with = "json::value")] Value),
        Error(String),
    }

    pub(super) fn serialize<S: Serializer>(outcome: &Result<Value, String>, serializer: S) -> Result<S::Ok, S::Error> {
        match outcome {
            Ok(output) => Written::Output(output),
            Err(error) => Written::Error(error),
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Result<Value, String>, D::Error> {
        Ok(match Read::deserialize(deserializer)? {
            Read::Output(output) => Ok(output),
            Read::Error(error) => Err(error),
        })
    }
}

/// How a call came to its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResultCause {
    /// The tool or the browser reported it.
    Reported,
    /// The same, and the call ran with another input than the model's: an approver has changed it.
    Edited,
    /// A person denied the call.
    Denied {
        /// The reason that was given.
        reason: Option<String>,
    },
    /// Nobody decided the approval request in time.
    ApprovalExpired,
    /// The browser sent no result in time.
    ResultExpired,
    /// The turn was stopped.
    Stopped,
    /// A newer message took its place.
    Superseded,
    /// The call was cut off while it ran, or got no usable answer. Whether it took effect is unknown.
    Interrupted,
    /// The server did not run it.
    Refused,
}

/// An event of a model's stream. Blocks do not overlap.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
#[non_exhaustive]
pub enum ModelEvent {
    ReasoningStart,
    ReasoningDelta(String),
    ReasoningEnd,
    TextStart,
    TextDelta(String),
    TextEnd,
    /// A call's input begins. `id` is the provider's, or the model's own counter.
    InputStart {
        id: String,
        name: String,
    },
    /// More of a call's input, as JSON text.
    InputDelta {
        id: String,
        delta: String,
    },
    /// A call is complete. `input` is an error if the provider's text was not JSON.
    Call {
        id: String,
        name: String,
        input: Result<Value, String>,
    },
    /// Nothing has come yet, and the request is made again after a delay. For people who wait.
    Retry {
        /// Why, and what happens next.
        message: String,
        delay: Duration,
    },
    /// The step is complete.
    Finish {
        usage: Usage,
        reason: FinishReason,
        version: Option<String>,
        /// What the provider needs back of the step.
        state: Option<ProviderState>,
    },
}

/// What a provider needs to be sent back of a step, such as reasoning with its signatures. It is opaque, goes to nobody
/// but the model that it comes from, and never to a client.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderState {
    /// The model that it comes from. Another one does not get it.
    pub origin: String,
    /// In the provider's own format.
    pub data: String,
}

impl fmt::Debug for ProviderState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The data is large, and in it is what a person has written.
        f.debug_struct("ProviderState").field("origin", &self.origin).field("bytes", &self.data.len()).finish()
    }
}

/// Token usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Read by the model.
    pub prompt_tokens: u64,
    /// Written by the model, reasoning included.
    pub completion_tokens: u64,
    /// The part of `prompt_tokens` that came from the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_prompt_tokens: u64,
    /// The part of `completion_tokens` that was reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

impl Usage {
    /// All tokens.
    pub fn total(self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.cached_prompt_tokens = self.cached_prompt_tokens.saturating_add(other.cached_prompt_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
    }
}

/// A failed model request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ModelError {
    /// For the user: says what to do, and no internals.
    pub message: String,
    /// For the server's own log.
    pub detail: String,
}
