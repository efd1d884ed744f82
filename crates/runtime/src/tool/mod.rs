//! Tools: what an agent can call, where it runs, and who must approve.

mod approval;
mod build;
pub mod demo;
#[cfg(feature = "http-tools")]
pub mod http;
mod input;
#[cfg(feature = "mcp")]
pub mod mcp;
mod schema;
#[cfg(any(feature = "http-tools", feature = "mcp"))]
mod secret;
pub(crate) mod text;

use std::{collections::BTreeMap, fmt, future::Future, sync::Arc, time::Duration};

pub use approval::{ApprovalPolicy, Condition, RuleError};
pub use build::{ToolBuilder, ToolDefinitionError};
use futures::future::BoxFuture;
use holdpoint_protocol::ids::{ChatId, ToolCallId};
pub use schema::{InputSchema, SchemaError};
#[cfg(any(feature = "http-tools", feature = "mcp"))]
pub use secret::Secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::subject::Subject;

/// Where a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// On the server.
    Server,
    /// In the user's browser. The turn waits for the result.
    Frontend,
    /// Handed to the browser without waiting. The output says that it was handed over.
    Delegate,
}

/// How the response waits for a browser tool's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// It stays open, and the result comes by ack.
    #[default]
    Stream,
    /// It ends, and the client's next request carries the result.
    Resubmit,
}

/// The output of a browser tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Returns {
    /// The frontend's output.
    #[default]
    Output,
    /// The whole ack payload.
    Ack,
}

/// The description of a tool, without its handler.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of its input, checked before approval is requested.
    pub input: InputSchema,
    /// Where it runs.
    pub execution: Execution,
    /// The approval policy.
    pub approval: ApprovalPolicy,
    /// Timeout for an approval; `None` means none.
    pub approval_timeout: Option<Duration>,
    /// Timeout for a browser tool.
    pub timeout: Duration,
    /// How the response waits for a browser tool.
    pub wait: Wait,
    /// The output of a browser tool.
    pub returns: Returns,
    /// Whether a call interrupted by a crash may run again.
    pub is_idempotent: bool,
    /// The origin, for tools that come and go: an approval is for this tool, not for a later one of the same name.
    pub origin: Option<String>,
}

/// The context of a handler's call.
#[derive(Clone)]
pub struct ToolContext {
    /// The chat.
    pub chat: ChatId,
    /// The owner of the chat.
    pub subject: Subject,
    /// The call.
    pub call: ToolCallId,
    /// Cancelled when the turn is stopped or the server shuts down.
    pub cancellation: CancellationToken,
    /// The last output of this tool in this chat before this turn's step, if there was one.
    pub last_output: Option<Arc<Value>>,
    /// Prompts the user; `None` where no user can be prompted.
    pub prompter: Option<Prompter>,
}

pub use holdpoint_protocol::PROMPT_TOOL;

/// A running tool's prompt to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The message.
    pub message: String,
    /// The JSON Schema of the answer.
    pub schema: Value,
    /// Timeout for the answer.
    pub timeout: Duration,
}

/// The user's answer to a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptResponse {
    /// Accepted, with this content.
    Accepted(Value),
    /// Declined.
    Declined,
    /// Neither: the prompt was dismissed, or the turn is over.
    Cancelled,
    /// No answer came in time.
    Expired,
}

/// Delivers a tool's prompts to its chat.
pub type Prompter = Arc<dyn Fn(Prompt) -> BoxFuture<'static, PromptResponse> + Send + Sync>;

impl ToolContext {
    /// Prompts the user. This is a hold like any other and survives a reload of the page. If the server goes down, the
    /// tool goes down with it.
    pub async fn prompt(&self, prompt: Prompt) -> PromptResponse {
        match &self.prompter {
            Some(prompter) => prompter(prompt).await,
            None => PromptResponse::Cancelled,
        }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chat, subject, call, .. } = self;
        f.debug_struct("ToolContext")
            .field("chat", chat)
            .field("subject", subject)
            .field("call", call)
            .finish_non_exhaustive()
    }
}

