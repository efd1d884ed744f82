//! The ack: a browser's result, and the response to it and to a decision.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ids::{GrantId, ToolCallId},
    json,
};

/// The status of a browser tool's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum AckStatus {
    Success,
    Failed,
    Timeout,
}

/// The body of `POST /api/tools/ack`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AckRequest {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The status.
    pub status: AckStatus,
    /// The output.
    #[serde(default, deserialize_with = "json::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub output: Option<Value>,
    /// The error; null means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "string | null"))]
    pub error_text: Option<String>,
    /// When the frontend began, ISO 8601. Required, and not compared with anything.
    pub requested_at: String,
}

/// The response of the ack and inbox endpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct AckResponse {
    /// Whether it is in force.
    pub ok: bool,
    /// Whether the same answer was in force already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub ignored: Option<bool>,
    /// Why it was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub reason: Option<String>,
    /// How many have approved, if others have to as well: nothing is decided yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub votes: Option<u32>,
    /// How many have to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub quorum: Option<u32>,
    /// The grant that the decision made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub grant: Option<GrantId>,
}

impl AckResponse {
    /// The answer is in force. `was_given`: the same answer was given before.
    pub fn taken(was_given: bool) -> Self {
        Self { ok: true, ignored: was_given.then_some(true), reason: None, votes: None, quorum: None, grant: None }
    }

    /// The approval is in force, and made a grant.
    pub fn remembered(grant: GrantId) -> Self {
        Self { grant: Some(grant), ..Self::taken(false) }
    }

    /// The approval counts, and others have to approve as well.
    pub fn voted(votes: u32, quorum: u32) -> Self {
        Self { votes: Some(votes), quorum: Some(quorum), ..Self::taken(false) }
    }
}
