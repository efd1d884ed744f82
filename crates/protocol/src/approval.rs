//! Approval requests, as the inbox reads them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    holds::{Allowed, Decision, HoldOutcome, HoldState, Votes},
    ids::{ApprovalId, ChatId, ToolCallId},
    json,
};

/// One entry of `GET /api/approvals`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PendingApproval {
    /// The id of the request.
    pub approval_id: ApprovalId,
    /// The call that it is about.
    pub tool_call_id: ToolCallId,
    /// Its chat.
    pub chat_id: ChatId,
    /// The tool.
    pub tool_name: String,
    /// The tool's display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub title: Option<String>,
    /// What the tool does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub description: Option<String>,
    /// The JSON Schema of the tool's input.
    #[serde(default, deserialize_with = "json::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub input_schema: Option<Value>,
    /// What the call would do: `Pay {amount} to {recipient}`, with the names of properties of the input in braces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub headline: Option<String>,
    /// The input that the call will run with.
    #[serde(deserialize_with = "json::value")]
    #[cfg_attr(feature = "typescript", ts(type = "unknown"))]
    pub input: Value,
    /// The SHA-256 of `input` in its canonical form (RFC 8785), in hexadecimal digits. A decision that repeats it is bound to
    /// this input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub input_sha256: Option<String>,
    /// Why the call needs approval.
    #[serde(default)]
    pub reason: Option<String>,
    /// ISO 8601.
    pub requested_at: String,
    /// ISO 8601; null where it never expires.
    #[serde(default)]
    pub expires_at: Option<String>,
    /// What the caller may do about it.
    #[serde(default)]
    pub allowed: Vec<Allowed>,
    /// The owner of the chat.
    #[serde(default)]
    pub requested_by: String,
    /// The approvals so far, if it takes several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub votes: Option<Votes>,
    /// Whether the request was escalated: nobody decided in time, so the escalation's approvers may decide too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub is_escalated: bool,
}

/// The record of an approval request: `GET /api/approvals/{approvalId}/record`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRecord {
    /// The request as it was made: `input` is what was asked about, also after an edit. `allowed` is empty once it has
    /// ended.
    pub approval: PendingApproval,
    /// Whether its call waits, runs or is settled.
    pub state: HoldState,
    /// The decision, once one is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub decision: Option<Decision>,
    /// The input that the call runs with, if an approver has changed it.
    #[serde(default, deserialize_with = "json::some", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub edited_input: Option<Value>,
    /// How the call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub outcome: Option<HoldOutcome>,
}
