//! One call to a tool of an MCP server: its requests, its timeout, its errors.

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientRequest, ErrorCode,
        JsonObject, RequestId, ServerResult,
    },
    service::{Peer, PeerRequestOptions, RequestHandle},
    transport::{DynamicTransportError, streamable_http_client::StreamableHttpError},
};
use serde_json::Value;
use tokio::{sync::watch, time::Instant};

use super::{McpTransport, connect::short, listing, output::output, rounds, server::Shared};
use crate::{NotOurs, ToolContext, ToolError, ToolOrigin};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("the input is not an object")]
    Input,
    /// The cause goes to the log only: it may name an internal address.
    #[error("The MCP server `{0}` is not connected, so the call was not made")]
    Away(String),
    #[error("The MCP server `{0}` wants a new login, so the call was not made: its operator has to log in again")]
    Login(String),
    #[error("The program of the MCP server `{0}` ended during the call and is started again")]
    Ended(String),
    #[error("The MCP server `{0}` disconnected during the call")]
    Disconnected(String),
    #[error("The connection to the MCP server `{0}` broke off after the call was sent")]
    Lost(String),
    #[error("The tool did not answer within {} s and was told to stop", .0.as_secs_f32())]
    Slow(Duration),
    #[error("The call was stopped before it was sent")]
    Stopped,
    #[error("The call was stopped after it was sent")]
    CutOff,
    #[error("The MCP server refused the call: {message}")]
    Refused { code: ErrorCode, message: String },
    #[error("The MCP server's answer can't be understood")]
    Odd,
    #[error("{0}")]
    Tool(ToolError),
    #[error("The tool needs `{0}` from its client, which Holdpoint does not offer, so the call was given up")]
    Unsupported(String),
    #[error("The tool asked the user {0} times without coming to an end, so the call was given up")]
    Rounds(u32),
    #[error("The call was interrupted by a restart and can't be resumed")]
    NotResumable,
    #[error("The MCP server does not know its task any more")]
    UnknownTask,
    #[error("The MCP server can't say how its task is going ({0})")]
    TaskHidden(String),
    #[error("The task failed: {0}")]
    TaskFailed(String),
    #[error("The MCP server cancelled its task")]
    TaskCancelled,
}

impl From<NotOurs> for CallError {
    fn from(_: NotOurs) -> Self {
        Self::Stopped
    }
}

impl CallError {
    /// Whether the call may have been carried out, given whether a request of it was sent that was not answered with a
    /// question. What a server answers says what came of it, a failure included.
    fn is_unknown(&self, is_sent: bool) -> bool {
        match self {
            Self::Input | Self::Away(_) | Self::Login(_) | Self::Stopped => false,
            Self::Refused { .. } | Self::Tool(_) | Self::TaskFailed(_) | Self::TaskCancelled => false,
            // Before that, its server has only asked for something, and waits.
            Self::Slow(_) | Self::Odd | Self::Unsupported(_) | Self::Rounds(_) => is_sent,
            Self::Ended(_) | Self::Disconnected(_) | Self::Lost(_) | Self::CutOff => true,
            Self::NotResumable | Self::UnknownTask | Self::TaskHidden(_) => true,
        }
    }

    /// Whether the connection failed, not the call.
    pub(super) fn is_connection(&self) -> bool {
        matches!(self, Self::Away(_) | Self::Ended(_) | Self::Disconnected(_) | Self::Lost(_))
    }
}

/// Calls a tool by the server's own name for it.
pub(super) async fn call(
    shared: Arc<Shared>,
    tool: String,
    timeout: Duration,
    input: Value,
    context: ToolContext,
) -> Result<Value, ToolError> {
    let outside = context.clone();
    let called = tokio::select! {
        // First, so that a call that was cancelled before it is resumed can tell its server.
        biased;
        called = make(&shared, tool, timeout, input, context) => called,
        () = outside.cancellation.cancelled() => Err(CallError::Stopped),
    };
    let called = match called {
        Err(CallError::Stopped) if outside.is_sent() => Err(CallError::CutOff),
        called => called,
    };
    called.map_err(|error| {
        let text = shared.tokens.mask().hide(&shared.mask.hide(&error.to_string()));
        match error.is_unknown(outside.is_sent()) {
            true => ToolError::outcome_unknown(text),
            false => ToolError::new(text),
        }
    })
}

async fn make(
    shared: &Arc<Shared>,
    tool: String,
    timeout: Duration,
    input: Value,
    context: ToolContext,
) -> Result<Value, CallError> {
    context.nothing_done().await;
    let Value::Object(arguments) = input else { return Err(CallError::Input) };
    let call = Call { shared: Arc::clone(shared), tool, arguments, context, limit: timeout, left: timeout };
    let result = rounds::make(call.clone()).await?;
    let mut output = output(result, &shared.mask, &call.context).map_err(CallError::Tool)?;
    shared.echo.hide_in(&mut output);
    shared.tokens.mask().hide_in(&mut output);
    Ok(output)
}

/// A call that is being made.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) shared: Arc<Shared>,
    /// The server's own name of the tool.
    pub(super) tool: String,
    pub(super) arguments: JsonObject,
    pub(super) context: ToolContext,
    /// The timeout.
    limit: Duration,
    /// What is left of it. Waiting for a person does not count.
    left: Duration,
}

impl Call {
    /// The origin of its tool.
    pub(super) fn origin(&self) -> ToolOrigin {
        listing::origin(&self.shared.settings, &self.tool)
    }

