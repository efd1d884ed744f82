//! Grants: read before a call may need one, written with appends, listed and revoked.

use std::{collections::BTreeSet, fmt, str::FromStr};

use holdpoint_protocol::{
    grants::{Grant, GrantState},
    ids::{GrantId, ToolCallId},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    Grants, RuntimeError, audit,
    chat::ChatTask,
    lists::{CursorError, Page, time_and_rest},
    runtime::Inner,
    seal::{SealError, seal, unseal},
};
use crate::{
    chat::Chat,
    clock::Timestamp,
    fact::Fact,
    grants::{Coverage, GrantScope, GrantTerms, UsableGrant, tool_digest},
    identity::Identity,
    log::{GrantChanges, GrantQuery, GrantRow, GrantUse, Revocation, StoredGrant},
    subject::Subject,
    turn::{Input, asked_tools},
};

/// How many more grants than the limit are read: approvals on several nodes can exceed it by a few.
const MORE: usize = 100;

/// The runtime's part of a stored grant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct GrantData {
    id: GrantId,
    /// The call whose approval made it.
    call: ToolCallId,
    terms: GrantTerms,
}

impl GrantData {
    /// Reads a row. A damaged row must not pass for another grant.
    fn read(grant: &StoredGrant) -> Result<Self, SealError> {
        let data: Self = unseal(&grant.data)?;
        let GrantTerms { scope, until, uses, .. } = &data.terms;
        let is_for_chat = *scope == GrantScope::Chat;
        let is_whole = data.id == grant.id && *until == grant.until && *uses == grant.uses;
        if is_whole && is_for_chat == grant.chat.is_some() { Ok(data) } else { Err(SealError::Sum) }
    }
}

/// The SHA-256 of the terms of a grant as they are stored, in hexadecimal digits. The record has it.
pub(super) fn terms_sha256(grant: &GrantId, call: &ToolCallId, terms: &GrantTerms) -> String {
    sha256(&seal(&GrantData { id: grant.clone(), call: call.clone(), terms: terms.clone() }))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the terms of a stored grant have this SHA-256, and its columns say the same.
pub(super) fn has_terms(grant: &StoredGrant, wanted: &str) -> bool {
    sha256(&grant.data) == wanted && GrantData::read(grant).is_ok()
}

/// What the turn machine has to know of grants.
#[derive(Debug, Default)]
pub(super) struct KnownGrants {
    pub(super) usable: Vec<UsableGrant>,
    /// The limit, if it is reached.
    pub(super) full: Option<usize>,
}

impl ChatTask {
    /// Reads the grants that these inputs may use. Without them, a person is asked, so a log that can't be read at the
    /// moment holds nothing up.
    pub(super) async fn known_grants(&mut self, inputs: &[Input], refused: &BTreeSet<GrantId>) -> KnownGrants {
        let mut known = KnownGrants::default();
        let Some(subject) = self.log.subject().cloned() else { return known };
        let limit = self.inner.limits.grants_per_subject;
        let now = self.inner.clock.now();
        let query = |tool| GrantQuery::Usable { subject: subject.clone(), tool, now };
        if inputs.iter().any(|input| matches!(input, Input::Decide { decision, .. } if decision.remember.is_some())) {
            let usable = self.inner.log.grants(query(None), limit).await;
            known.full = usable.is_ok_and(|usable| usable.len() >= limit).then_some(limit);
        }
        if self.log.is_elsewhere() {
            return known;
        }
        for tool in asked_tools(self.log.state(), inputs, self.work.tools().catalog()) {
            match self.inner.log.grants(query(Some(tool.into())), limit.saturating_add(MORE)).await {
                Ok(grants) => {
                    let is_for = |grant: &&StoredGrant| grant.chat.as_ref().is_none_or(|chat| *chat == self.id);
                    let usable = grants.iter().filter(is_for).filter(|grant| !refused.contains(&grant.id));
                    known.usable.extend(usable.filter_map(usable_grant));
                }
                Err(error) => tracing::warn!(chat = %self.id, %error, "grants can't be read, so somebody is asked"),
            }
        }
        known
    }
}

fn usable_grant(grant: &StoredGrant) -> Option<UsableGrant> {
    let terms = match GrantData::read(grant) {
        Ok(data) => data.terms,
        Err(error) => {
            tracing::error!(grant = %grant.id, %error, "a stored grant can't be read, and is not used");
            return None;
        }
    };
    let left = grant.uses.map(|uses| u64::from(uses).saturating_sub(grant.used));
    Some(UsableGrant { id: grant.id.clone(), tool: grant.tool.clone(), maker: grant.maker.clone(), left, terms })
}

/// What a batch of facts does to grants. `state` is the chat after them.
pub(super) fn changes(facts: &[&Fact], state: &Chat) -> GrantChanges {
    let mut changes = GrantChanges::default();
    for (index, fact) in (0..).zip(facts) {
        match fact {
            Fact::Granted { call, grant, terms, by, at } => {
                let Some(tool) = state.calls.get(call).map(|call| call.name.as_str().into()) else { continue };
                let data = GrantData { id: grant.clone(), call: call.clone(), terms: GrantTerms::clone(terms) };
                changes.made.push(GrantRow {
                    id: grant.clone(),
                    index,
                    tool,
                    maker: by.clone(),
                    scope: terms.scope,
                    made_at: *at,
                    until: terms.until,
                    uses: terms.uses,
                    data: seal(&data),
                });
            }
            Fact::Used { grant, at, .. } => changes.used.push(GrantUse { grant: grant.clone(), at: *at }),
            _ => {}
        }
    }
    changes
}

/// The grants that facts use.
pub(super) fn used(facts: &[Fact]) -> impl Iterator<Item = GrantId> {
    facts.iter().filter_map(|fact| match fact {
        Fact::Used { grant, .. } => Some(grant.clone()),
        _ => None,
    })
}

/// A position in the list of grants. Its text is for the same list only, and has no meaning to anybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantCursor {
    made_at: Timestamp,
    grant: GrantId,
}

