//! Tools in the settings: changes to one that exists, and tools that exist only there, in the browser or behind a URL.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use holdpoint_runtime::tool::{
    Approval, Execution, Returns, Tool, ToolBuilder, ToolDefinitionError, ToolSet, Wait,
    http::{HttpEndpoint, HttpToolError, SendInput},
};

use super::secret::{MissingVariable, SecretTexts, Variables};

/// Settings of one tool.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolConfig {
    /// Where it runs; needed for a tool that exists only here.
    pub execution: Option<Execution>,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, for the model.
    pub description: Option<String>,
    /// Who has to agree.
    pub approval: Option<Approval>,
    /// How long a person has to answer; 0 is for ever.
    pub approval_timeout_sec: Option<u64>,
    /// How long a browser has to act, or an endpoint to answer.
    pub timeout_sec: Option<u64>,
    /// How a response waits for a browser.
    pub wait: Option<Wait>,
    /// What a browser's call gives.
    pub returns: Option<Returns>,
    /// What the input must look like.
    pub input_schema: Option<serde_json::Value>,
    /// The endpoint that is called, with `{field}` for fields of the input.
    pub url: Option<String>,
    /// Its method; POST if nothing is said.
    pub method: Option<String>,
    /// What is sent with every call of it.
    pub headers: SecretTexts,
    /// How the input is sent to it.
    pub send: Option<SendInput>,
    /// How large its answer may be.
    pub max_response_bytes: Option<usize>,
    /// Whether it may be on this machine, or in a private network.
    pub allow_private: Option<bool>,
    /// Whether a call that was cut off by a crash may simply be made again.
    pub idempotent: Option<bool>,
}

/// A tool in the settings can't be made.
#[derive(Debug, thiserror::Error)]
#[error("tools.{name}: {problem}")]
pub struct ToolConfigError {
    /// Its name.
    pub name: String,
    /// What is wrong.
    pub problem: ToolConfigProblem,
}

