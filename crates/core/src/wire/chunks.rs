//! The AI SDK's protocol: events as the chunks of its UI message stream.

use holdpoint_protocol::{
    chunk::{
        Abort, Chunk, Chunks, Data, DeltaOf, Error, Finish, FinishStep, ReasoningEnd, ReasoningStart, Run, Start,
        StartStep, TextEnd, TextStart, ToolApprovalRequest, ToolInputAvailable, ToolInputError, ToolInputStart,
        ToolOutputAvailable, ToolOutputDenied, ToolOutputError,
    },
    ids::ToolCallId,
    json::{MessageMetadata, Payload},
};
use serde_json::{Map, Value, json};

use super::Event;
use crate::{
    fact::{BlockKind, Outcome},
    model::Usage,
};

/// The type of the data part for an edited input, without `data-`.
const EDITED_INPUT: &str = "holdpoint-input";

/// The type of the data part for a model that is asked again, without `data-`.
const RETRY: &str = "holdpoint-retry";

impl Event {
    /// It as chunks. `None` for the end of the segment, which is no chunk: each transport says it in its own way.
    pub fn into_chunks(self) -> Option<Chunks> {
        let chunk: Chunk = match self {
            Self::Start { message } => Start { message_id: Some(message), message_metadata: None }.into(),
            Self::StepStart => StartStep {}.into(),
            Self::StepEnd => FinishStep {}.into(),
            Self::BlockStart { kind: BlockKind::Text, id } => TextStart { id, provider_metadata: None }.into(),
            Self::BlockStart { kind: BlockKind::Reasoning, id } => {
                ReasoningStart { id, provider_metadata: None }.into()
            }
            Self::BlockDelta { kind, id, delta: pieces } => {
                let of = match kind {
                    BlockKind::Text => DeltaOf::Text(id),
                    BlockKind::Reasoning => DeltaOf::Reasoning(id),
                };
                return Some(Chunks::Run(Run { of, pieces }));
            }
            Self::BlockEnd { kind: BlockKind::Text, id } => {
                TextEnd { id, citations: None, provider_metadata: None }.into()
            }
            Self::BlockEnd { kind: BlockKind::Reasoning, id } => ReasoningEnd { id, provider_metadata: None }.into(),
            Self::Call { call, tool } => call_start(call, tool),
            Self::InputDelta { call, delta: pieces } => {
                return Some(Chunks::Run(Run { of: DeltaOf::ToolInput(call), pieces }));
            }
            Self::Input { call, tool, input } => input_available(call, tool, input),
            Self::InputError { call, tool, input, error } => input_error(call, tool, input, error),
            // They are transient: clients pass them on, and do not keep them.
            Self::EditedInput { call, input } => transient(EDITED_INPUT, json!({"toolCallId": call, "input": input})),
            Self::Delayed { message, seconds } => transient(RETRY, json!({"message": message, "seconds": seconds})),
            Self::Request { call, approval } => ToolApprovalRequest {
                approval_id: approval,
                tool_call_id: call,
                approval_descriptor: None,
                input_schema_input: None,
                reason: None,
                is_automatic: None,
                signature: None,
            }
            .into(),
            // Clients do not count a preliminary output as an outcome.
            Self::Progress { call, output } => output_available(call, output, Some(true)),
            Self::Outcome { call, outcome: Outcome::Output(output) } => output_available(call, output, None),
            Self::Outcome { call, outcome: Outcome::Error(text) } => output_error(call, text),
            Self::Outcome { call, outcome: Outcome::Denied { .. } } => ToolOutputDenied { tool_call_id: call }.into(),
            Self::Failed { message } => Error { error_text: message }.into(),
            Self::Aborted { reason } => Abort { reason }.into(),
            Self::Finish { reason, usage, of_turn, model } => {
                let metadata = MessageMetadata::from(usage_metadata(usage, of_turn, &model));
                Finish { finish_reason: Some(reason), message_metadata: Some(metadata) }.into()
            }
            Self::End => return None,
        };
        Some(Chunks::One(chunk))
    }
}

fn call_start(call: ToolCallId, tool: String) -> Chunk {
    ToolInputStart {
        tool_call_id: call,
        tool_name: tool,
        input_encoding: None,
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
        title: None,
    }
    .into()
}

fn input_available(call: ToolCallId, tool: String, input: Value) -> Chunk {
    ToolInputAvailable {
        tool_call_id: call,
        tool_name: tool,
        input: Payload::from(input),
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
        title: None,
    }
    .into()
}

fn input_error(call: ToolCallId, tool: String, input: Value, error: String) -> Chunk {
    ToolInputError {
        tool_call_id: call,
        tool_name: tool,
        input: Payload::from(input),
        error_text: error,
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
        title: None,
    }
    .into()
}

fn output_available(call: ToolCallId, output: Value, preliminary: Option<bool>) -> Chunk {
    ToolOutputAvailable {
        tool_call_id: call,
        output: Payload::from(output),
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
        preliminary,
    }
    .into()
}

fn output_error(call: ToolCallId, text: String) -> Chunk {
    ToolOutputError {
        tool_call_id: call,
        error_text: text,
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
    }
    .into()
}

fn transient(name: &str, data: Value) -> Chunk {
    Data { name: name.to_owned(), id: None, data: Payload::from(data), transient: Some(true) }.into()
}

/// The metadata of a message that reports usage. Parts that the provider does not report in the whole turn are left out:
/// clients merge metadata, so a part that was reported once is reported again.
pub(super) fn usage_metadata(usage: Usage, of_turn: Usage, model: &str) -> Map<String, Value> {
    let total = usage.total();
    let Usage { prompt_tokens, completion_tokens, cached_prompt_tokens, reasoning_tokens } = usage;
    let mut usage = json!({"promptTokens": prompt_tokens, "completionTokens": completion_tokens, "totalTokens": total});
    if of_turn.cached_prompt_tokens > 0 {
        usage["cachedPromptTokens"] = cached_prompt_tokens.into();
    }
    if of_turn.reasoning_tokens > 0 {
        usage["reasoningTokens"] = reasoning_tokens.into();
    }
    let mut metadata = Map::new();
    metadata.insert("usage".to_owned(), usage);
    metadata.insert("modelVersion".to_owned(), Value::from(model));
    metadata
}
