//! Settings of MCP servers.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use holdpoint_demo::demo_tools;
use holdpoint_runtime::tool::{
    ApprovalPolicy, Execution, ToolBuilder, ToolContext, ToolError, ToolSet,
    mcp::{McpOAuth, McpProtocol, McpSettings, McpToolSettings, McpTransport, ToolChange},
};
use serde::{Deserialize, Deserializer, de};

use super::{
    Config, Problems, ToolConfig, ToolConfigError, ToolConfigProblem,
    secret::{MIN_KEY_LEN, MissingVariable, SecretText, SecretTexts, Variables},
};

/// One MCP server.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct McpConfig {
    /// Its name, the prefix of its tools: `NAME_tool`.
    pub name: String,
    /// The program to start, with its arguments. Alternative to `url`.
    #[serde(default, deserialize_with = "super::choice::some_texts")]
    pub command: Option<Vec<String>>,
    /// Its URL, with `${NAME}` for variables of the environment. Alternative to `command`.
    #[cfg_attr(test, schemars(with = "Option<super::reference::Secret>"))]
    pub url: Option<SecretText>,
    /// The environment of the program.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "super::reference::Texts"))]
    pub env: SecretTexts,
    /// Headers sent with every request to the URL.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "super::reference::Texts"))]
    pub headers: SecretTexts,
    /// The file with the tokens of a login by OAuth, which `holdpoint mcp login` makes. It is encrypted with `oauth_key`, and
    /// only its owner can read it.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub oauth_file: Option<PathBuf>,
    /// The key that encrypts `oauth_file`: at least 16 characters, best random ones from a variable of the environment,
    /// `{ env = "NAME" }`.
    #[cfg_attr(test, schemars(with = "Option<super::reference::Secret>"))]
    pub oauth_key: Option<SecretText>,
    /// The id of an OAuth client that was registered beforehand. Without it, the login registers one.
    pub oauth_client_id: Option<String>,
    /// The version of the protocol: `2026-07-28`, `2025-11-25` or `2025-06-18`. By default the newest that the server speaks;
    /// a server that fails to ask the user in it may do so in an older one.
    #[serde(default, deserialize_with = "super::choice::one_of")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub protocol: Option<McpProtocol>,
    /// Whether the model gets what the server says about the use of its tools (`instructions` of the protocol), up to 4000
    /// characters, after `model.system`; true by default.
    #[serde(default)]
    pub instructions: Option<bool>,
    /// The approval policy for its calls. By default every call needs approval.
    #[cfg_attr(test, schemars(with = "super::reference::Policy"))]
    pub approval: Option<ApprovalPolicy>,
    /// Whether approvals of its calls can be remembered; true by default.
    #[serde(default)]
    pub grants: Option<bool>,
    /// Timeout for an approval, or for the answer to a prompt; 0 means none. For an approval 86400 (a day) by default if the
    /// tool's `approvers` names others than `self`.
    #[serde(default, deserialize_with = "super::number::whole")]
    pub approval_timeout_sec: Option<u64>,
    /// Timeout of a call.
    #[serde(default, deserialize_with = "super::number::whole")]
    pub timeout_sec: Option<u64>,
    /// The tools that are offered, by the server's own names; all by default. Settings of single tools are in
    /// `[tools.NAME_tool]`.
    #[serde(default, deserialize_with = "names")]
    pub tools: Option<Vec<String>>,
    /// Tools that are not offered, by the server's own names.
    #[serde(default, deserialize_with = "super::choice::texts")]
    pub deny: Vec<String>,
}

/// Reads the list of servers. Tools are tables by name, servers are not, and that is easily confused.
pub(super) fn servers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<McpConfig>, D::Error> {
    struct Servers;
    impl<'de> de::Visitor<'de> for Servers {
        type Value = Vec<McpConfig>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("one `[[mcp]]` for each server, with its `name` below: not [mcp.NAME], and no list of names")
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut servers = Vec::new();
            while let Some(server) = list.next_element()? {
                servers.push(server);
            }
            Ok(servers)
        }
    }
    deserializer.deserialize_any(Servers)
}

