//! Tools: what an agent can call, where it runs, and who must approve.

mod approval;
mod budget;
mod build;
mod context;
mod error;
mod file;
mod headline;
#[cfg(feature = "http-tools")]
pub mod http;
mod input;
mod instructions;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "so far, only tools of MCP servers save states"))]
mod resume;
mod schema;
#[cfg(any(feature = "http-tools", feature = "mcp", feature = "postgres", feature = "providers"))]
mod secret;
pub mod text;

use std::{collections::BTreeMap, fmt, future::Future, sync::Arc, time::Duration};

pub use approval::{ApprovalCheck, ApprovalContext, ApprovalPolicy, ApprovalTimeout, Condition, RuleError};
pub use budget::{BUDGET_TOOL, Budget, BudgetScope, Spending, budget_tool};
pub use build::{ToolBuilder, ToolDefinitionError};
pub(crate) use context::Gate;
pub use context::{
    CANCELLATION_GRACE, MAX_PROGRESS_BYTES, ProgressReporter, Prompt, PromptResponse, Prompter, ToolContext,
};
pub use error::ToolError;
pub(crate) use file::Files;
pub use file::{FileKind, FileLink, MAX_FILE_BYTES, MAX_FILES, StoredFile};
use futures::future::BoxFuture;
pub use headline::{Headline, HeadlineError};
use holdpoint_protocol::holds::DecisionKind;
pub use holdpoint_protocol::{
    PROMPT_TOOL,
    response::{Execution, Returns, Wait},
};
pub use instructions::Instructions;
pub(crate) use resume::{Answer, NotOurs, StateKeeper};
pub use resume::{CallState, MAX_CALL_STATE_BYTES};
pub use schema::{InputSchema, SchemaError};
#[cfg(any(feature = "http-tools", feature = "mcp", feature = "postgres", feature = "providers"))]
pub use secret::Secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approvers::Approvers;

/// The description of a tool, without its handler.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// What a call would do, for whoever decides.
    pub headline: Option<Headline>,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of its input, checked before approval is requested.
    pub input: InputSchema,
    /// Where it runs.
    pub execution: Execution,
    /// The approval policy.
    pub approval: ApprovalPolicy,
    /// Timeout for an approval: see [`ToolSpec::expires_after`].
    pub approval_timeout: ApprovalTimeout,
    /// What a person may decide besides yes and no.
    pub decisions: Decisions,
    /// Who may decide.
    pub approvers: Arc<Approvers>,
    /// Timeout for a browser tool.
    pub timeout: Duration,
    /// How long the handler of a server tool may run; `None` means no limit.
    pub time_limit: Option<Duration>,
    /// How the response waits for a browser tool.
    pub wait: Wait,
    /// The output of a browser tool.
    pub returns: Returns,
    /// Whether a call interrupted by a crash may run again.
    pub is_idempotent: bool,
    /// Whether a call only reads.
    pub is_read: bool,
    /// Whether an approval can be remembered. With a quorum it never can.
    pub grants: bool,
    /// Where the definition comes from.
    pub source: ToolSource,
    /// The origin, for tools that come and go: an approval is for this tool, not for a later one of the same name.
    pub origin: Option<String>,
}

/// Where the definition of a tool comes from. A grant for a tool is none for one of the same name from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSource {
    /// The embedding program.
    #[default]
    Program,
    /// This crate: the demo tools.
    BuiltIn,
    /// The settings.
    Settings,
    /// The settings, with the endpoint that it calls.
    Endpoint {
        /// The HTTP method.
        method: String,
        /// The URL, with its placeholders.
        url: String,
    },
    /// The token budget. The model can't call it: its calls are made when the budget is used up.
    Budget,
}

impl ToolSpec {
    /// Whether the model can call it.
    pub fn is_offered(&self) -> bool {
        self.source != ToolSource::Budget
    }

    /// The time after which an approval request expires, if it does.
    pub fn expires_after(&self) -> Option<Duration> {
        self.approval_timeout.of(&self.approvers)
    }

    /// Whether a call can be made again although nobody knows what came of it: it changes nothing, or nothing a second time.
    pub fn is_repeatable(&self) -> bool {
        self.is_idempotent || self.is_read
    }

    /// Whether an approval of a call can be remembered.
    pub fn allows_grants(&self) -> bool {
        self.grants && self.approvers.quorum == 1
    }

    /// The name of the MCP server that the tool comes from.
    pub fn mcp_server(&self) -> Option<&str> {
        // As `mcp::listing::origin` writes it. The name of a server contains no space.
        let (server, _) = self.origin.as_deref()?.strip_prefix("mcp ")?.split_once(' ')?;
        Some(server)
    }
}

/// What a person may decide about a call, besides approving and denying it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// Approve another input.
    pub edit: bool,
    /// Answer in the tool's place.
    pub answer: bool,
}

impl Default for Decisions {
    fn default() -> Self {
        Self { edit: true, answer: true }
    }
}

impl Decisions {
    /// Yes and no.
    pub const PLAIN: Self = Self { edit: false, answer: false };

    /// What of it is left with a quorum: above 1, nobody may change what earlier voters have seen.
    #[must_use]
    pub fn within(self, quorum: u32) -> Self {
        if quorum > 1 { Self::PLAIN } else { self }
    }