    /// Waits for a server that is restarting: the call is then only a little late.
    pub(super) async fn peer(&mut self) -> Result<Peer<RoleClient>, CallError> {
        let begun = Instant::now();
        let peer = tokio::time::timeout(self.left, self.shared.peer()).await;
        self.left = self.left.saturating_sub(begun.elapsed());
        let peer = peer.map_err(|_| CallError::Away(self.shared.settings.name.clone()))?;
        peer.ok_or(CallError::Stopped)
    }

    /// Sleeps, as far as the timeout allows.
    pub(super) async fn pause(&mut self, pause: Duration) -> Result<(), CallError> {
        tokio::time::sleep(pause.min(self.left)).await;
        self.left = self.left.saturating_sub(pause);
        if self.left.is_zero() { Err(CallError::Slow(self.limit)) } else { Ok(()) }
    }

    /// The request that calls the tool.
    pub(super) fn params(&self) -> CallToolRequestParams {
        CallToolRequestParams::new(self.tool.clone()).with_arguments(self.arguments.clone())
    }

    /// Calls the tool, or calls it again with what its server has asked for.
    pub(super) async fn send(
        &mut self,
        peer: Peer<RoleClient>,
        params: CallToolRequestParams,
    ) -> Result<ServerResult, CallError> {
        self.request(peer, ClientRequest::CallToolRequest(CallToolRequest::new(params))).await
    }

    /// Makes a request of this call.
    pub(super) async fn request(
        &mut self,
        peer: Peer<RoleClient>,
        request: ClientRequest,
    ) -> Result<ServerResult, CallError> {
        let shared = &self.shared;
        let name = || shared.settings.name.clone();
        let entry = shared.calls.enter(self.context.clone());
        self.context.before_sending().await?;
        // Not the library's own call function: a prompt names this request, so its id must be known.
        let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        // Nothing was sent: the server has just disconnected.
        let RequestHandle { rx, id, progress_token, .. } = sent.map_err(|_| CallError::Away(name()))?;
        entry.sent(id.clone(), progress_token);
        let mut cancellation_guard = CancelOnDrop { request: Some((peer, id)), reason: "the call was stopped" };
        let answered = tokio::select! {
            answered = rx => answered,
            () = pausable_timeout(&mut self.left, entry.open_prompts()) => {
                cancellation_guard.reason = "the call took too long";
                // A restarted server may respond to an unknown session in a way that can't be parsed.
                shared.recheck_if_http();
                return Err(CallError::Slow(self.limit));
            }
        };
        cancellation_guard.request = None;
        entry.answered();
        match answered {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(ServiceError::UnexpectedResponse)) => Err(CallError::Odd),
            Ok(Err(ServiceError::McpError(error))) => {
                // An expired session is rejected like an invalid call.
                shared.recheck_if_http();
                Err(CallError::Refused { code: error.code, message: error.message.into_owned() })
            }
            Ok(Err(ServiceError::TransportSend(error))) => {
                shared.recheck_if_http();
                // Without the name of the library's type.
                let detail = short(shared, &error.error.to_string());
                tracing::warn!(server = shared.settings.name, %detail, "an MCP server can't be reached");
                Err(match not_carried_out(&error) {
                    Some(NotSent::Refused) => CallError::Login(name()),
                    Some(NotSent::Unconnected) => CallError::Away(name()),
                    None => CallError::Lost(name()),
                })
            }
            Ok(Err(_)) | Err(_) => Err(match shared.settings.transport {
                McpTransport::Command { .. } => CallError::Ended(name()),
                McpTransport::Http { .. } => CallError::Disconnected(name()),
            }),
        }
    }

    /// The result of a tool in a JSON value.
    pub(super) fn result_of(value: Value) -> Result<CallToolResult, CallError> {
        serde_json::from_value(value).map_err(|_| CallError::Odd)
    }
}

/// Why a request was certainly not carried out.
enum NotSent {
    /// There was no connection.
    Unconnected,
    /// The server wants a login, and looked no further.
    Refused,
}

fn not_carried_out(error: &DynamicTransportError) -> Option<NotSent> {
    match error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
        StreamableHttpError::Client(error) if error.is_connect() => Some(NotSent::Unconnected),
        // A token that is missing or can't be refreshed is found out before the request is sent.
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::Auth(_) => Some(NotSent::Refused),
        _ => None,
    }
}

/// Completes when the timeout has elapsed, which is paused while a prompt is open. What has elapsed is taken from `left`,
/// also if it does not complete.
async fn pausable_timeout(left: &mut Duration, mut open_prompts: watch::Receiver<usize>) {
    struct Elapsed<'a>(&'a mut Duration, Instant);
    impl Drop for Elapsed<'_> {
        fn drop(&mut self) {
            *self.0 = self.0.saturating_sub(self.1.elapsed());
        }
    }
    loop {
        // Without a sender, nobody prompts any more.
        if *open_prompts.borrow_and_update() > 0 && open_prompts.changed().await.is_ok() {
            continue;
        }
        let elapsed = Elapsed(left, Instant::now());
        tokio::select! {
            () = tokio::time::sleep(*elapsed.0) => return,
            changed = open_prompts.changed() => {
                if changed.is_err() {
                    let rest = elapsed.0.saturating_sub(elapsed.1.elapsed());
                    return tokio::time::sleep(rest).await;
                }
            }
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
