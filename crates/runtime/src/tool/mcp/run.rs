//! One call to a tool of an MCP server.

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientRequest, RequestId,
        ServerResult,
    },
    service::{Peer, PeerRequestOptions, RequestHandle},
    transport::{DynamicTransportError, streamable_http_client::StreamableHttpError},
};
use serde_json::Value;
use tokio::{sync::watch, time::Instant};

use super::{McpTransport, output::output, server::Shared};
use crate::tool::{OUTCOME_UNKNOWN, ToolContext, ToolError};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("the input is not an object")]
    Input,
    /// The cause goes to the log only: it may name an internal address.
    #[error("The MCP server `{0}` is not connected, so the call was not made")]
    Away(String),
    #[error("The program of the MCP server `{0}` ended during the call and is started again, so {OUTCOME_UNKNOWN}")]
    Ended(String),
    #[error("The MCP server `{0}` disconnected during the call, so {OUTCOME_UNKNOWN}")]
    Disconnected(String),
    #[error("The connection to the MCP server `{0}` broke off after the call was sent, so {OUTCOME_UNKNOWN}")]
    Lost(String),
    #[error("The tool did not answer within {} s and was told to stop, so {OUTCOME_UNKNOWN}", .0.as_secs_f32())]
    Slow(Duration),
    #[error("The call was stopped")]
    Stopped,
    #[error("The MCP server refused the call: {0}")]
    Refused(String),
    #[error("The MCP server's answer can't be understood, so {OUTCOME_UNKNOWN}")]
    Odd,
    #[error("{0}")]
    Tool(ToolError),
}

/// Calls a tool by the server's own name for it.
pub(super) async fn call(
    shared: Arc<Shared>,
    tool: String,
    timeout: Duration,
    input: Value,
    context: ToolContext,
) -> Result<Value, ToolError> {
    let cancellation = context.cancellation.clone();
    let called = tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(CallError::Stopped),
        called = make(&shared, tool, timeout, input, context) => called,
    };
    called.map_err(|error| ToolError(shared.mask.hide(&error.to_string())))
}

async fn make(
    shared: &Arc<Shared>,
    tool: String,
    timeout: Duration,
    input: Value,
    context: ToolContext,
) -> Result<Value, CallError> {
    let Value::Object(arguments) = input else { return Err(CallError::Input) };
    let name = || shared.settings.name.clone();
    let begun = Instant::now();
    // Wait for a server that is restarting: the call is then only a little late.
    let peer = tokio::time::timeout(timeout, shared.peer()).await;
    let peer = peer.map_err(|_| CallError::Away(name()))?;
    let peer = peer.ok_or(CallError::Stopped)?;
    let entry = shared.calls.enter(context.clone());
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    // Not the library's own call function: a prompt names this request, so its id must be known.
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
    // Nothing was sent: the server has just disconnected.
    let RequestHandle { rx, id, progress_token, .. } = sent.map_err(|_| CallError::Away(name()))?;
    entry.sent(id.clone(), progress_token);
    let mut cancellation_guard = CancelOnDrop { request: Some((peer, id)), reason: "the call was stopped" };

    let left = timeout.saturating_sub(begun.elapsed());
    let answered = tokio::select! {
        answered = rx => answered,
        () = pausable_timeout(left, entry.open_prompts()) => {
            cancellation_guard.reason = "the call took too long";
            // A restarted server may respond to an unknown session in a way that can't be parsed.
            shared.recheck_if_http();
            return Err(CallError::Slow(timeout));
        }
    };
    cancellation_guard.request = None;
    entry.answered();
    match answered {
        Ok(Ok(ServerResult::CallToolResult(result))) => finish(result, shared, &context),
        Ok(Ok(_) | Err(ServiceError::UnexpectedResponse)) => Err(CallError::Odd),
        Ok(Err(ServiceError::McpError(error))) => {
            // An expired session is rejected like an invalid call.
            shared.recheck_if_http();
            Err(CallError::Refused(error.message.into_owned()))
        }
        Ok(Err(ServiceError::TransportSend(error))) => {
            shared.recheck_if_http();
            let detail = shared.mask.hide(&error.to_string());
            tracing::warn!(server = shared.settings.name, %detail, "an MCP server can't be reached");
            Err(if was_not_sent(&error) { CallError::Away(name()) } else { CallError::Lost(name()) })
        }
        Ok(Err(_)) | Err(_) => Err(match shared.settings.transport {
            McpTransport::Command { .. } => CallError::Ended(name()),
            McpTransport::Http { .. } => CallError::Disconnected(name()),
        }),
    }
}

/// Whether the request failed on its way to the server, and so was not carried out.
fn was_not_sent(error: &DynamicTransportError) -> bool {
    let error = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    matches!(error, Some(StreamableHttpError::Client(error)) if error.is_connect())
}

fn finish(result: CallToolResult, shared: &Shared, context: &ToolContext) -> Result<Value, CallError> {
    let mut output = output(result, &shared.mask, context).map_err(CallError::Tool)?;
    shared.echo.hide_in(&mut output);
    Ok(output)
}

/// Completes when the timeout has elapsed, which is paused while a prompt is open.
async fn pausable_timeout(mut left: Duration, mut open_prompts: watch::Receiver<usize>) {
    loop {
        let is_paused = *open_prompts.borrow_and_update() > 0;
        let begun = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(left), if !is_paused => return,
            changed = open_prompts.changed() => {
                if changed.is_err() {
                    return tokio::time::sleep(left).await;
                }
            }
        }
        if !is_paused {
            left = left.saturating_sub(begun.elapsed());
        }
    }
}

/// Tells the server that its request was cancelled, however the waiting ended, even if the waiting task was
/// dropped.
struct CancelOnDrop {
    request: Option<(Peer<RoleClient>, RequestId)>,
    reason: &'static str,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some((peer, id)), Ok(runtime)) = (self.request.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let cancelled = CancelledNotificationParam::new(Some(id), Some(self.reason.to_owned()));
        runtime.spawn(async move { peer.notify_cancelled(cancelled).await });
    }
}