impl fmt::Display for GrantCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.made_at.0, self.grant)
    }
}

impl FromStr for GrantCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (made_at, grant) = time_and_rest(text)?;
        Ok(Self { made_at, grant: GrantId::from(grant) })
    }
}

impl Grants<'_> {
    /// One page of the grants, newest first.
    pub async fn page(
        &self,
        after: Option<GrantCursor>,
        limit: usize,
    ) -> Result<Page<Grant, GrantCursor>, RuntimeError> {
        let (by, inner) = (&self.by, &self.runtime.inner);
        let of = (!by.is_admin()).then(|| by.subject().clone());
        let after = after.map(|GrantCursor { made_at, grant }| (made_at, grant));
        let query = GrantQuery::List { of, after };
        let grants = inner.log.grants(query, limit).await.map_err(RuntimeError::Log)?;
        let last = grants.last().filter(|_| grants.len() >= limit);
        let next = last.map(|last| GrantCursor { made_at: last.made_at, grant: last.id.clone() });
        let now = inner.clock.now();
        Ok(Page { items: grants.iter().filter_map(|grant| inner.listed(grant, now)).collect(), next })
    }

    /// Revokes a grant: no call runs on it any more. Revoking it again changes nothing. Fails with
    /// [`RuntimeError::NotFound`] if there is no such grant, or none that this identity may see.
    pub async fn revoke(&self, grant: &GrantId) -> Result<Grant, RuntimeError> {
        let (by, inner) = (&self.by, &self.runtime.inner);
        let found = inner.grant(grant).await?.filter(|found| is_visible(found, by)).ok_or(RuntimeError::NotFound)?;
        let (at, data) = (inner.clock.now(), GrantData::read(&found).ok());
        let revocation = Revocation {
            grant: grant.clone(),
            by: by.subject().clone(),
            at,
            data: audit::revoked(grant, data.as_ref().map(|data| &data.call)),
        };
        inner.log.revoke(revocation).await.map_err(RuntimeError::Log)?;
        // If its chat was deleted meanwhile, it is gone.
        let revoked = inner.grant(grant).await?.unwrap_or(found);
        inner.listed(&revoked, at).ok_or(RuntimeError::NotFound)
    }
}

fn is_visible(grant: &StoredGrant, by: &Identity) -> bool {
    by.is_admin() || grant.subject == *by.subject() || grant.maker == *by.subject()
}

impl Inner {
    async fn grant(&self, grant: &GrantId) -> Result<Option<StoredGrant>, RuntimeError> {
        let found = self.log.grants(GrantQuery::One(grant.clone()), 1).await.map_err(RuntimeError::Log)?;
        Ok(found.into_iter().next())
    }

    fn listed(&self, grant: &StoredGrant, now: Timestamp) -> Option<Grant> {
        let GrantData { terms, .. } = GrantData::read(grant)
            .map_err(|error| tracing::error!(grant = %grant.id, %error, "a stored grant can't be read"))
            .ok()?;
        let state = match grant.state(now) {
            GrantState::Active if self.has_other_tool(grant, &terms) => GrantState::Suspended,
            state => state,
        };
        Some(listed(grant, &terms, state))
    }

    /// Whether the tool is not the one that the grant relies on.
    fn has_other_tool(&self, grant: &StoredGrant, terms: &GrantTerms) -> bool {
        let tools = match &grant.chat {
            Some(chat) => self.tools_of(chat, &grant.subject),
            None if self.agents.is_none() => self.tools(),
            // Each chat has its own.
            None => return false,
        };
        let spec = tools.get(&grant.tool).map(|tool| &tool.spec).filter(|spec| spec.allows_grants());
        spec.and_then(|spec| tool_digest(spec)).as_ref() != Some(&terms.tool)
    }
}

fn listed(grant: &StoredGrant, terms: &GrantTerms, state: GrantState) -> Grant {
    let text = |subject: &Subject| subject.as_str().to_owned();
    Grant {
        id: grant.id.clone(),
        tool_name: grant.tool.to_string(),
        scope: terms.scope,
        subject: text(&grant.subject),
        chat_id: grant.chat.clone(),
        covers: terms.covers.wire(),
        input_sha256: match &terms.covers {
            Coverage::Input(digest) => Some(digest.to_string()),
            Coverage::Tool | Coverage::Rule(_) => None,
        },
        state,
        maker: text(&grant.maker),
        made_at: grant.made_at.iso8601(),
        until: grant.until.map(Timestamp::iso8601),
        uses: grant.uses,
        used: grant.used,
        last_used_at: grant.last_used_at.map(Timestamp::iso8601),
        revoked_at: grant.revoked.as_ref().map(|(at, _)| at.iso8601()),
        revoked_by: grant.revoked.as_ref().map(|(_, by)| text(by)),
    }
}
