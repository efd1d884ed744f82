//! Requests from a server: prompts to the user, and changed tool lists.

use std::sync::Arc;

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult,
        ElicitationAction, ElicitationCapability, ErrorCode, ExtensionCapabilities, Extensions,
        FormElicitationCapability, Implementation, JsonObject, ProgressNotificationParam, RequestId,
        TASKS_EXTENSION_ID,
    },
    service::{InboundStreamOrigin, NotificationContext, RequestContext},
};
use serde_json::{Value, json};

use super::{
    calls::PromptOwner,
    handshake::offered,
    prompts::{self, MAX_LINE_CHARS},
    server::Shared,
};
use crate::text::plain;

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
        let Some(prompt) = prompts::prompt(&self.shared, message, &schema) else { return prompts::declined() };
        let PromptOwner::Call(prompter) = self.shared.calls.owner_of(request).await else {
            tracing::warn!(server, "a prompt of an MCP server can't be matched to a call: declined");
            return prompts::declined();
        };
        let _pause = prompter.pause();
        prompts::result(&self.shared, &schema, prompter.context.prompt(prompt).await)
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
        // Only servers of protocol 2026-07-28 look for it.
        let tasks = ExtensionCapabilities::from([(TASKS_EXTENSION_ID.to_owned(), JsonObject::new())]);
        capabilities.extensions = Some(tasks);
        let ourselves = Implementation::new("holdpoint", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, ourselves).with_protocol_version(offered(self.shared.settings.protocol))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            // We did not announce support for URLs to visit.
            return Ok(prompts::declined());
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
