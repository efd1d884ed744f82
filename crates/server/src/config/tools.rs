//! Settings of tools: changes to existing tools, and tools defined only in the settings, run by the browser or by an
//! HTTP endpoint.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use holdpoint_runtime::tool::{
    ApprovalPolicy, Execution, Returns, Tool, ToolBuilder, ToolDefinitionError, ToolSet, Wait,
    http::{HttpEndpoint, HttpToolError, InputPlacement},
};

use super::secret::{MissingVariable, SecretTexts, Variables};

/// Settings of one tool.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ToolConfig {
    /// Where it runs. Required for a tool defined only here.
    pub execution: Option<Execution>,
    /// The display name.
    pub title: Option<String>,
    /// The description for the model.
    pub description: Option<String>,
    /// The approval policy.
    #[cfg_attr(test, schemars(with = "super::reference::Policy"))]
    pub approval: Option<ApprovalPolicy>,
    /// Timeout for an approval; 0 means none.
    pub approval_timeout_sec: Option<u64>,
    /// Timeout for the browser or the endpoint.
    pub timeout_sec: Option<u64>,
    /// How a response waits for the browser.
    pub wait: Option<Wait>,
    /// What a browser call returns.
    pub returns: Option<Returns>,
    /// The JSON Schema of the input.
    #[cfg_attr(test, schemars(with = "super::reference::Schema"))]
    pub input_schema: Option<serde_json::Value>,
    /// The endpoint's URL, with `{field}` for fields of the input.
    pub url: Option<String>,
    /// The HTTP method; POST by default.
    pub method: Option<String>,
    /// Headers sent with every call.
    #[cfg_attr(test, schemars(with = "super::reference::Texts"))]
    pub headers: SecretTexts,
    /// How the input is sent.
    pub send: Option<InputPlacement>,
    /// Maximum size of the response.
    pub max_response_bytes: Option<usize>,
    /// Whether the endpoint may be on this machine or in a private network.
    pub allow_private: Option<bool>,
    /// Whether a call interrupted by a crash may be repeated.
    pub idempotent: Option<bool>,
}

/// An unusable tool in the settings.
#[derive(Debug, thiserror::Error)]
#[error("tools.{name}: {problem}")]
pub struct ToolConfigError {
    /// Its name.
    pub name: String,
    /// The problem.
    pub problem: ToolConfigProblem,
}

/// The problem with a tool in the settings.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ToolConfigProblem {
    #[error(
        "there is no such tool. One that exists only here needs `execution`: \"frontend\", \"delegate\", or \"server\" with a \
         `url`. A tool of an MCP server is set in that server's `[[mcp]]` table, under `tools`"
    )]
    Unknown,
    #[error("a server tool defined in the settings needs a `url`")]
    NoUrl,
    #[error("`{key}` of a built-in tool can't be changed")]
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
    /// The known tools with the settings applied, plus the tools defined only in the settings.
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

    /// Applies the settings that every tool has.
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
