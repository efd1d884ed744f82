//! The inbox: the open approval requests that somebody may decide, and one of them by its id.

use std::sync::Arc;

use holdpoint_protocol::{
    holds::{Cause, Votes},
    ids::{ApprovalId, ChatId, ToolCallId},
    json,
    request::PendingApproval,
};
use serde_json::Value;

use super::{
    Hold, Inbox, RuntimeError,
    audit::input_sha256,
    head::HoldApproval,
    lists::{ApprovalCursor, PAGE, Page},
    load::FactReader,
    runtime::Inner,
};
use crate::{
    approvers::Approvers,
    clock::Timestamp,
    fact::Fact,
    identity::Identity,
    log::{Found, HoldsOf},
    subject::Subject,
};

/// The number of requests that one page looks at, at most. With filters, it may then have fewer than were asked for.
const MAX_LOOKED_AT: usize = 2000;

/// Which approval requests are listed. Everything that is set has to fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApprovalFilter {
    /// Only calls of this tool.
    pub tool: Option<String>,
    /// Only those of this chat.
    pub chat: Option<ChatId>,
    /// Only those in the chats of this subject.
    pub requested_by: Option<Subject>,
    /// Only those with this text in the name or title of the tool, the chat's id, the requester, or a text or number of
    /// the input. Case does not matter.
    pub text: Option<String>,
}

impl ApprovalFilter {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a request fits. `text` is in lower case.
    fn fits(&self, approval: &PendingApproval, text: Option<&str>) -> bool {
        let is = |wanted: Option<&str>, value: &str| wanted.is_none_or(|wanted| wanted == value);
        is(self.tool.as_deref(), &approval.tool_name)
            && is(self.chat.as_ref().map(ChatId::as_str), approval.chat_id.as_str())
            && is(self.requested_by.as_ref().map(Subject::as_str), &approval.requested_by)
            && text.is_none_or(|text| {
                let names = [&approval.tool_name, &approval.requested_by].into_iter().chain(&approval.title);
                names.map(String::as_str).chain([approval.chat_id.as_str()]).any(|name| contains(name, text))
                    || mentions(&approval.input, text)
            })
    }
}

fn contains(value: &str, text: &str) -> bool {
    value.to_lowercase().contains(text)
}

/// Whether a text or number in a value contains a text. Values in the log are nested only so deep.
fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(value) => contains(value, text),
        Value::Number(number) => number.to_string().contains(text),
        Value::Array(items) => items.iter().any(|item| mentions(item, text)),
        Value::Object(fields) => fields.values().any(|field| mentions(field, text)),
        Value::Null | Value::Bool(_) => false,
    }
}

/// An open approval request that somebody may decide, with its input as text.
#[derive(Debug, Clone)]
pub struct ApprovalRow {
    chat: ChatId,
    /// Without its request.
    hold: Hold,
    request: HoldApproval,
    owner: Subject,
}

impl ApprovalRow {
    /// The size of its input.
    pub fn bytes(&self) -> usize {
        self.hold.input.len()
    }

    /// Its entry in the inbox of somebody who may decide.
    pub fn entry(&self, by: &Identity) -> PendingApproval {
        let Self { chat, hold, request, owner } = self;
        pending(chat.clone(), hold, request, owner, Some(by))
    }
}

/// An approval request that no longer waits.
struct Ended {
    call: ToolCallId,
    approvers: Arc<Approvers>,
    is_escalated: bool,
}

impl Ended {
    /// Why it has ended, if this fact says so.
    fn cause(&mut self, fact: &Fact) -> Option<Cause> {
        match fact {
            Fact::Escalated { call, .. } if *call == self.call => {
                self.is_escalated = true;
                None
            }
            Fact::Decided { call, .. } if *call == self.call => Some(Cause::Decision),
            Fact::Settled { call, cause, .. } if *call == self.call => Some(*cause),
            _ => None,
        }
    }
}

/// An approval request by its id.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalState {
    /// It waits.
    Open(Box<PendingApproval>),
    /// It has ended.
    Ended(Cause),
}

