//! The running work of a chat: its tools, and the model's stream.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use serde_json::{Value, json};
use tokio::{
    sync::oneshot,
    task::{Id, JoinError},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    chat::{ChatError, ChatTask, Command},
    deletion,
    drive::{OnConflict, Sender},
    gate::CallGate,
    load::fact_at,
    progress,
    runtime::Inner,
};
use crate::{
    backoff::{self, Backoff},
    clock::{Clock, Timestamp},
    fact::{Cause, Fact, Outcome},
    log::{DeleteResult, Stored},
    model::ModelError,
    subject::Subject,
    tool::{CANCELLATION_GRACE, Execution, Gate as _, PromptResponse, Prompter, StoredFile, ToolContext, ToolError},
    turn::Input,
};

/// Delays between attempts to read. System time: the cause is the log, and no deadline depends on it.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// What the user is told when the model had to be stopped.
const NO_ROOM: &str =
    "The answer was stopped: your chats take all the memory they may at a time. Please try again later.";

/// What a tool gave when it had finished.
pub(super) struct Ran {
    end: End,
    files: Vec<StoredFile>,
}

/// How a tool ended.
pub(super) enum End {
    /// By itself.
    Ran(Result<Value, String>),
    /// It was cancelled, and did not get to its end; or it does not know what it has done.
    CutOff { may_have_run: bool, said: Option<String> },
}

