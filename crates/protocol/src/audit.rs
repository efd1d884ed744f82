//! The record over the wire: the lines of `GET /api/audit`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    holds::{Cause, DecisionKind},
    ids::{ApprovalId, ChatId, GrantId, ToolCallId},
};

/// A step of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum AuditStep {
    /// The model made the call.
    Proposed,
    /// A person was asked.
    Asked,
    /// A person approved it, and more have to.
    Voted,
    /// Those whom its policy names for later may decide from here on.
    Escalated,
    /// A person decided.
    Decided,
    /// It was started, on the server or in the browser.
    Started,
    /// It got its outcome.
    Settled,
    /// A person approved it and, with a grant, later calls.
    Granted,
    /// A grant approved it.
    Used,
    /// The grant that was made with it was revoked.
    Revoked,
    /// The chat was deleted. This step does not belong to a call: the call and the tool are empty.
    Deleted,
}

/// Through what a decision came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum AuditChannel {
    /// `POST /api/approvals/{approvalId}`.
    Inbox,
    /// A chat request, over HTTP or a WebSocket.
    Chat,
    /// `POST /api/tools/ack`.
    Ack,
    /// `GET /live`.
    Live,
    /// A decision made in advance.
    Grant,
    /// The endpoints for agents that run elsewhere.
    HoldApi,
    /// The Model Context Protocol.
    Mcp,
}

/// One line of `GET /api/audit`: one step of one call, or the deletion of a chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AuditLine {
    /// The chat. It may have been deleted since.
    pub chat_id: ChatId,
    /// The position of the step in the log of its chat.
    #[cfg_attr(feature = "typescript", ts(type = "number"))]
    pub position: u64,
    /// ISO 8601.
    pub at: String,
    /// The owner of the chat.
    pub owner: String,
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool_name: String,
    /// The step.
    pub step: AuditStep,
    /// Who did it, if it was a person. If it is missing, the chat was removed because of its age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub by: Option<String>,
    /// Through what a vote, a decision or a browser's result came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub channel: Option<AuditChannel>,
    /// The approval request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub approval_id: Option<ApprovalId>,
    /// What was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub decision: Option<DecisionKind>,
    /// Why a call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub cause: Option<Cause>,
    /// For `granted`, `used` and `revoked`: the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub grant: Option<GrantId>,
    /// Whether the call was refused as soon as it was made: an unknown tool, or an input that does not fit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub invalid: bool,
    /// The SHA-256 of the input at this step in its canonical form (RFC 8785), in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub input_sha256: Option<String>,
    /// For an edit: the same of the model's input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub original_input_sha256: Option<String>,
    /// For `granted`: the SHA-256 of the grant's terms as they are stored, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub terms_sha256: Option<String>,
    /// For `deleted`: the SHA-256 of all lines of the chat before this one, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub lines_sha256: Option<String>,
    /// For `deleted`: the hash that the chat had, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub previous_hash: Option<String>,
    /// For an edit: the input that the call runs with. Not of a deleted chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub input: Option<Value>,
    /// For an edit: the model's input. Not of a deleted chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub original_input: Option<Value>,
    /// The reason that was given for a decision. Not of a deleted chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub reason: Option<String>,
}
