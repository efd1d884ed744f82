//! Checks of a single payload: F3, F4 and the S rules.

use serde_json::Value;

use super::{Audience, Rule};
use crate::{
    chunk::{Chunk, Fault, FinishReason, ReadChunk},
    json::{self, MessageMetadata},
};

/// Reads a payload and reports its faults. `None` if nothing is left to check.
pub(super) fn read(payload: &[u8], audience: Audience, mut report: impl FnMut(Rule, String)) -> Option<Chunk> {
    let read = match ReadChunk::parse(payload) {
        Ok(read) => read,
        Err(fault) => {
            if may_throw(payload) {
                report(Rule::F4, FORBIDDEN.to_owned());
            }
            report(rule_of(&fault), fault.to_string());
            return without_key(payload, &fault);
        }
    };
    let has_json = match &read {
        ReadChunk::Known { chunk, extra } => chunk.carries_json() || !extra.is_empty(),
        ReadChunk::Unknown { .. } => true,
    };
    if has_json && may_throw(payload) {
        report(Rule::F4, FORBIDDEN.to_owned());
    }
    match read {
        ReadChunk::Unknown { kind, .. } => {
            report(Rule::S1, format!("unknown chunk type {kind:?}: a client throws at it"));
            None
        }
        ReadChunk::Known { chunk, extra } => {
            if audience == Audience::Any && chunk.is_sdk7_only() {
                report(Rule::S1, format!("`{}` is known to `ai` 7 only; over HTTP the client may be 6", chunk.kind()));
            }
            if let Some(key) = extra.keys().next() {
                report(
                    Rule::S5,
                    format!("`{}` has no key {key:?}: put it into `messageMetadata` or a `data-*` chunk", chunk.kind()),
                );
            }
            if audience == Audience::Any
                && let Some(key) = chunk.sdk7_only_key()
            {
                report(
                    Rule::S5,
                    format!("`{key}` of `{}` is known to `ai` 7 only; over HTTP the client may be 6", chunk.kind()),
                );
            }
            values(&chunk, audience, report);
            Some(chunk)
        }
    }
}

fn may_throw(payload: &[u8]) -> bool {
    json::may_have_forbidden_key(payload) && json::parse(payload).is_ok_and(|value| json::has_forbidden_key(&value))
}

/// The chunk without the optional key that made it invalid, so that one fault is not reported again through its
/// consequences.
fn without_key(payload: &[u8], fault: &Fault) -> Option<Chunk> {
    let (Fault::Null { key } | Fault::WrongType { key, .. }) = fault else {
        return None;
    };
    let mut value = json::parse(payload).ok()?;
    value.as_object_mut()?.shift_remove(*key);
    match ReadChunk::from_value(value) {
        Ok(ReadChunk::Known { chunk, .. }) => Some(chunk),
        _ => None,
    }
}

const FORBIDDEN: &str = "a key `__proto__`, or `constructor` with `prototype` in it: the client's JSON parser throws";

fn rule_of(fault: &Fault) -> Rule {
    match fault {
        Fault::NotJson(_) | Fault::NotAnObject(_) | Fault::NoType => Rule::F3,
        Fault::Null { key: "finishReason" } | Fault::WrongType { key: "finishReason", .. } => Rule::S4,
        Fault::Null { .. } => Rule::S2,
        Fault::WrongType { key: "providerMetadata", .. } => Rule::S6,
        Fault::Missing { .. } | Fault::WrongType { .. } => Rule::S3,
    }
}

/// Reports values that can be read but must not be written.
fn values(chunk: &Chunk, audience: Audience, mut report: impl FnMut(Rule, String)) {
    let metadata = match chunk {
        Chunk::Start(c) => c.message_metadata.as_ref(),
        Chunk::Finish(c) => {
            if c.finish_reason == Some(FinishReason::Interrupted) && audience == Audience::Any {
                report(Rule::S4, "`interrupted` is known to `ai` 7 only; over HTTP the client may be 6".to_owned());
            }
            c.message_metadata.as_ref()
        }
        Chunk::SetMetadata(c) => Some(&c.message_metadata),
        Chunk::ToolApprovalRequest(c) => {
            let values = [("approvalDescriptor", &c.approval_descriptor), ("inputSchemaInput", &c.input_schema_input)];
            for (key, _) in
                values.into_iter().filter(|(_, value)| value.as_ref().is_some_and(|value| value.value().is_null()))
            {
                report(Rule::S2, format!("`{key}` is null: leave an optional key out"));
            }
            None
        }
        _ => None,
    };
    if metadata.map(MessageMetadata::value).is_some_and(|value| !matches!(value, Value::Object(_) | Value::Null)) {
        report(Rule::S6, "`messageMetadata` is not an object: the next one that is can't be merged with it".to_owned());
    }
}
