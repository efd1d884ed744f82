//! One run of a tool on this node: from the start of its call to what came of it.

use std::{sync::Arc, time::Duration};

use holdpoint_protocol::ids::{ChatId, ToolCallId};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    command::Command,
    gate::CallGate,
    load::fact_at,
    progress::{self, Reported},
    runtime::Inner,
};
use crate::{
    backoff::{self, Backoff},
    clock::Clock,
    fact::{Cause, Fact, Outcome},
    metrics::ToolTimer,
    tool::{
        CANCELLATION_GRACE, Gate as _, PromptResponse, Prompter, StoredFile, Tool, ToolContext, ToolError, ToolOrigin,
    },
};

/// Delays between attempts to read. System time: the cause is the log, and no deadline depends on it.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// What a tool gave when it had finished.
pub(super) struct Ran {
    pub(super) end: End,
    pub(super) files: Vec<StoredFile>,
}

/// How a tool ended.
pub(super) enum End {
    /// By itself.
    Ran(Result<Value, String>),
    /// It was cancelled, and did not get to its end; or it does not know what it has done.
    CutOff { may_have_run: bool, said: Option<String> },
}

/// What a tool is run with.
pub(super) struct ToolRun {
    pub(super) inner: Arc<Inner>,
    pub(super) chat: ChatId,
    pub(super) name: String,
    pub(super) origin: Option<ToolOrigin>,
    pub(super) input: Value,
    /// The tool, if it is there already.
    pub(super) tool: Option<Tool>,
    /// Whether the chat has tools of its own, which are all there from the start.
    pub(super) has_own_tools: bool,
    pub(super) is_resumed: bool,
    /// The position of the tool's last output, if that is still to be read.
    pub(super) last_output: Option<u64>,
    pub(super) gate: Arc<CallGate>,
    pub(super) context: ToolContext,
    pub(super) reported: Reported,
    pub(super) timer: ToolTimer,
}

impl ToolRun {
    /// Runs the tool.
    pub(super) async fn run(self, call: ToolCallId) -> Ran {
        let files = self.context.files();
        let end = self.end(call).await;
        Ran { end, files: files.take() }
    }

    async fn end(self, call: ToolCallId) -> End {
        let Self { inner, chat, name, origin, input, tool, is_resumed, gate, mut context, timer, .. } = self;
        let clock = Arc::clone(&inner.clock);
        let relay = progress::relay(Arc::downgrade(&inner), chat.clone(), call, self.reported);
        let tool = match tool {
            Some(tool) => Some(tool),
            None if self.has_own_tools => None,
            None => inner.tool_to_come(&name, origin.as_ref()).await,
        };
        if let Some(position) = self.last_output {
            context.last_output = output_at(&inner, &chat, position).await;
        }
        drop(inner);
        // The tool has been removed or was never listed. The call still needs an outcome.
        let Some(tool) = tool else {
            return match is_resumed {
                true => End::CutOff { may_have_run: true, said: None },
                false => End::Ran(Err("not run: the tool is not there any more".to_owned())),
            };
        };
        let Some(handler) = tool.handler else {
            // A delegate without a handler: the output says that the browser has it.
            timer.done(true);
            return End::Ran(Ok(json!({"success": true, "message": "handed over to the browser"})));
        };
        // Begun, unless the handler says that it is not. A resumed call may have to be cancelled on its server.
        if gate.pass().await.is_err() && !is_resumed {
            return End::CutOff { may_have_run: false, said: None };
        }
        let cancellation = context.cancellation.clone();
        let limit = tool.spec.timeout;
        let end = tokio::select! {
            biased;
            end = limited(handler(input, context), limit, &*clock, &cancellation, &gate) => end,
            never = relay => match never {},
        };
        timer.done(matches!(end, End::Ran(Ok(_))));
        end
    }
}

/// Delivers the prompts of a call's tool.
pub(super) fn prompter(inner: &Arc<Inner>, chat: &ChatId, by: &ToolCallId) -> Prompter {
    let (inner, chat, by) = (Arc::downgrade(inner), chat.clone(), by.clone());
    Arc::new(move |prompt| {
        let (inner, chat, by) = (inner.clone(), chat.clone(), by.clone());
        Box::pin(async move {
            let (response, responded) = oneshot::channel();
            let inner = inner.upgrade().filter(|inner| !inner.ending.is_cancelled());
            let mailbox = inner.and_then(|inner| inner.wake(&chat));
            let Some(mailbox) = mailbox else { return PromptResponse::Cancelled };
            match mailbox.send(Command::Prompt { by, prompt, response }).await {
                Ok(()) => responded.await.unwrap_or(PromptResponse::Cancelled),
                Err(_) => PromptResponse::Cancelled,
            }
        })
    })
}

/// The output at a position of the log. While the log can't be read, it waits.
async fn output_at(inner: &Inner, chat: &ChatId, position: u64) -> Option<Arc<Value>> {
    let mut backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
    loop {
        match fact_at(inner, chat, position).await {
            Ok(Some(Fact::Settled { outcome: Outcome::Output(output), .. })) => return Some(Arc::new(output)),
            Ok(_) => return None,
            Err(error) => tracing::warn!(%chat, %error, "the last output of a tool can't be read; retrying"),
        }
        backoff::wait(&mut backoff).await;
    }
}

/// Runs a handler within its time limit. Then it is cancelled, and has a moment to say how it ended.
async fn limited(
    handler: impl Future<Output = Result<Value, ToolError>>,
    limit: Option<Duration>,
    clock: &dyn Clock,
    cancellation: &CancellationToken,
    gate: &CallGate,
) -> End {
    let mut handler = std::pin::pin!(handler);
    let time_is_over = async {
        match limit {
            Some(limit) => clock.sleep_until(clock.now().after(limit)).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        done = &mut handler => return match done {
            Err(error) if cancellation.is_cancelled() => gate.cut_off(error).await,
            Err(error) if error.is_outcome_unknown() => End::CutOff { may_have_run: true, said: Some(error.0) },
            done => End::Ran(done.map_err(|error| error.0)),
        },
        () = time_is_over => cancellation.cancel(),
    }
    let seconds = limit.unwrap_or_default().as_secs_f32();
    let text = format!("The tool did not finish within {seconds} s and was stopped");
    match tokio::time::timeout(CANCELLATION_GRACE, handler).await {
        Ok(Ok(output)) => End::Ran(Ok(output)),
        Ok(Err(error)) => gate.given_up(format!("{text}: {error}")).await,
        Err(_) => gate.given_up(text).await,
    }
}

/// The response to a prompt, from the outcome of its call.
pub(super) fn prompt_response(outcome: &Outcome, cause: Cause) -> PromptResponse {
    match outcome {
        Outcome::Output(output) => match output.get("action").and_then(Value::as_str) {
            Some("accept") => PromptResponse::Accepted(output.get("content").cloned().unwrap_or_else(|| json!({}))),
            Some("decline") => PromptResponse::Declined,
            Some(_) => PromptResponse::Cancelled,
            None => PromptResponse::Accepted(output.clone()),
        },
        Outcome::Denied { .. } => PromptResponse::Declined,
        Outcome::Error(_) if cause == Cause::Expired => PromptResponse::Expired,
        Outcome::Error(_) => PromptResponse::Cancelled,
    }
}
