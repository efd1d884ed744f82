//! Client requests: no input makes the readers panic, every parsed request yields its answers, and what we write reads
//! back unchanged.

#![no_main]

use std::fmt::Debug;

use holdpoint_protocol::{
    json,
    live::LiveFrame,
    request::{AckRequest, ChatRequest, DecisionRequest},
    websocket::WsRequest,
};
use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

fuzz_target!(|input: &[u8]| {
    for request in read::<ChatRequest>(input) {
        ask(&request);
    }
    for frame in read::<LiveFrame>(input) {
        if let LiveFrame::Message(request) = frame {
            ask(&request);
        }
    }
    for frame in read::<WsRequest>(input) {
        if let WsRequest::Send(send) = frame {
            ask(&send.request);
        }
    }
    read::<AckRequest>(input).iter().for_each(comes_back);
    read::<DecisionRequest>(input).iter().for_each(comes_back);
});

/// Straight from the bytes, and through the lenient parser.
fn read<T: DeserializeOwned>(input: &[u8]) -> Vec<T> {
    let direct = serde_json::from_slice(input).ok();
    let lenient = json::parse(input).ok().and_then(|value| T::deserialize(value).ok());
    direct.into_iter().chain(lenient).collect()
}

fn ask(request: &ChatRequest) {
    for message in &request.messages {
        let answers = message.answers();
        let of_parts: Vec<_> = message.parts.iter().flat_map(|part| part.answers()).collect();
        assert!(answers.is_empty() || answers == of_parts);
    }
}

fn comes_back<T: Serialize + for<'de> Deserialize<'de> + PartialEq + Debug>(body: &T) {
    let json = serde_json::to_vec(body).expect("a body is JSON");
    let again: T = serde_json::from_slice(&json).expect("what we write can be read");
    assert_eq!(&again, body);
}
