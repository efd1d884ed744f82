//! The builder of tools.

use std::{future::Future, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    ApprovalCheck, ApprovalContext, ApprovalPolicy, Execution, Handler, InputSchema, PROMPT_TOOL, Returns, SchemaError,
    Tool, ToolContext, ToolError, ToolSpec, Wait, input,
};

const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(300);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
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
    description: String,
    input: Result<InputSchema, SchemaError>,
    execution: Execution,
    approval: ApprovalPolicy,
    approval_timeout: Option<Duration>,
    timeout: Duration,
    time_limit: Option<Duration>,
    wait: Wait,
    returns: Returns,
    is_idempotent: bool,
    origin: Option<String>,
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
    #[error("`{PROMPT_TOOL}` can't be the name of a tool: it is that of a running tool's question to the user")]
    Reserved,
    #[error("the input schema of the tool `{tool}` can't be used: {problem}")]
    Schema { tool: String, problem: SchemaError },
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
            description: description.to_owned(),
            input: InputSchema::of::<I>(),
            execution,
            approval: ApprovalPolicy::Never,
            approval_timeout: Some(DEFAULT_APPROVAL_TIMEOUT),
            timeout: DEFAULT_TIMEOUT,
            time_limit: None,
            wait: Wait::default(),
            returns: Returns::default(),
            is_idempotent: false,
            origin: None,
            handler: None,
        }
    }

    /// Sets the display name.
    pub fn title(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
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

    /// Sets the timeout for an approval: five minutes by default; `None` or zero means none.
    pub fn approval_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.approval_timeout = timeout.filter(|timeout| !timeout.is_zero());
        self
    }

    /// Sets the timeout for a browser tool: one minute by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Limits how long the handler may run. After this time it is cancelled, and the call fails.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Sets how the response waits for a browser tool.
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Sets what the output of a browser tool is.
    pub fn returns(mut self, returns: Returns) -> Self {
        self.returns = returns;
        self
    }

    /// Allows a call interrupted by a crash to run again.
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
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
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = Some(origin.into());
        self
    }

    /// Builds the tool.
    pub fn build(self) -> Result<Tool, ToolDefinitionError> {
        let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=MAX_NAME_LENGTH).contains(&self.name.len()) || !self.name.bytes().all(is_usual) {
            return Err(ToolDefinitionError::Name { name: self.name });
        }
        // The name is reserved: clients and the checker recognize a prompt by it.
        if self.name == PROMPT_TOOL {
            return Err(ToolDefinitionError::Reserved);
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
        let spec = ToolSpec {
            name: self.name,
            title: self.title,
            description: self.description,
            input,
            execution: self.execution,
            approval: self.approval,
            approval_timeout: self.approval_timeout,
            timeout: self.timeout,
            time_limit: self.time_limit,
            wait: self.wait,
            returns: self.returns,
            is_idempotent: self.is_idempotent,
            origin: self.origin,
        };
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
mod tests {

    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::{subject::Subject, tool::Condition};

    #[derive(Deserialize, JsonSchema)]
    struct Add {
        left: u32,
        right: u32,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    fn add() -> ToolBuilder {
        Tool::server("add", "Adds", |input: Add, _: ToolContext| async move {
            input.left.checked_add(input.right).ok_or(ToolError::new("too large"))
        })
    }

    fn context() -> ToolContext {
        ToolContext::new("chat", Subject::local(), "call")
    }

    async fn run(tool: &Tool, input: Value) -> Result<Value, ToolError> {
        (tool.handler.as_ref().expect("a handler"))(input, context()).await
    }

    #[tokio::test]
    async fn a_handler_gets_its_type() {
        let tool = add().build().unwrap();
        assert_eq!(run(&tool, json!({"left": 2, "right": 3})).await, Ok(json!(5)));
        assert_eq!(run(&tool, json!({"left": u32::MAX, "right": 1})).await, Err(ToolError::new("too large")));
        let error = run(&tool, json!({"left": 1, "right": "3"})).await.unwrap_err();
        assert_eq!(error.0, "right: invalid type: string \"3\", expected u32");
    }

    #[tokio::test]
    async fn an_output_that_is_no_json_is_an_error() {
        let tool = Tool::server("odd", "Odd", |_: Nothing, _: ToolContext| async move {
            Ok(std::collections::HashMap::from([((1, 2), 3)]))
        });
        let error = run(&tool.build().unwrap(), json!({})).await.unwrap_err();
        assert!(error.0.contains("can't be written as JSON"), "{error}");
    }

    #[tokio::test]
    async fn a_delegate_may_make_its_output() {
        let plain = Tool::delegate::<Nothing>("plain", "Plain").build().unwrap();
        assert!(plain.handler.is_none());
        let told = Tool::delegate::<Nothing>("told", "Told")
            .handler(|_: Nothing, context: ToolContext| async move { Ok(json!({"for": context.call})) })
            .build()
            .unwrap();
        assert_eq!(run(&told, json!({})).await, Ok(json!({"for": "call"})));
    }

    #[test]
    fn what_is_said_is_in_the_spec() {
        let spec = add().build().unwrap().spec;
        assert_eq!((spec.name.as_str(), spec.description.as_str(), spec.title.as_deref()), ("add", "Adds", None));
        assert_eq!((spec.execution, &spec.approval), (Execution::Server, &ApprovalPolicy::Never));
        assert_eq!((spec.approval_timeout, spec.timeout), (Some(DEFAULT_APPROVAL_TIMEOUT), DEFAULT_TIMEOUT));
        assert_eq!((spec.wait, spec.returns, spec.is_idempotent), (Wait::Stream, Returns::Output, false));

        let rule = Condition::over("/left", 5).unwrap();
        let spec = Tool::frontend::<Nothing>("look", "Looks")
            .title("Look")
            .approval(rule.clone())
            .approval_timeout(None)
            .timeout(Duration::from_secs(5))
            .wait(Wait::Resubmit)
            .returns(Returns::Ack)
            .idempotent()
            .schema(json!({"type": "object", "required": ["left"]}))
            .build()
            .unwrap()
            .spec;
        assert_eq!((spec.title.as_deref(), spec.execution), (Some("Look"), Execution::Frontend));
        assert_eq!((&spec.approval, spec.approval_timeout), (&ApprovalPolicy::When(rule), None));
        assert_eq!((spec.timeout, spec.wait, spec.returns), (Duration::from_secs(5), Wait::Resubmit, Returns::Ack));
        assert!(spec.is_idempotent && spec.input.check(&json!({})).is_err());
        let always = add().approve_always().approval_timeout(Some(Duration::ZERO)).build().unwrap().spec;
        assert_eq!((&always.approval, always.approval_timeout), (&ApprovalPolicy::Always, None));
    }

    #[test]
    fn a_wrong_definition_says_what_to_do() {
        let long = "x".repeat(65);
        for name in ["", "two words", "ünlich", "a.b", &long] {
            let error = Tool::frontend::<Nothing>(name, "").build().unwrap_err();
            assert_eq!(error, ToolDefinitionError::Name { name: name.to_owned() });
        }
        let reserved = Tool::frontend::<Value>(PROMPT_TOOL, "Asks").build().expect_err("it is taken");
        assert_eq!(reserved, ToolDefinitionError::Reserved);
        assert!(Tool::frontend::<Nothing>(&"x".repeat(64), "").build().is_ok());
        assert!(Tool::frontend::<Nothing>("open-url_2", "").build().is_ok());
        let schema = Tool::frontend::<Nothing>("a", "").schema(json!({"type": "object", "required": 5}));
        let text = schema.build().unwrap_err().to_string();
        assert!(text.starts_with("the input schema of the tool `a` can't be used: #/required"), "{text}");
        let unit = Tool::frontend::<()>("a", "").build().unwrap_err().to_string();
        assert!(unit.contains("derive it from a struct"), "{unit}");
        let bare = ToolBuilder::browser::<Nothing>("a", "", Execution::Server).build().unwrap_err();
        assert_eq!(bare, ToolDefinitionError::NoHandler { tool: "a".to_owned() });
        let unused = Tool::frontend::<Nothing>("a", "").handler(|_: Value, _| async { Ok(()) }).build().unwrap_err();
        assert_eq!(unused, ToolDefinitionError::UnusedHandler { tool: "a".to_owned() });
    }
}
