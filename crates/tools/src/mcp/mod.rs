//! Tools of MCP servers: listed when the server connects, offered as `SERVER_tool`, and subject to the same rules as
//! other tools.

mod calls;
mod check;
mod connect;
mod endpoint;
mod handler;
mod handshake;
mod instructions;
mod lines;
mod list;
mod listing;
mod names;
mod oauth;
mod output;
mod program;
mod prompts;
mod rounds;
mod run;
mod saved;
mod screen;
mod server;
mod servers;
mod subscription;
mod task;
mod token_file;
mod tokens;
mod url;
mod watch;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

pub use check::problems;
pub use oauth::{McpLogin, McpLoginError, McpOAuth};
pub use server::McpServer;
pub use servers::McpServers;
pub use url::SecretUrl;
pub use watch::{McpSnapshot, McpWatch};

use super::{ApprovalPolicy, ApprovalTimeout, Secret, Tool, ToolError};

/// Maximum length of a server's name, the prefix of its tools.
const MAX_NAME_LENGTH: usize = 32;

/// An MCP server whose tools are offered.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Its name, the prefix of its tools.
    pub name: String,
    /// Its transport.
    pub transport: McpTransport,
    /// The approval policy for its tools. A tool's annotations can make it stricter, never looser.
    pub approval: ApprovalPolicy,
    /// Whether approvals of its calls can be remembered.
    pub grants: bool,
    /// Timeout for approvals and prompts. `Never` means an hour for prompts, `Usual` five minutes.
    pub approval_timeout: ApprovalTimeout,
    /// Timeout of a call, not counting prompts to the user.
    pub timeout: Duration,
    /// The tools that are offered, by the server's own names; `None` means all.
    pub offered: Option<BTreeSet<String>>,
    /// Tools that are not offered, by the server's own names.
    pub denied: BTreeSet<String>,
    /// Settings of single tools, by the names under which they are offered: `NAME_tool`.
    pub tools: BTreeMap<String, McpToolSettings>,
    /// Whether the model gets what the server says about the use of its tools.
    pub instructions: bool,
    /// The version of the protocol; `None` means the newest that the server speaks.
    pub protocol: Option<McpProtocol>,
    /// How it is logged in to, if it is protected by OAuth. Only over HTTP.
    pub oauth: Option<McpOAuth>,
    /// How long [`McpServer::start`] waits for the tools. A server that is slower is not given up: its tools appear when
    /// they are known.
    pub start_wait: Duration,
}

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpProtocol {
    /// 2026-07-28.
    V2026_07_28,
    /// 2025-11-25.
    V2025_11_25,
    /// 2025-06-18.
    V2025_06_18,
}

/// Settings of one tool of an MCP server.
#[derive(Debug, Clone, Default)]
pub struct McpToolSettings {
    /// The approval policy, in place of the server's.
    pub approval: Option<ApprovalPolicy>,
    /// Ignores the tool's annotations: the operator knows the tool better.
    pub ignore_hints: bool,
    /// Timeout of a call, in place of the server's.
    pub timeout: Option<Duration>,
    /// Changes what else there is to the tool, such as who may decide about its calls.
    pub change: Option<ToolChange>,
}

/// A change to a tool. If it fails, the tool is not offered.
#[derive(Clone)]
pub struct ToolChange(Arc<dyn Fn(Tool) -> Result<Tool, ToolError> + Send + Sync>);

impl ToolChange {
    /// A change by this function.
    pub fn new(change: impl Fn(Tool) -> Result<Tool, ToolError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(change))
    }
}

impl fmt::Debug for ToolChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolChange")
    }
}

/// The transport to an MCP server.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A child process, over its standard input and output.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// Its environment, besides the few variables that every program needs.
        env: Vec<(String, Secret)>,
    },
    /// A running server, over streamable HTTP.
    Http {
        /// Its URL, which may contain a key.
        url: SecretUrl,
        /// Headers sent with every request.
        headers: Vec<(String, Secret)>,
    },
}

impl McpSettings {
    /// A server whose calls all need approval and have a timeout of one minute.
    pub fn new(name: &str, transport: McpTransport) -> Self {
        Self {
            name: name.to_owned(),
            transport,
            approval: ApprovalPolicy::Always,
            grants: true,
            approval_timeout: ApprovalTimeout::default(),
            timeout: Duration::from_secs(60),
            offered: None,
            denied: BTreeSet::new(),
            tools: BTreeMap::new(),
            instructions: true,
            protocol: None,
            oauth: None,
            start_wait: Duration::from_secs(3),
        }
    }

    /// The timeout of a call of this tool, by the name under which it is offered.
    fn timeout_of(&self, tool: &str) -> Duration {
        self.tools.get(tool).and_then(|tool| tool.timeout).unwrap_or(self.timeout)
    }

    fn check(&self) -> Result<(), McpProblem> {
        let is_usual = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        if !(1..=MAX_NAME_LENGTH).contains(&self.name.len()) || !self.name.chars().all(is_usual) {
            return Err(McpProblem::Name);
        }
        match &self.transport {
            McpTransport::Command { command, .. } if command.first().is_none_or(String::is_empty) => {
                Err(McpProblem::NoCommand)
            }
            _ => Ok(()),
        }
    }
}

/// Why a server's tools can't be offered.
#[derive(Debug, thiserror::Error)]
#[error("the MCP server {server:?}: {problem}")]
pub struct McpError {
    /// The server.
    pub server: String,
    /// The problem.
    pub problem: McpProblem,
}

/// The problem with an MCP server. No message contains a secret.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum McpProblem {
    #[error("its name must have 1 to {MAX_NAME_LENGTH} of the characters A-Z, a-z, 0-9, `_` and `-`")]
    Name,
    #[error("there are two of that name")]
    Twice,
    #[error("`command` is empty: it needs at least the program")]
    NoCommand,
    #[error("{program:?} can't be started: {error}")]
    Spawn { program: String, error: std::io::Error },
    #[error("its URL must begin with http:// or https://, and have no user and no password: put those into `headers`")]
    Url,
    #[error("the header {name:?} can't be sent: a name has letters, digits and dashes, a value no line breaks")]
    Header { name: String },
    #[error("no HTTP client can be made: {0}")]
    Client(String),
    #[error("it did not answer within {} s", .0.as_secs_f32())]
    Slow(Duration),
    #[error("the connection failed: {0}")]
    Refused(String),
    #[error("it needs a login: run `holdpoint mcp login`, and set its `oauth_file` if it has none")]
    Login,
    #[error("its tools could not be listed: {0}")]
    List(String),
}

/// Something in the settings of a server that has no effect, though somebody may rely on it; known once the server has
/// listed its tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum McpWarning {
    #[error("the settings of the tool {tool:?} have no effect: it is not offered. What is offered: {known}")]
    UnknownTool { tool: String, known: String },
    #[error("`{key}` names the tool {tool:?}, which the server does not have. Its tools: {known}")]
    UnknownFilter { key: &'static str, tool: String, known: String },
    #[error("the tool {tool:?} is left out: {problem}")]
    LeftOut { tool: String, problem: String },
}

impl McpProblem {
    /// Whether a retry won't help, because the settings are wrong.
    fn is_final(&self) -> bool {
        match self {
            Self::Spawn { error, .. } => {
                matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied)
            }
            Self::Slow(_) | Self::Refused(_) | Self::List(_) | Self::Login => false,
            _ => true,
        }
    }
}
