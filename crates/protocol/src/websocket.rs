//! Frames of `WebSocketChatTransport`, the SDK's own WebSocket (`ai` 7).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    chunk::Chunk,
    ids::{ChatId, RequestId},
    json,
    request::ChatRequest,
};

/// A frame from the client.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum WsRequest {
    /// Same as the body of an HTTP request.
    Send(WsSend),
    /// Resume the response in progress.
    Resume(WsResume),
    /// Stop the turn of a request.
    #[serde(rename_all = "camelCase")]
    Abort {
        /// The request.
        request_id: RequestId,
    },
}

/// A chat request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WsSend {
    /// Echoed in every frame of the response.
    pub request_id: RequestId,
    /// The headers that an HTTP request would have.
    #[serde(default, deserialize_with = "json::map")]
    pub headers: Map<String, Value>,
    /// The request.
    #[serde(flatten)]
    pub request: ChatRequest,
}

/// A request to resume a response.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WsResume {
    /// Echoed in every frame of the response.
    pub request_id: RequestId,
    /// The chat.
    pub id: ChatId,
    /// The headers that an HTTP request would have.
    #[serde(default, deserialize_with = "json::map")]
    pub headers: Map<String, Value>,
    /// The last chunk that the client has. Without it the whole message is replayed.
    #[serde(default)]
    pub last_sequence: Option<u64>,
}

/// A frame from the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[allow(missing_docs, reason = "the fields are the SDK's own")]
#[allow(clippy::large_enum_variant, reason = "written and dropped; chunks are nearly all of them")]
pub enum WsResponse {
    /// The response begins.
    Start { request_id: RequestId },
    /// One chunk.
    Chunk { request_id: RequestId, sequence: u64, chunk: Chunk },
    /// The response is complete.
    End { request_id: RequestId },
    /// The request failed.
    Error {
        request_id: RequestId,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_text: Option<String>,
    },
    /// There is nothing to resume.
    NoActive { request_id: RequestId },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chunk::FinishStep;

    #[test]
    fn the_frames_of_the_transport_are_read() {
        let send = json!({"type": "send", "requestId": "r", "id": "c", "trigger": "submit-message", "messages": [], "headers": {}, "body": {}});
        let read: WsRequest = serde_json::from_value(send).expect("readable");
        assert!(matches!(read, WsRequest::Send(send) if send.request.id == Some("c".into())));
        let resume: WsRequest =
            serde_json::from_value(json!({"type": "resume", "requestId": "r", "id": "c", "headers": {}, "body": {}}))
                .expect("readable");
        assert_eq!(
            resume,
            WsRequest::Resume(WsResume {
                request_id: "r".into(),
                id: "c".into(),
                headers: Map::new(),
                last_sequence: None
            })
        );
        let abort: WsRequest = serde_json::from_value(json!({"type": "abort", "requestId": "r"})).expect("readable");
        assert_eq!(abort, WsRequest::Abort { request_id: "r".into() });
    }

    #[test]
    fn what_we_send_is_what_the_transport_expects() {
        let frame = WsResponse::Chunk { request_id: "r".into(), sequence: 3, chunk: FinishStep {}.into() };
        assert_eq!(
            serde_json::to_value(frame).ok(),
            Some(json!({"type": "chunk", "requestId": "r", "sequence": 3, "chunk": {"type": "finish-step"}}))
        );
        let frame = WsResponse::NoActive { request_id: "r".into() };
        assert_eq!(serde_json::to_value(frame).ok(), Some(json!({"type": "no-active", "requestId": "r"})));
    }
}
