//! Tools in the settings: changes to one that exists, or a browser's tool that exists only there.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use holdpoint_runtime::tool::{Approval, Execution, Returns, Tool, ToolBuilder, ToolDefinitionError, ToolSet, Wait};

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
    /// How long a browser has to act.
    pub timeout_sec: Option<u64>,
    /// How a response waits for a browser.
    pub wait: Option<Wait>,
    /// What a browser's call gives.
    pub returns: Option<Returns>,
    /// What the input must look like.
    pub input_schema: Option<serde_json::Value>,
}

/// A tool in the settings can't be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ToolConfigError {
    #[error(
        "tools.{name}: there is no such tool. One that exists only here needs `execution = \"frontend\"` (or \"delegate\")"
    )]
    Unknown { name: String },
    #[error(
        "tools.{name}: a tool of this server can't be made in the settings, only one of the browser's: `execution = \"frontend\"`"
    )]
    Server { name: String },
    #[error("tools.{name}: `{key}` of a tool that exists can't be changed")]
    Fixed { name: String, key: &'static str },
    #[error("tools.{name}: {error}")]
    Definition { name: String, error: ToolDefinitionError },
}

impl ToolConfig {
    /// The tools with the settings of all of them put over.
    pub fn apply(known: &ToolSet, settings: &BTreeMap<String, ToolConfig>) -> Result<ToolSet, ToolConfigError> {
        let mut tools: BTreeMap<String, Tool> =
            known.iter().map(|tool| (tool.spec.name.clone(), tool.clone())).collect();
        for (name, setting) in settings {
            let tool = match tools.get(name) {
                Some(tool) => setting.change(name, tool)?,
                None => setting.make(name)?,
            };
            tools.insert(name.clone(), tool);
        }
        Ok(tools.into_values().collect())
    }

    fn change(&self, name: &str, tool: &Tool) -> Result<Tool, ToolConfigError> {
        let fixed = |key| Err(ToolConfigError::Fixed { name: name.to_owned(), key });
        if self.execution.is_some_and(|execution| execution != tool.spec.execution) {
            return fixed("execution");
        }
        if self.input_schema.is_some() {
            return fixed("input_schema");
        }
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
        if let Some(seconds) = self.timeout_sec {
            spec.timeout = Duration::from_secs(seconds);
        }
        spec.wait = self.wait.unwrap_or(spec.wait);
        spec.returns = self.returns.unwrap_or(spec.returns);
        Ok(Tool { spec: Arc::new(spec), handler: tool.handler.clone() })
    }

    fn make(&self, name: &str) -> Result<Tool, ToolConfigError> {
        let execution = match self.execution {
            None => return Err(ToolConfigError::Unknown { name: name.to_owned() }),
            Some(Execution::Server) => return Err(ToolConfigError::Server { name: name.to_owned() }),
            Some(execution) => execution,
        };
        let description = self.description.clone().unwrap_or_else(|| name.to_owned());
        let schema = self.input_schema.clone().unwrap_or_else(|| serde_json::json!({"type": "object"}));
        let builder = ToolBuilder::browser::<serde_json::Value>(name, &description, execution).schema(schema);
        let tool = builder.build().map_err(|error| ToolConfigError::Definition { name: name.to_owned(), error })?;
        Self { execution: None, description: None, input_schema: None, ..self.clone() }.change(name, &tool)
    }
}
