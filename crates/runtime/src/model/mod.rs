//! Models: the request, and the events streamed back. One request is one step of a turn.

mod conversation;
mod demo;
#[cfg(feature = "providers")]
pub mod provider;
mod script;

use std::{fmt, sync::Arc};

pub use demo::DemoModel;
use futures::stream::BoxStream;
use holdpoint_protocol::{chunk::FinishReason, ids::ToolCallId, json};
pub use script::{ScriptError, ScriptModel};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool::ToolSpec;

/// A language model.
///
/// ```
/// use futures::{StreamExt, stream::BoxStream};
/// use holdpoint_runtime::{
///     model::{Model, ModelError, ModelEvent, ModelRequest, Usage},
///     protocol::chunk::FinishReason,
/// };
///
/// /// Says how many messages it got.
/// #[derive(Debug)]
/// struct Counting;
///
/// impl Model for Counting {
///     fn version(&self) -> &str {
///         "counting-1"
///     }
///
///     fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
///         let text = format!("{} messages", request.messages.len());
///         let finish = ModelEvent::Finish { usage: Usage::default(), reason: FinishReason::Stop, version: None };
///         futures::stream::iter([Ok(ModelEvent::TextDelta(text.into())), Ok(finish)]).boxed()
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let request = ModelRequest { messages: [].into(), tools: [].into() };
/// let events: Vec<_> = Counting.stream(request).collect().await;
/// assert_eq!(events.len(), 2);
/// # }
/// ```
pub trait Model: Send + Sync + fmt::Debug + 'static {
    /// The name shown in `finish`, unless the model reports another.
    fn version(&self) -> &str;

    /// Streams one step. Dropping the stream cancels the request. Nothing follows an error. A stream that ends without
    /// [`ModelEvent::Finish`] was cut off.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;
}

/// A request to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The conversation. Every call in it has a result, whatever its outcome.
    pub messages: Arc<[ModelMessage]>,
    /// The available tools.
    pub tools: Arc<[Arc<ToolSpec>]>,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ModelMessage {
    /// A user message.
    User(Vec<UserPart>),
    /// The model's text and calls in one step.
    Assistant {
        /// Its text.
        text: String,
        /// Its calls, in order.
        calls: Vec<ModelCall>,
    },
    /// The results of the previous step's calls.
    Results(Vec<ModelResult>),
}

/// A part of a user message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
#[non_exhaustive]
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
#[non_exhaustive]
pub enum ResultCause {
    /// The tool or the browser reported it.
    Reported,
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
    /// The server stopped while the call ran. Whether it took effect is unknown.
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
    /// The step is complete.
    Finish {
        usage: Usage,
        reason: FinishReason,
        version: Option<String>,
    },
}

/// Token usage.
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

/// A failed model request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ModelError {
    /// For the user: says what to do, and no internals.
    pub message: String,
    /// For the server's own log.
    pub detail: String,
}
