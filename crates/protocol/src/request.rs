//! HTTP request bodies: the chat request, the ack, the inbox's decision.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{
    holds::DecisionKind,
    ids::{ApprovalId, ChatId, MessageId, ToolCallId},
    json,
    message::{ClientMessage, Part, Role, TextPart, ToolState},
};

/// The action that the client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A new message, an edit, or answers.
    #[default]
    SubmitMessage,
    /// The last response again.
    RegenerateMessage,
}

/// The body of a chat request, as `useChat` sends it. Unknown keys are ignored: applications add their own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatRequest {
    /// The chat. May be missing on the adk endpoints.
    #[serde(default)]
    pub id: Option<ChatId>,
    /// The client's copy of the history.
    pub messages: Vec<ClientMessage>,
    /// The requested action.
    #[serde(default, deserialize_with = "null_is_default")]
    pub trigger: Trigger,
    /// The message that is edited, regenerated or continued.
    #[serde(default)]
    pub message_id: Option<MessageId>,
}

impl ChatRequest {
    /// A new user message in a chat.
    ///
    /// ```
    /// let request = holdpoint_protocol::request::ChatRequest::user("chat-1", "What is the weather?");
    /// assert_eq!(request.messages.len(), 1);
    /// ```
    pub fn user(chat: impl Into<ChatId>, text: impl Into<String>) -> Self {
        let message =
            ClientMessage { id: None, role: Role::User, metadata: None, parts: vec![Part::Text(TextPart::done(text))] };
        Self { id: Some(chat.into()), messages: vec![message], trigger: Trigger::default(), message_id: None }
    }
}

/// One answer in a client's message.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A person's decision.
    Approval {
        /// The approval request.
        approval_id: ApprovalId,
        /// The decision.
        approved: bool,
        /// The reason that was given.
        reason: Option<String>,
    },
    /// A browser's result.
    Result {
        /// The call.
        tool_call_id: ToolCallId,
        /// Its result.
        result: ClientResult,
    },
}

/// The result of a call, as reported by a client.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ClientResult {
    Output(Value),
    Error(String),
}

impl ClientMessage {
    /// All answers in this message, in both shapes, in order. Clients send them in messages of any role.
    pub fn answers(&self) -> Vec<Answer> {
        self.parts.iter().flat_map(Part::answers).collect()
    }
}

impl Part {
    /// The answers in one part: an approval, a result, or both (a result that still carries its approval).
    pub fn answers(&self) -> Vec<Answer> {
        match self {
            Part::Tool(tool) => {
                let approval = tool.fields.approval.as_ref().and_then(|approval| {
                    Some(Answer::Approval {
                        approval_id: approval.id.clone(),
                        approved: approval.approved?,
                        reason: approval.reason.clone(),
                    })
                });
                let result = match tool.state {
                    ToolState::OutputAvailable if tool.fields.preliminary != Some(true) => {
                        Some(ClientResult::Output(tool.fields.output.clone().unwrap_or(Value::Null)))
                    }
                    ToolState::OutputError => {
                        Some(ClientResult::Error(tool.fields.error_text.clone().unwrap_or_default()))
                    }
                    _ => None,
                };
                let result = result.map(|result| Answer::Result { tool_call_id: tool.tool_call_id.clone(), result });
                approval.into_iter().chain(result).collect()
            }
            Part::Other(map) => older_answers(map),
            _ => Vec::new(),
        }
    }
}

/// The older shape: a part of any type with an `approval`, and `tool-result`.
fn older_answers(map: &serde_json::Map<String, Value>) -> Vec<Answer> {
    #[derive(Deserialize)]
    struct OlderApproval {
        id: ApprovalId,
        approved: bool,
        reason: Option<String>,
    }
    let approval = map.get("approval").and_then(|approval| OlderApproval::deserialize(approval).ok());
    let approval =
        approval.map(|OlderApproval { id, approved, reason }| Answer::Approval { approval_id: id, approved, reason });
    let is_result = map.get("type").and_then(Value::as_str) == Some("tool-result");
    let result = map
        .get("toolCallId")
        .filter(|_| is_result)
        .and_then(|id| ToolCallId::deserialize(id).ok())
        .map(|tool_call_id| Answer::Result { tool_call_id, result: older_result(map) });
    approval.into_iter().chain(result).collect()
}

