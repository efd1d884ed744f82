//! Models: what is asked of one, and what it streams back. One call is one step of a turn.

mod conversation;
mod demo;
#[cfg(feature = "providers")]
pub mod provider;
mod script;

use std::{fmt, sync::Arc};

pub use demo::DemoModel;
use futures::stream::BoxStream;
use holdpoint_protocol::{chunk::FinishReason, ids::ToolCallId};
pub use script::{ScriptError, ScriptModel};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool::ToolSpec;

/// A language model.
pub trait Model: Send + Sync + fmt::Debug + 'static {
    /// The name that `finish` shows unless the model says another.
    fn version(&self) -> &str;

    /// Streams one step. Dropping the stream cancels the call. After an error nothing follows; a stream that ends without
    /// [`ModelEvent::Finish`] was cut off.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;
}

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The conversation. Every call in it has its result, whatever happened to it.
    pub messages: Arc<[ModelMessage]>,
    /// The tools on offer.
    pub tools: Arc<[Arc<ToolSpec>]>,
}

/// One message of the conversation, as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelMessage {
    /// What the user said.
    User(Vec<UserPart>),
    /// What the model said and called in one step.
    Assistant {
        /// Its text.
        text: String,
        /// Its calls, in order.
        calls: Vec<ModelCall>,
    },
    /// What came of the calls of the step before.
    Results(Vec<ModelResult>),
}

/// A part of what the user said.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum UserPart {
    Text(String),
    /// By address or as a data URL.
    File {
        media_type: String,
        url: String,
        filename: Option<String>,
    },
}

/// A call that the model made.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// Our id of the call.
    pub id: ToolCallId,
    /// The tool.
    pub name: String,
    /// Its input.
    pub input: Value,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResult {
    /// Our id of the call.
    pub id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The output, or what to tell the model in its place.
    pub outcome: Result<Value, String>,
}

/// A piece of what a model streams. Blocks do not overlap.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
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
    /// A call is complete. `input` is an error where the provider's text was no JSON.
    Call {
        id: String,
        name: String,
        input: Result<Value, String>,
    },
    /// The step is complete.
    Finish {
        usage: Usage,
        reason: FinishReason,
        version: Option<String>,
    },
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Read by the model.
    pub prompt_tokens: u64,
    /// Written by the model.
    pub completion_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
    }
}

/// The model failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ModelError {
    /// For the user: no internals, and what to do.
    pub message: String,
    /// For the server's own log.
    pub detail: String,
}
