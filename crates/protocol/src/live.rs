//! Frames of `/live`, the WebSocket of the adk profile. The server sends SSE records (see [`crate::sse`]) and [`Pong`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ids::ToolCallId, json, request::ChatRequest};

/// A frame from the client. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LiveFrame {
    /// A message or answers, as in the body of an HTTP request.
    Message(ChatRequest),
    /// The result of a browser tool.
    ToolResult(ToolResult),
    /// Stop the turn.
    Interrupt {
        /// The reason.
        #[serde(default)]
        reason: Option<String>,
    },
    /// A keep-alive ping.
    Ping {
        /// Echoed in the pong.
        #[serde(default, deserialize_with = "json::value")]
        timestamp: Value,
    },
}

impl LiveFrame {
    /// The known frame types.
    const KINDS: [&str; 4] = ["message", "tool_result", "interrupt", "ping"];

    /// The `type` of a well-formed frame of unknown type.
    pub fn unknown_kind(frame: &str) -> Option<String> {
        let Ok(Value::Object(fields)) = json::parse(frame.as_bytes()) else { return None };
        let kind = fields.get("type")?.as_str()?;
        (!Self::KINDS.contains(&kind) && kind.len() <= 64).then(|| kind.to_owned())
    }
}

/// The result of a browser tool: `result` or `errorText`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The result.
    #[serde(default, deserialize_with = "json::optional")]
    pub result: Option<Value>,
    /// The error.
    #[serde(default)]
    pub error_text: Option<String>,
}

/// The answer to a ping.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "pong")]
pub struct Pong {
    /// The ping's timestamp.
    pub timestamp: Value,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn frames_are_read_and_unknown_fields_ignored() {
        let read = |frame: Value| serde_json::from_value::<LiveFrame>(frame);
        let message = json!({"type": "message", "version": "1.0", "timestamp": 1, "id": "c", "messages": [{"role": "user", "content": "hi"}]});
        assert!(matches!(read(message), Ok(LiveFrame::Message(request)) if request.messages.len() == 1));
        let result = json!({"type": "tool_result", "toolCallId": "c", "result": {"ok": true}});
        assert!(matches!(
            read(result),
            Ok(LiveFrame::ToolResult(ToolResult { result: Some(_), error_text: None, .. }))
        ));
        assert!(matches!(read(json!({"type": "interrupt"})), Ok(LiveFrame::Interrupt { reason: None })));
        assert!(matches!(read(json!({"type": "ping", "timestamp": 5})), Ok(LiveFrame::Ping { .. })));
        assert!(read(json!({"type": "dance"})).is_err_and(|error| error.to_string().contains("dance")));
        assert_eq!(
            serde_json::to_value(Pong { timestamp: json!(5) }).ok(),
            Some(json!({"type": "pong", "timestamp": 5}))
        );
    }
}
