//! Tool parts: how each chunk changes the part of its call.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{ReduceError, Reducer, Sdk, partial_json, replace_some};
use crate::{
    chunk::{
        InputEncoding, ToolApprovalRequest, ToolApprovalResponse, ToolInputAvailable, ToolInputDelta, ToolInputError,
        ToolInputStart, ToolOutputAvailable, ToolOutputDenied, ToolOutputError,
    },
    ids::ToolCallId,
    json::{Object, ProviderMetadata},
    message::{Approval, Part, ToolPart, ToolState, UiMessage},
};

/// A partial input.
#[derive(Debug, Clone)]
pub(super) struct Input {
    text: String,
    encoding: Option<InputEncoding>,
    name: String,
    dynamic: bool,
    title: Option<String>,
    tool_metadata: Option<Object>,
}

/// Inputs that were still streaming when the previous response ended. Their deltas may continue.
pub(super) fn begun_inputs(message: &UiMessage) -> HashMap<ToolCallId, Input> {
    let step = message.parts.iter().rposition(|part| *part == Part::StepStart).map_or(0, |at| at + 1);
    let begun =
        message.parts[step..].iter().filter_map(Part::as_tool).filter(|tool| tool.state == ToolState::InputStreaming);
    begun
        .map(|tool| {
            let text = tool.fields.raw_input.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            let input = Input {
                text,
                encoding: tool.fields.input_encoding,
                name: tool.name.clone(),
                dynamic: tool.dynamic,
                title: tool.fields.title.clone(),
                tool_metadata: tool.fields.tool_metadata.clone(),
            };
            (tool.tool_call_id.clone(), input)
        })
        .collect()
}

/// The fields that a chunk sets on its call. Others are cleared, except where [`Reducer::update`] keeps them.
#[derive(Default)]
struct Update<'a> {
    name: &'a str,
    state: Option<ToolState>,
    input: Option<Value>,
    raw_input: Option<Value>,
    input_encoding: Option<InputEncoding>,
    output: Option<Value>,
    error_text: Option<String>,
    preliminary: Option<bool>,
    title: Option<&'a String>,
    tool_metadata: Option<&'a Map<String, Value>>,
    provider_executed: Option<bool>,
    provider_metadata: Option<&'a ProviderMetadata>,
}

impl Reducer {
    pub(super) fn begin_input(&mut self, c: &ToolInputStart) {
        let dynamic = c.dynamic == Some(true);
        let input = Input {
            text: String::new(),
            encoding: c.input_encoding,
            name: c.tool_name.clone(),
            dynamic,
            title: c.title.clone(),
            tool_metadata: c.tool_metadata.clone(),
        };
        self.inputs.insert(c.tool_call_id.clone(), input);
        self.announce(
            &c.tool_call_id,
            dynamic,
            Update {
                name: &c.tool_name,
                state: Some(ToolState::InputStreaming),
                input_encoding: c.input_encoding,
                title: c.title.as_ref(),
                tool_metadata: c.tool_metadata.as_deref(),
                provider_executed: c.provider_executed,
                provider_metadata: c.provider_metadata.as_ref(),
                ..Update::default()
            },
        );
    }

    pub(super) fn more_input(&mut self, c: &ToolInputDelta) -> Result<(), ReduceError> {
        let sdk = self.sdk;
        let Some(input) = self.inputs.get_mut(&c.tool_call_id) else {
            return Err(ReduceError::NoSuchInput { chunk: "tool-input-delta", id: c.tool_call_id.clone() });
        };
        input.text.push_str(&c.input_text_delta);
        let input = input.clone();
        let value = match input.encoding {
            Some(InputEncoding::Text) => Some(Value::String(input.text.clone())),
            _ => partial_json::read(&input.text, sdk),
        };
        self.announce(
            &c.tool_call_id,
            input.dynamic,
            Update {
                name: &input.name,
                state: Some(ToolState::InputStreaming),
                input: value,
                raw_input: Some(Value::String(input.text)),
                input_encoding: input.encoding,
                title: input.title.as_ref(),
                tool_metadata: input.tool_metadata.as_deref(),
                ..Update::default()
            },
        );
        Ok(())
    }

