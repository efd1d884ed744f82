//! What a task does about each command, and about what has come of its work.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    ChatTask,
    drive::{Driven, Failure, Sender},
    log::OnConflict,
    work::Progress,
};
use crate::{
    driver::{
        command::{ChatError, Command, Taken},
        counters::count,
        shown::Shown,
    },
    model::ModelError,
    subject::Subject,
    turn::{Input, Rejection, Reply},
    wire::{Channel, ResponsePlan},
};

/// How long a command may wait for another node.
const DEFERRED_TIMEOUT: Duration = Duration::from_secs(3600);

/// What the user is told when the model had to be stopped.
const NO_ROOM: &str =
    "The answer was stopped: your chats take all the memory they may at a time. Please try again later.";

impl ChatTask {
    /// Carries out a command. With an error, the task ends.
    pub(super) async fn command(&mut self, command: Command) -> Result<(), ChatError> {
        match command {
            Command::Input { input, subject, channel, shown, until, reply } => {
                if until <= Instant::now() {
                    return Ok(());
                }
                let is_stop = matches!(*input, Input::Stop { .. });
                match self.take(&input, &subject, channel, shown.as_ref()).await {
                    Ok(_) if is_stop && self.log.is_elsewhere() && self.log.state().turn.is_some() => {
                        let until = Instant::now() + DEFERRED_TIMEOUT;
                        self.mailbox.defer(Command::Input { input, subject, channel, shown, until, reply });
                    }
                    // The sender may be gone. The facts stay.
                    Ok(taken) => drop(reply.send(Ok(taken))),
                    Err(Failure::Refused(error)) => drop(reply.send(Err(error))),
                    Err(Failure::Lost(error)) => {
                        let _ = reply.send(Err(error.clone()));
                        return Err(error);
                    }
                }
                Ok(())
            }
            Command::Read { subject, may_be_new, reply } => {
                if let Err(error) = self.catch_up_for_reader().await? {
                    let _ = reply.send(Err(ChatError::Log(error)));
                    return Ok(());
                }
                let is_theirs = match self.log.subject() {
                    Some(owner) => *owner == subject,
                    None => may_be_new && self.log.may_be_begun_by(&subject),
                };
                let refusal = ChatError::not_theirs(may_be_new);
                let _ = reply.send(if is_theirs { Ok(self.followers.reader()) } else { Err(refusal) });
                Ok(())
            }
            Command::Prompt { by, prompt, response } => {
                // If the prompt is refused, the dropped channel tells the tool.
                if let Reply::Prompted(call) = self.input(Input::Prompt { by, prompt }).await? {
                    self.work.await_answer(call, response);
                }
                Ok(())
            }
            Command::Keeper { call, command } => self.keep(call, command).await,
            Command::Progress { call, output } => self.input(Input::Progress { call, output }).await.map(drop),
            Command::Due { call, permit } => {
                let is_watched = self.followers.exist();
                let expired = self.input(Input::Due { call, is_watched }).await.map(drop);
                drop(permit);
                expired
            }
            Command::Mend => match self.mend_holds().await {
                Err(ChatError::Log(error)) => {
                    // It is looked at again.
                    tracing::warn!(chat = %self.id, %error, "the rows of holds could not be compared with the facts");
                    Ok(())
                }
                mended => mended,
            },
            Command::Recover { is_abandoned, done } => {
                // The task recovered the chat when it started, unless another node ran it.
                if is_abandoned {
                    self.take_over().await?;
                }
                // The receiver is gone during a shutdown.
                let _ = done.send(());
                Ok(())
            }
            Command::Retire { before, reply } => self.retire(before, reply).await,
            Command::Delete { subject, by, reply } => self.delete(subject, by, reply).await,
        }
    }

    /// Takes an input of a client.
    async fn take(
        &mut self,
        input: &Input,
        subject: &Subject,
        channel: Channel,
        shown: Option<&Shown>,
    ) -> Result<Taken, Failure> {
        let is_submit = matches!(input, Input::Submit(_));
        let is_new_chat = is_submit && self.log.may_be_begun_by(subject);
        if !is_new_chat && self.log.subject() != Some(subject) {
            return Err(Failure::Refused(ChatError::not_theirs(is_submit)));
        }
        self.log.look_back(input, self.followers.shown()).await.map_err(Failure::Refused)?;
        if let Some(error) = self.refuses_as_shown(input, shown).await? {
            return Err(Failure::Refused(error));
        }
        self.mailbox.came_through(channel);
        let mut refuses = None;
        if is_submit {
            self.work.choose_agent(subject);
            refuses = self.refusal(subject).await.map_err(Failure::Refused)?;
        }
        let sender = Sender::Client { refuses };
        let Driven { reply, is_new } = self.drive(vec![input.clone()], OnConflict::Decide, sender).await?;
        if let Reply::Rejected(Rejection::Limit(_)) = reply {
            count(&self.inner.counters.refused_turns);
        }
        let plan = ResponsePlan::of(self.log.state(), input, &reply);
        Ok(Taken { reply, plan, is_new, reader: self.followers.reader() })
    }

    /// Takes what has come of the work.
    pub(super) async fn progressed(&mut self, progress: Progress) -> Result<(), ChatError> {
        match progress {
            Progress::Tool(ended) => match self.work.tool_ended(ended).await {
                Some(input) => self.input(input).await.map(drop),
                None => Ok(()),
            },
            Progress::Model(events) => self.model_said(events).await,
        }
    }

    async fn model_said(&mut self, events: Option<Vec<Result<Input, ModelError>>>) -> Result<(), ChatError> {
        let events = match events {
            Some(events) => events,
            None => vec![Err(ModelError {
                message: "The model's answer was cut off. Please try again.".to_owned(),
                detail: "the model's stream ended without an end".to_owned(),
            })],
        };
        let has_room = self.log.reserve_for(&events);
        let input = |event| match event {
            Ok(input) => input,
            Err(ModelError { message, detail }) => {
                tracing::warn!(chat = %self.id, error = %detail, "the model failed");
                Input::ModelFailed(message)
            }
        };
        let mut inputs: Vec<Input> = events.into_iter().map(input).collect();
        if !has_room {
            // Many turns of one subject at once, or calls without an end.
            tracing::warn!(chat = %self.id, "the model was stopped: the chats of this subject take all the memory they may");
            inputs = vec![Input::ModelFailed(NO_ROOM.to_owned())];
            self.work.end_model();
        }
        self.drive(inputs, OnConflict::Rebase, Sender::Server).await?;
        Ok(())
    }
}
