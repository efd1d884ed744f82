//! MCP servers in the settings.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_runtime::tool::{
    Approval,
    mcp::{McpSettings, McpToolSettings, McpTransport},
};

use super::secret::{MissingVariable, SecretTexts, Variables};

/// One MCP server.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpConfig {
    /// Its name: its tools are offered as `NAME_tool`.
    pub name: String,
    /// The program to start, with its arguments; or `url`.
    pub command: Option<Vec<String>>,
    /// Where it is; or `command`.
    pub url: Option<String>,
    /// The environment of the program.
    #[serde(default)]
    pub env: SecretTexts,
    /// What is sent to the URL with every request.
    #[serde(default)]
    pub headers: SecretTexts,
    /// Who has to agree to a call; always somebody, if nothing is said.
    pub approval: Option<Approval>,
    /// How long a person has to agree, or to answer what the server asks; 0 is for ever.
    pub approval_timeout_sec: Option<u64>,
    /// How long a call may take.
    pub timeout_sec: Option<u64>,
    /// Settings of single tools, by the server's own names.
    #[serde(default)]
    pub tools: BTreeMap<String, McpToolConfig>,
}

/// Settings of one tool of an MCP server.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpToolConfig {
    /// Who has to agree.
    pub approval: Option<Approval>,
    /// Ask no more often than `approval` says, whatever the server says of this tool.
    pub ignore_hints: bool,
}

/// An MCP server in the settings can't be used.
#[derive(Debug, thiserror::Error)]
#[error("mcp {name:?}: {problem}")]
pub struct McpConfigError {
    /// Its name.
    pub name: String,
    /// What is wrong.
    pub problem: McpConfigProblem,
}

/// What is wrong with an MCP server in the settings.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum McpConfigProblem {
    #[error("it needs either `command` or `url`")]
    Transport,
    #[error("`{key}` is for a server with `{with}`")]
    Misplaced { key: &'static str, with: &'static str },
    #[error("`timeout_sec` must be at least 1")]
    Timeout,
    #[error(transparent)]
    Variable(#[from] MissingVariable),
}

impl McpConfig {
    /// What the runtime needs, with the secrets from the environment.
    pub fn settings(&self, variables: Variables<'_>) -> Result<McpSettings, McpConfigError> {
        self.read(variables).map_err(|problem| McpConfigError { name: self.name.clone(), problem })
    }

    fn read(&self, variables: Variables<'_>) -> Result<McpSettings, McpConfigProblem> {
        let transport = match (&self.command, &self.url) {
            (Some(_), None) if !self.headers.is_empty() => {
                return Err(McpConfigProblem::Misplaced { key: "headers", with: "url" });
            }
            (None, Some(_)) if !self.env.is_empty() => {
                return Err(McpConfigProblem::Misplaced { key: "env", with: "command" });
            }
            (Some(command), None) => {
                McpTransport::Command { command: command.clone(), env: self.env.resolve(variables)? }
            }
            (None, Some(url)) => McpTransport::Http { url: url.clone(), headers: self.headers.resolve(variables)? },
            _ => return Err(McpConfigProblem::Transport),
        };
        let mut settings = McpSettings::new(&self.name, transport);
        if let Some(approval) = &self.approval {
            settings.approval = approval.clone();
        }
        if let Some(seconds) = self.approval_timeout_sec {
            settings.approval_timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
        }
        match self.timeout_sec {
            Some(0) => return Err(McpConfigProblem::Timeout),
            Some(seconds) => settings.timeout = Duration::from_secs(seconds),
            None => {}
        }
        let tools = self.tools.iter().map(|(name, tool)| {
            let McpToolConfig { approval, ignore_hints } = tool.clone();
            (name.clone(), McpToolSettings { approval, ignore_hints })
        });
        settings.tools = tools.collect();
        Ok(settings)
    }
}