    pub(super) fn input_available(&mut self, c: &ToolInputAvailable) {
        self.announce(
            &c.tool_call_id,
            c.dynamic == Some(true),
            Update {
                name: &c.tool_name,
                state: Some(ToolState::InputAvailable),
                input: Some(c.input.value().clone()),
                title: c.title.as_ref(),
                tool_metadata: c.tool_metadata.as_deref(),
                provider_executed: c.provider_executed,
                provider_metadata: c.provider_metadata.as_ref(),
                ..Update::default()
            },
        );
    }

    pub(super) fn input_error(&mut self, c: &ToolInputError) {
        let existing = self.message.parts[self.step()..].iter().filter_map(Part::as_tool);
        let dynamic = existing
            .filter(|tool| tool.tool_call_id == c.tool_call_id)
            .map(|tool| tool.dynamic)
            .next()
            .unwrap_or(c.dynamic == Some(true));
        let input = Some(c.input.value().clone());
        // `ai` 6 keeps invalid input in a separate field.
        let (input, raw_input) = if self.sdk == Sdk::V6 && !dynamic { (None, input) } else { (input, None) };
        self.announce(
            &c.tool_call_id,
            dynamic,
            Update {
                name: &c.tool_name,
                state: Some(ToolState::OutputError),
                input,
                raw_input,
                error_text: Some(c.error_text.clone()),
                tool_metadata: c.tool_metadata.as_deref(),
                provider_executed: c.provider_executed,
                provider_metadata: c.provider_metadata.as_ref(),
                ..Update::default()
            },
        );
    }

    pub(super) fn approval_request(&mut self, c: &ToolApprovalRequest) -> Result<(), ReduceError> {
        let sdk = self.sdk;
        let part = self.call("tool-approval-request", &c.tool_call_id)?;
        let mut extra = Map::new();
        if let Some(descriptor) = c.approval_descriptor.as_ref().filter(|descriptor| !descriptor.value().is_null()) {
            extra.insert("descriptor".to_owned(), descriptor.value().clone());
        }
        if let Some(input) = &c.input_schema_input {
            extra.insert("inputSchemaInput".to_owned(), input.value().clone());
        }
        if sdk == Sdk::V7 && c.is_automatic == Some(true) {
            extra.insert("isAutomatic".to_owned(), Value::Bool(true));
        }
        if let Some(signature) = &c.signature {
            extra.insert("signature".to_owned(), Value::String(signature.clone()));
        }
        part.state = ToolState::ApprovalRequested;
        part.fields.approval = Some(Approval {
            id: c.approval_id.clone(),
            approved: None,
            reason: None,
            request_reason: c.reason.clone().filter(|_| sdk == Sdk::V7),
            extra,
        });
        Ok(())
    }

    pub(super) fn approval_response(&mut self, c: &ToolApprovalResponse) -> Result<(), ReduceError> {
        let asked = self.message.parts.iter_mut().find_map(|part| match part {
            Part::Tool(tool) if tool.fields.approval.as_ref().is_some_and(|approval| approval.id == c.approval_id) => {
                Some(tool)
            }
            _ => None,
        });
        let Some(ToolPart { state, fields, .. }) = asked.map(|tool| &mut **tool) else {
            return Err(ReduceError::NoSuchApproval(c.approval_id.clone()));
        };
        *state = ToolState::ApprovalResponded;
        if let Some(approval) = &mut fields.approval {
            approval.approved = Some(c.approved);
            replace_some(&mut approval.reason, &c.reason);
        }
        replace_some(&mut fields.provider_executed, &c.provider_executed);
        replace_some(&mut fields.call_provider_metadata, &c.provider_metadata);
        Ok(())
    }

