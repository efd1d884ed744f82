//! The saved states of a chat's running calls: what a tool saves, and how it finds its prompts again.

use std::sync::{Arc, Weak};

use futures::future::BoxFuture;
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use tokio::sync::oneshot;

use super::{
    chat::ChatTask,
    command::{ChatError, Command},
    runtime::Inner,
    tool_run::prompt_response,
};
use crate::{
    call::{Call, Stage},
    tool::{Answer, NotOurs, Prompt, StateKeeper},
    turn::{Input, Reply},
};

/// A tool's command about the state of its call. A dropped reply says that the call is not run here any more.
pub(super) enum KeeperCommand {
    /// Saves the state or withdraws it, and shows prompts.
    Save { data: Option<String>, prompts: Vec<Prompt>, reply: oneshot::Sender<Vec<Answer>> },
    /// Finds the prompts of the saved state.
    Find { prompts: Vec<Option<ToolCallId>>, reply: oneshot::Sender<Vec<Answer>> },
}

struct Keeper {
    inner: Weak<Inner>,
    chat: ChatId,
    call: ToolCallId,
}

impl Keeper {
    fn send(
        &self,
        command: impl FnOnce(oneshot::Sender<Vec<Answer>>) -> KeeperCommand,
    ) -> BoxFuture<'static, Result<Vec<Answer>, NotOurs>> {
        let (reply, answers) = oneshot::channel();
        let command = Command::Keeper { call: self.call.clone(), command: command(reply) };
        let mailbox = self.inner.upgrade().and_then(|inner| inner.wake(&self.chat));
        Box::pin(async move {
            let mailbox = mailbox.ok_or(NotOurs)?;
            mailbox.send(command).await.map_err(|_| NotOurs)?;
            answers.await.map_err(|_| NotOurs)
        })
    }
}

impl StateKeeper for Keeper {
    fn save(&self, data: Option<String>, prompts: Vec<Prompt>) -> BoxFuture<'static, Result<Vec<Answer>, NotOurs>> {
        self.send(|reply| KeeperCommand::Save { data, prompts, reply })
    }

    fn answers(&self, prompts: Vec<Option<ToolCallId>>) -> BoxFuture<'static, Result<Vec<Answer>, NotOurs>> {
        self.send(|reply| KeeperCommand::Find { prompts, reply })
    }
}

/// Keeps the state of a call.
pub(super) fn keeper(inner: &Arc<Inner>, chat: &ChatId, call: &ToolCallId) -> Arc<dyn StateKeeper> {
    Arc::new(Keeper { inner: Arc::downgrade(inner), chat: chat.clone(), call: call.clone() })
}

impl ChatTask {
    /// Carries out a command of a running tool.
    pub(super) async fn keep(&mut self, call: ToolCallId, command: KeeperCommand) -> Result<(), ChatError> {
        // A tool that was ended must not change what its call is resumed from: it did not wait for that.
        if !self.work.is_running(&call) {
            return Ok(());
        }
        match command {
            KeeperCommand::Save { data, prompts, reply } => {
                let (data, prompts) = (data.map(Arc::from), Arc::from(prompts));
                let is_withdrawn = data.is_none();
                let saved = self.input(Input::Save { call: call.clone(), data, prompts }).await?;
                let Reply::Saved(prompts) = saved else { return Ok(()) };
                // If another node was first to append, nothing is saved, and the call is that node's.
                let known = self.log.state().calls.get(&call);
                let known = known.filter(|call| call.runs_here() && !self.log.is_elsewhere());
                if known.is_some_and(|call| !is_withdrawn || call.resume.is_none()) {
                    let answers = prompts.into_iter().map(|prompt| self.answer_to(&call, prompt)).collect();
                    let _ = reply.send(answers);
                }
            }
            KeeperCommand::Find { prompts, reply } => {
                let answers = prompts.into_iter().map(|prompt| self.answer_to(&call, prompt)).collect();
                let _ = reply.send(answers);
            }
        }
        Ok(())
    }

    /// The answer to a prompt of this call, be it there or to come. Any other prompt counts as dismissed: an imported chat
    /// may name those of others.
    fn answer_to(&mut self, call: &ToolCallId, prompt: Option<ToolCallId>) -> Answer {
        let (response, answer) = oneshot::channel();
        let known = prompt.as_ref().and_then(|prompt| self.log.state().calls.get(prompt));
        match (prompt, known.filter(|known| known.by.tool() == Some(call)).map(Call::stage)) {
            (Some(_), Some(Stage::Settled(settled))) => {
                let _ = response.send(prompt_response(&settled.outcome, settled.cause));
            }
            (Some(prompt), Some(_)) => self.work.await_answer(prompt, response),
            _ => {}
        }
        answer
    }
}
