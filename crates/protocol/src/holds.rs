//! The holds of a chat and their decisions: `GET /api/chat/{id}/holds`.
//!
//! A client reads here who decided and why a call ended. It never has to infer that from the text of an outcome.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ids::{ApprovalId, GrantId, MessageId, ToolCallId},
    json,
};

/// What a hold waits for, or waited for last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum HoldKind {
    /// A person's approval.
    Approval,
    /// A browser's result.
    Frontend,
    /// The user's answer to a running tool's prompt.
    Prompt,
    /// Nothing: the call runs, or ran, without a hold. Listed only if all calls are requested.
    None,
}

/// The state of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum HoldState {
    /// It waits for a person or a browser.
    Waiting,
    /// It runs on the server.
    Running,
    /// It has its outcome.
    Settled,
}

/// How a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum DecisionKind {
    Approve,
    Deny,
    /// Approve another input.
    Edit,
    /// Answer in the tool's place.
    Answer,
}

impl DecisionKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Approve, Self::Deny, Self::Edit, Self::Answer];
}

/// What a person may do about a waiting hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Allowed {
    Approve,
    Deny,
    /// Approve another input.
    Edit,
    /// Answer in the tool's place.
    Answer,
    /// Approve this call and later ones, with a grant.
    Remember,
}

impl From<DecisionKind> for Allowed {
    fn from(kind: DecisionKind) -> Self {
        match kind {
            DecisionKind::Approve => Self::Approve,
            DecisionKind::Deny => Self::Deny,
            DecisionKind::Edit => Self::Edit,
            DecisionKind::Answer => Self::Answer,
        }
    }
}

/// Why a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// It ran on the server.
    Ran,
    /// A browser's result.
    Result,
    /// A person's denial.
    Decision,
    /// Its deadline passed.
    Expired,
    /// The turn was stopped.
    Stopped,
    /// A newer message, a regeneration or an edit replaced it.
    Superseded,
    /// It was cut off while it ran, or got no usable answer. Whether it took effect is unknown.
    Interrupted,
    /// The server did not run it: the input is invalid, the tool is missing, a limit is reached, or the model failed
    /// before its answer was complete.
    Refused,
}

/// A decision in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The kind of decision.
    pub kind: DecisionKind,
    /// The subjects who decided.
    pub by: Vec<String>,
    /// ISO 8601.
    pub at: String,
    /// The reason that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub reason: Option<String>,
    /// The model's input, if the call runs with another one.
    #[serde(default, deserialize_with = "json::some", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub original_input: Option<Value>,
    /// The grant that approved it, in place of a question. `by` is who made the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub grant: Option<GrantId>,
}

/// The approvals of a hold that takes several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Votes {
    /// The subjects who have approved.
    pub by: Vec<String>,
    /// How many have to.
    pub quorum: u32,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct HoldOutcome {
    /// Why it ended.
    pub cause: Cause,
    /// ISO 8601.
    pub at: String,
    /// The output, if any.
    #[serde(default, deserialize_with = "json::some", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub output: Option<Value>,
    /// The error, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub error_text: Option<String>,
}

/// One entry of `GET /api/chat/{id}/holds`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ChatHold {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool_name: String,
    /// The input that the call runs with.
    #[serde(deserialize_with = "json::value")]
    #[cfg_attr(feature = "typescript", ts(type = "unknown"))]
    pub input: Value,
    /// What it waits for.
    pub kind: HoldKind,
    /// Whether it waits, runs or is settled.
    pub state: HoldState,
    /// The approval request, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub approval_id: Option<ApprovalId>,
    /// When it began to wait. ISO 8601.
    pub requested_at: String,
    /// The deadline, while it waits. ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub expires_at: Option<String>,
    /// What the caller may do about it now.
    pub allowed: Vec<Allowed>,
    /// The approvals so far, if it takes several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub votes: Option<Votes>,
    /// The decision, once one is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub decision: Option<Decision>,
    /// The outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub outcome: Option<HoldOutcome>,
    /// Whether its turn was replaced by a regeneration or an edit.
    pub cut: bool,
    /// The assistant message that shows it; for a cut call, the message that replaced its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub message_id: Option<MessageId>,
}

/// Why a call ended, in the `callProviderMetadata.holdpoint` of a settled tool part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct SettledMetadata {
    /// Why it ended.
    pub cause: Cause,
    /// The subjects who decided; empty if there was no decision.
    pub decided_by: Vec<String>,
    /// The grant that approved it, in place of a question. `decidedBy` is who made the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub grant: Option<GrantId>,
    /// When. ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub decided_at: Option<String>,
    /// Whether an approver changed the input.
    pub edited: bool,
}

impl SettledMetadata {
    /// The fields of the `holdpoint` object.
    pub fn into_fields(self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }
}
