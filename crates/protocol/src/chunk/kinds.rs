//! Every chunk type of `ai` 6.0.326 and 7.0.169.

use serde::{
    Serialize, Serializer,
    de::{Error as _, MapAccess},
    ser::SerializeStruct,
};
use serde_json::{Map, Value};

use super::{
    Fault,
    define::chunks,
    read::Text,
    values::{Citation, FinishReason, InputEncoding, SteeringPart},
};
use crate::{
    ids::{ApprovalId, MessageId, PartId, ToolCallId},
    json::{MessageMetadata, Object, Payload, ProviderMetadata, next_value},
};

chunks! {
    /// Opens a segment.
    Start "start" {} { message_id "messageId": MessageId, message_metadata "messageMetadata": MessageMetadata }
    /// Closes a segment.
    Finish "finish" {} { finish_reason "finishReason": FinishReason, message_metadata "messageMetadata": MessageMetadata }
    /// Opens a step.
    StartStep "start-step" {} {}
    /// Closes a step.
    FinishStep "finish-step" {} {}
    /// Removes the parts of the current step (`ai` 7).
    ResetStep "reset-step" {} {}
    /// The turn was stopped.
    Abort "abort" {} { reason "reason": String }
    /// The turn failed. The text is meant for people.
    Error "error" { error_text "errorText": String } {}
    /// Metadata in the middle of a message.
    SetMetadata "message-metadata" { message_metadata "messageMetadata": MessageMetadata } {}

    /// Opens a text block.
    TextStart "text-start" { id "id": PartId } { provider_metadata "providerMetadata": ProviderMetadata }
    /// More of a text block.
    TextDelta "text-delta" { id "id": PartId, delta "delta": String } { provider_metadata "providerMetadata": ProviderMetadata }
    /// Closes a text block (`citations`: `ai` 7).
    TextEnd "text-end" { id "id": PartId } { citations "citations": Vec<Citation>, provider_metadata "providerMetadata": ProviderMetadata }
    /// Opens a reasoning block.
    ReasoningStart "reasoning-start" { id "id": PartId } { provider_metadata "providerMetadata": ProviderMetadata }
    /// More of a reasoning block.
    ReasoningDelta "reasoning-delta" { id "id": PartId, delta "delta": String } { provider_metadata "providerMetadata": ProviderMetadata }
    /// Closes a reasoning block.
    ReasoningEnd "reasoning-end" { id "id": PartId } { provider_metadata "providerMetadata": ProviderMetadata }

    /// Announces a call.
    ToolInputStart "tool-input-start"
        { tool_call_id "toolCallId": ToolCallId, tool_name "toolName": String }
        {
            input_encoding "inputEncoding": InputEncoding,
            provider_executed "providerExecuted": bool,
            provider_metadata "providerMetadata": ProviderMetadata,
            tool_metadata "toolMetadata": Object,
            dynamic "dynamic": bool,
            title "title": String,
        }
    /// More of a call's input.
    ToolInputDelta "tool-input-delta" { tool_call_id "toolCallId": ToolCallId, input_text_delta "inputTextDelta": String } {}
    /// A call's whole input.
    ToolInputAvailable "tool-input-available"
        { tool_call_id "toolCallId": ToolCallId, tool_name "toolName": String, input "input": Payload }
        {
            provider_executed "providerExecuted": bool,
            provider_metadata "providerMetadata": ProviderMetadata,
            tool_metadata "toolMetadata": Object,
            dynamic "dynamic": bool,
            title "title": String,
        }
    /// A call that can't run: its input is invalid, or there is no such tool. An outcome.
    ToolInputError "tool-input-error"
        { tool_call_id "toolCallId": ToolCallId, tool_name "toolName": String, input "input": Payload, error_text "errorText": String }
        {
            provider_executed "providerExecuted": bool,
            provider_metadata "providerMetadata": ProviderMetadata,
            tool_metadata "toolMetadata": Object,
            dynamic "dynamic": bool,
            title "title": String,
        }
    /// An approval request (`reason`, `isAutomatic`: `ai` 7).
    ToolApprovalRequest "tool-approval-request"
        { tool_call_id "toolCallId": ToolCallId, approval_id "approvalId": ApprovalId }
        {
            approval_descriptor "approvalDescriptor": Payload,
            input_schema_input "inputSchemaInput": Payload,
            reason "reason": String,
            is_automatic "isAutomatic": bool,
            signature "signature": String,
        }
    /// The response to an approval request, when it did not come from this client (`ai` 7).
    ToolApprovalResponse "tool-approval-response"
        { approval_id "approvalId": ApprovalId, approved "approved": bool }
        { reason "reason": String, provider_executed "providerExecuted": bool, provider_metadata "providerMetadata": ProviderMetadata }
    /// A call's output. An outcome, unless preliminary.
    ToolOutputAvailable "tool-output-available"
        { tool_call_id "toolCallId": ToolCallId, output "output": Payload }
        {
            provider_executed "providerExecuted": bool,
            provider_metadata "providerMetadata": ProviderMetadata,
            tool_metadata "toolMetadata": Object,
            dynamic "dynamic": bool,
            preliminary "preliminary": bool,
        }
    /// A call failed. An outcome.
    ToolOutputError "tool-output-error"
        { tool_call_id "toolCallId": ToolCallId, error_text "errorText": String }
        {
            provider_executed "providerExecuted": bool,
            provider_metadata "providerMetadata": ProviderMetadata,
            tool_metadata "toolMetadata": Object,
            dynamic "dynamic": bool,
        }
    /// A person denied the call. An outcome.
    ToolOutputDenied "tool-output-denied" { tool_call_id "toolCallId": ToolCallId } {}

    /// A web source.
    SourceUrl "source-url"
        { source_id "sourceId": PartId, url "url": String }
        { title "title": String, provider_metadata "providerMetadata": ProviderMetadata }
    /// A document as a source.
    SourceDocument "source-document"
        { source_id "sourceId": PartId, media_type "mediaType": String, title "title": String }
        { filename "filename": String, provider_metadata "providerMetadata": ProviderMetadata }
    /// A file in the response.
    File "file" { url "url": String, media_type "mediaType": String } { provider_metadata "providerMetadata": ProviderMetadata }
    /// A file in the reasoning (`ai` 7).
    ReasoningFile "reasoning-file" { url "url": String, media_type "mediaType": String } { provider_metadata "providerMetadata": ProviderMetadata }
    /// A provider-specific part (`ai` 7).
    Custom "custom" { kind "kind": String } { provider_metadata "providerMetadata": ProviderMetadata }
    /// A user message that was added while the turn ran (`ai` 7).
    SteeringMessage "steering-message" { id "id": PartId, parts "parts": Vec<SteeringPart> } {}
}

