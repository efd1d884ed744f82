//! The builder of tools.

use std::{future::Future, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    ApprovalCheck, ApprovalContext, ApprovalPolicy, ApprovalTimeout, BUDGET_TOOL, Decisions, Execution, Handler,
    Headline, HeadlineError, InputSchema, PROMPT_TOOL, Returns, SchemaError, Tool, ToolContext, ToolError, ToolOrigin,
    ToolSource, ToolSpec, Wait, input,
};
use holdpoint_core::approvers::{Approvers, ApproversError};

/// The limit of model providers.
const MAX_NAME_LENGTH: usize = 64;

/// A builder for a tool: see [`Tool::server`], [`Tool::frontend`] and [`Tool::delegate`].
///
/// ```
/// use holdpoint_runtime::tool::{Tool, ToolContext, ToolError};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Delete {
///     /// The path of the file.
///     path: String,
/// }
///
/// let tool = Tool::server("delete_file", "Deletes a file", |input: Delete, _context: ToolContext| async move {
///     if input.path.contains("..") {
///         return Err(ToolError::new("path: must not lead out of the folder"));
///     }
///     Ok(serde_json::json!({ "deleted": input.path }))
/// })
/// .title("Delete a file")
/// .approve_always()
/// .build()
/// .expect("the definition is good");
/// assert_eq!(tool.spec.input.as_value()["required"][0], "path");
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct ToolBuilder {
    name: String,
    title: Option<String>,
    headline: Option<String>,
    description: String,
    input: Result<InputSchema, SchemaError>,
    execution: Execution,
    approval: ApprovalPolicy,
    approval_timeout: ApprovalTimeout,
    decisions: Option<Decisions>,
    approvers: Approvers,
    timeout: Option<Duration>,
    wait: Wait,
    returns: Returns,
    is_idempotent: bool,
    is_read: bool,
    grants: Option<bool>,
    source: ToolSource,
    origin: Option<ToolOrigin>,
    handler: Option<Handler>,
}

/// Why a tool definition is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum ToolDefinitionError {
    #[error(
        "{name:?} can't be the name of a tool: use 1 to {MAX_NAME_LENGTH} of the characters A-Z, a-z, 0-9, `_` and `-`, which is \
         what models take"
    )]
    Name { name: String },
    #[error("`{name}` can't be the name of a tool: Holdpoint has a tool of its own with that name")]
    Reserved { name: String },
    #[error("the input schema of the tool `{tool}` can't be used: {problem}")]
    Schema { tool: String, problem: SchemaError },
    #[error("the headline of the tool `{tool}` can't be used: {problem}")]
    Headline { tool: String, problem: HeadlineError },
    #[error("the approvers of the tool `{tool}` can't be used: {problem}")]
    Approvers { tool: String, problem: ApproversError },
    #[error(
        "the tool `{tool}` runs on the server but has no handler: make it with `Tool::server`, or add `.handler(…)`"
    )]
    NoHandler { tool: String },
    #[error(
        "the tool `{tool}` runs in the browser, and its handler would never run: remove it, or make the tool with \
         `Tool::server` or `Tool::delegate`"
    )]
    UnusedHandler { tool: String },
}

impl ToolBuilder {
    /// A tool that runs on the server.
    pub fn server<I, O, F, R>(name: &str, description: &str, handler: F) -> Self
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize,
        F: Fn(I, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        Self::browser::<I>(name, description, Execution::Server).handler(handler)
    }

    /// A tool without a handler, with an input of this type.
    pub fn browser<I: JsonSchema>(name: &str, description: &str, execution: Execution) -> Self {
        Self {
            name: name.to_owned(),
            title: None,
            headline: None,
            description: description.to_owned(),
            input: InputSchema::of::<I>(),
            execution,
            approval: ApprovalPolicy::Never,
            approval_timeout: ApprovalTimeout::default(),
            decisions: None,
            approvers: Approvers::default(),
            timeout: None,
            wait: Wait::default(),
            returns: Returns::default(),
            is_idempotent: false,
            is_read: false,
            grants: None,
            source: ToolSource::default(),
            origin: None,
            handler: None,
        }
    }