/// Reads the list of tools. It used to be a table with the settings of single tools.
fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let wrong = "must be a list of names, such as [\"read\", \"write\"]. Settings of a single tool are in its own table, \
                 [tools.SERVER_tool]";
    let toml::Value::Array(names) = toml::Value::deserialize(deserializer)? else {
        return Err(de::Error::custom(wrong));
    };
    let names = names.into_iter().map(|name| match name {
        toml::Value::String(name) => Ok(name),
        _ => Err(de::Error::custom(wrong)),
    });
    names.collect::<Result<_, _>>().map(Some)
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
    #[error(
        "`oauth_file` needs `oauth_key`, which it is encrypted with: set `oauth_key = {{ env = \"NAME\" }}`, and NAME to what \
         `openssl rand -base64 32` prints, for example"
    )]
    NoTokenKey,
    #[error("`oauth_key` must have at least {MIN_KEY_LEN} characters")]
    ShortTokenKey,
    #[error("`oauth_file` and the header `authorization` are two logins: remove one of them")]
    TwoLogins,
    #[error("`timeout_sec` must be at least 1")]
    Timeout,
    #[error(transparent)]
    Variable(#[from] MissingVariable),
    #[error(transparent)]
    Tool(#[from] ToolConfigError),
    #[error("`tools.{tool}` could be a tool of this server or of {other:?}: rename one of the servers")]
    Ambiguous { tool: String, other: String },
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
                McpTransport::Command { command: command.clone(), env: self.env.resolve("env", variables)? }
            }
            (None, Some(url)) => {
                let url = url.resolve_url("url", variables)?;
                McpTransport::Http { url, headers: self.headers.resolve("headers", variables)? }
            }
            _ => return Err(McpConfigProblem::Transport),
        };
        let mut settings = McpSettings::new(&self.name, transport);
        if let Some(approval) = &self.approval {
            settings.approval = approval.clone();
        }
        settings.grants = self.grants.unwrap_or(settings.grants);
        if let Some(seconds) = self.approval_timeout_sec {
            settings.approval_timeout = Some(Duration::from_secs(seconds)).into();
        }
        match self.timeout_sec {
            Some(0) => return Err(McpConfigProblem::Timeout),
            Some(seconds) => settings.timeout = Duration::from_secs(seconds),
            None => {}
        }
        settings.protocol = self.protocol;
        settings.instructions = self.instructions.unwrap_or(settings.instructions);
        settings.oauth = self.oauth(variables)?;
        settings.offered = self.tools.as_ref().map(|names| names.iter().cloned().collect());
        settings.denied = self.deny.iter().cloned().collect();
        Ok(settings)
    }

    fn oauth(&self, variables: Variables<'_>) -> Result<Option<McpOAuth>, McpConfigProblem> {
        let said = [
            ("oauth_file", self.oauth_file.is_some()),
            ("oauth_key", self.oauth_key.is_some()),
            ("oauth_client_id", self.oauth_client_id.is_some()),
        ];
        let Some((key, _)) = said.into_iter().find(|(_, is_said)| *is_said) else { return Ok(None) };
        let Some(file) = self.oauth_file.clone().filter(|_| self.url.is_some()) else {
            let with = if self.url.is_none() { "url" } else { "oauth_file" };
            return Err(McpConfigProblem::Misplaced { key, with });
        };
        if self.headers.has("authorization") {
            return Err(McpConfigProblem::TwoLogins);
        }
        let key = self.oauth_key.as_ref().ok_or(McpConfigProblem::NoTokenKey)?.resolve("oauth_key", variables)?;
        if key.len() < MIN_KEY_LEN {
            return Err(McpConfigProblem::ShortTokenKey);
        }
        Ok(Some(McpOAuth { file, key, client_id: self.oauth_client_id.clone() }))
    }

    /// Whether a tool of this name can only be one of this server.
    fn is_prefix_of(&self, tool: &str) -> bool {
        tool.strip_prefix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.starts_with('_'))
    }
}