impl ChatTask {
    pub(super) fn start_tool(&mut self, id: &ToolCallId) {
        let Some(call) = self.state.calls.get(id).filter(|call| call.execution != Execution::Frontend) else { return };
        let Some(subject) = self.state.subject.clone() else { return };
        let tool = self.tools().of_origin(&call.name, call.origin.as_deref()).cloned();
        let has_own_tools = self.agent.is_some();
        let clock = Arc::clone(&self.inner.clock);
        let (inner, name, origin) = (Arc::clone(&self.inner), call.name.clone(), call.origin.clone());
        let chat = self.id.clone();
        let cancellation = self.inner.cancelling.child_token();
        let (reporter, reported) = progress::reporter();
        let earlier_output = match self.last_outputs.contains_key(&call.name) {
            true => None,
            false => self.earlier_output(&call.name),
        };
        let base = self.base;
        let gate = CallGate::new(self, cancellation.clone());
        let context = ToolContext::of_call(self.id.clone(), subject, id.clone(), Arc::clone(&gate) as _);
        let mut context = context.with_state(self.keeper(id), call.resume.clone());
        context.cancellation = cancellation.clone();
        context.last_output = self.last_outputs.get(&call.name).cloned();
        context.prompter = Some(self.prompter(id));
        context.reporter = Some(reporter);
        let is_resumed = call.resume.is_some();
        let files = context.files();
        let relay = progress::relay(Arc::downgrade(&self.inner), self.id.clone(), id.clone(), reported);
        let input = call.input.clone();
        let timer = self.inner.metrics.tool(&call.name);
        let subject = context.subject.as_str();
        let span = tracing::info_span!("call", chat = %self.id, call = %id, tool = call.name, subject);
        let begin = Arc::clone(&gate);
        let run = async move {
            let tool = match tool {
                Some(tool) => Some(tool),
                None if has_own_tools => None,
                None => inner.tool_to_come(&name, origin.as_deref()).await,
            };
            if let Some(at) = earlier_output {
                context.last_output = output_at(&inner, &chat, base, at).await;
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
            if begin.pass().await.is_err() && !is_resumed {
                return End::CutOff { may_have_run: false, said: None };
            }
            let cancellation = context.cancellation.clone();
            let limit = tool.spec.time_limit;
            let end = tokio::select! {
                biased;
                end = limited(handler(input, context), limit, &*clock, &cancellation, &begin) => end,
                never = relay => match never {},
            };
            timer.done(matches!(end, End::Ran(Ok(_))));
            end
        };
        let run = async move {
            let end = run.await;
            Ran { end, files: files.take() }
        };
        let handle = self.running_tools.spawn(run.instrument(span));
        self.running.insert(handle.id(), (id.clone(), handle, cancellation, gate));
    }

    /// Delivers the prompts of a call's tool.
    fn prompter(&self, by: &ToolCallId) -> Prompter {
        let (inner, chat, by) = (Arc::downgrade(&self.inner), self.id.clone(), by.clone());
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

    /// Deletes the chat if it is old, nothing in it is open and nobody follows it.
    pub(super) async fn retire(
        &mut self,
        before: Timestamp,
        reply: oneshot::Sender<Result<bool, ChatError>>,
    ) -> Result<(), ChatError> {
        let stored = self.inner.log.stored(&self.id).await?;
        let is_old = matches!(stored, Some(Stored::Chat { head, .. }) if head.updated_at < before && !head.is_open);
        if !is_old || self.state.turn.is_some() || self.feed.is_watched() {
            let _ = reply.send(Ok(false));
            return Ok(());
        }
        let deleted = deletion::delete(&self.inner, &self.id, self.base + self.durable, None).await;
        let is_deleted = deleted.map(|deleted| deleted == DeleteResult::Deleted);
        if let (Ok(true), Some(subject)) = (&is_deleted, &self.state.subject) {
            self.inner.footprints.shrank(subject, self.bytes);
        }
        let _ = reply.send(is_deleted.map_err(ChatError::Log));
        // Whatever came of it, the next task reads what is there.
        Err(ChatError::NotFound)
    }

    /// Deletes the chat. If another node runs its turn, that ends it first.
    pub(super) async fn delete(
        &mut self,
        subject: Subject,
        by: Subject,
        reply: oneshot::Sender<Result<(), ChatError>>,
    ) -> Result<(), ChatError> {
        if self.state.subject.as_ref() != Some(&subject) {
            let _ = reply.send(Err(ChatError::NotFound));
            return Ok(());
        }
        if self.inner.lease.is_shared()
            && let Err(error) = self.catch_up_or_end().await
        {
            // Another node may have deleted it.
            let _ = reply.send(Err(error.clone()));
            return if matches!(error, ChatError::Log(_)) { Ok(()) } else { Err(error) };
        }
        if self.is_elsewhere() {
            self.input(Input::Stop { reason: Some("deleted".to_owned()) }).await?;
            self.deferred.push(Command::Delete { subject, by, reply });
            return Ok(());
        }
        // The record tells how its calls have ended, those that ran included, and the lists of those who could decide lose
        // them. If the deletion fails, the turn has been stopped all the same.
        if self.state.open_calls().next().is_some()
            && let Err(error) = self.input(Input::Stop { reason: Some("deleted".to_owned()) }).await
        {
            let _ = reply.send(Err(error.clone()));
            return Err(error);
        }
        match deletion::delete(&self.inner, &self.id, self.base + self.durable, Some(by)).await {
            Ok(DeleteResult::Deleted) => {
                self.inner.footprints.shrank(&subject, self.bytes);
                let _ = reply.send(Ok(()));
                Err(ChatError::NotFound)
            }
            Ok(DeleteResult::Conflict) => {
                let _ = reply.send(Err(ChatError::Lost));
                Err(ChatError::Lost)
            }
            Err(error) => {
                // The chat still exists, and so does what runs in it.
                let _ = reply.send(Err(ChatError::Log(error)));
                Ok(())
            }
        }
    }

    pub(super) fn cancel_tool(&mut self, id: &ToolCallId) {
        if let Some((_, handle, cancellation, _)) = self.running.values().find(|(call, ..)| call == id) {
            cancellation.cancel();
            let handle = handle.clone();
            tokio::spawn(async move {
                tokio::time::sleep(CANCELLATION_GRACE).await;
                handle.abort();
            });
        }
    }

    pub(super) async fn tool_done(&mut self, done: Result<(Id, Ran), JoinError>) -> Result<(), ChatError> {
        let (task, Ran { end, files }) = match done {
            Ok(done) => done,
            Err(error) if error.is_cancelled() => {
                self.running.remove(&error.id());
                return Ok(());
            }
            Err(error) => {
                tracing::error!(chat = %self.id, %error, "a tool panicked");
                let Some((.., gate)) = self.running.get(&error.id()) else { return Ok(()) };
                let end = gate.given_up("The tool failed unexpectedly".to_owned()).await;
                (error.id(), Ran { end, files: Vec::new() })
            }
        };
        let Some((call, ..)) = self.running.remove(&task) else { return Ok(()) };
        let input = match end {
            End::Ran(outcome) => Input::ToolDone { call, outcome, files: files.into() },
            End::CutOff { may_have_run, said } => Input::ToolCutOff { call, may_have_run, said },
        };
        self.input(input).await.map(drop)
    }

    pub(super) async fn model_said(&mut self, events: Option<Vec<Result<Input, ModelError>>>) -> Result<(), ChatError> {
        let events = match events {
            Some(events) => events,
            None => vec![Err(ModelError {
                message: "The model's answer was cut off. Please try again.".to_owned(),
                detail: "the model's stream ended without an end".to_owned(),
            })],
        };
        let has_room = self.has_room_for(&events);
        let input = |event| match event {
            Ok(input) => input,
            Err(ModelError { message, detail }) => {
                tracing::warn!(chat = %self.id, error = %detail, "the model failed");
                Input::ModelFailed(message)
            }
        };
        let mut inputs: Vec<Input> = events.into_iter().map(input).collect();
        if !has_room || self.memory.is_over() {
            // Many turns of one subject at once, or calls without an end.
            tracing::warn!(chat = %self.id, "the model was stopped: the chats of this subject take all the memory they may");
            inputs = vec![Input::ModelFailed(NO_ROOM.to_owned())];
            self.answer = None;
        }
        self.drive(inputs, OnConflict::Rebase, Sender::Server).await?;
        Ok(())
    }
}

/// The output that a call had in an earlier turn. While the log can't be read, it waits.
async fn output_at(inner: &Inner, chat: &ChatId, base: u64, at: u64) -> Option<Arc<Value>> {
    let mut backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
    loop {
        match fact_at(inner, chat, base, at).await {
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

/// The next events of the model's stream, if it is open.
pub(super) async fn next_events<S: futures::Stream + Unpin>(stream: &mut Option<S>) -> Option<S::Item> {
    match stream {
        Some(stream) => stream.next().await,
        None => None,
    }
}

/// Sleeps until then, or forever if there is no time.
pub(super) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