    /// Sets the display name.
    pub fn title(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        self
    }

    /// Sets what a call would do, for whoever decides: `Pay {amount} {currency} to {recipient}`, with the names of
    /// properties of the input.
    pub fn headline(mut self, template: &str) -> Self {
        self.headline = Some(template.to_owned());
        self
    }

    /// Sets the approval policy; never by default.
    pub fn approval(mut self, approval: impl Into<ApprovalPolicy>) -> Self {
        self.approval = approval.into();
        self
    }

    /// Decides by an async function of the input and its context whether a call needs approval: `Some` is the reason for
    /// the approval request, `None` lets the call run. A call also needs approval if the function fails, panics or
    /// takes longer than ten seconds.
    ///
    /// The function is called once, when the model has made the call. Its result is stored with the call, so a restart
    /// does not call it again.
    ///
    /// ```
    /// # use holdpoint_runtime::tool::{ApprovalContext, Tool, ToolContext, ToolError};
    /// # async fn limit_of(_: &str) -> Result<f64, std::io::Error> { Ok(100.0) }
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Pay {
    ///     amount: f64,
    /// }
    ///
    /// let tool = Tool::server("pay", "Pays", |pay: Pay, _: ToolContext| async move { Ok(pay.amount) })
    ///     .approve_if(|pay: Pay, context: ApprovalContext| async move {
    ///         let limit = limit_of(context.subject.as_str()).await?;
    ///         Ok((pay.amount > limit).then(|| format!("over your limit of {limit}")))
    ///     })
    ///     .build()
    ///     .expect("the definition is good");
    /// # drop(tool);
    /// ```
    pub fn approve_if<I, F, R>(self, check: F) -> Self
    where
        I: DeserializeOwned,
        F: Fn(I, ApprovalContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Option<String>, ToolError>> + Send + 'static,
    {
        self.approval(ApprovalPolicy::Check(ApprovalCheck::new(check)))
    }

    /// Requires approval for every call.
    pub fn approve_always(self) -> Self {
        self.approval(ApprovalPolicy::Always)
    }

    /// Sets the timeout for an approval; `None` or zero means none. By default five minutes, and a day if the policy names
    /// others than the owner of the chat.
    pub fn approval_timeout(mut self, timeout: impl Into<ApprovalTimeout>) -> Self {
        self.approval_timeout = timeout.into();
        self
    }

    /// Limits how long a call may run. A handler is cancelled then, and has no limit by default. A browser's call expires, by
    /// default after a minute.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how the response waits for a browser tool.
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Sets what a person may decide besides yes and no.
    pub fn decisions(mut self, decisions: Decisions) -> Self {
        self.decisions = Some(decisions);
        self
    }

    /// Sets who may decide: the owner of the chat by default. With a quorum above 1 the only decisions are yes and no.
    ///
    /// ```
    /// # use holdpoint_runtime::{approvers::Approvers, tool::{Tool, ToolContext}};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Pay { amount: f64 }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tool = Tool::server("pay", "Pays", |pay: Pay, _: ToolContext| async move { Ok(pay.amount) })
    ///     .approve_always()
    ///     .approvers(Approvers::new(["group:finance"])?.excluding_self().quorum(2))
    ///     .build()?;
    /// # drop(tool);
    /// # Ok(())
    /// # }
    /// ```
    pub fn approvers(mut self, approvers: Approvers) -> Self {
        self.approvers = approvers;
        self
    }

    /// Sets what the output of a browser tool is.
    pub fn returns(mut self, returns: Returns) -> Self {
        self.returns = returns;
        self
    }

    /// Allows a call interrupted by a crash to run again. If its outcome is unknown, the model may repeat it too.
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    /// Says that a call only reads: if its outcome is unknown, the model may repeat it.
    pub fn reads(mut self) -> Self {
        self.is_read = true;
        self
    }

    /// Sets whether an approval can be remembered, so that later calls run without a question. By default it can, unless
    /// the policy has a quorum: then it never can.
    pub fn grants(mut self, grants: bool) -> Self {
        self.grants = Some(grants);
        self
    }

    /// Sets where the definition comes from.
    pub fn source(mut self, source: ToolSource) -> Self {
        self.source = source;
        self
    }

    /// Sets the JSON Schema of the input, in place of that of its type.
    pub fn schema(mut self, schema: Value) -> Self {
        self.input = InputSchema::new(schema);
        self
    }

    /// Sets the handler of the call; for a delegate, the handler that makes its output.
    pub fn handler<I, O, F, R>(mut self, handler: F) -> Self
    where
        I: DeserializeOwned,
        O: Serialize,
        F: Fn(I, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        self.handler = Some(typed(handler));
        self
    }

    /// Sets the origin of a tool that comes and goes. A call never runs on another tool of the same name.
    pub fn origin(mut self, origin: ToolOrigin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Builds the tool.
    pub fn build(self) -> Result<Tool, ToolDefinitionError> {
        let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=MAX_NAME_LENGTH).contains(&self.name.len()) || !self.name.bytes().all(is_usual) {
            return Err(ToolDefinitionError::Name { name: self.name });
        }
        // The name is reserved: clients and the checker recognize a prompt by it.
        let is_reserved = self.name == BUDGET_TOOL && self.source != ToolSource::Budget;
        if is_reserved || self.name == PROMPT_TOOL {
            return Err(ToolDefinitionError::Reserved { name: self.name });
        }
        let input = match self.input {
            Ok(input) => input,
            Err(problem) => return Err(ToolDefinitionError::Schema { tool: self.name, problem }),
        };
        match (self.execution, &self.handler) {
            (Execution::Server, None) => return Err(ToolDefinitionError::NoHandler { tool: self.name }),
            (Execution::Frontend, Some(_)) => return Err(ToolDefinitionError::UnusedHandler { tool: self.name }),
            _ => {}
        }
        let decisions = self.decisions.unwrap_or_else(|| Decisions::default().within(self.approvers.quorum));
        if let Err(problem) = self.approvers.check(self.approval_timeout.of(&self.approvers), decisions) {
            return Err(ToolDefinitionError::Approvers { tool: self.name, problem });
        }
        let headline = self.headline.map(|template| Headline::new(&template, input.as_value())).transpose();
        let headline = match headline {
            Ok(headline) => headline,
            Err(problem) => return Err(ToolDefinitionError::Headline { tool: self.name, problem }),
        };
        let quorum = self.approvers.quorum;
        if self.grants == Some(true) && quorum > 1 {
            let problem = ApproversError::Grants;
            return Err(ToolDefinitionError::Approvers { tool: self.name, problem });
        }
        let mut spec = ToolSpec::new(&self.name, &self.description, input, self.execution);
        spec.title = self.title;
        spec.headline = headline;
        spec.approval = self.approval;
        spec.approval_timeout = self.approval_timeout;
        spec.decisions = decisions;
        spec.approvers = Arc::new(self.approvers);
        spec.timeout = self.timeout;
        spec.wait = self.wait;
        spec.returns = self.returns;
        spec.is_idempotent = self.is_idempotent;
        spec.is_read = self.is_read;
        spec.grants = self.grants.unwrap_or(quorum == 1);
        spec.source = self.source;
        spec.origin = self.origin;
        Ok(Tool { spec: Arc::new(spec), handler: self.handler })
    }
}

/// Wraps a typed handler as a handler of JSON values.
fn typed<I, O, F, R>(handler: F) -> Handler
where
    I: DeserializeOwned,
    O: Serialize,
    F: Fn(I, ToolContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |value, context| {
        let handler = Arc::clone(&handler);
        Box::pin(async move {
            // The input is consumed before the first await, so it need not be Send.
            let running = handler(input::read(&value)?, context);
            input::write(&running.await?)
        })
    })
}

#[cfg(test)]
mod tests;