    /// Whether a person may decide in this way.
    pub fn allow(self, kind: DecisionKind) -> bool {
        match kind {
            DecisionKind::Approve | DecisionKind::Deny => true,
            DecisionKind::Edit => self.edit,
            DecisionKind::Answer => self.answer,
            DecisionKind::Remember => false,
        }
    }

    /// All that a person may do.
    pub fn kinds(self) -> Vec<DecisionKind> {
        DecisionKind::ALL.into_iter().filter(|kind| self.allow(*kind)).collect()
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
    /// Those that the model can call.
    offered: Arc<[Arc<ToolSpec>]>,
    /// What MCP servers say about their tools.
    instructions: Arc<[Instructions]>,
    /// Origin prefixes of tools that are not listed yet, and how long an approved call waits for its tool.
    pending_origins: Arc<[(String, Duration)]>,
    /// How long a turn that goes on waits for tools that are about to be listed.
    awaited: Option<Duration>,
    /// A name that two of the tools had. A runtime does not start with such a set.
    duplicate: Option<Arc<str>>,
}

/// Two tools have the same name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two tools have the name {name:?}: rename one of them")]
pub struct DuplicateTool {
    /// The name.
    pub name: String,
}

impl ToolSet {
    /// A set of these tools. Their names must differ.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, DuplicateTool> {
        let set: Self = tools.into_iter().collect();
        set.check()?;
        Ok(set)
    }

    /// Checks that no two tools had the same name.
    pub(crate) fn check(&self) -> Result<(), DuplicateTool> {
        match &self.duplicate {
            Some(name) => Err(DuplicateTool { name: name.to_string() }),
            None => Ok(()),
        }
    }

    /// Adds origin prefixes of tools that are not listed yet. A call approved earlier waits this long for its tool,
    /// instead of failing at once.
    #[must_use]
    pub fn with_pending_origins(mut self, origins: impl IntoIterator<Item = (String, Duration)>) -> Self {
        self.pending_origins = origins.into_iter().collect();
        self
    }

    /// Adds what MCP servers say about the use of their tools.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl IntoIterator<Item = Instructions>) -> Self {
        self.instructions = self.instructions.iter().cloned().chain(instructions).collect();
        self
    }

    /// What MCP servers say about the use of their tools.
    pub fn instructions(&self) -> Arc<[Instructions]> {
        Arc::clone(&self.instructions)
    }

    /// Says that more tools are about to be listed: by an MCP server that has neither answered nor failed yet. A turn that goes on
    /// after a restart waits for them this long, so that the model has the tools that it had.
    #[must_use]
    pub fn with_awaited(mut self, timeout: Option<Duration>) -> Self {
        self.awaited = timeout;
        self
    }

    /// Whether more tools are about to be listed.
    pub fn is_awaiting(&self) -> bool {
        self.awaited.is_some()
    }

    pub(crate) fn awaited(&self) -> Option<Duration> {
        self.awaited
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

    /// A tool by its name, if the model can call it.
    pub fn offered(&self, name: &str) -> Option<&Tool> {
        self.get(name).filter(|tool| tool.spec.is_offered())
    }

    /// All tools, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values()
    }

    /// The descriptions of all tools, ordered by name.
    pub fn specs(&self) -> Arc<[Arc<ToolSpec>]> {
        Arc::clone(&self.specs)
    }

    /// The descriptions of the tools that the model can call, ordered by name.
    pub fn offered_specs(&self) -> Arc<[Arc<ToolSpec>]> {
        Arc::clone(&self.offered)
    }

    /// These tools, and the budget's own, unless it is among them. `None` stands for no budget.
    #[must_use]
    pub(crate) fn with_budget(self, tool: Option<&Tool>) -> Self {
        match tool.filter(|tool| self.get(&tool.spec.name).is_none()) {
            Some(tool) => {
                let Self { tools, specs, offered, .. } = self.iter().chain([tool]).cloned().collect();
                Self { tools, specs, offered, ..self }
            }
            None => self,
        }
    }

    /// Whether any tool can require approval: then adk text is held back.
    pub fn may_need_approval(&self) -> bool {
        self.specs.iter().any(|spec| spec.approval != ApprovalPolicy::Never)
    }
}

/// If two tools have the same name, [`RuntimeBuilder::start`](crate::driver::RuntimeBuilder::start) fails.
impl FromIterator<Tool> for ToolSet {
    fn from_iter<T: IntoIterator<Item = Tool>>(all: T) -> Self {
        let mut tools = BTreeMap::new();
        let mut duplicate = None;
        for tool in all {
            let name = tool.spec.name.clone();
            if let Some(first) = tools.insert(name, tool) {
                duplicate = Some(first.spec.name.as_str().into());
            }
        }
        let specs: Arc<[_]> = tools.values().map(|tool: &Tool| Arc::clone(&tool.spec)).collect();
        let offered = match specs.iter().all(|spec| spec.is_offered()) {
            true => Arc::clone(&specs),
            false => specs.iter().filter(|spec| spec.is_offered()).cloned().collect(),
        };
        Self { tools: Arc::new(tools), specs, offered, duplicate, ..Self::default() }
    }
}