impl Inbox<'_> {
    /// All open approval requests that this identity may decide, oldest first.
    pub async fn list(&self) -> Result<Vec<PendingApproval>, RuntimeError> {
        let (mut approvals, mut after) = (Vec::new(), None);
        loop {
            let page = self.page(&ApprovalFilter::default(), after, PAGE).await?;
            approvals.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(approvals);
            }
        }
    }

    /// One page of the open approval requests that this identity may decide, oldest first: those in its own chats and, with
    /// the role `approver`, those that name it or one of its groups.
    ///
    /// A page with large inputs, or with a filter that few fit, has fewer than `limit`, even none, and still a next one.
    pub async fn page(
        &self,
        filter: &ApprovalFilter,
        after: Option<ApprovalCursor>,
        limit: usize,
    ) -> Result<Page<PendingApproval, ApprovalCursor>, RuntimeError> {
        let Page { items, next } = self.rows(filter, after, limit).await?;
        Ok(Page { items: items.iter().map(|row| row.entry(&self.by)).collect(), next })
    }

    /// Like [`page`](Self::page), with the inputs as text. As values they take many times as much memory, so a caller that
    /// writes them makes [`ApprovalRow::entry`] of one after the other.
    pub async fn rows(
        &self,
        filter: &ApprovalFilter,
        after: Option<ApprovalCursor>,
        limit: usize,
    ) -> Result<Page<ApprovalRow, ApprovalCursor>, RuntimeError> {
        let (by, inner) = (&self.by, &self.runtime.inner);
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let (mut items, mut next, mut looked_at, mut bytes) = (Vec::new(), after, 0, 0);
        loop {
            let rows = inner.to_decide(by, next, limit).await?;
            for (chat, row) in rows.items {
                let here = ApprovalCursor::of(&chat, &row);
                looked_at += 1;
                bytes += row.data.len();
                let Some(mut hold) = inner.hold(&chat, &row).await else { continue };
                let Some(request) = hold.request.take() else { continue };
                let owner = request.owner.as_ref().unwrap_or(by.subject()).clone();
                if !request.terms.approvers.let_decide(by, &owner, request.is_escalated) {
                    continue;
                }
                let row = ApprovalRow { chat, hold, request, owner };
                if !filter.is_empty() && !filter.fits(&row.entry(by), text.as_deref()) {
                    continue;
                }
                items.push(row);
                if items.len() == limit {
                    return Ok(Page { items, next: Some(here) });
                }
            }
            next = rows.next;
            if next.is_none() || looked_at >= MAX_LOOKED_AT || bytes > crate::log::PAGE_BYTES {
                return Ok(Page { items, next });
            }
        }
    }

    /// One approval request, for those who may see it: whoever may decide, the owner of the chat, and administrators.
    pub async fn get(&self, approval: &ApprovalId) -> Result<Option<ApprovalState>, RuntimeError> {
        let (by, inner) = (&self.by, &self.runtime.inner);
        let Some((owner, found)) = inner.found_approval(by, approval).await? else { return Ok(None) };
        let sees_all = by.subject() == &owner || by.is_admin();
        let mut after = None;
        loop {
            let page = inner.held(HoldsOf::Chat(found.chat.clone()), true, after, PAGE).await?;
            let row = page.items.into_iter().find(|(_, row)| row.approval.as_ref() == Some(approval));
            if let Some((chat, row)) = row
                && let Some(listed) = inner.hold(&chat, &row).await
                && let Some(request) = &listed.request
            {
                if !sees_all && !request.terms.approvers.let_decide(by, &owner, request.is_escalated) {
                    return Ok(None);
                }
                // What is decided on is what is recorded, not what is listed.
                let Some(hold) = inner.recorded(&chat, approval).await? else { break };
                let Some(request) = &hold.request else { break };
                return Ok(open_approval(by, &owner, chat, &hold, request));
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let chat = found.chat.clone();
        // It has ended: what its call has become is in its turn.
        let mut facts = FactReader::new(inner, found);
        let mut ended: Option<Ended> = None;
        while let Some(batch) = facts.next().await? {
            for fact in batch {
                match (&mut ended, fact) {
                    (None, Fact::Asked { call, approval: id, terms, .. }) if id == *approval => {
                        let approvers = Arc::clone(&terms.approvers);
                        // Whoever may not see it, whatever has become of it, is answered here.
                        if !sees_all && !approvers.let_decide(by, &owner, true) {
                            return Ok(None);
                        }
                        ended = Some(Ended { call, approvers, is_escalated: false });
                    }
                    (Some(ended), fact) => {
                        if let Some(cause) = ended.cause(&fact) {
                            let sees_it = sees_all || ended.approvers.let_decide(by, &owner, ended.is_escalated);
                            return Ok(sees_it.then_some(ApprovalState::Ended(cause)));
                        }
                    }
                    _ => {}
                }
            }
        }
        // It waits, and its row is gone: somebody has removed it.
        if let Some(hold) = inner.recorded(&chat, approval).await?
            && let Some(request) = &hold.request
        {
            return Ok(open_approval(by, &owner, chat, &hold, request));
        }
        // It was answered while this was read.
        let sees_it = |ended: &Ended| sees_all || ended.approvers.let_decide(by, &owner, ended.is_escalated);
        Ok(ended.filter(sees_it).map(|_| ApprovalState::Ended(Cause::Decision)))
    }
}

impl Inner {
    /// The chat of an approval request, and its owner: that of the identity or, if it may decide for others or sees
    /// everything, any.
    pub(super) async fn chat_of_approval(
        &self,
        by: &Identity,
        approval: &ApprovalId,
    ) -> Result<Option<(Subject, ChatId)>, RuntimeError> {
        Ok(self.found_approval(by, approval).await?.map(|(owner, found)| (owner, found.chat)))
    }

    pub(super) async fn found_approval(
        &self,
        by: &Identity,
        approval: &ApprovalId,
    ) -> Result<Option<(Subject, Found)>, RuntimeError> {
        let find = async |subject: &Subject| self.log.find(subject, approval.as_str()).await;
        if let Some(found) = find(by.subject()).await.map_err(RuntimeError::Log)? {
            return Ok(Some((by.subject().clone(), found)));
        }
        if !by.is_approver() && !by.is_admin() {
            return Ok(None);
        }
        let found = find(&Subject::nobody()).await.map_err(RuntimeError::Log)?;
        let Some(found) = found else { return Ok(None) };
        Ok(self.owner_of(&found.chat).await?.map(|owner| (owner, found)))
    }
}

/// An open approval request, for those who may see it.
fn open_approval(
    by: &Identity,
    owner: &Subject,
    chat: ChatId,
    hold: &Hold,
    request: &HoldApproval,
) -> Option<ApprovalState> {
    let may_decide = request.terms.approvers.let_decide(by, owner, request.is_escalated);
    let sees_it = by.subject() == owner || by.is_admin() || may_decide;
    let open = || pending(chat, hold, request, owner, may_decide.then_some(by));
    sees_it.then(|| ApprovalState::Open(Box::new(open())))
}

/// An entry for somebody who decides, or for somebody who just sees it.
fn pending(
    chat_id: ChatId,
    hold: &Hold,
    request: &HoldApproval,
    owner: &Subject,
    decider: Option<&Identity>,
) -> PendingApproval {
    let terms = &request.terms;
    let quorum = terms.approvers.quorum;
    let votes = request.votes.iter().map(|by| by.as_str().to_owned()).collect();
    let input = json::parse(hold.input.as_bytes()).unwrap_or_default();
    PendingApproval {
        approval_id: request.approval.clone(),
        tool_call_id: hold.call.clone(),
        allowed: decider.map(|by| terms.allowed(by, owner)).unwrap_or_default(),
        chat_id,
        tool_name: hold.name.to_string(),
        title: terms.title.clone(),
        description: Some(terms.description.clone()),
        input_schema: Some(terms.schema.clone()),
        headline: terms.headline.clone(),
        input_sha256: input_sha256(&input),
        input,
        reason: Some(terms.reason.clone()),
        requested_at: request.asked_at.iso8601(),
        expires_at: hold.deadline.map(Timestamp::iso8601),
        requested_by: owner.as_str().to_owned(),
        votes: (quorum > 1).then_some(Votes { by: votes, quorum }),
        is_escalated: request.is_escalated,
    }
}
