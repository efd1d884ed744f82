//! Chunks, read as each SDK version reads them: no JSON makes the reducer panic, and encoded chunks read back
//! unchanged.

#![no_main]

use holdpoint_protocol::{
    chunk::{Chunk, ReadChunk},
    message::UiMessage,
    reduce::{Reducer, Sdk},
    sse::{self, Decoder, Event},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    for sdk in [Sdk::V6, Sdk::V7] {
        let mut reducer = Reducer::new(sdk, "message".into());
        for line in input.split(|byte| *byte == b'\n') {
            // An empty line: the next response continues the message.
            if line.is_empty() {
                reducer = Reducer::continue_from(sdk, reducer.into_message());
                continue;
            }
            let Ok(read) = sdk.read(line) else {
                continue;
            };
            if let ReadChunk::Known { chunk, .. } = &read {
                comes_back(chunk);
            }
            // A client stops where it throws. Continuing finds more.
            let _ = reducer.apply_read(&read);
            let _ = reducer.written();
        }
        let message = reducer.into_message();
        let json = serde_json::to_vec(&message).expect("a message is JSON");
        serde_json::from_slice::<UiMessage>(&json).expect("what we write can be read");
    }
});

fn comes_back(chunk: &Chunk) {
    let mut bytes = Vec::new();
    sse::encode(chunk, &mut bytes);
    let mut read = Vec::new();
    let mut decoder = Decoder::new(usize::MAX);
    decoder.feed(&bytes, |event| match event {
        Event::Data { data, .. } => read.push(ReadChunk::parse(data)),
        other => panic!("{other:?} in what we wrote"),
    });
    decoder.finish(|event| panic!("{event:?} at the end of what we wrote"));
    let expected = ReadChunk::Known { chunk: chunk.clone(), extra: serde_json::Map::new() };
    assert_eq!(read, [Ok(expected)]);
}
