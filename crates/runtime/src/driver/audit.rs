//! The record: what appends add to it, and the lines that are read from it.

use std::{fmt, str::FromStr};

use bytes::Bytes;
use holdpoint_protocol::{
    audit::{AuditChannel, AuditLine, AuditStep},
    holds::{Cause, DecisionKind},
    ids::{ApprovalId, ChatId, GrantId, ToolCallId},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Audit, RuntimeError,
    deletion::LinesHash,
    grants,
    lists::{CursorError, Page, time_and_rest},
};
use crate::{
    chat::Chat,
    clock::Timestamp,
    fact::Fact,
    grants::JsonDigest,
    log::{AuditEntry, AuditQuery, AuditRow, BatchHash, PAGE_BYTES, REVOCATION},
    subject::Subject,
};

/// The maximum length of a tool's name in the record. The name of a tool that does not exist is the model's own text.
const MAX_TOOL_BYTES: usize = 256;

/// What is stored of a step besides its columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    step: AuditStep,
    call: ToolCallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<AuditChannel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval: Option<ApprovalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<DecisionKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grant: Option<GrantId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    invalid: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    terms_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous_hash: Option<BatchHash>,
}

/// What is removed when the chat is deleted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Contents {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original_input: Option<Value>,
}

impl Data {
    fn of(step: AuditStep, call: &ToolCallId) -> Self {
        Self {
            step,
            call: call.clone(),
            channel: None,
            approval: None,
            decision: None,
            cause: None,
            grant: None,
            invalid: false,
            input_sha256: None,
            original_sha256: None,
            terms_sha256: None,
            lines_sha256: None,
            previous_hash: None,
        }
    }

    fn row(&self, index: u32, at: Timestamp, tool: &str, by: Option<Subject>, contents: Option<&Contents>) -> AuditRow {
        let tool = &tool[..tool.floor_char_boundary(MAX_TOOL_BYTES)];
        // This can't fail: all keys are strings.
        let json = |written: serde_json::Result<Vec<u8>>| Bytes::from(written.unwrap_or_default());
        let data = json(serde_json::to_vec(self));
        let contents = contents.map(|contents| json(serde_json::to_vec(contents)));
        AuditRow { index, at, tool: tool.into(), by, data, contents }
    }
}

/// The SHA-256 of a value in its canonical form. `None` for a number that the form does not have.
pub fn input_sha256(input: &Value) -> Option<String> {
    JsonDigest::of(input).map(|digest| digest.to_string())
}

/// What a batch of facts adds to the record. `state` is the chat after them.
pub(super) fn rows(facts: &[&Fact], state: &Chat) -> Vec<AuditRow> {
    (0..).zip(facts).filter_map(|(index, fact)| row(index, fact, state)).collect()
}

