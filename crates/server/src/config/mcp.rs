//! Settings of MCP servers.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_runtime::tool::{
    ApprovalPolicy,
    mcp::{McpSettings, McpToolSettings, McpTransport},
};

use super::secret::{MissingVariable, SecretTexts, Variables};

/// One MCP server.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct McpConfig {
    /// Its name, the prefix of its tools: `NAME_tool`.
    pub name: String,
    /// The program to start, with its arguments. Alternative to `url`.
    pub command: Option<Vec<String>>,
    /// Its URL. Alternative to `command`.
    pub url: Option<String>,
    /// The environment of the program.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "super::reference::Texts"))]
    pub env: SecretTexts,
    /// Headers sent with every request to the URL.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "super::reference::Texts"))]
    pub headers: SecretTexts,
    /// The approval policy for its calls. By default every call needs approval.
    #[cfg_attr(test, schemars(with = "super::reference::Policy"))]
    pub approval: Option<ApprovalPolicy>,
    /// Timeout for an approval, or for the answer to a prompt; 0 means none.
    pub approval_timeout_sec: Option<u64>,
    /// Timeout of a call.
    pub timeout_sec: Option<u64>,
    /// Settings of single tools, by the server's own tool names.
    #[serde(default)]
    pub tools: BTreeMap<String, McpToolConfig>,
}

/// Settings of one tool of an MCP server.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct McpToolConfig {
    /// The approval policy.
    #[cfg_attr(test, schemars(with = "super::reference::Policy"))]
    pub approval: Option<ApprovalPolicy>,
    /// Apply `approval` as it is, whatever annotations the server gives this tool.
    pub ignore_hints: bool,
}

/// An unusable MCP server in the settings.
#[derive(Debug, thiserror::Error)]
#[error("mcp {name:?}: {problem}")]
pub struct McpConfigError {
    /// Its name.
    pub name: String,
    /// The problem.
    pub problem: McpConfigProblem,
}

/// The problem with an MCP server in the settings.
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
    /// The runtime's settings, with secrets resolved from the environment.
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