fn older_result(map: &serde_json::Map<String, Value>) -> ClientResult {
    match map.get("errorText") {
        Some(Value::String(text)) => ClientResult::Error(text.clone()),
        _ => ClientResult::Output(map.get("result").cloned().unwrap_or(Value::Null)),
    }
}

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
}

impl AckResponse {
    /// The answer is in force. `was_given`: the same answer was given before.
    pub fn taken(was_given: bool) -> Self {
        Self { ok: true, ignored: was_given.then_some(true), reason: None }
    }
}

/// The body of `POST /api/approvals/{approvalId}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct DecisionRequest {
    /// The decision.
    pub approved: bool,
    /// The person's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub reason: Option<String>,
}

/// A decision without a reason.
impl From<bool> for DecisionRequest {
    fn from(approved: bool) -> Self {
        Self { approved, reason: None }
    }
}

/// One entry of `GET /api/approvals`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PendingApproval {
    /// The question.
    pub approval_id: ApprovalId,
    /// The call that it is about.
    pub tool_call_id: ToolCallId,
    /// Its chat.
    pub chat_id: ChatId,
    /// The tool.
    pub tool_name: String,
    /// The input that the call will run with.
    #[serde(deserialize_with = "json::value")]
    #[cfg_attr(feature = "typescript", ts(type = "unknown"))]
    pub input: Value,
    /// Why it is asked.
    #[serde(default)]
    pub reason: Option<String>,
    /// ISO 8601.
    pub requested_at: String,
    /// ISO 8601; null where it never expires.
    #[serde(default)]
    pub expires_at: Option<String>,
    /// What the caller may do about it.
    #[serde(default)]
    pub allowed: Vec<DecisionKind>,
}

fn null_is_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answers(part: Value) -> Vec<Answer> {
        let message = json!({"role": "assistant", "parts": [part]});
        serde_json::from_value::<ClientMessage>(message).expect("readable").answers()
    }

    #[test]
    fn answers_are_read_in_both_shapes() {
        let approval = |reason: Option<&str>| Answer::Approval {
            approval_id: "a".into(),
            approved: true,
            reason: reason.map(str::to_owned),
        };
        let result = |result| Answer::Result { tool_call_id: "c".into(), result };
        let sdk = json!({"type": "tool-pay", "toolCallId": "c", "state": "approval-responded", "input": {}, "approval": {"id": "a", "approved": true, "reason": "ok"}});
        assert_eq!(answers(sdk), [approval(Some("ok"))]);
        let both = json!({"type": "dynamic-tool", "toolName": "t", "toolCallId": "c", "state": "output-available", "input": {}, "output": 5, "approval": {"id": "a", "approved": true}});
        assert_eq!(answers(both), [approval(None), result(ClientResult::Output(json!(5)))]);
        let failed =
            json!({"type": "tool-pay", "toolCallId": "c", "state": "output-error", "input": {}, "errorText": "no"});
        assert_eq!(answers(failed), [result(ClientResult::Error("no".into()))]);
        let older = json!({"type": "tool-adk_request_confirmation", "approval": {"id": "a", "approved": true}});
        assert_eq!(answers(older), [approval(None)]);
        assert_eq!(
            answers(json!({"type": "tool-result", "toolCallId": "c", "result": {"x": 1}})),
            [result(ClientResult::Output(json!({"x": 1})))]
        );
        let open = json!({"type": "tool-pay", "toolCallId": "c", "state": "approval-requested", "input": {}, "approval": {"id": "a"}});
        assert_eq!(answers(open), []);
        assert_eq!(answers(json!({"type": "text", "text": "hi"})), []);
    }

    #[test]
    fn a_body_of_use_chat_is_read() {
        let body = json!({"id": "c", "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],
            "trigger": "submit-message", "messageId": null, "temperature": 1});
        let request: ChatRequest = serde_json::from_value(body).expect("readable");
        assert_eq!(request.trigger, Trigger::SubmitMessage);
        assert_eq!(request.message_id, None);
        assert!(
            serde_json::from_value::<ChatRequest>(json!({"id": "c"}))
                .is_err_and(|e| e.to_string().contains("messages"))
        );
    }
}
