//! Tools: what an agent can call, and who has to agree or to act.

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

pub use approval::{Approval, Condition, RuleError};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// Here.
    Server,
    /// In the user's browser; the turn waits for the result.
    Frontend,
    /// Handed to the browser and not waited for; the output says that it was handed over.
    Delegate,
}

/// How the response waits for a frontend's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// It stays open; the result comes by ack.
    #[default]
    Stream,
    /// It ends; the client's next request carries the result.
    Resubmit,
}

/// What a frontend call's output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Returns {
    /// The frontend's output.
    #[default]
    Output,
    /// The whole ack payload.
    Ack,
}

/// All that is known of a tool, its handler apart.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, for the model.
    pub description: String,
    /// What its input must look like: checked before anybody is asked.
    pub input: InputSchema,
    /// Where it runs.
    pub execution: Execution,
    /// Who has to agree.
    pub approval: Approval,
    /// How long a person has to answer; `None` is for ever.
    pub approval_timeout: Option<Duration>,
    /// How long a frontend has to act.
    pub timeout: Duration,
    /// How the response waits for a frontend.
    pub wait: Wait,
    /// What a frontend call's output is.
    pub returns: Returns,
    /// Whether a call that was cut off by a crash may simply be run again.
    pub is_idempotent: bool,
    /// Where it comes from, for tools that come and go: an approval is for this one, and not for another that has its name later.
    pub origin: Option<String>,
}

/// What a handler gets besides its input.
#[derive(Clone)]
pub struct ToolContext {
    /// The chat.
    pub chat: ChatId,
    /// Whose chat it is.
    pub subject: Subject,
    /// The call.
    pub call: ToolCallId,
    /// Cancelled when the turn is stopped or the server shuts down.
    pub cancellation: CancellationToken,
    /// The last output of this tool in this chat before this turn's step, if there was one.
    pub last_output: Option<Arc<Value>>,
    /// How to ask the user; `None` where nobody can be asked.
    pub ask: Option<Ask>,
}

pub use holdpoint_protocol::ASK_USER;

/// What a tool asks the user while it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// In words.
    pub message: String,
    /// What the answer must look like.
    pub schema: Value,
    /// How long the user has.
    pub timeout: Duration,
}

/// What the user answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Yes, and this.
    Accepted(Value),
    /// No.
    Declined,
    /// Neither: it was put away, or the turn is over.
    Cancelled,
    /// There was no answer in time.
    Expired,
}

/// How a tool's questions get to its chat.
pub type Ask = Arc<dyn Fn(Question) -> BoxFuture<'static, Answer> + Send + Sync>;

impl ToolContext {
    /// Asks the user something: a hold like any other, which outlives a reload of the page. Should the server go down meanwhile, the tool
    /// that asked went down with it.
    pub async fn ask(&self, question: Question) -> Answer {
        match &self.ask {
            Some(ask) => ask(question).await,
            None => Answer::Cancelled,
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

/// What the model is told of a call that was sent, and to which no answer came.
#[cfg(any(feature = "http-tools", feature = "mcp"))]
const OUTCOME_UNKNOWN: &str =
    "it is not known whether the call was carried out: do not repeat it without asking the user";

/// Why a call failed: told to the model and shown to the user.
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

/// A tool: its description, and for what runs here its handler.
#[derive(Clone)]
pub struct Tool {
    /// What is known of it.
    pub spec: Arc<ToolSpec>,
    /// How it is run; a frontend tool has none, a delegate may have one that makes its output.
    pub handler: Option<Handler>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool that runs here.
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

    /// A tool that is handed to the browser and not waited for.
    pub fn delegate<I: schemars::JsonSchema>(name: &str, description: &str) -> ToolBuilder {
        ToolBuilder::browser::<I>(name, description, Execution::Delegate)
    }
}

/// The tools of a server, by name.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    tools: Arc<BTreeMap<String, Tool>>,
    specs: Arc<[Arc<ToolSpec>]>,
    /// What the origins of tools begin with that are not listed yet, and how long an approved call waits for its tool.
    awaited: Arc<[(String, Duration)]>,
}

impl ToolSet {
    /// The same tools, and more to come: those whose origin begins with one of these texts. A call that was approved before waits for its
    /// tool for as long as is said, in place of failing at once.
    #[must_use]
    pub fn awaiting(mut self, origins: impl IntoIterator<Item = (String, Duration)>) -> Self {
        self.awaited = origins.into_iter().collect();
        self
    }

    /// How long to wait for a tool of this origin, if it is one that may still come.
    pub(crate) fn patience(&self, origin: Option<&str>) -> Option<Duration> {
        let awaited = self.awaited.iter().find(|(begin, _)| origin.is_some_and(|origin| origin.starts_with(begin)));
        awaited.map(|(_, patience)| *patience)
    }

    /// The tool of this name and this origin: an approval is for no other.
    pub(crate) fn of_origin(&self, name: &str, origin: Option<&str>) -> Option<&Tool> {
        self.get(name).filter(|tool| tool.spec.origin.as_deref() == origin)
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// All tools, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values()
    }

    /// What is known of all of them, in the order of their names.
    pub fn specs(&self) -> Arc<[Arc<ToolSpec>]> {
        Arc::clone(&self.specs)
    }

    /// Whether any tool can need somebody's approval: then adk text is held back.
    pub fn can_ask(&self) -> bool {
        self.specs.iter().any(|spec| spec.approval != Approval::Never)
    }
}

impl FromIterator<Tool> for ToolSet {
    fn from_iter<T: IntoIterator<Item = Tool>>(tools: T) -> Self {
        let tools: BTreeMap<String, Tool> = tools.into_iter().map(|tool| (tool.spec.name.clone(), tool)).collect();
        let specs = tools.values().map(|tool| Arc::clone(&tool.spec)).collect();
        Self { tools: Arc::new(tools), specs, awaited: Arc::default() }
    }
}
