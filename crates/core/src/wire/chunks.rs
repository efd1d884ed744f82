//! Chunks shared by several projections.

use std::collections::HashMap;

use holdpoint_protocol::{
    chunk::{
        Abort, Chunk, Chunks, Data, DeltaOf, Error, Finish, FinishReason, Pieces, ReasoningEnd, ReasoningStart, Run,
        Start, TextEnd, TextStart, ToolApprovalRequest, ToolInputAvailable, ToolInputDelta, ToolInputError,
        ToolInputStart, ToolOutputAvailable, ToolOutputError,
    },
    ids::{ApprovalId, MessageId, PartId, ToolCallId},
    json::{MessageMetadata, Payload},
};
use serde_json::{Map, Value, json};

use super::calls::TurnCalls;
use crate::{
    call::Call,
    fact::{BlockKind, Outcome, TurnEnd},
    model::Usage,
};

pub(super) fn start(message: &MessageId) -> Chunk {
    Start { message_id: Some(message.clone()), message_metadata: None }.into()
}

pub(super) fn input_start(call: &ToolCallId, name: &str) -> Chunk {
    ToolInputStart {
        tool_call_id: call.clone(),
        tool_name: name.to_owned(),
        input_encoding: None,
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
        title: None,
    }
    .into()
}

pub(super) fn input_available(call: &ToolCallId, name: &str, input: &Value) -> Chunk {
    ToolInputAvailable {
        tool_call_id: call.clone(),
        tool_name: name.to_owned(),
        input: Payload::from(input.clone()),
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
        title: None,
    }
    .into()
}

/// The input of a call in the adk profile: available, or invalid with the error.
pub(super) fn input(id: &ToolCallId, call: &Call) -> Chunk {
    match call.input_error() {
        Some(error) => input_error(id, &call.name, &call.input, error),
        None => input_available(id, &call.name, &call.input),
    }
}

/// An input that an approver has put in place of the one that this response has announced: announced once more, the
/// client would take it for another call, or forget the approval request.
pub(super) fn edited_input(call: &ToolCallId, input: &Value) -> Chunk {
    let data = Payload::from(json!({"toolCallId": call, "input": input}));
    Data { name: EDITED_INPUT.to_owned(), id: None, data, transient: Some(true) }.into()
}

/// Tells whoever waits that the model is asked again. It is no part of the message.
pub(super) fn delayed(message: &str, seconds: u64) -> Chunk {
    let data = Payload::from(json!({"message": message, "seconds": seconds}));
    Data { name: RETRY.to_owned(), id: None, data, transient: Some(true) }.into()
}

/// The whole input as a delta. It does not make the client run the call.
pub(super) fn input_delta(call: &ToolCallId, input: &Value) -> Chunk {
    ToolInputDelta { tool_call_id: call.clone(), input_text_delta: input.to_string() }.into()
}

pub(super) fn input_error(call: &ToolCallId, name: &str, input: &Value, error: &str) -> Chunk {
    ToolInputError {
        tool_call_id: call.clone(),
        tool_name: name.to_owned(),
        input: Payload::from(input.clone()),
        error_text: error.to_owned(),
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
        title: None,
    }
    .into()
}

pub(super) fn approval_request(call: &ToolCallId, approval: &ApprovalId) -> Chunk {
    ToolApprovalRequest {
        approval_id: approval.clone(),
        tool_call_id: call.clone(),
        approval_descriptor: None,
        input_schema_input: None,
        reason: None,
        is_automatic: None,
        signature: None,
    }
    .into()
}

/// An outcome in the adk profile. It has no denials: a denial is an error with the person's reason.
pub(super) fn outcome(call: &ToolCallId, outcome: &Outcome) -> Chunk {
    let error = |text: String| {
        Chunk::from(ToolOutputError {
            tool_call_id: call.clone(),
            error_text: text,
            provider_executed: None,
            provider_metadata: None,
            tool_metadata: None,
            dynamic: None,
        })
    };
    match outcome {
        Outcome::Output(value) => output(call, value, None),
        Outcome::Error(text) => error(text.clone()),
        Outcome::Denied { reason } => error(Outcome::denial_text(reason.as_deref())),
    }
}