/// The entry of a fact, if it has one.
fn row(index: u32, fact: &Fact, state: &Chat) -> Option<AuditRow> {
    let of_call = |step, call: &ToolCallId| {
        let known = state.calls.get(call)?;
        Some((Data { input_sha256: input_sha256(&known.input), ..Data::of(step, call) }, known))
    };
    Some(match fact {
        Fact::Called { call, name, input, at, .. } => {
            let data = Data { input_sha256: input_sha256(input), ..Data::of(AuditStep::Proposed, call) };
            data.row(index, *at, name, None, None)
        }
        Fact::Invalid { call, name, input, at, .. } => {
            let data = Data { input_sha256: input_sha256(input), invalid: true, ..Data::of(AuditStep::Proposed, call) };
            data.row(index, *at, name, None, None)
        }
        Fact::Asked { call, approval, at, .. } => {
            let (data, known) = of_call(AuditStep::Asked, call)?;
            Data { approval: Some(approval.clone()), ..data }.row(index, *at, &known.name, None, None)
        }
        Fact::Voted { call, reason, by, at, channel } => {
            let (data, known) = of_call(AuditStep::Voted, call)?;
            let approval = known.request.as_ref().map(|request| request.approval.clone());
            let data = Data { approval, decision: Some(DecisionKind::Approve), channel: Some(*channel), ..data };
            let contents = Contents { reason: reason.clone(), input: None, original_input: None };
            data.row(index, *at, &known.name, Some(by.clone()), reason.is_some().then_some(&contents))
        }
        Fact::Escalated { call, at } => {
            let (data, known) = of_call(AuditStep::Escalated, call)?;
            data.row(index, *at, &known.name, None, None)
        }
        Fact::Decided { call, verdict, reason, by, at, channel } => {
            let (data, known) = of_call(AuditStep::Decided, call)?;
            let input = verdict.edited_input();
            let original_input = known.decision.as_ref().and_then(|decision| decision.original_input.clone());
            let data = Data {
                approval: known.request.as_ref().map(|request| request.approval.clone()),
                decision: Some(verdict.kind()),
                channel: Some(*channel),
                input_sha256: input.map_or(data.input_sha256, input_sha256),
                original_sha256: original_input.as_ref().and_then(input_sha256),
                ..Data::of(AuditStep::Decided, call)
            };
            let contents = Contents { reason: reason.clone(), input: input.cloned(), original_input };
            let has_contents = reason.is_some() || input.is_some();
            data.row(index, *at, &known.name, Some(by.clone()), has_contents.then_some(&contents))
        }
        Fact::Granted { call, grant, terms, by, at } => {
            let (data, known) = of_call(AuditStep::Granted, call)?;
            let approval = known.request.as_ref().map(|request| request.approval.clone());
            let terms_sha256 = Some(grants::terms_sha256(grant, call, terms));
            let data = Data { approval, grant: Some(grant.clone()), terms_sha256, ..data };
            data.row(index, *at, &known.name, Some(by.clone()), None)
        }
        Fact::Used { call, grant, by, at } => {
            let (data, known) = of_call(AuditStep::Used, call)?;
            let (channel, decision) = (Some(AuditChannel::Grant), Some(DecisionKind::Approve));
            let data = Data { channel, decision, grant: Some(grant.clone()), ..data };
            data.row(index, *at, &known.name, Some(by.clone()), None)
        }
        // What is resumed was started before.
        Fact::Started { call, .. } if state.calls.get(call).is_some_and(|call| call.resume.is_some()) => return None,
        Fact::Started { call, at, .. } => {
            let (data, known) = of_call(AuditStep::Started, call)?;
            data.row(index, *at, &known.name, None, None)
        }
        Fact::Settled { call, cause, at, channel, .. } => {
            let (data, known) = of_call(AuditStep::Settled, call)?;
            Data { cause: Some(*cause), channel: *channel, ..data }.row(index, *at, &known.name, None, None)
        }
        _ => return None,
    })
}

/// The entry of a call that expires in a chat whose facts can't be decoded.
pub(super) fn expired(call: &ToolCallId, tool: &str, at: Timestamp) -> AuditRow {
    Data { cause: Some(Cause::Expired), ..Data::of(AuditStep::Settled, call) }.row(0, at, tool, None, None)
}

/// The entry of the deletion of a chat with this hash and these lines.
pub(super) fn deleted(at: Timestamp, by: Option<Subject>, previous: BatchHash, lines: LinesHash) -> AuditRow {
    let nothing = ToolCallId::from("");
    let (lines_sha256, previous_hash) = (Some(lines.to_string()), Some(previous));
    Data { lines_sha256, previous_hash, ..Data::of(AuditStep::Deleted, &nothing) }.row(0, at, "", by, None)
}

/// What the record says of a revoked grant. The call is the one whose approval made it.
pub(super) fn revoked(grant: &GrantId, call: Option<&ToolCallId>) -> Bytes {
    let unknown = ToolCallId::from("");
    let data = Data { grant: Some(grant.clone()), ..Data::of(AuditStep::Revoked, call.unwrap_or(&unknown)) };
    // This can't fail: all keys are strings.
    Bytes::from(serde_json::to_vec(&data).unwrap_or_default())
}

/// The step, the grant and the hash of its terms, of a line that tells of a grant.
pub(super) fn of_grant(line: &AuditEntry) -> Option<(AuditStep, GrantId, Option<String>)> {
    let data: Data = serde_json::from_slice(&line.data).ok()?;
    Some((data.step, data.grant?, data.terms_sha256))
}

