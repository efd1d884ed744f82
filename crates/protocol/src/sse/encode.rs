//! The SSE encoder. Writes into the caller's buffer and allocates nothing itself.

use serde::Serialize;

use super::DONE;
use crate::chunk::{Chunk, Chunks};

/// Appends one chunk as an SSE event.
pub fn encode(chunk: &Chunk, out: &mut Vec<u8>) {
    let before = out.len();
    out.extend_from_slice(b"data: ");
    if chunk.write(out).is_err() {
        out.truncate(before);
        return;
    }
    out.extend_from_slice(b"\n\n");
}

/// Appends a chunk, or a run of deltas, as SSE events.
pub fn encode_chunks(chunks: &Chunks, out: &mut Vec<u8>) {
    let run = match chunks {
        Chunks::One(chunk) => return encode(chunk, out),
        Chunks::Run(run) => run,
    };
    let before = out.len();
    if run.write(b"data: ", b"\n\n", out).is_err() {
        out.truncate(before);
    }
}

/// Appends the JSON of one chunk, as the WebSocket frames have it.
pub fn encode_json(value: &impl Serialize, out: &mut Vec<u8>) {
    let before = out.len();
    // Writing to a Vec can't fail, and a chunk's keys are strings. Should that change, nothing is written rather than a
    // fragment.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
    }
}

/// Appends `[DONE]`.
pub fn encode_done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(DONE.as_bytes());
    out.extend_from_slice(b"\n\n");
}

/// Appends a comment, the only keep-alive that a client ignores. Line ends become spaces, since they would end the
/// comment.
pub fn encode_comment(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b": ");
    out.extend(text.bytes().map(|byte| if byte == b'\n' || byte == b'\r' { b' ' } else { byte }));
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{StartStep, TextDelta};

    #[test]
    fn an_event_is_data_and_a_blank_line() {
        let mut out = Vec::new();
        encode(&TextDelta { id: "0".into(), delta: "a\nb \"c\"".into(), provider_metadata: None }.into(), &mut out);
        encode(&StartStep {}.into(), &mut out);
        encode_comment("ping\n", &mut out);
        encode_done(&mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            "data: {\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"a\\nb \\\"c\\\"\"}\n\ndata: {\"type\":\"start-step\"}\n\n: ping \n\ndata: [DONE]\n\n"
        );
    }
}
