//! The description of a tool: what the model is offered, who must approve, where it runs.

use std::{sync::Arc, time::Duration};

use holdpoint_protocol::{
    holds::DecisionKind,
    response::{Execution, Returns, Wait},
};
use serde::{Deserialize, Serialize};

use super::{ApprovalPolicy, ApprovalTimeout, Headline, InputSchema};
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
    /// How long a call may run: see [`ToolSpec::frontend_timeout`]. `None` is no limit for a handler, and the usual time for a
    /// browser.
    pub timeout: Option<Duration>,
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
    /// The origin, for tools that come and go.
    pub origin: Option<ToolOrigin>,
}

/// Where a tool comes from that comes and goes. An approval is for this tool, and not for a later one of the same name from
/// elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolOrigin {
    /// An MCP server.
    Mcp {
        /// The name of the server in the settings.
        server: String,
        /// The name that the server gives the tool.
        tool: String,
    },
    /// A place that the embedding program names.
    Program(String),
}

impl ToolOrigin {
    /// The name of the MCP server, if it is one.
    pub fn mcp_server(&self) -> Option<&str> {
        match self {
            Self::Mcp { server, .. } => Some(server),
            Self::Program(_) => None,
        }
    }
}

/// Where the definition of a tool comes from. A grant for a tool does not cover a tool of the same name from another source.
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

/// How long a browser has for a call by default.
const FRONTEND_TIMEOUT: Duration = Duration::from_secs(60);

impl ToolSpec {
    /// A tool that runs without approval, with the defaults of everything else.
    pub fn new(name: &str, description: &str, input: InputSchema, execution: Execution) -> Self {
        Self {
            name: name.to_owned(),
            title: None,
            headline: None,
            description: description.to_owned(),
            input,
            execution,
            approval: ApprovalPolicy::Never,
            approval_timeout: ApprovalTimeout::default(),
            decisions: Decisions::default(),
            approvers: Arc::default(),
            timeout: None,
            wait: Wait::default(),
            returns: Returns::default(),
            is_idempotent: false,
            is_read: false,
            grants: true,
            source: ToolSource::default(),
            origin: None,
        }
    }

    /// Whether the model can call it.
    pub fn is_offered(&self) -> bool {
        self.source != ToolSource::Budget
    }

    /// The time after which an approval request expires, if it does.
    pub fn expires_after(&self) -> Option<Duration> {
        self.approval_timeout.of(&self.approvers)
    }

    /// How long a browser has for a call: a minute, unless the tool says otherwise.
    pub fn frontend_timeout(&self) -> Duration {
        self.timeout.unwrap_or(FRONTEND_TIMEOUT)
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
        self.origin.as_ref()?.mcp_server()
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
        }
    }

    /// All that a person may do.
    pub fn kinds(self) -> Vec<DecisionKind> {
        DecisionKind::ALL.into_iter().filter(|kind| self.allow(*kind)).collect()
    }
}
