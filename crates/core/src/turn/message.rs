//! Client messages on their way into the log. What is stored must be valid for every SDK version that reads it back.

use holdpoint_protocol::{
    message::{ClientMessage, FilePart, Part, Role, UiMessage},
    request::Answer,
};
use serde_json::Value;

use super::{Env, Rejection};
use crate::value::admit_message;

/// Whether a message has text or a file, and not only answers.
pub(super) fn has_content(message: &ClientMessage) -> bool {
    message.parts.iter().any(|part| match part {
        Part::Text(text) => !text.text.trim().is_empty(),
        Part::File(_) => true,
        _ => false,
    })
}

/// A new user message, without the answers it carries.
pub(super) fn user_message(message: &ClientMessage, env: &mut Env<'_>) -> Result<UiMessage, Rejection> {
    let mut parts = Vec::new();
    for (at, part) in message.parts.iter().enumerate() {
        match part {
            Part::File(file) if !is_file(file) => return Err(bad_part(at, part)),
            Part::Text(_) | Part::File(_) | Part::Data(_) | Part::SourceUrl(_) | Part::SourceDocument(_) => {
                parts.push(part.clone());
            }
            Part::Tool(_) | Part::StepStart => {}
            other if !other.answers().is_empty() || is_confirmation(other) => {}
            other => return Err(bad_part(at, other)),
        }
    }
    let message = with_id(message, parts, env);
    match admit_message(&message) {
        Ok(()) => Ok(message),
        Err(error) => Err(Rejection::InvalidValue { what: "messages: the new message", error }),
    }
}

/// The history of a chat that is unknown here, reduced to what the model can use and a client can show.
pub(super) fn context(messages: &[ClientMessage], env: &mut Env<'_>) -> Result<Vec<UiMessage>, Rejection> {
    let mut kept = Vec::new();
    for message in messages {
        let mut parts: Vec<Part> = message.parts.iter().filter_map(context_part).collect();
        if parts.is_empty() {
            if message.role != Role::Assistant {
                continue;
            }
            // `validateUIMessages` refuses a message without parts, and the whole history with it.
            parts.push(Part::StepStart);
        }
        let message = with_id(message, parts, env);
        admit_message(&message).map_err(|error| Rejection::InvalidValue { what: "messages: the history", error })?;
        kept.push(message);
    }
    Ok(kept)
}

fn with_id(message: &ClientMessage, parts: Vec<Part>, env: &mut Env<'_>) -> UiMessage {
    let id = message.id.clone().filter(|id| !id.as_str().is_empty()).unwrap_or_else(|| env.message_id());
    UiMessage { id, role: message.role, metadata: message.metadata.clone(), parts }
}

fn bad_part(at: usize, part: &Part) -> Rejection {
    let kind = match part {
        Part::Other(fields) => fields.get("type").and_then(Value::as_str).unwrap_or("none").to_owned(),
        known => match serde_json::to_value(known) {
            Ok(Value::Object(fields)) => fields.get("type").and_then(Value::as_str).unwrap_or("none").to_owned(),
            _ => "none".to_owned(),
        },
    };
    Rejection::BadPart { at, kind }
}

/// A part of the older format that names an approval without a decision.
fn is_confirmation(part: &Part) -> bool {
    matches!(part, Part::Other(fields) if fields.contains_key("approval"))
}

/// The SDK checks `providerReference` in a file part, and our type does not.
fn is_file(file: &FilePart) -> bool {
    let is_reference = |value: &Value| match value {
        Value::Object(fields) => fields.values().all(Value::is_string),
        _ => false,
    };
    file.extra.get("providerReference").is_none_or(is_reference)
}

fn context_part(part: &Part) -> Option<Part> {
    match part {
        Part::File(file) => is_file(file).then(|| part.clone()),
        Part::Text(_)
        | Part::Reasoning(_)
        | Part::Data(_)
        | Part::SourceUrl(_)
        | Part::SourceDocument(_)
        | Part::StepStart => Some(part.clone()),
        // Whether they were made, and who approved them, is not known here. Open ones would also look answerable.
        Part::Tool(_) => None,
        Part::Other(_) | Part::Custom(_) | Part::ReasoningFile(_) | Part::SteeringMessage { .. } => None,
    }
}

/// All answers of a request, in order.
pub(super) fn answers(messages: &[ClientMessage]) -> Vec<Answer> {
    messages.iter().flat_map(ClientMessage::answers).collect()
}
