//! Tools of MCP servers: listed when the server connects, offered as `SERVER_tool`, and subject to the same rules as
//! other tools.

mod calls;
mod connect;
mod endpoint;
mod handler;
mod lines;
mod listing;
mod names;
mod output;
mod program;
mod run;
mod screen;
mod server;
mod servers;

use std::{collections::BTreeMap, time::Duration};

pub use server::McpServer;
pub use servers::McpServers;

use super::{ApprovalPolicy, Secret};

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
    /// Timeout for approvals and prompts. `None` means none for approvals and an hour for prompts.
    pub approval_timeout: Option<Duration>,
    /// Timeout of a call, not counting prompts to the user.
    pub timeout: Duration,
    /// Settings of single tools, by the server's own tool names.
    pub tools: BTreeMap<String, McpToolSettings>,
}

/// Settings of one tool of an MCP server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpToolSettings {
    /// The approval policy, in place of the server's.
    pub approval: Option<ApprovalPolicy>,
    /// Ignores the tool's annotations: the operator knows the tool better.
    pub ignore_hints: bool,
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
        /// Its URL.
        url: String,
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
            approval_timeout: Some(Duration::from_secs(300)),
            timeout: Duration::from_secs(60),
            tools: BTreeMap::new(),
        }
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
    #[error("its tools could not be listed: {0}")]
    List(String),
    #[error("the settings name the tool {tool:?}, which it does not have. Its tools: {known}")]
    UnknownTool { tool: String, known: String },
}

impl McpProblem {
    /// Whether a retry won't help, because the settings are wrong.
    fn is_final(&self) -> bool {
        match self {
            Self::Spawn { error, .. } => {
                matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied)
            }
            Self::Slow(_) | Self::Refused(_) | Self::List(_) => false,
            _ => true,
        }
    }
}