/// What is wrong with a tool in the settings.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ToolConfigProblem {
    #[error(
        "there is no such tool. One that exists only here needs `execution`: \"frontend\", \"delegate\", or \"server\" with a \
         `url`. A tool of an MCP server is set in that server's `[[mcp]]` table, under `tools`"
    )]
    Unknown,
    #[error("a tool of this server that exists only in the settings needs the `url` of an endpoint")]
    NoUrl,
    #[error("`{key}` of a tool that exists can't be changed")]
    Fixed { key: &'static str },
    #[error("`{key}` is for a tool with a `url`")]
    OnlyWithUrl { key: &'static str },
    #[error("`{key}` must be at least 1")]
    Zero { key: &'static str },
    #[error(transparent)]
    Definition(#[from] ToolDefinitionError),
    #[error(transparent)]
    Http(#[from] HttpToolError),
    #[error("`headers`: {0}")]
    Variable(#[from] MissingVariable),
}

impl ToolConfig {
    /// The tools with the settings of all of them put over, and with those that exist only there.
    pub fn apply(
        known: &ToolSet,
        settings: &BTreeMap<String, ToolConfig>,
        variables: Variables<'_>,
    ) -> Result<ToolSet, ToolConfigError> {
        let mut tools: BTreeMap<String, Tool> =
            known.iter().map(|tool| (tool.spec.name.clone(), tool.clone())).collect();
        for (name, setting) in settings {
            let tool = match tools.get(name) {
                Some(tool) => setting.change(tool),
                None => setting.make(name, variables),
            };
            let tool = tool.map_err(|problem| ToolConfigError { name: name.clone(), problem })?;
            tools.insert(name.clone(), tool);
        }
        Ok(tools.into_values().collect())
    }

    fn change(&self, tool: &Tool) -> Result<Tool, ToolConfigProblem> {
        if self.execution.is_some_and(|execution| execution != tool.spec.execution) {
            return Err(ToolConfigProblem::Fixed { key: "execution" });
        }
        if self.input_schema.is_some() {
            return Err(ToolConfigProblem::Fixed { key: "input_schema" });
        }
        if let Some(key) = self.first_key_of_an_endpoint() {
            return Err(ToolConfigProblem::OnlyWithUrl { key });
        }
        self.finish(tool)
    }

    /// What can be said of every tool.
    fn finish(&self, tool: &Tool) -> Result<Tool, ToolConfigProblem> {
        let mut spec = (*tool.spec).clone();
        if let Some(title) = &self.title {
            spec.title = Some(title.clone());
        }
        if let Some(description) = &self.description {
            spec.description.clone_from(description);
        }
        if let Some(approval) = &self.approval {
            spec.approval = approval.clone();
        }
        if let Some(seconds) = self.approval_timeout_sec {
            spec.approval_timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
        }
        if let Some(timeout) = self.timeout()? {
            spec.timeout = timeout;
        }
        spec.wait = self.wait.unwrap_or(spec.wait);
        spec.returns = self.returns.unwrap_or(spec.returns);
        Ok(Tool { spec: Arc::new(spec), handler: tool.handler.clone() })
    }

    fn make(&self, name: &str, variables: Variables<'_>) -> Result<Tool, ToolConfigProblem> {
        let description = self.description.clone().unwrap_or_else(|| name.to_owned());
        let builder = match (self.execution, &self.url) {
            (None, None) => return Err(ToolConfigProblem::Unknown),
            (Some(Execution::Server), None) => return Err(ToolConfigProblem::NoUrl),
            (None | Some(Execution::Server), Some(url)) => self.endpoint(name, &description, url, variables)?,
            (Some(execution), _) => {
                if let Some(key) = self.first_key_of_an_endpoint() {
                    return Err(ToolConfigProblem::OnlyWithUrl { key });
                }
                let schema = self.input_schema.clone().unwrap_or_else(|| serde_json::json!({"type": "object"}));
                ToolBuilder::browser::<serde_json::Value>(name, &description, execution).schema(schema)
            }
        };
        self.finish(&builder.build()?)
    }

    fn endpoint(
        &self,
        name: &str,
        description: &str,
        url: &str,
        variables: Variables<'_>,
    ) -> Result<ToolBuilder, ToolConfigProblem> {
        let mut endpoint = HttpEndpoint::new(url);
        endpoint.headers = self.headers.resolve(variables)?;
        endpoint.send = self.send;
        endpoint.allow_private = self.allow_private.unwrap_or(false);
        if let Some(method) = &self.method {
            endpoint.method.clone_from(method);
        }
        if let Some(timeout) = self.timeout()? {
            endpoint.timeout = timeout;
        }
        match self.max_response_bytes {
            Some(0) => return Err(ToolConfigProblem::Zero { key: "max_response_bytes" }),
            Some(bytes) => endpoint.max_bytes = bytes,
            None => {}
        }
        let tool = endpoint.tool(name, description, self.input_schema.clone())?;
        Ok(if self.idempotent == Some(true) { tool.idempotent() } else { tool })
    }

    fn timeout(&self) -> Result<Option<Duration>, ToolConfigProblem> {
        match self.timeout_sec {
            Some(0) => Err(ToolConfigProblem::Zero { key: "timeout_sec" }),
            seconds => Ok(seconds.map(Duration::from_secs)),
        }
    }

    fn first_key_of_an_endpoint(&self) -> Option<&'static str> {
        let said = [
            ("url", self.url.is_some()),
            ("method", self.method.is_some()),
            ("headers", !self.headers.is_empty()),
            ("send", self.send.is_some()),
            ("max_response_bytes", self.max_response_bytes.is_some()),
            ("allow_private", self.allow_private.is_some()),
            ("idempotent", self.idempotent.is_some()),
        ];
        said.into_iter().find(|(_, is_said)| *is_said).map(|(key, _)| key)
    }
}
