//! Untrusted JSON, read on a small stack: no input makes the reader recurse, an object stays an object whatever its
//! keys, and nothing beyond the limits is built.

#![no_main]

use holdpoint_protocol::{
    json::{self, JsonLimits, ReadError, Screen},
    live::LiveFrame,
    request::{AckRequest, ChatRequest},
    websocket::WsRequest,
};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::Value;

/// A quarter of a server thread's stack.
const STACK: usize = 512 * 1024;
const LIMITS: JsonLimits = JsonLimits { levels: 64, nodes: 1000 };

fuzz_target!(|input: &[u8]| {
    let input = input.to_vec();
    // A stack overflow ends the process: that is the finding.
    let read = std::thread::Builder::new().stack_size(STACK).spawn(move || check(&input)).expect("a thread");
    if read.join().is_err() {
        std::process::abort();
    }
});

fn check(input: &[u8]) {
    let Ok(value) = json::parse(input) else { return };
    let written = serde_json::to_vec(&value).expect("a value is JSON");
    assert_eq!(json::parse(&written).expect("what we write can be read"), value);
    let has_reserved_key = has_reserved_key(&value);
    assert_eq!(Screen::default().feed(&written), has_reserved_key);
    if !has_reserved_key {
        let theirs: Value = serde_json::from_slice(&written).expect("what we write can be read by anybody");
        assert_eq!(theirs, value);
    }
    match json::parse_within(input, LIMITS) {
        Ok(within) => assert!(within == value && levels(&value) <= LIMITS.levels && nodes(&value) <= LIMITS.nodes),
        Err(ReadError::TooDeep { .. }) => assert!(levels(&value) > LIMITS.levels || has_twice(&value, input)),
        Err(ReadError::TooManyNodes { .. }) => assert!(nodes(&value) > LIMITS.nodes || has_twice(&value, input)),
        Err(ReadError::Syntax(error)) => panic!("it was read a moment ago: {error}"),
    }
    // As a typed request, from the value and from the bytes.
    let _ = ChatRequest::deserialize(value.clone());
    let _ = serde_json::from_slice::<ChatRequest>(input);
    let _ = LiveFrame::deserialize(value.clone());
    let _ = WsRequest::deserialize(value.clone());
    let _ = serde_json::from_slice::<WsRequest>(input);
    let _ = AckRequest::deserialize(value);
    let _ = serde_json::from_slice::<AckRequest>(input);
}

/// Whether a duplicate key may explain it: all its values were counted, but only the last is kept.
fn has_twice(value: &Value, input: &[u8]) -> bool {
    serde_json::to_vec(value).is_ok_and(|written| written.len() < input.len())
}

fn has_reserved_key(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_reserved_key),
        Value::Object(fields) => {
            fields.iter().any(|(key, field)| json::is_reserved_key(key) || has_reserved_key(field))
        }
        _ => false,
    }
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nodes).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(nodes).sum::<usize>(),
        _ => 1,
    }
}
