//! The SSE decoder: no input makes it panic, the events do not depend on how the bytes are split, and nothing exceeds
//! the limit.

#![no_main]

use holdpoint_fuzz::{cuts, hash};
use holdpoint_protocol::sse::{Decoder, Event};
use libfuzzer_sys::fuzz_target;

/// An owned event.
#[derive(Debug, PartialEq)]
enum Seen {
    Data(u64, Vec<u8>),
    Comment(u64),
    Junk(u64, Vec<u8>),
    TooLarge(u64),
    Incomplete(u64, Vec<u8>),
}

fuzz_target!(|input: &[u8]| {
    let small = (hash(input) % 48) as usize;
    for limit in [1 << 20, small] {
        let [whole, others @ ..] = cuts(input).map(|pieces| decode(&pieces, limit));
        for other in others {
            assert_eq!(whole, other, "limit {limit}");
        }
    }
});

fn decode(pieces: &[&[u8]], limit: usize) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut last = 0;
    let mut each = |event: Event<'_>| {
        let (line, size) = match event {
            Event::Data { line, data } | Event::Incomplete { line, data } => (line, data.len()),
            Event::Junk { line, text } => (line, text.len()),
            Event::Comment { line } | Event::TooLarge { line } => (line, 0),
        };
        assert!(size <= limit.max(3), "{size} bytes with a limit of {limit}");
        assert!(line >= 1);
        last = last.max(line);
        seen.push(match event {
            Event::Data { line, data } => Seen::Data(line, data.to_vec()),
            Event::Comment { line } => Seen::Comment(line),
            Event::Junk { line, text } => Seen::Junk(line, text.to_vec()),
            Event::TooLarge { line } => Seen::TooLarge(line),
            Event::Incomplete { line, data } => Seen::Incomplete(line, data.to_vec()),
        });
    };
    let mut decoder = Decoder::new(limit);
    for piece in pieces {
        decoder.feed(piece, &mut each);
    }
    decoder.finish(&mut each);
    // A line ends at CR, LF or both, so this is the maximum.
    let ends = pieces.iter().flat_map(|piece| piece.iter()).filter(|byte| matches!(byte, b'\r' | b'\n')).count();
    assert!(last <= ends as u64 + 1, "line {last} of {}", ends + 1);
    seen
}
