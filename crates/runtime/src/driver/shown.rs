//! Decisions from the inbox: bound to what the inbox has shown.
//!
//! The inbox lists rows that are stored beside the facts, and a call runs by the facts. Whoever can write to the database
//! can change a row, so a decision is refused where the two differ. See `docs/adr/0030-the-record-follows-from-the-facts.md`.

use std::sync::Arc;

use holdpoint_protocol::{
    ids::{ApprovalId, ChatId},
    request::DecisionRequest,
};

use super::{
    Hold, Inbox, RuntimeError, audit::input_sha256, chat::ChatTask, command::ChatError, load::load, mend::hold_rows,
    runtime::Inner,
};
use crate::{
    call::{ApprovalRequest, Call},
    chat::Chat,
    identity::Identity,
    log::{HoldRow, LogError},
    turn::{Answered, Input},
    wire::Channel,
};

/// How often rows are read again because another node has appended meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// What somebody has seen of an approval request before deciding.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    /// The SHA-256 of the input, as the list and the single request give it. Not every client says.
    pub(super) input_sha256: Option<Box<str>>,
}

impl Inbox<'_> {
    /// Takes a decision. Whether it counts is for the policy of the tool to say, as it was when the approval was requested;
    /// where several have to approve, it is a vote.
    ///
    /// Fails with [`RuntimeError::NotAsShown`], and decides nothing, if what the inbox lists of it is not what is recorded.
    pub async fn decide(
        &self,
        approval: ApprovalId,
        decision: impl Into<DecisionRequest>,
    ) -> Result<Answered, RuntimeError> {
        self.decide_shown(approval, decision, None).await
    }

    /// Like [`decide`](Self::decide), for somebody who was shown the input with this SHA-256
    /// ([`PendingApproval::input_sha256`](holdpoint_protocol::request::PendingApproval::input_sha256)). Fails too if the call
    /// would run with another one.
    pub async fn decide_shown(
        &self,
        approval: ApprovalId,
        decision: impl Into<DecisionRequest>,
        input_sha256: Option<Box<str>>,
    ) -> Result<Answered, RuntimeError> {
        let (by, decision) = (&self.by, decision.into());
        let found = self.runtime.inner.chat_of_approval(by, &approval).await?;
        let Some((owner, chat)) = found else { return Ok(Answered::Unknown) };
        let input = Input::Decide { approval, decision, by: Arc::new(by.clone()) };
        self.runtime.inner.answered(&owner, &chat, input, Channel::Inbox, Some(Shown { input_sha256 })).await
    }
}

impl ChatTask {
    /// Why a decision is not taken, if it is about something else than what was shown, or if that can't be read at the moment.
    pub(super) async fn refuses_as_shown(
        &mut self,
        input: &Input,
        shown: Option<&Shown>,
    ) -> Result<Option<ChatError>, ChatError> {
        let (Input::Decide { approval, by, .. }, Some(shown)) = (input, shown) else { return Ok(None) };
        match self.is_as_shown(approval, by, shown).await {
            Ok(is_as_shown) => Ok((!is_as_shown).then_some(ChatError::NotAsShown)),
            Err(error @ ChatError::Log(_)) => Ok(Some(error)),
            Err(error) => Err(error),
        }
    }

    /// Whether what was shown of an approval request is what is recorded, before its decision and after it.
    async fn is_as_shown(&mut self, approval: &ApprovalId, by: &Identity, shown: &Shown) -> Result<bool, ChatError> {
        for _ in 0..MAX_ATTEMPTS {
            if self.inner.lease.is_shared() {
                self.catch_up_or_end().await?;
            }
            let rows = rows(&self.inner, &self.id, approval).await?;
            // Whoever may not decide learns nothing of it, not even whether they know the input.
            let owner = self.log.subject();
            let is_theirs = |request: &ApprovalRequest| owner.is_some_and(|owner| request.lets_decide(by, owner));
            if !asked(self.log.state(), approval).is_some_and(|(_, request)| is_theirs(request)) {
                return Ok(true);
            }
            let Some(hold) = open_hold(self.log.state(), approval) else {
                // It has ended, so no row lists it.
                let input = asked(self.log.state(), approval).and_then(|(call, _)| call.asked_about());
                let is_it = |shown: &str| input.is_none_or(|input| input.to_string() == shown);
                return Ok(shown.input_sha256.as_deref().is_none_or(is_it));
            };
            if shown.input_sha256.as_deref().is_some_and(|shown| !hold.has_input(shown)) {
                return Ok(false);
            }
            // A row that can't be decoded is not listed: the facts are.
            if rows.iter().all(|row| Hold::read(row).is_err() || hold.is_stored_as(row)) {
                return Ok(true);
            }
            // Another node may have appended between the two reads.
            if !self.inner.lease.is_shared() || !self.catch_up().await? {
                tracing::error!(
                    chat = %self.id, call = %hold.call,
                    "the stored row of a hold is not what the facts say; nothing is decided by it"
                );
                // From now on the inbox shows what is recorded, so that it can be decided there.
                self.mend_holds().await?;
                return Ok(false);
            }
        }
        Err(ChatError::Lost)
    }
}

impl Hold {
    fn has_input(&self, sha256: &str) -> bool {
        let input = holdpoint_protocol::json::parse(self.input.as_bytes()).ok();
        input.as_ref().and_then(input_sha256).is_some_and(|own| own == sha256)
    }
}

/// An approval request of a chat, open or not, and its call.
fn asked<'a>(state: &'a Chat, approval: &ApprovalId) -> Option<(&'a Call, &'a ApprovalRequest)> {
    let call = state.calls.get(state.approvals.get(approval)?)?;
    call.request.as_ref().map(|request| (call, request))
}

/// The open approval request of a chat with this id.
pub(super) fn open_hold(state: &Chat, approval: &ApprovalId) -> Option<Hold> {
    let is_it = |hold: &Hold| hold.request.as_ref().is_some_and(|request| request.approval == *approval);
    Hold::of(state).into_iter().find(is_it)
}

/// The rows of a chat that are listed as this approval request. There is one, unless somebody has changed the table.
async fn rows(inner: &Inner, chat: &ChatId, approval: &ApprovalId) -> Result<Vec<HoldRow>, LogError> {
    let mut rows = hold_rows(&*inner.log, chat).await?;
    rows.retain(|row| row.approval.as_ref() == Some(approval));
    Ok(rows)
}

impl Inner {
    /// An open approval request as the facts of its chat have it.
    pub(super) async fn recorded(
        self: &Arc<Self>,
        chat: &ChatId,
        approval: &ApprovalId,
    ) -> Result<Option<Hold>, RuntimeError> {
        let loaded = load(self, chat, None).await.map_err(|error| RuntimeError::from(ChatError::from(error)))?;
        let mut state = loaded.origin;
        loaded.facts.iter().for_each(|fact| state.apply(fact));
        Ok(open_hold(&state, approval))
    }
}
