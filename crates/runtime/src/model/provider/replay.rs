//! What a provider needs back of its own answers: reasoning with its signatures, in its place among text and calls.
//!
//! DeepSeek refuses a conversation without the reasoning of steps with calls, Anthropic wants its thinking blocks as they
//! were, Gemini the signatures of its calls, and OpenAI's Responses API its reasoning items. `rig` keeps the items of the
//! provider beside what they mean, and sends them again to the same model.

use holdpoint_protocol::json::Screen;
use rig_core::{
    completion::CompletionResponse,
    message::{AssistantContent, AssistantMessage, ToolCall},
};
use serde_json::Value;

use super::request;
use crate::model::{ModelCall, ProviderState};

/// Maximum size of the state of a step. Reasoning takes twice its size here. A larger state is not kept: the provider may
/// then refuse to go on, but the chat stays usable.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Keys of an item of text or of a call that the provider needs back.
const SIGNATURES: [&str; 2] = ["thoughtSignature", "extra_content"];

/// The state of a completed step, if the provider needs any. `origin` is the model.
pub(super) fn keep(response: &CompletionResponse, origin: &str) -> Option<ProviderState> {
    if !response.choice.iter().any(is_needed) {
        return None;
    }
    let answer = AssistantMessage::new(response.choice.clone()).with_origin(response.origin.clone());
    let data = serde_json::to_string(&answer).ok()?;
    if data.len() > MAX_BYTES {
        tracing::warn!(bytes = data.len(), "the reasoning of a step is too large to be kept for the model");
        return None;
    }
    Some(ProviderState { origin: origin.to_owned(), data })
}

fn is_needed(block: &AssistantContent) -> bool {
    match block {
        AssistantContent::Reasoning(_) => block.native_item().is_some(),
        AssistantContent::Opaque(opaque) => opaque.replay,
        _ => block.native_item().is_some_and(|item| SIGNATURES.iter().any(|key| item.get(key).is_some())),
    }
}

/// The answer as the provider needs it back. `None` if it is another model's, or does not fit the calls of the step.
pub(super) fn restore(state: &ProviderState, origin: &str, calls: &[ModelCall]) -> Option<AssistantMessage> {
    // An imported chat may contain anything: such a key would end the process.
    if state.origin != origin || Screen::default().feed(state.data.as_bytes()) {
        return None;
    }
    let answer: AssistantMessage = serde_json::from_str(&state.data).ok()?;
    let mut calls: Vec<&ModelCall> = calls.iter().collect();
    let mut content = Vec::with_capacity(answer.content.len());
    for block in &answer.content {
        content.push(match block {
            AssistantContent::ToolCall(call) => {
                let made = take(&mut calls, call)?;
                with_our_id(block, call, made)?
            }
            _ => block.clone(),
        });
    }
    calls.is_empty().then(|| answer.with_content(content))
}

/// The call of the chat that this one is. The provider's ids are not kept, and the order may differ.
fn take<'a>(calls: &mut Vec<&'a ModelCall>, call: &ToolCall) -> Option<&'a ModelCall> {
    let has_name = |made: &&ModelCall| made.name == call.function.name.as_str();
    let same = calls.iter().position(|made| has_name(made) && is_as_made(call, made));
    // An approver has changed its input, or it was not valid.
    let at = same.or_else(|| calls.iter().position(has_name))?;
    Some(calls.remove(at))
}

fn is_as_made(call: &ToolCall, made: &ModelCall) -> bool {
    call.function.invalid_arguments.is_none()
        && made.input.as_object().is_some_and(|input| *input == call.function.arguments)
}

/// The call with the chat's id. The provider's item goes with it, unless the input is another one.
fn with_our_id(block: &AssistantContent, call: &ToolCall, made: &ModelCall) -> Option<AssistantContent> {
    let ours = request::call(made)?;
    if !is_as_made(call, made) {
        return Some(AssistantContent::ToolCall(ToolCall { native: call.native.clone(), ..ours }));
    }
    let item: Option<Value> = block.native_item().cloned();
    let ours = AssistantContent::ToolCall(ours);
    Some(match item {
        Some(item) => ours.with_native(item),
        None => ours,
    })
}
