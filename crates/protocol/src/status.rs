//! `GET /api/status`: what a running server consists of, for admins.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{holds::DecisionKind, json, response::Execution};

/// The response to `GET /api/status`. It contains no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ServerStatus"))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The version of the server.
    pub version: String,
    /// This node, if several share a log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub node: Option<String>,
    /// By how many milliseconds the clock of this node is behind that of the database, which is followed for deadlines;
    /// negative if it is ahead. Only if several nodes share a log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "number"))]
    pub clock_offset_ms: Option<i64>,
    /// The model.
    pub model: String,
    /// What people should know of the tools with this model: those that it is not offered, and why.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The MCP servers.
    pub mcp: Vec<McpStatus>,
    /// The tools and their policies, including the tools of MCP servers.
    pub tools: Vec<ToolStatus>,
    /// The limits, by name.
    pub limits: BTreeMap<String, u64>,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpStatus {
    /// Its name, the prefix of its tools.
    pub name: String,
    /// Whether it can be called.
    pub state: McpState,
    /// The names of its tools that are offered.
    pub tools: Vec<String>,
    /// Why it is not connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub problem: Option<String>,
    /// What in its settings has no effect.
    pub warnings: Vec<String>,
    /// The last lines that its program wrote to standard error.
    pub last_lines: Vec<String>,
}

/// The state of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum McpState {
    /// It is connected, and its tools are known.
    Connected,
    /// It is not connected; the connection is tried again.
    Connecting,
}

/// A tool and its policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ToolStatus {
    /// Its name.
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub title: Option<String>,
    /// Where it runs.
    pub execution: Execution,
    /// The MCP server that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub mcp: Option<String>,
    /// `always`, `never`, or a rule over the input.
    #[serde(deserialize_with = "json::value")]
    #[cfg_attr(feature = "typescript", ts(type = "\"always\" | \"never\" | Record<string, unknown>"))]
    pub approval: Value,
    /// Timeout for an approval, in seconds; 0 never expires.
    pub approval_timeout_sec: u64,
    /// What a person may decide.
    pub decisions: Vec<DecisionKind>,
    /// Who may decide: `{by, excludeSelf?, quorum?, escalate?}`.
    #[serde(deserialize_with = "json::value")]
    #[cfg_attr(feature = "typescript", ts(type = "Record<string, unknown>"))]
    pub approvers: Value,
}