/// The error for the model when a call was sent and no response came.
#[cfg(any(feature = "http-tools", feature = "mcp"))]
const OUTCOME_UNKNOWN: &str =
    "it is not known whether the call was carried out: do not repeat it without asking the user";

/// Why a call failed. Given to the model and shown to the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl From<&str> for ToolError {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for ToolError {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// Runs a call.
pub type Handler = Arc<dyn Fn(Value, ToolContext) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync>;

/// A tool: its description, and its handler if it runs on the server.
#[derive(Clone)]
pub struct Tool {
    /// Its description.
    pub spec: Arc<ToolSpec>,
    /// Its handler. A frontend tool has none; a delegate may have one that makes its output.
    pub handler: Option<Handler>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool that runs on the server.
    pub fn server<I, O, F, R>(name: &str, description: &str, handler: F) -> ToolBuilder
    where
        I: serde::de::DeserializeOwned + schemars::JsonSchema,
        O: Serialize,
        F: Fn(I, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        ToolBuilder::server(name, description, handler)
    }

    /// A tool that runs in the browser, with an input of this type.
    pub fn frontend<I: schemars::JsonSchema>(name: &str, description: &str) -> ToolBuilder {
        ToolBuilder::browser::<I>(name, description, Execution::Frontend)
    }

    /// A tool handed to the browser without waiting.
    pub fn delegate<I: schemars::JsonSchema>(name: &str, description: &str) -> ToolBuilder {
        ToolBuilder::browser::<I>(name, description, Execution::Delegate)
    }
}

/// The tools of a server, by name.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    tools: Arc<BTreeMap<String, Tool>>,
    specs: Arc<[Arc<ToolSpec>]>,
    /// Origin prefixes of tools that are not listed yet, and how long an approved call waits for its tool.
    pending_origins: Arc<[(String, Duration)]>,
}

impl ToolSet {
    /// Adds origin prefixes of tools that are not listed yet. A call approved earlier waits this long for its tool,
    /// instead of failing at once.
    #[must_use]
    pub fn with_pending_origins(mut self, origins: impl IntoIterator<Item = (String, Duration)>) -> Self {
        self.pending_origins = origins.into_iter().collect();
        self
    }

    /// How long to wait for a tool of this origin, if it may still be listed.
    pub(crate) fn pending_timeout(&self, origin: Option<&str>) -> Option<Duration> {
        let pending =
            self.pending_origins.iter().find(|(begin, _)| origin.is_some_and(|origin| origin.starts_with(begin)));
        pending.map(|(_, timeout)| *timeout)
    }

    /// The tool of this name and origin: an approval is for no other.
    pub(crate) fn of_origin(&self, name: &str, origin: Option<&str>) -> Option<&Tool> {
        self.get(name).filter(|tool| tool.spec.origin.as_deref() == origin)
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// All tools, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values()
    }

    /// The descriptions of all tools, ordered by name.
    pub fn specs(&self) -> Arc<[Arc<ToolSpec>]> {
        Arc::clone(&self.specs)
    }

    /// Whether any tool can require approval: then adk text is held back.
    pub fn may_need_approval(&self) -> bool {
        self.specs.iter().any(|spec| spec.approval != ApprovalPolicy::Never)
    }
}

impl FromIterator<Tool> for ToolSet {
    fn from_iter<T: IntoIterator<Item = Tool>>(tools: T) -> Self {
        let tools: BTreeMap<String, Tool> = tools.into_iter().map(|tool| (tool.spec.name.clone(), tool)).collect();
        let specs = tools.values().map(|tool| Arc::clone(&tool.spec)).collect();
        Self { tools: Arc::new(tools), specs, pending_origins: Arc::default() }
    }
}