/// A preliminary output. Clients do not count it as an outcome.
pub(super) fn progress(call: &ToolCallId, value: &Value) -> Chunk {
    output(call, value, Some(true))
}

fn output(call: &ToolCallId, value: &Value, preliminary: Option<bool>) -> Chunk {
    ToolOutputAvailable {
        tool_call_id: call.clone(),
        output: Payload::from(value.clone()),
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
        preliminary,
    }
    .into()
}

pub(super) fn block_start(kind: BlockKind, id: &PartId) -> Chunk {
    match kind {
        BlockKind::Text => TextStart { id: id.clone(), provider_metadata: None }.into(),
        BlockKind::Reasoning => ReasoningStart { id: id.clone(), provider_metadata: None }.into(),
    }
}

pub(super) fn block_deltas(kind: BlockKind, id: &PartId, pieces: &Pieces) -> Chunks {
    let of = match kind {
        BlockKind::Text => DeltaOf::Text(id.clone()),
        BlockKind::Reasoning => DeltaOf::Reasoning(id.clone()),
    };
    Chunks::Run(Run { of, pieces: pieces.clone() })
}

pub(super) fn block_end(kind: BlockKind, id: &PartId) -> Chunk {
    match kind {
        BlockKind::Text => TextEnd { id: id.clone(), citations: None, provider_metadata: None }.into(),
        BlockKind::Reasoning => ReasoningEnd { id: id.clone(), provider_metadata: None }.into(),
    }
}

/// The chunk before `finish` at the end of a turn, and the finish reason.
pub(super) fn ending(end: &TurnEnd) -> (Option<Chunk>, FinishReason) {
    let abort = |reason: Option<String>| Some(Abort { reason }.into());
    match end {
        TurnEnd::Finished { reason } => (None, *reason),
        TurnEnd::Failed { message } => (Some(Error { error_text: message.clone() }.into()), FinishReason::Error),
        TurnEnd::Stopped { reason } => (abort(reason.clone()), FinishReason::Other),
        TurnEnd::Superseded => (abort(Some("superseded".to_owned())), FinishReason::Other),
    }
}

/// The open blocks by id, because a delta does not name the kind of its block.
#[derive(Debug, Default)]
pub(super) struct Blocks(HashMap<PartId, BlockKind>);

impl Blocks {
    pub(super) fn start(&mut self, kind: BlockKind, id: &PartId) {
        self.0.insert(id.clone(), kind);
    }

    pub(super) fn kind(&self, id: &PartId) -> BlockKind {
        self.0.get(id).copied().unwrap_or(BlockKind::Text)
    }

    /// Ends a block. `None` if it has ended: the node that began it had shown its end, could not write that, and another
    /// node has ended it.
    pub(super) fn end(&mut self, id: &PartId) -> Option<BlockKind> {
        self.0.remove(id)
    }

    /// Ends the open block, if there is one.
    pub(super) fn abandon(&mut self) -> Option<(BlockKind, PartId)> {
        self.0.drain().next().map(|(id, kind)| (kind, id))
    }
}

/// The type of the data part for an edited input, without `data-`.
const EDITED_INPUT: &str = "holdpoint-input";

/// The type of the data part for a model that is asked again, without `data-`.
const RETRY: &str = "holdpoint-retry";

/// Why a call of a step that was abandoned has no outcome.
pub(super) const ABANDONED: &str = "not run: the server was interrupted while it wrote this call, and begins again";

/// Usage, reported from one `finish` to the next.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// The number of steps already reported to the client.
    reported: usize,
}

impl Meter {
    pub(super) fn finish(&mut self, reason: FinishReason, calls: &TurnCalls) -> Chunk {
        let since = std::mem::replace(&mut self.reported, calls.steps());
        finish(reason, usage_metadata(calls.usage_since(since), calls.usage_since(0), &calls.model))
    }
}

pub(super) fn finish(reason: FinishReason, metadata: Map<String, Value>) -> Chunk {
    Finish { finish_reason: Some(reason), message_metadata: Some(MessageMetadata::from(metadata)) }.into()
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