impl Config {
    /// The known tools and the tools of the settings, without the tools of MCP servers.
    pub fn own_tools(&self, known: &ToolSet, variables: Variables<'_>) -> Result<ToolSet, Problems<ToolConfigError>> {
        let own = self.tools.iter().filter(|(name, tool)| self.servers_of(known, name, tool).next().is_none());
        let own = own.map(|(name, tool)| (name.clone(), tool.clone())).collect();
        let explained = |error: ToolConfigError| match error.problem {
            ToolConfigProblem::Unknown if demo_tools().get(&error.name).is_some() => {
                ToolConfigError { problem: ToolConfigProblem::Demo, ..error }
            }
            _ => error,
        };
        ToolConfig::apply(known, &own, variables).map_err(|errors| errors.map(explained))
    }

    /// The settings of the MCP servers, with the settings of their tools.
    pub fn mcp_settings(
        &self,
        known: &ToolSet,
        variables: Variables<'_>,
    ) -> Result<Vec<McpSettings>, Problems<McpConfigError>> {
        Problems::flatten(self.mcp.iter().map(|server| self.settings_of(server, known, variables)))
    }

    /// The settings of one of the MCP servers.
    pub fn settings_of(
        &self,
        server: &McpConfig,
        known: &ToolSet,
        variables: Variables<'_>,
    ) -> Result<McpSettings, Problems<McpConfigError>> {
        let failed = |problem| McpConfigError { name: server.name.clone(), problem };
        let mut settings = server.settings(variables)?;
        let tools = self.tools.iter().filter_map(|(name, tool)| {
            let servers: Vec<&McpConfig> = self.servers_of(known, name, tool).collect();
            if !servers.iter().any(|other| other.name == server.name) {
                return None;
            }
            if let Some(other) = servers.iter().find(|other| other.name != server.name) {
                let (tool, other) = (name.clone(), other.name.clone());
                return Some(Err(failed(McpConfigProblem::Ambiguous { tool, other })));
            }
            let wrong = |problem| failed(ToolConfigError { name: name.clone(), problem }.into());
            Some(tool.of_server(&settings).map(|tool| (name.clone(), tool)).map_err(wrong))
        });
        let tools: BTreeMap<String, McpToolSettings> = Problems::collect(tools)?;
        settings.tools = tools;
        Ok(settings)
    }

    /// What is secret in the URLs of the MCP servers.
    pub fn url_secrets(&self, variables: Variables<'_>) -> Vec<String> {
        self.mcp.iter().filter_map(|server| server.url.as_ref()).flat_map(|url| url.values(variables)).collect()
    }

    /// The MCP servers that a tool of the settings may belong to: none, if it is defined in the settings or known.
    fn servers_of<'a>(
        &'a self,
        known: &ToolSet,
        name: &'a str,
        tool: &ToolConfig,
    ) -> impl Iterator<Item = &'a McpConfig> + use<'a> {
        let is_defined = tool.execution.is_some() || tool.url.is_some() || known.get(name).is_some();
        self.mcp.iter().filter(move |server| !is_defined && server.is_prefix_of(name))
    }
}

impl ToolConfig {
    /// The settings of a tool of an MCP server, checked as far as they can be before the server has listed its tools.
    fn of_server(&self, server: &McpSettings) -> Result<McpToolSettings, ToolConfigProblem> {
        if self.input_schema.is_some() {
            return Err(ToolConfigProblem::Fixed { key: "input_schema" });
        }
        if let Some(key) = self.first_key_of_an_endpoint() {
            return Err(ToolConfigProblem::OnlyWithUrl { key });
        }
        if let Some(key) = self.first_key_of_a_browser() {
            return Err(ToolConfigProblem::OnlyInBrowser { key });
        }
        let like = ToolBuilder::browser::<serde_json::Value>("tool", "", Execution::Server)
            .approval(server.approval.clone())
            .approval_timeout(server.approval_timeout)
            .handler(|input: serde_json::Value, _: ToolContext| async { Ok(input) });
        self.finish(&like.build()?)?;
        // Annotations of the tool may be stricter than this policy, so it is not part of the change.
        let rest = Self { approval: None, ..self.clone() };
        let change = ToolChange::new(move |tool| rest.finish(&tool).map_err(ToolError::from));
        Ok(McpToolSettings {
            approval: self.approval.clone(),
            ignore_hints: self.ignore_hints,
            timeout: self.timeout()?,
            change: Some(change),
        })
    }
}
