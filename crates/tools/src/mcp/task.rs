//! Tasks: a server's answer to a call that takes long (SEP-2663). A task is polled until it has ended, also after a
//! restart, since polling changes nothing.

use std::{sync::Arc, time::Duration};

use rmcp::model::{
    CallToolResult, CancelTaskParams, ClientRequest, CustomResult, ErrorCode, GetTaskParams, GetTaskRequest,
    InputResponses, ServerResult, TaskStatus, UpdateTaskParams, UpdateTaskRequest,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    prompts::MAX_LINE_CHARS,
    rounds::{MAX_ROUNDS, is_modern},
    run::{Call, CallError},
    saved::{Inputs, Question, Saved, keys, responses},
    server::Shared,
};
use crate::text::plain;

/// The pause between polls if the server names none, and its limits.
const POLL_PAUSE: Duration = Duration::from_secs(1);
const MIN_POLL_PAUSE: Duration = Duration::from_millis(50);
const MAX_POLL_PAUSE: Duration = Duration::from_secs(60);
/// How long a cancellation may take.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// A task, as far as it matters here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    task_id: String,
    status: TaskStatus,
    status_message: Option<String>,
    poll_interval_ms: Option<u64>,
    #[serde(default)]
    input_requests: Value,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Value,
}

impl Task {
    fn read(value: Value) -> Result<Self, CallError> {
        serde_json::from_value(value).map_err(|_| CallError::Odd)
    }

    fn poll_pause(&self) -> Duration {
        let pause = self.poll_interval_ms.map_or(POLL_PAUSE, Duration::from_millis);
        pause.clamp(MIN_POLL_PAUSE, MAX_POLL_PAUSE)
    }
}

/// Follows a task that the server has just made of a call.
pub(super) async fn follow(call: Call, created: &Value, round: u32) -> Result<CallToolResult, CallError> {
    let task = Task::read(created.clone())?;
    let mut following = Following::new(call, task.task_id.clone(), round, Vec::new());
    following.save(&[]).await?;
    following.show(&task);
    let pause = task.poll_pause();
    following.poll(Some(pause)).await
}

/// Follows a task that was made before a restart. If it was waiting for answers, they come first.
pub(super) async fn resume(
    call: Call,
    task: String,
    round: u32,
    questions: Vec<Question>,
    answered: Vec<String>,
) -> Result<CallToolResult, CallError> {
    let mut following = Following::new(call, task, round, answered);
    // Its server has been at it since before the restart.
    following.call.context.before_sending().await?;
    if !questions.is_empty() {
        let state = following.call.context.resumed.clone().ok_or(CallError::NotResumable)?;
        let answers = following.call.context.saved_answers(&state).await?;
        let responses = responses(&following.call.shared, &questions, answers);
        following.update(&questions, responses).await?;
    }
    following.poll(None).await
}

/// A task that is followed.
struct Following {
    call: Call,
    task: String,
    round: u32,
    /// The keys of the input requests that were answered. A server may list them for a while.
    answered: Vec<String>,
    shown: Option<String>,
    cancel: CancelTask,
}

impl Following {
    fn new(call: Call, task: String, round: u32, answered: Vec<String>) -> Self {
        let cancel = CancelTask {
            shared: Arc::clone(&call.shared),
            task: task.clone(),
            stopped: call.context.cancellation.clone(),
            is_given_up: false,
        };
        Self { call, task, round, answered, shown: None, cancel }
    }

    /// What the call is resumed from, with what is asked for.
    fn state(&self, questions: &[Question]) -> String {
        let (task, round, answered) = (self.task.clone(), self.round, self.answered.clone());
        Saved::ForTask { task, round, questions: questions.to_vec(), answered }.write()
    }

    async fn save(&self, questions: &[Question]) -> Result<(), CallError> {
        Ok(self.call.context.save(Some(self.state(questions))).await?)
    }

    /// Polls the task until it has ended.
    async fn poll(&mut self, mut pause: Option<Duration>) -> Result<CallToolResult, CallError> {
        loop {
            let polled = match pause {
                Some(pause) => self.call.pause(pause).await,
                None => Ok(()),
            };
            let polled = match polled {
                Ok(()) => self.get().await,
                Err(error) => Err(error),
            };
            let task = match polled {
                Ok(task) => task,
                // The task goes on without us. The server may come back.
                Err(error) if error.is_connection() => {
                    pause = Some(POLL_PAUSE);
                    continue;
                }
                Err(error) => return Err(self.given_up(error)),
            };
            pause = Some(task.poll_pause());
            self.show(&task);
            match task.status {
                TaskStatus::Completed => return Call::result_of(task.result),
                TaskStatus::Failed => {
                    let message = task.error.get("message").and_then(Value::as_str).unwrap_or("no reason was given");
                    return Err(CallError::TaskFailed(plain(message, MAX_LINE_CHARS)));
                }
                TaskStatus::Cancelled => return Err(CallError::TaskCancelled),
                TaskStatus::InputRequired => {
                    if let Err(error) = self.ask(&task.input_requests).await {
                        return Err(self.given_up(error));
                    }
                }
                _ => {}
            }
        }
    }

