//! What has become of one approval request, for as long as its chat exists.

use holdpoint_protocol::{
    holds::ChatHold,
    ids::{ApprovalId, ChatId},
    request::{ApprovalRecord, PendingApproval},
};

use super::{Inbox, RuntimeError, StoredChat, audit::input_sha256};
use crate::{
    identity::Identity,
    subject::Subject,
    turn::EarlierId,
    wire::{Asked, asked},
};

impl Inbox<'_> {
    /// The record of an approval request, open or not, for those who may see it: whoever may decide or has decided, the owner
    /// of the chat, and administrators. It is made of the facts of its turn, however long the chat is.
    pub async fn record(&self, approval: &ApprovalId) -> Result<Option<ApprovalRecord>, RuntimeError> {
        let by = &self.by;
        let Some((owner, chat)) = self.runtime.inner.chat_of_approval(by, approval).await? else { return Ok(None) };
        let stored = match self.runtime.chats(&owner).open(&chat).await {
            Err(RuntimeError::NotFound) => return Ok(None),
            opened => opened?,
        };
        let Some(asked) = stored.asked(approval, &owner, by).await? else { return Ok(None) };
        Ok(is_seen_by(&asked, by, &owner).then(|| record(asked, approval.clone(), chat, &owner)))
    }
}

impl StoredChat {
    /// An approval request and its call.
    async fn asked(
        &self,
        approval: &ApprovalId,
        owner: &Subject,
        by: &Identity,
    ) -> Result<Option<Asked>, RuntimeError> {
        if let Some(asked) = asked(&self.0.after(0), approval, owner, by) {
            return Ok(Some(asked));
        }
        let turns = self.0.turns_with([EarlierId::Approval(approval.clone())]).await?;
        Ok(turns.iter().find_map(|turn| asked(&turn.facts, approval, owner, by)))
    }
}

fn is_seen_by(asked: &Asked, by: &Identity, owner: &Subject) -> bool {
    let decided = asked.hold.decision.iter().flat_map(|decision| &decision.by);
    let voted = asked.hold.votes.iter().flat_map(|votes| &votes.by);
    by.subject() == owner
        || by.is_admin()
        || asked.terms.approvers.let_decide(by, owner, asked.is_escalated)
        || decided.chain(voted).any(|name| name == by.subject().as_str())
}

fn record(asked: Asked, approval_id: ApprovalId, chat_id: ChatId, owner: &Subject) -> ApprovalRecord {
    let Asked { hold, terms, is_escalated } = asked;
    let ChatHold { tool_call_id, tool_name, input, state, requested_at, expires_at, allowed, votes, outcome, .. } =
        hold;
    let mut decision = hold.decision;
    // What was asked about, and what runs in its place.
    let original = decision.as_mut().and_then(|decision| decision.original_input.take());
    let (input, edited_input) = match original {
        Some(original) => (original, Some(input)),
        None => (input, None),
    };
    let approval = PendingApproval {
        approval_id,
        tool_call_id,
        chat_id,
        title: terms.title.clone(),
        description: Some(terms.description.clone()),
        input_schema: Some(terms.schema.clone()),
        headline: terms.headline.clone(),
        tool_name,
        input_sha256: input_sha256(&input),
        input,
        reason: Some(terms.reason.clone()),
        requested_at,
        expires_at,
        allowed,
        requested_by: owner.as_str().to_owned(),
        votes,
        is_escalated,
    };
    ApprovalRecord { approval, state, decision, edited_input, outcome }
}
