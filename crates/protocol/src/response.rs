//! What the server's lists and its event stream hold: `GET /api/tools`, `/api/chats`, `/api/events`, and the ticket.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ids::ChatId, json};

/// Where a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ToolExecution"))]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// On the server.
    Server,
    /// In the user's browser. The turn waits for the result.
    Frontend,
    /// Handed to the browser without waiting. The output says that it was handed over.
    Delegate,
}

/// How the response waits for a browser tool's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ToolWait"))]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// It stays open, and the result comes by ack.
    #[default]
    Stream,
    /// It ends, and the client's next request carries the result.
    Resubmit,
}

/// The output of a browser tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ToolReturns"))]
#[serde(rename_all = "lowercase")]
pub enum Returns {
    /// The frontend's output.
    #[default]
    Output,
    /// The whole ack payload.
    Ack,
}

/// One tool of `GET /api/tools`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Tool))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ToolSpec"))]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    /// The name.
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub title: Option<String>,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the input.
    #[serde(deserialize_with = "json::value")]
    #[cfg_attr(feature = "typescript", ts(type = "unknown"))]
    pub input_schema: Value,
    /// `server`, `frontend` (runs in the browser and is waited for) or `delegate` (runs in the browser, not waited
    /// for).
    pub execution: Execution,
    /// `always`, `never`, or a rule over the input, which only the server evaluates.
    #[serde(deserialize_with = "json::value")]
    #[cfg_attr(feature = "typescript", ts(type = "\"always\" | \"never\" | Record<string, unknown>"))]
    pub approval: Value,
    /// Timeout for an approval, in seconds; 0 never expires.
    pub approval_timeout_sec: u64,
    /// Timeout for the browser's result, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub timeout_sec: Option<u64>,
    /// How the response waits for a browser tool's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub wait: Option<Wait>,
    /// The output of a browser tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub returns: Option<Returns>,
}

/// One chat of `GET /api/chats`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Chat))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ChatSummary"))]
#[serde(rename_all = "camelCase")]
pub struct ListedChat {
    /// The chat.
    pub id: ChatId,
    /// Its owner. Only in the list of all chats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub subject: Option<String>,
    /// The beginning of the first user message.
    pub title: String,
    /// ISO 8601.
    pub updated_at: String,
    /// The number of open holds.
    pub holds: usize,
    /// Whether one of them waits for the caller: an approval request that they may decide and have not approved yet or, in
    /// a chat of their own, a call in the browser or a prompt.
    #[serde(default)]
    pub waits_for_you: bool,
    /// Whether a turn is running.
    pub is_running: bool,
}

/// An event of `GET /api/events`. It says that something changed, not what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum ServerEvent {
    /// No event is missed from here on: read now what you follow. Sent again after a reconnect.
    Ready,
    /// Events were dropped because there were too many: read again what you follow.
    Missed,
    /// A chat changed.
    Chat {
        /// The chat.
        chat_id: ChatId,
    },
    /// The approval requests of a chat changed: one was made, changed or ended, or its call has an outcome.
    Approvals {
        /// The chat.
        chat_id: ChatId,
    },
}

/// The response to `POST /api/ticket`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Ticket {
    /// For the URL of one WebSocket, as `?ticket=`, within a minute.
    pub ticket: String,
}
