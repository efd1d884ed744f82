//! The SSE encoder. Writes into the caller's buffer and allocates nothing itself.

use serde::Serialize;

use super::DONE;
use crate::chunk::{Chunk, Chunks, Run};

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

/// Appends the events of a run of deltas from a piece on, until `out` has this many bytes; at least one. Returns the piece to
/// go on with, if any is left.
pub fn encode_some(run: &Run, from: usize, most: usize, out: &mut Vec<u8>) -> Option<usize> {
    let before = out.len();
    run.write_some(from, most, b"data: ", b"\n\n", out).unwrap_or_else(|_| {
        out.truncate(before);
        None
    })
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
    use crate::chunk::{DeltaOf, Pieces, StartStep, TextDelta};

    #[test]
    fn a_long_run_is_written_in_pieces() {
        let mut pieces = Pieces::default();
        (0..100).for_each(|number: u32| pieces.push(&format!("{number} {}", "x".repeat(50))));
        let run = Run { of: DeltaOf::Text("0".into()), pieces };
        let mut whole = Vec::new();
        encode_chunks(&Chunks::Run(run.clone()), &mut whole);
        let (mut all, mut next, mut rounds) = (Vec::new(), Some(0), 0);
        while let Some(from) = next {
            let mut out = Vec::new();
            next = encode_some(&run, from, 1000, &mut out);
            assert!(out.len() < 1200, "{}", out.len());
            all.extend(out);
            rounds += 1;
        }
        assert!(rounds > 8 && all == whole, "{rounds}");
        assert_eq!(encode_some(&run, 99, 0, &mut Vec::new()), None, "at least one is written");
    }

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