/// The grant that a line says was made, and the call whose approval made it.
pub(super) fn granted_by(line: &AuditEntry) -> Option<(GrantId, ToolCallId)> {
    let data: Data = serde_json::from_slice(&line.data).ok()?;
    (data.step == AuditStep::Granted).then_some(())?;
    Some((data.grant?, data.call))
}

/// The hash of the lines before the deletion of a chat, and the hash that the chat had, of the line that tells of it.
pub(super) fn deletion_of(line: &AuditEntry) -> Option<(String, BatchHash)> {
    let data: Data = serde_json::from_slice(&line.data).ok()?;
    (data.step == AuditStep::Deleted).then_some(())?;
    data.lines_sha256.zip(data.previous_hash)
}

/// A line of the record. `None` if a newer version has written what this one can't read.
pub fn line(entry: &AuditEntry) -> Option<AuditLine> {
    let data: Data = serde_json::from_slice(&entry.data).ok()?;
    let contents = entry.contents.as_ref().and_then(|contents| holdpoint_protocol::json::parse(contents).ok());
    let contents: Contents = contents.and_then(|contents| serde_json::from_value(contents).ok()).unwrap_or_default();
    Some(AuditLine {
        chat_id: entry.chat.clone(),
        position: entry.position & (REVOCATION - 1),
        at: entry.at.iso8601(),
        owner: entry.owner.as_str().to_owned(),
        tool_call_id: data.call,
        tool_name: entry.tool.to_string(),
        step: data.step,
        by: entry.by.as_ref().map(|by| by.as_str().to_owned()),
        channel: data.channel,
        approval_id: data.approval,
        decision: data.decision,
        cause: data.cause,
        grant: data.grant,
        invalid: data.invalid,
        input_sha256: data.input_sha256,
        original_input_sha256: data.original_sha256,
        terms_sha256: data.terms_sha256,
        lines_sha256: data.lines_sha256,
        previous_hash: data.previous_hash.map(|hash| hash.to_string()),
        input: contents.input,
        original_input: contents.original_input,
        reason: contents.reason,
    })
}

/// A position in the record. Its text is for the same list only, and has no meaning to anybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditCursor {
    at: Timestamp,
    position: u64,
    chat: ChatId,
}

impl fmt::Display for AuditCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.at.0, self.position, self.chat)
    }
}

impl FromStr for AuditCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (at, rest) = time_and_rest(text)?;
        let (position, chat) = rest.split_once('.').ok_or(CursorError)?;
        Ok(Self { at, position: position.parse().map_err(|_| CursorError)?, chat: ChatId::from(chat) })
    }
}

impl Audit<'_> {
    /// One page of the lines, oldest first. A page with large inputs has fewer than `limit`.
    pub async fn page(
        &self,
        query: AuditQuery,
        after: Option<AuditCursor>,
        limit: usize,
    ) -> Result<Page<AuditLine, AuditCursor>, RuntimeError> {
        let Page { items, next } = self.entries(query, after, limit).await?;
        Ok(Page { items: items.iter().filter_map(line).collect(), next })
    }

    /// Like [`page`](Self::page), as stored. Lines take more memory, so a caller that writes them makes one after the other,
    /// with [`audit_line`](line).
    pub async fn entries(
        &self,
        query: AuditQuery,
        after: Option<AuditCursor>,
        limit: usize,
    ) -> Result<Page<AuditEntry, AuditCursor>, RuntimeError> {
        let after = after.map(|AuditCursor { at, position, chat }| (at, chat, position));
        let seen_by = if self.by.is_admin() { query.seen_by } else { Some(self.by.subject().clone()) };
        let query = AuditQuery { seen_by, after, ..query };
        let entries = self.runtime.inner.log.audit(query, limit).await.map_err(RuntimeError::Log)?;
        let size = |entry: &AuditEntry| entry.data.len() + entry.contents.as_ref().map_or(0, Bytes::len);
        let is_full = entries.len() >= limit || entries.iter().map(size).sum::<usize>() > PAGE_BYTES;
        let next = entries.last().filter(|_| is_full).map(|last| AuditCursor {
            at: last.at,
            position: last.position,
            chat: last.chat.clone(),
        });
        Ok(Page { items: entries, next })
    }
}