    /// The same error, after which nobody follows the task any more.
    fn given_up(&mut self, error: CallError) -> CallError {
        self.cancel.is_given_up =
            matches!(error, CallError::Slow(_) | CallError::Unsupported(_) | CallError::Rounds(_) | CallError::Odd);
        error
    }

    async fn get(&mut self) -> Result<Task, CallError> {
        let request = ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(self.task.clone())));
        let value = match self.request(request).await? {
            ServerResult::GetTaskResult(task) => serde_json::to_value(task).map_err(|_| CallError::Odd)?,
            // A prompt with a richer schema than the protocol's is unknown to the library.
            ServerResult::CustomResult(CustomResult(task)) => task,
            _ => return Err(CallError::Odd),
        };
        Task::read(value)
    }

    /// Makes a request about the task.
    async fn request(&mut self, request: ClientRequest) -> Result<ServerResult, CallError> {
        let peer = self.call.peer().await.map_err(|error| match error {
            CallError::Away(_) => CallError::TaskHidden("it is not connected".to_owned()),
            other => other,
        })?;
        if !is_modern(&peer) {
            return Err(CallError::UnknownTask);
        }
        self.call.request(peer, request).await.map_err(|error| match error {
            CallError::Refused { code: ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND, .. } => {
                CallError::UnknownTask
            }
            CallError::Refused { message, .. } => CallError::TaskHidden(plain(&message, MAX_LINE_CHARS)),
            other => other,
        })
    }

    /// Asks the user for what the task needs, unless the server was told already.
    async fn ask(&mut self, requests: &Value) -> Result<(), CallError> {
        let Inputs { questions, prompts } = Inputs::read(&self.call.shared, Some(requests), &self.answered)?;
        if questions.is_empty() {
            return Ok(());
        }
        if self.round >= MAX_ROUNDS {
            return Err(CallError::Rounds(MAX_ROUNDS));
        }
        self.round += 1;
        let answers = if prompts.is_empty() {
            Vec::new()
        } else {
            self.call.context.save_and_prompt(self.state(&questions), prompts).await?
        };
        let responses = responses(&self.call.shared, &questions, answers);
        self.update(&questions, responses).await
    }

    /// Tells the task what it has asked for. A crash before the save sends the input again; servers ignore duplicates.
    async fn update(&mut self, questions: &[Question], responses: InputResponses) -> Result<(), CallError> {
        loop {
            let params = UpdateTaskParams::new(self.task.clone(), responses.clone());
            let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
            match self.request(request).await {
                Err(error) if error.is_connection() => self.call.pause(POLL_PAUSE).await?,
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
        self.answered.extend(keys(questions));
        self.save(&[]).await
    }

    /// Shows what the server says about the task.
    fn show(&mut self, task: &Task) {
        if task.status_message.is_some() && task.status_message != self.shown {
            self.shown.clone_from(&task.status_message);
            let message = self.call.shared.mask.hide(self.shown.as_deref().unwrap_or_default());
            // It is far below the limit for its size.
            let _ = self.call.context.progress(json!({ "message": plain(&message, MAX_LINE_CHARS) }));
        }
    }
}

/// Tells the server that nobody waits for its task any more, if the call was stopped or given up. A call that is merely
/// dropped, because this process goes down, is resumed later.
struct CancelTask {
    shared: Arc<Shared>,
    task: String,
    stopped: CancellationToken,
    is_given_up: bool,
}

impl Drop for CancelTask {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.is_given_up && !self.stopped.is_cancelled() {
            return;
        }
        let (shared, task) = (Arc::clone(&self.shared), self.task.clone());
        runtime.spawn(tokio::time::timeout(CANCEL_TIMEOUT, async move {
            if let Some(peer) = shared.peer().await {
                let cancelled = peer.cancel_task(CancelTaskParams::new(task)).await;
                if let Err(error) = cancelled {
                    let detail = shared.mask.hide(&error.to_string());
                    tracing::debug!(server = shared.settings.name, %detail, "a task can't be cancelled");
                }
            }
        }));
    }
}
