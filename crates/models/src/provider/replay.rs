//! What a provider needs back of its own answers: reasoning with its signatures, in its place among text and calls.
//!
//! DeepSeek refuses a conversation without the reasoning of steps with calls, Anthropic wants its thinking blocks as they
//! were, Gemini the signatures of its calls, and OpenAI's Responses API its reasoning items. What is kept are the items of the
//! provider itself; only calls are known as such, since they get the chat's ids.

use holdpoint_protocol::json::{self, Screen};
use serde_json::{Map, Value, json};

use super::{
    request,
    wire::{Ending, Made},
};
use crate::{ModelCall, ProviderState};

/// Maximum size of the state of a step. A larger state is not kept: the provider may then refuse to go on, but the chat stays
/// usable.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// A part of an answer, in the provider's own words.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kept {
    Item(Value),
    /// A call; without an input if that was not valid.
    Call {
        name: String,
        input: Option<Map<String, Value>>,
        item: Value,
    },
}

/// A part of an answer as it is sent again.
#[derive(Debug, Clone)]
pub(super) enum Restored {
    Item(Value),
    /// `is_as_made`: the input is the model's own.
    Call {
        made: Made,
        item: Value,
        is_as_made: bool,
    },
}

/// The state of a completed step, if the provider needs any. `origin` is the model.
pub(super) fn keep(ending: &Ending, origin: &str) -> Option<ProviderState> {
    if !ending.is_needed {
        return None;
    }
    let kept = ending.kept.iter().map(|kept| match kept {
        Kept::Item(item) => json!([item]),
        Kept::Call { name, input, item } => json!([item, name, input]),
    });
    let data = Value::Array(kept.collect()).to_string();
    if data.len() > MAX_BYTES {
        tracing::warn!(bytes = data.len(), "the reasoning of a step is too large to be kept for the model");
        return None;
    }
    Some(ProviderState { origin: origin.to_owned(), data })
}

/// The answer as the provider needs it back. `None` if it is another model's, or does not fit the calls of the step.
pub(super) fn restore(state: &ProviderState, origin: &str, calls: &[ModelCall]) -> Option<Vec<Restored>> {
    // An imported chat may contain anything, and a model writes no such keys.
    if state.origin != origin || Screen::default().feed(state.data.as_bytes()) {
        return None;
    }
    let Value::Array(kept) = json::parse(state.data.as_bytes()).ok()? else { return None };
    let mut calls: Vec<&ModelCall> = calls.iter().collect();
    let mut restored = Vec::with_capacity(kept.len());
    for kept in kept {
        restored.push(match kept {
            Value::Array(mut kept) if kept.len() == 1 => Restored::Item(kept.remove(0)),
            Value::Array(kept) => {
                let [item, Value::String(name), input] = <[Value; 3]>::try_from(kept).ok()? else { return None };
                let (made, is_as_made) = take(&mut calls, &name, &input)?;
                Restored::Call { made: request::call(made)?, item, is_as_made }
            }
            _ => return None,
        });
    }
    calls.is_empty().then_some(restored)
}

/// The call of the chat that this one is, and whether it has this input. The provider's ids are not kept, and the order may
/// differ.
fn take<'a>(calls: &mut Vec<&'a ModelCall>, name: &str, input: &Value) -> Option<(&'a ModelCall, bool)> {
    let same = calls.iter().position(|made| made.name == name && made.input == *input && input.is_object());
    // An approver has changed its input, or it was not valid.
    let at = same.or_else(|| calls.iter().position(|made| made.name == name))?;
    Some((calls.remove(at), same.is_some()))
}
