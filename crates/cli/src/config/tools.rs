//! Settings of tools: changes to existing tools, and tools defined only in the settings, run by the browser or by an
//! HTTP endpoint.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use holdpoint_demo::demo_tools;
use holdpoint_protocol::holds::Allowed;
use holdpoint_runtime::{
    approvers::{ApproverError, Approvers, ApproversError},
    tool::{
        ApprovalPolicy, BUDGET_TOOL, Decisions, Execution, Headline, HeadlineError, MAX_FILE_BYTES, Returns,
        SchemaError, Tool, ToolBuilder, ToolDefinitionError, ToolSet, ToolSource, Wait, budget_tool,
        http::{HttpEndpoint, HttpToolError, InputPlacement},
    },
};

use super::{
    Config, Problems,
    secret::{MissingVariable, SecretTexts, Variables},
};

/// Settings of one tool.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct ToolConfig {
    /// Where it runs. Required for a tool defined only here. With `execution` or `url`, the table defines a tool, which
    /// replaces a demo tool of its name; without them, it changes one that exists.
    #[serde(deserialize_with = "super::choice::one_of")]
    pub execution: Option<Execution>,
    /// The display name.
    pub title: Option<String>,
    /// What a call would do, for the approver: `Pay {amount} to {recipient}`, with properties of the input.
    pub headline: Option<String>,
    /// The description for the model.
    pub description: Option<String>,
    /// The approval policy.
    #[cfg_attr(test, schemars(with = "super::reference::Policy"))]
    pub approval: Option<ApprovalPolicy>,
    /// Timeout for an approval; 0 means none. By default 300, and 86400 (a day) if `approvers` names others than `self`.
    #[serde(deserialize_with = "super::number::whole")]
    pub approval_timeout_sec: Option<u64>,
    /// What a person may decide: `approve` and `deny`, and `edit` and `answer` unless they are left out.
    #[serde(deserialize_with = "super::choice::some_of")]
    #[cfg_attr(test, schemars(with = "Option<Vec<String>>"))]
    pub decisions: Option<Vec<Allowed>>,
    /// Who may decide; by default the owner of the chat.
    pub approvers: Option<ApproversConfig>,
    /// Whether an approval can be remembered, so that later calls run without a question; true by default, unless the
    /// policy has a quorum.
    pub grants: Option<bool>,
    /// Timeout of a call: 60 for a browser by default, 30 for an endpoint, and none for a handler of the program.
    #[serde(deserialize_with = "super::number::whole")]
    pub timeout_sec: Option<u64>,
    /// How a response waits for the browser.
    #[serde(deserialize_with = "super::choice::one_of")]
    pub wait: Option<Wait>,
    /// What a browser call returns.
    #[serde(deserialize_with = "super::choice::one_of")]
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
    #[serde(deserialize_with = "super::choice::one_of")]
    pub send: Option<InputPlacement>,
    /// Maximum size of the response.
    #[serde(deserialize_with = "super::number::whole")]
    pub max_response_bytes: Option<usize>,
    /// Whether the endpoint may be on this machine or in a private network.
    pub allow_private: Option<bool>,
    /// Whether a call can be made again without harm: after a crash, and by the model if its outcome is unknown.
    pub idempotent: Option<bool>,
    /// For a tool of an MCP server: apply `approval` as it is, whatever annotations the server gives the tool.
    pub ignore_hints: bool,
}

/// Who may decide about the calls of a tool.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct ApproversConfig {
    /// `self` for the owner of the chat, `subject:NAME` and `group:NAME`.
    #[serde(deserialize_with = "super::choice::some_texts")]
    pub by: Option<Vec<String>>,
    /// Whether the owner of the chat does not count, even if they are named.
    pub exclude_self: bool,
    /// The number of different people whose approval it takes; 1 by default. One denial denies.
    #[serde(deserialize_with = "super::number::whole")]
    pub quorum: Option<u32>,
    /// Who is added if nobody decides in time.
    pub escalate: Option<EscalationConfig>,
}