    pub(super) fn output_available(&mut self, c: &ToolOutputAvailable) -> Result<(), ReduceError> {
        let part = self.call("tool-output-available", &c.tool_call_id)?;
        let (name, input) = (part.name.clone(), part.fields.input.clone());
        apply(
            part,
            Update {
                name: &name,
                state: Some(ToolState::OutputAvailable),
                input,
                output: Some(c.output.value().clone()),
                preliminary: c.preliminary,
                tool_metadata: c.tool_metadata.as_deref(),
                provider_executed: c.provider_executed,
                provider_metadata: c.provider_metadata.as_ref(),
                ..Update::default()
            },
        );
        Ok(())
    }

    pub(super) fn output_error(&mut self, c: &ToolOutputError) -> Result<(), ReduceError> {
        let part = self.call("tool-output-error", &c.tool_call_id)?;
        let (name, input) = (part.name.clone(), part.fields.input.clone());
        let raw_input = part.fields.raw_input.clone().filter(|_| !part.dynamic);
        apply(
            part,
            Update {
                name: &name,
                state: Some(ToolState::OutputError),
                input,
                raw_input,
                error_text: Some(c.error_text.clone()),
                tool_metadata: c.tool_metadata.as_deref(),
                provider_executed: c.provider_executed,
                provider_metadata: c.provider_metadata.as_ref(),
                ..Update::default()
            },
        );
        Ok(())
    }

    pub(super) fn output_denied(&mut self, c: &ToolOutputDenied) -> Result<(), ReduceError> {
        self.call("tool-output-denied", &c.tool_call_id)?.state = ToolState::OutputDenied;
        Ok(())
    }

    /// The call's part: the first in the current step, else the last anywhere.
    fn call(&mut self, chunk: &'static str, id: &ToolCallId) -> Result<&mut ToolPart, ReduceError> {
        let is_it = |part: &Part| part.as_tool().is_some_and(|tool| tool.tool_call_id == *id);
        let step = self.step();
        let at = self.message.parts[step..]
            .iter()
            .position(is_it)
            .map(|at| at + step)
            .or_else(|| self.message.parts.iter().rposition(is_it));
        match at.and_then(|at| self.message.parts.get_mut(at)) {
            Some(Part::Tool(tool)) => Ok(tool),
            _ => Err(ReduceError::NoSuchCall { chunk, id: id.clone() }),
        }
    }

    /// Updates the call's part in the current step, or adds one: a call announced in two steps has two parts.
    fn announce(&mut self, id: &ToolCallId, dynamic: bool, update: Update<'_>) {
        let step = self.step();
        let existing = self.message.parts[step..].iter_mut().find_map(|part| match part {
            Part::Tool(tool) if tool.dynamic == dynamic && tool.tool_call_id == *id => Some(tool),
            _ => None,
        });
        match existing {
            Some(part) => apply(part, update),
            None => {
                let mut part = ToolPart {
                    name: String::new(),
                    dynamic,
                    tool_call_id: id.clone(),
                    state: ToolState::InputStreaming,
                    fields: Default::default(),
                };
                apply(&mut part, update);
                if dynamic {
                    // The client drops the raw text when a delta makes a dynamic part.
                    part.fields.raw_input = None;
                }
                self.push(Part::Tool(Box::new(part)));
            }
        }
    }
}

fn apply(part: &mut ToolPart, update: Update<'_>) {
    update.name.clone_into(&mut part.name);
    let fields = &mut part.fields;
    fields.input = update.input;
    fields.raw_input = update.raw_input;
    fields.input_encoding = update.input_encoding;
    fields.output = update.output;
    fields.error_text = update.error_text;
    fields.preliminary = update.preliminary;
    replace_some(&mut fields.title, &update.title.cloned());
    replace_some(&mut fields.tool_metadata, &update.tool_metadata.cloned().map(Object::from));
    replace_some(&mut fields.provider_executed, &update.provider_executed);
    if let Some(state) = update.state {
        part.state = state;
        let metadata = match state {
            ToolState::OutputAvailable | ToolState::OutputError => &mut fields.result_provider_metadata,
            _ => &mut fields.call_provider_metadata,
        };
        replace_some(metadata, &update.provider_metadata.cloned());
    }
}
