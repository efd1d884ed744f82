//! The baseline: the same with plain serde, as most servers do it.

use serde::Serialize;
use serde_json::Value;

/// A text delta, with a derived encoder.
#[derive(Serialize)]
#[serde(tag = "type", rename = "text-delta")]
pub(crate) struct TextDelta {
    pub(crate) id: String,
    pub(crate) delta: String,
}

/// Encodes an event into its own vector.
pub(crate) fn encode(chunk: &TextDelta) -> Vec<u8> {
    let json = serde_json::to_vec(chunk).expect("strings can be written");
    let mut event = Vec::with_capacity(json.len() + 8);
    event.extend_from_slice(b"data: ");
    event.extend_from_slice(&json);
    event.extend_from_slice(b"\n\n");
    event
}

/// Splits lines and parses each `data` line into a [`Value`].
pub(crate) fn decode(bytes: &[u8], mut each: impl FnMut(Value)) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        if let Some(data) = line.strip_prefix("data: ") {
            each(serde_json::from_str(data).expect("what we made is JSON"));
        }
    }
}