/// A `data-NAME` chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// The part of `type` after `data-`.
    pub name: String,
    /// A later chunk with the same id replaces the data.
    pub id: Option<PartId>,
    /// The data.
    pub data: Payload,
    /// Not kept in the message.
    pub transient: Option<bool>,
}

impl From<Data> for Chunk {
    fn from(data: Data) -> Self {
        Chunk::Data(data)
    }
}

impl Data {
    fn read<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<(Self, Map<String, Value>), A::Error> {
        let (mut id, mut data, mut transient) = (None, None, None);
        let mut extra = Map::new();
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "id" => id = Some(map.next_value()?),
                "data" => data = Some(map.next_value()?),
                "transient" => transient = Some(map.next_value()?),
                _ => drop(extra.insert(key.into_owned(), next_value(map)?)),
            }
        }
        let data = data.ok_or_else(|| A::Error::missing_field("data"))?;
        Ok((Self { name: name.to_owned(), id, data, transient }, extra))
    }

    fn diagnose(fields: &Map<String, Value>) -> Option<Fault> {
        Fault::in_required::<Payload>(fields, "data")
            .or_else(|| Fault::in_optional::<PartId>(fields, "id"))
            .or_else(|| Fault::in_optional::<bool>(fields, "transient"))
    }

    fn write<S: SerializeStruct>(&self, out: &mut S) -> Result<(), S::Error> {
        out.serialize_field("type", &format_args!("data-{}", self.name))?;
        if let Some(id) = &self.id {
            out.serialize_field("id", id)?;
        }
        out.serialize_field("data", &self.data)?;
        if let Some(transient) = &self.transient {
            out.serialize_field("transient", transient)?;
        }
        Ok(())
    }
}
