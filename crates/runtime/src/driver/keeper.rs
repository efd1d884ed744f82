//! The saved states of a chat's running calls: what a tool saves, and how it finds its prompts again.

use std::sync::{Arc, Weak};

use futures::future::BoxFuture;
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use tokio::sync::oneshot;

use super::{
    chat::{ChatError, ChatTask, Command},
    runtime::Inner,
    work::prompt_response,
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

impl ChatTask {
    /// Keeps the state of a call.
    pub(super) fn keeper(&self, call: &ToolCallId) -> Arc<dyn StateKeeper> {
        Arc::new(Keeper { inner: Arc::downgrade(&self.inner), chat: self.id.clone(), call: call.clone() })
    }

    /// Carries out a command of a running tool.
    pub(super) async fn keep(&mut self, call: ToolCallId, command: KeeperCommand) -> Result<(), ChatError> {
        // A tool that was ended must not change what its call is resumed from: it did not wait for that.
        if !self.running.values().any(|(running, ..)| *running == call) {
            return Ok(());
        }
        match command {
            KeeperCommand::Save { data, prompts, reply } => {
                let (data, prompts) = (data.map(Arc::from), Arc::from(prompts));
                let is_withdrawn = data.is_none();
                let saved = self.input(Input::Save { call: call.clone(), data, prompts }).await?;
                let Reply::Saved(prompts) = saved else { return Ok(()) };
                // If another node was first to append, nothing is saved, and the call is that node's.
                let known = self.state.calls.get(&call).filter(|call| call.runs_here() && !self.is_elsewhere());
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
        let known = prompt.as_ref().and_then(|prompt| self.state.calls.get(prompt));
        match (prompt, known.filter(|known| known.by.tool() == Some(call)).map(Call::stage)) {
            (Some(_), Some(Stage::Settled(settled))) => {
                let _ = response.send(prompt_response(&settled.outcome, settled.cause));
            }
            (Some(prompt), Some(_)) => drop(self.prompts.insert(prompt, response)),
            _ => {}
        }
        answer
    }

    /// Ends the tools whose calls can be resumed, without an outcome: whoever starts next goes on with them.
    pub(super) fn suspend(&mut self) {
        let calls = &self.state.calls;
        self.running.retain(|_, (call, handle, ..)| {
            let can_resume = calls.get(call).is_some_and(|call| call.resume.is_some());
            if can_resume {
                handle.abort();
            }
            !can_resume
        });
    }
}