/// Who is added to those who may decide, and when.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct EscalationConfig {
    /// How long after the approval request was made.
    #[serde(deserialize_with = "super::number::whole")]
    pub after_sec: Option<u64>,
    /// Who is added, named as in `by`.
    #[serde(deserialize_with = "super::choice::texts")]
    pub to: Vec<String>,
}

impl ApproversConfig {
    /// The policy, not checked yet.
    fn read(&self) -> Result<Approvers, ToolConfigProblem> {
        let named = |key, error| ToolConfigProblem::Approver { key, error };
        let mut approvers = match &self.by {
            Some(by) => Approvers::new(by).map_err(|error| named("by", error))?,
            None => Approvers::default(),
        };
        approvers.exclude_self = self.exclude_self;
        approvers.quorum = self.quorum.unwrap_or(approvers.quorum);
        match &self.escalate {
            Some(EscalationConfig { after_sec, to }) => {
                let after = Duration::from_secs(after_sec.ok_or(ToolConfigProblem::NoEscalationTime)?);
                approvers.escalating(after, to).map_err(|error| named("escalate.to", error))
            }
            None => Ok(approvers),
        }
    }
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
         `url`. The name of an MCP server's tool begins with that of the server in `[[mcp]]`: `SERVER_tool`"
    )]
    Unknown,
    #[error(
        "this is a demo tool, and demo tools are offered to the models demo and script only. Remove the table; or define a \
         tool of your own with `url` or `execution`; or set `demo_tools = true`, for a trial"
    )]
    Demo,
    #[error("a server tool defined in the settings needs a `url`")]
    NoUrl,
    #[error("`{key}` of this tool can't be changed; with `execution` or `url`, the table replaces the tool")]
    Fixed { key: &'static str },
    #[error("`{key}` of this tool can't be changed: it asks whether to go on, and the answer is yes or no")]
    Budget { key: &'static str },
    #[error(
        "this tool asks whether to go on when the token budget is used up, and there is no budget: set \
         `model.turn_token_budget` or `model.chat_token_budget`"
    )]
    NoBudget,
    #[error("`{key}` is for a tool with a `url`")]
    OnlyWithUrl { key: &'static str },
    #[error("`{key}` is for a tool that runs in the browser")]
    OnlyInBrowser { key: &'static str },
    #[error("`ignore_hints` is for a tool of an MCP server")]
    OnlyForMcp,
    #[error("`decisions`: every tool can be approved and denied, so \"approve\" and \"deny\" must be in it")]
    Decisions,
    #[error("`decisions`: whether approvals can be remembered is set with `grants`")]
    Remember,
    #[error("`approvers.{key}`: {error}")]
    Approver { key: &'static str, error: ApproverError },
    #[error("`approvers.escalate` needs `after_sec`: how long nobody may decide before `to` is added")]
    NoEscalationTime,
    #[error("`approvers`: {0}")]
    Approvers(#[from] ApproversError),
    #[error(
        "`approval`: there is no {pointer} in an input that fits `input_schema`, so every call would need approval. Its fields: {known}"
    )]
    NoSuchField { pointer: String, known: String },
    #[error("`approvers`: the tool never needs approval: set `approval` as well")]
    NothingToApprove,
    #[error("`max_response_bytes` must be at most {MAX_FILE_BYTES}: more can't be stored")]
    LargeResponse,
    #[error("`{key}` must be at least 1")]
    Zero { key: &'static str },
    #[error("`input_schema`: the input of a tool is an object, so it must begin with type = \"object\"")]
    NotAnObject,
    #[error(transparent)]
    Definition(ToolDefinitionError),
    #[error(transparent)]
    Http(#[from] HttpToolError),
    #[error("`headline`: {0}")]
    Headline(#[from] HeadlineError),
    #[error(transparent)]
    Variable(#[from] MissingVariable),
}

impl From<ToolDefinitionError> for ToolConfigProblem {
    fn from(error: ToolDefinitionError) -> Self {
        match error {
            ToolDefinitionError::Schema { problem: SchemaError::NotAnObject, .. } => Self::NotAnObject,
            error => Self::Definition(error),
        }
    }
}

impl Config {
    /// The tools that there are without the settings: the demo tools, if they are offered, and that of the token budget, if
    /// there is one. `model` is the one of the command
    /// line, which overrides the settings.
    pub fn known_tools(&self, model: Option<&str>) -> ToolSet {
        let model = model.or(self.model.use_model.as_deref()).unwrap_or("demo");
        // To a real model, a simulated payment is a payment.
        let is_played = model == "demo" || model.starts_with("script:");
        let demo = if self.demo_tools.unwrap_or(is_played) { demo_tools() } else { ToolSet::default() };
        let budget = Some(budget_tool()).filter(|_| !self.model.budget().is_none());
        demo.iter().cloned().chain(budget).collect()
    }

    /// The tools, without the tools of MCP servers: the known ones, and the tools of the settings.
    pub fn tool_set(
        &self,
        model: Option<&str>,
        variables: Variables<'_>,
    ) -> Result<ToolSet, Problems<ToolConfigError>> {
        self.own_tools(&self.known_tools(model), variables)
    }
}

impl ToolConfig {
    /// The known tools with the settings applied, plus the tools defined in the settings, which replace known ones of
    /// their names.
    pub fn apply(
        known: &ToolSet,
        settings: &BTreeMap<String, ToolConfig>,
        variables: Variables<'_>,
    ) -> Result<ToolSet, Problems<ToolConfigError>> {
        let mut tools: BTreeMap<String, Tool> =
            known.iter().map(|tool| (tool.spec.name.clone(), tool.clone())).collect();
        let made = settings.iter().map(|(name, setting)| {
            let is_defined = setting.execution.is_some() || setting.url.is_some();
            let tool = match tools.get(name).filter(|_| !is_defined) {
                Some(tool) => setting.change(tool),
                None => setting.make(name, variables),
            };
            tool.map(|tool| (name.clone(), tool)).map_err(|problem| ToolConfigError { name: name.clone(), problem })
        });
        let made: Vec<(String, Tool)> = Problems::collect(made)?;
        tools.extend(made);
        Ok(tools.into_values().collect())
    }

    fn change(&self, tool: &Tool) -> Result<Tool, ToolConfigProblem> {
        if tool.spec.source == ToolSource::Budget {
            let said = [
                ("input_schema", self.input_schema.is_some()),
                ("approval", self.approval.is_some()),
                ("decisions", self.decisions.is_some()),
                ("timeout_sec", self.timeout_sec.is_some()),
                ("wait", self.wait.is_some()),
                ("returns", self.returns.is_some()),
            ];
            if let Some((key, _)) = said.into_iter().find(|(_, is_said)| *is_said) {
                return Err(ToolConfigProblem::Budget { key });
            }
        }
        if self.input_schema.is_some() {
            return Err(ToolConfigProblem::Fixed { key: "input_schema" });
        }
        if let Some(key) = self.first_key_of_an_endpoint() {
            return Err(ToolConfigProblem::OnlyWithUrl { key });
        }
        if self.ignore_hints {
            return Err(ToolConfigProblem::OnlyForMcp);
        }
        let mut tool = self.finish(tool)?;
        if let Some(timeout) = self.timeout()? {
            Arc::make_mut(&mut tool.spec).timeout = Some(timeout);
        }
        Ok(tool)
    }

    /// Applies the settings that every tool has.
    pub(super) fn finish(&self, tool: &Tool) -> Result<Tool, ToolConfigProblem> {
        let mut spec = (*tool.spec).clone();
        if let Some(title) = &self.title {
            spec.title = Some(title.clone());
        }
        if let Some(headline) = &self.headline {
            spec.headline = Some(Headline::new(headline, spec.input.as_value())?);
        }
        if let Some(description) = &self.description {
            spec.description.clone_from(description);
        }
        if let Some(approval) = &self.approval {
            if let ApprovalPolicy::When(rule) = approval {
                super::rule::check(rule, spec.input.as_value())?;
            }
            spec.approval = approval.clone();
        }
        if let Some(seconds) = self.approval_timeout_sec {
            spec.approval_timeout = Some(Duration::from_secs(seconds)).into();
        }
        if let Some(allowed) = &self.decisions {
            if allowed.contains(&Allowed::Remember) {
                return Err(ToolConfigProblem::Remember);
            }
            if ![Allowed::Approve, Allowed::Deny].iter().all(|one| allowed.contains(one)) {
                return Err(ToolConfigProblem::Decisions);
            }
            let (edit, answer) = (allowed.contains(&Allowed::Edit), allowed.contains(&Allowed::Answer));
            spec.decisions = Decisions { edit, answer };
        }
        if let Some(approvers) = &self.approvers {
            let approvers = approvers.read()?;
            if spec.approval == ApprovalPolicy::Never {
                return Err(ToolConfigProblem::NothingToApprove);
            }
            if self.decisions.is_none() {
                spec.decisions = spec.decisions.within(approvers.quorum);
            }
            spec.approvers = Arc::new(approvers);
        }
        // The timeout and the decisions may come from the settings, and the approvers from the program.
        spec.approvers.check(spec.expires_after(), spec.decisions)?;
        if let Some(grants) = self.grants {
            if grants && spec.approvers.quorum > 1 {
                return Err(ApproversError::Grants.into());
            }
            spec.grants = grants;
        }
        spec.wait = self.wait.unwrap_or(spec.wait);
        spec.returns = self.returns.unwrap_or(spec.returns);
        Ok(Tool { spec: Arc::new(spec), handler: tool.handler.clone() })
    }

    fn make(&self, name: &str, variables: Variables<'_>) -> Result<Tool, ToolConfigProblem> {
        if self.ignore_hints && (self.execution.is_some() || self.url.is_some()) {
            return Err(ToolConfigProblem::OnlyForMcp);
        }
        let is_endpoint = self.url.is_some() && matches!(self.execution, None | Some(Execution::Server));
        if let Some(key) = self.first_key_of_a_browser().filter(|_| is_endpoint) {
            return Err(ToolConfigProblem::OnlyInBrowser { key });
        }
        let description = self.description.clone().unwrap_or_else(|| name.to_owned());
        let builder = match (self.execution, &self.url) {
            (None, None) if name == BUDGET_TOOL => return Err(ToolConfigProblem::NoBudget),
            (None, None) => return Err(ToolConfigProblem::Unknown),
            (Some(Execution::Server), None) => return Err(ToolConfigProblem::NoUrl),
            (None | Some(Execution::Server), Some(url)) => self.endpoint(name, &description, url, variables)?,
            (Some(execution), _) => {
                if let Some(key) = self.first_key_of_an_endpoint() {
                    return Err(ToolConfigProblem::OnlyWithUrl { key });
                }
                let schema = self.input_schema.clone().unwrap_or_else(|| serde_json::json!({"type": "object"}));
                let builder = ToolBuilder::browser::<serde_json::Value>(name, &description, execution);
                let builder = builder.schema(schema).source(ToolSource::Settings);
                match self.timeout()? {
                    Some(timeout) => builder.timeout(timeout),
                    None => builder,
                }
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
        endpoint.headers = self.headers.resolve("headers", variables)?;
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
            Some(bytes) if bytes > MAX_FILE_BYTES => return Err(ToolConfigProblem::LargeResponse),
            Some(bytes) => endpoint.max_bytes = bytes,
            None => {}
        }
        endpoint.idempotent = self.idempotent.unwrap_or(false);
        Ok(endpoint.tool(name, description, self.input_schema.clone())?)
    }

    pub(super) fn timeout(&self) -> Result<Option<Duration>, ToolConfigProblem> {
        match self.timeout_sec {
            Some(0) => Err(ToolConfigProblem::Zero { key: "timeout_sec" }),
            seconds => Ok(seconds.map(Duration::from_secs)),
        }
    }

    pub(super) fn first_key_of_a_browser(&self) -> Option<&'static str> {
        let said = [("wait", self.wait.is_some()), ("returns", self.returns.is_some())];
        said.into_iter().find(|(_, is_said)| *is_said).map(|(key, _)| key)
    }

    pub(super) fn first_key_of_an_endpoint(&self) -> Option<&'static str> {
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
