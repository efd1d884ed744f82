//! Requests from a server: prompts to the user, and changed tool lists.

use std::{sync::Arc, time::Duration};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult,
        ElicitationAction, ElicitationCapability, ErrorCode, Extensions, FormElicitationCapability, Implementation,
        ProgressNotificationParam, ProtocolVersion, RequestId,
    },
    service::{InboundStreamOrigin, NotificationContext, RequestContext},
};
use serde_json::{Value, json};

use super::{calls::PromptOwner, server::Shared};
use crate::tool::{InputSchema, Prompt, PromptResponse, text::plain};

/// Maximum length of a prompt.
const MAX_LINES: usize = 40;
const MAX_LINE_CHARS: usize = 500;
/// The timeout of a prompt when approvals never expire: the call that prompts does not outlive this process anyway.
const MAX_PROMPT_TIMEOUT: Duration = Duration::from_secs(3600);

pub(super) struct Handler {
    pub(super) shared: Arc<Shared>,
}

impl Handler {
    /// Prompts the user of the call that the request belongs to.
    async fn prompt(&self, message: &str, schema: Value, extensions: &Extensions) -> ElicitResult {
        let request: Option<&RequestId> = match extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(request)) => Some(request),
            _ => None,
        };
        let server = &self.shared.settings.name;
        let Ok(fits) = InputSchema::new(schema.clone()) else {
            tracing::warn!(server, "a prompt of an MCP server has a schema that can't be used: declined");
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let PromptOwner::Call(prompter) = self.shared.calls.owner_of(request).await else {
            tracing::warn!(server, "a prompt of an MCP server can't be matched to a call: declined");
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let _pause = prompter.pause();
        let timeout = self.shared.settings.approval_timeout.unwrap_or(MAX_PROMPT_TIMEOUT).min(MAX_PROMPT_TIMEOUT);
        let message: Vec<String> = message.lines().take(MAX_LINES).map(|line| plain(line, MAX_LINE_CHARS)).collect();
        let message = message.join("\n");
        match prompter.context.prompt(Prompt { message, schema, timeout }).await {
            PromptResponse::Accepted(content) if fits.check(&content).is_ok() => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            PromptResponse::Accepted(_) => {
                tracing::warn!(server, "an answer to a prompt of an MCP server does not fit its schema: declined");
                ElicitResult::new(ElicitationAction::Decline)
            }
            PromptResponse::Declined | PromptResponse::Expired => ElicitResult::new(ElicitationAction::Decline),
            PromptResponse::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    /// Like [`Self::prompt`], until the server cancels its request.
    async fn prompt_while(&self, message: &str, schema: Value, context: &RequestContext<RoleClient>) -> ElicitResult {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => ElicitResult::new(ElicitationAction::Cancel),
            answer = self.prompt(message, schema, &context.extensions) => answer,
        }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        let ourselves = Implementation::new("holdpoint", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, ourselves).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            // We did not announce support for URLs to visit.
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let schema = serde_json::to_value(requested_schema)
            .map_err(|_| ErrorData::invalid_params("the schema can't be read", None))?;
        Ok(self.prompt_while(&message, schema, &context).await)
    }

    /// A prompt with a richer schema than the protocol's arrives here.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.as_ref();
        let field = |name: &str| params.and_then(|params| params.get(name));
        let (Some(Value::String(message)), Some(schema)) = (field("message"), field("requestedSchema")) else {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        };
        if request.method != "elicitation/create" {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let answer = self.prompt_while(message, schema.clone(), &context).await;
        let answer = serde_json::to_value(answer).map_err(|_| ErrorData::internal_error("no answer", None))?;
        Ok(CustomResult::new(answer))
    }

    /// Shows how far a call is. What a server says about a call that is over is not shown.
    async fn on_progress(&self, progress: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let Some(context) = self.shared.calls.of_progress(&progress.progress_token) else { return };
        let mut shown = json!({ "progress": progress.progress });
        if let Some(total) = progress.total {
            shown["total"] = json!(total);
        }
        if let Some(message) = &progress.message {
            shown["message"] = plain(&self.shared.mask.hide(message), MAX_LINE_CHARS).into();
        }
        // It is far below the limit for its size.
        let _ = context.progress(shown);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.shared.relist.notify_one();
    }
}
