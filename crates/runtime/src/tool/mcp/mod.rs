//! Tools of MCP servers: listed when the server is there, offered as `SERVER_tool`, and called with the same care as any other.

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

use super::{Approval, Secret};

/// How long the name of a server can be: the names of its tools begin with it.
const NAME_LENGTH: usize = 32;

/// An MCP server whose tools are offered.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Its name: the names of its tools begin with it.
    pub name: String,
    /// How to reach it.
    pub transport: McpTransport,
    /// Who has to agree to calls of its tools. What the server says of a tool can make this stricter, never looser.
    pub approval: Approval,
    /// How long a person has to agree, and to answer what the server asks; `None` is for ever (an hour for what it asks).
    pub approval_timeout: Option<Duration>,
    /// How long a call may take, the time for questions to the user left out.
    pub timeout: Duration,
    /// Settings of single tools, by the server's own names.
    pub tools: BTreeMap<String, McpToolSettings>,
}

/// Settings of one tool of an MCP server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpToolSettings {
    /// Who has to agree, in place of what holds for the server.
    pub approval: Option<Approval>,
    /// The operator knows better than the server what this tool does: what it says of the tool changes nothing.
    pub ignore_hints: bool,
}

/// How an MCP server is reached.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A program that is started here, and talked to over its input and output.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// Its environment, besides the few variables that every program needs.
        env: Vec<(String, Secret)>,
    },
    /// A server that is there, over streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// What is sent with every request.
        headers: Vec<(String, Secret)>,
    },
}

impl McpSettings {
    /// A server of which every call has to be approved, and may take a minute.
    pub fn new(name: &str, transport: McpTransport) -> Self {
        Self {
            name: name.to_owned(),
            transport,
            approval: Approval::Always,
            approval_timeout: Some(Duration::from_secs(300)),
            timeout: Duration::from_secs(60),
            tools: BTreeMap::new(),
        }
    }

    fn check(&self) -> Result<(), McpProblem> {
        let is_usual = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        if !(1..=NAME_LENGTH).contains(&self.name.len()) || !self.name.chars().all(is_usual) {
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
    /// Which server.
    pub server: String,
    /// What is wrong.
    pub problem: McpProblem,
}

/// What is wrong with an MCP server. No text of it has a secret in it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum McpProblem {
    #[error("its name must have 1 to {NAME_LENGTH} of the characters A-Z, a-z, 0-9, `_` and `-`")]
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
    #[error("it did not take the connection: {0}")]
    Refused(String),
    #[error("it could not say which tools it has: {0}")]
    List(String),
    #[error("there are settings for {tool:?}, and it has no such tool. It has {known}")]
    UnknownTool { tool: String, known: String },
}

impl McpProblem {
    /// Whether trying again can't help: something is wrong with the settings.
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
