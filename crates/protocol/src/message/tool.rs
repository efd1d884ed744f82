//! A tool call inside a message.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};

use crate::{
    chunk::InputEncoding,
    ids::{ApprovalId, ToolCallId},
    json::{self, Object, ProviderMetadata},
};

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names are the SDK's own")]
pub enum ToolState {
    InputStreaming,
    InputAvailable,
    ApprovalRequested,
    ApprovalResponded,
    OutputAvailable,
    OutputError,
    OutputDenied,
}

/// An approval request, and the response to it once there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub approved: Option<bool>,
    /// The person's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub reason: Option<String>,
    /// The reason for the request (`ai` 7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub request_reason: Option<String>,
    /// Other keys, such as descriptor and signature.
    #[serde(flatten, deserialize_with = "json::map")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub extra: Map<String, Value>,
}

/// A tool call inside a message. The fields are as loose as the SDK's own: a client can hold and send any mix of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolPart {
    /// The tool's name.
    pub name: String,
    /// Written as `dynamic-tool` rather than `tool-NAME`.
    pub dynamic: bool,
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Its state.
    pub state: ToolState,
    /// Everything else.
    pub fields: ToolFields,
}

/// The optional fields of a [`ToolPart`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields are the SDK's own")]
pub struct ToolFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub title: Option<String>,
    #[serde(deserialize_with = "json::some", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub input: Option<Value>,
    #[serde(deserialize_with = "json::some", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub raw_input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub input_encoding: Option<InputEncoding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub approval: Option<Approval>,
    #[serde(deserialize_with = "json::some", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "unknown"))]
    pub output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub error_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub preliminary: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub provider_executed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub tool_metadata: Option<Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub call_provider_metadata: Option<ProviderMetadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub result_provider_metadata: Option<ProviderMetadata>,
    /// Keys that no SDK version defines.
    #[serde(flatten, deserialize_with = "json::map")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub extra: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<F> {
    r#type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    tool_call_id: ToolCallId,
    state: ToolState,
    #[serde(flatten)]
    fields: F,
}

impl Serialize for ToolPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, tool_name) = if self.dynamic {
            ("dynamic-tool".to_owned(), Some(self.name.clone()))
        } else {
            (format!("tool-{}", self.name), None)
        };
        Wire {
            r#type: kind,
            tool_name,
            tool_call_id: self.tool_call_id.clone(),
            state: self.state,
            fields: &self.fields,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::<ToolFields>::deserialize(deserializer)?;
        let (dynamic, name) = match (wire.r#type.strip_prefix("tool-"), wire.tool_name) {
            (Some(name), _) => (false, name.to_owned()),
            (None, Some(name)) if wire.r#type == "dynamic-tool" => (true, name),
            _ => {
                return Err(D::Error::custom("a tool part is `tool-NAME`, or `dynamic-tool` with `toolName`"));
            }
        };
        Ok(Self { name, dynamic, tool_call_id: wire.tool_call_id, state: wire.state, fields: wire.fields })
    }
}
