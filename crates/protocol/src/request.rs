//! HTTP request bodies: the chat request, the ack, the inbox's decision.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

pub use crate::{
    ack::{AckRequest, AckResponse, AckStatus},
    approval::{ApprovalRecord, PendingApproval},
};
use crate::{
    grants::Remember,
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

    /// The index of the message that it continues, if it brings answers and no new message: the last one, unless it names
    /// an older assistant message. `None` if it has no messages.
    pub fn continued(&self) -> Option<usize> {
        let is_named = |message: &ClientMessage| message.role == Role::Assistant && message.id == self.message_id;
        let named = self.message_id.as_ref().and_then(|_| self.messages.iter().rposition(is_named));
        named.or(self.messages.len().checked_sub(1))
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

/// The body of `POST /api/approvals/{approvalId}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "DecisionBody", into = "DecisionBody")]
pub struct DecisionRequest {
    /// The decision.
    pub verdict: Verdict,
    /// The person's reason.
    pub reason: Option<String>,
    /// For an approval: what else it approves.
    pub remember: Option<Remember>,
}

/// What a person decides about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It may run.
    Approve {
        /// The input that it runs with, if that is another one.
        #[serde(default, deserialize_with = "json::some", skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
    },
    /// It may not run.
    Deny,
    /// It does not run: this is its output.
    Answer {
        /// The output.
        #[serde(deserialize_with = "json::value")]
        output: Value,
    },
}

impl Verdict {
    /// Approves a call as it is.
    pub const APPROVE: Self = Self::Approve { input: None };

    /// The kind of decision.
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::Approve { input: None } => DecisionKind::Approve,
            Self::Approve { input: Some(_) } => DecisionKind::Edit,
            Self::Deny => DecisionKind::Deny,
            Self::Answer { .. } => DecisionKind::Answer,
        }
    }

    /// The input that the call runs with in place of the model's.
    pub fn edited_input(&self) -> Option<&Value> {
        match self {
            Self::Approve { input } => input.as_ref(),
            Self::Deny | Self::Answer { .. } => None,
        }
    }

    /// Whether it approves the call, or answers in the tool's place.
    pub fn is_approval(&self) -> bool {
        *self != Self::Deny
    }
}

impl From<bool> for Verdict {
    fn from(approved: bool) -> Self {
        if approved { Self::APPROVE } else { Self::Deny }
    }
}

/// A decision without a reason.
impl From<bool> for DecisionRequest {
    fn from(approved: bool) -> Self {
        Verdict::from(approved).into()
    }
}

/// A decision without a reason.
impl From<Verdict> for DecisionRequest {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, reason: None, remember: None }
    }
}

/// The largest reason that a person can give, in bytes of UTF-8.
pub const MAX_REASON_BYTES: usize = 8 * 1024;

/// A decision on the wire: `approved`, with `input` if the call is to run with another input, or `output` in the tool's
/// place.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = DecisionRequest))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "typescript", ts(rename = "DecisionRequest"))]
#[serde(deny_unknown_fields)]
pub struct DecisionBody {
    /// Whether the call may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub approved: Option<bool>,
    /// With `approved: true`: the input that the call runs with in place of the model's. It replaces all of it.
    #[serde(default, deserialize_with = "json::some", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub input: Option<Value>,
    /// In place of `approved`: the output of the call, which does not run.
    #[serde(default, deserialize_with = "json::some", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub output: Option<Value>,
    /// The person's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub reason: Option<String>,
    /// With `approved: true`: later calls that are approved as well, without a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub remember: Option<Remember>,
    /// The `inputSha256` of the approval request as it was shown. If the call would run with another input, nothing is
    /// decided, and the answer is 409.
    #[serde(default, rename = "inputSha256", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, rename = "inputSha256"))]
    pub input_sha256: Option<Box<str>>,
}

/// Why a decision is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecisionError {
    /// It has neither `approved` nor `output`.
    #[error("send `approved`, true or false, or `output`, the result in the tool's place")]
    Missing,
    /// It has both `approved` and `output`.
    #[error("send either `approved` or `output`: an answer in the tool's place is neither an approval nor a denial")]
    Both,
    /// It has an input, but does not approve the call.
    #[error("`input` is for an approval: send it with `approved: true`")]
    InputWithoutApproval,
    /// Its reason is longer than [`MAX_REASON_BYTES`].
    #[error("`reason` is longer than {MAX_REASON_BYTES} bytes: shorten it")]
    LongReason,
    /// It remembers something that it does not approve.
    #[error("`remember` is for an approval: send it with `approved: true`")]
    RememberWithoutApproval,
}

impl TryFrom<DecisionBody> for DecisionRequest {
    type Error = DecisionError;

    fn try_from(body: DecisionBody) -> Result<Self, DecisionError> {
        let DecisionBody { approved, input, output, reason, remember, input_sha256: _ } = body;
        if reason.as_ref().is_some_and(|reason| reason.len() > MAX_REASON_BYTES) {
            return Err(DecisionError::LongReason);
        }
        let verdict = match (approved, input, output) {
            (Some(true), input, None) => Verdict::Approve { input },
            (Some(false), None, None) => Verdict::Deny,
            (None, None, Some(output)) => Verdict::Answer { output },
            (Some(_), _, Some(_)) => return Err(DecisionError::Both),
            (None, None, None) => return Err(DecisionError::Missing),
            (_, Some(_), _) => return Err(DecisionError::InputWithoutApproval),
        };
        if remember.is_some() && approved != Some(true) {
            return Err(DecisionError::RememberWithoutApproval);
        }
        Ok(Self { verdict, reason, remember })
    }
}

impl From<DecisionRequest> for DecisionBody {
    fn from(request: DecisionRequest) -> Self {
        let DecisionRequest { verdict, reason, remember } = request;
        match verdict {
            Verdict::Approve { input } => Self { approved: Some(true), input, reason, remember, ..Self::default() },
            Verdict::Deny => Self { approved: Some(false), reason, ..Self::default() },
            Verdict::Answer { output } => Self { output: Some(output), reason, ..Self::default() },
        }
    }
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
