//! JSON of others, read on a small stack: nothing that stands in it makes a reader recurse without bounds.

use holdpoint_protocol::{
    chunk::ReadChunk,
    json,
    live::LiveFrame,
    message::UiMessage,
    request::{AckRequest, ChatRequest},
    websocket::WsRequest,
};
use proptest::{collection::vec, prelude::*};
use serde::Deserialize;
use serde_json::Value;

/// A quarter of what a thread of the server has.
const STACK: usize = 512 * 1024;
const RAW: &str = "$serde_json::private::RawValue";

/// Puts a text into a string, with escapes that do not double with every level.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\u005c").replace('"', "\\u0022"))
}

/// One level around a text.
#[derive(Debug, Clone)]
enum Around {
    Raw,
    Number,
    Arrays(usize),
    Field(&'static str),
}

impl Around {
    fn put(&self, inner: &str) -> String {
        match self {
            Self::Raw => format!("{{\"{RAW}\":{}}}", quoted(inner)),
            Self::Number => format!("{{\"$serde_json::private::Number\":{}}}", quoted(inner)),
            Self::Arrays(levels) => format!("{}{inner}{}", "[".repeat(*levels), "]".repeat(*levels)),
            Self::Field(name) => format!("{{\"{name}\":{inner}}}"),
        }
    }
}

fn around() -> impl Strategy<Value = Around> {
    prop_oneof![
        3 => Just(Around::Raw),
        1 => Just(Around::Number),
        2 => (1_usize..120).prop_map(Around::Arrays),
        2 => prop_oneof![Just("output"), Just("data"), Just("metadata"), Just("providerMetadata"), Just("x")]
            .prop_map(Around::Field),
    ]
}

/// Places in which any value may stand.
fn places(value: &str) -> Vec<String> {
    let part = |part: &str| format!(r#"{{"id":"m","role":"user","parts":[{part}]}}"#);
    let tool = |field: &str| {
        part(&format!(r#"{{"type":"tool-x","toolCallId":"t","state":"output-available","{field}":{value}}}"#))
    };
    let messages = [
        part(value),
        part(&format!(r#"{{"type":"data-x","data":{value}}}"#)),
        part(&format!(r#"{{"type":"file","mediaType":"a","url":"b","providerMetadata":{value},"x":{value}}}"#)),
        tool("input"),
        tool("output"),
        tool("approval"),
        tool("toolMetadata"),
        tool("x"),
        format!(r#"{{"id":"m","role":"user","parts":[],"metadata":{value},"content":{value}}}"#),
    ];
    let requests = messages.iter().map(|message| format!(r#"{{"type":"message","messages":[{message}]}}"#));
    let others = [
        value.to_owned(),
        format!(r#"{{"toolCallId":"t","status":"success","requestedAt":"2025","output":{value}}}"#),
        format!(r#"{{"type":"tool_result","toolCallId":"t","result":{value}}}"#),
        format!(r#"{{"type":"ping","timestamp":{value}}}"#),
        format!(r#"{{"type":"send","requestId":"r","messages":[],"headers":{{"x":{value}}}}}"#),
        format!(r#"{{"type":"data-x","data":{value},"x":{value}}}"#),
        format!(r#"{{"type":"start","messageMetadata":{value}}}"#),
        format!(r#"{{"type":"tool-input-start","toolCallId":"t","toolName":"x","toolMetadata":{value}}}"#),
        format!(r#"{{"x":{value},"type":"unknown"}}"#),
    ];
    requests.chain(messages.clone()).chain(others).collect()
}

fn read_all(text: &str) {
    let bytes = text.as_bytes();
    let value = json::parse(bytes).ok();
    fn typed<T: for<'de> Deserialize<'de>>(bytes: &[u8], value: Option<&Value>) {
        let _ = serde_json::from_slice::<T>(bytes);
        let _ = value.map(T::deserialize);
        let _ = value.cloned().map(T::deserialize);
    }
    typed::<ChatRequest>(bytes, value.as_ref());
    typed::<AckRequest>(bytes, value.as_ref());
    typed::<LiveFrame>(bytes, value.as_ref());
    typed::<WsRequest>(bytes, value.as_ref());
    typed::<UiMessage>(bytes, value.as_ref());
    let _ = ReadChunk::parse(bytes);
    let _ = value.map(ReadChunk::from_value);
}

fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread").join().expect("no panic");
}

/// The body that once ended the process: 14 times 126 levels, and 60 times.
#[test]
fn json_inside_a_string_is_not_parsed() {
    for levels in [14, 60] {
        let value = (0..levels).fold("1".to_owned(), |inner, _| Around::Raw.put(&Around::Arrays(126).put(&inner)));
        on_a_small_stack(move || places(&value).iter().for_each(|text| read_all(text)));
    }
}

/// Values come through every type as they are.
#[test]
fn serde_json_s_private_keys_are_read_as_data() {
    let value = serde_json::json!({ RAW: "[1]" });
    let text = value.to_string();
    let read = |text: &str| json::parse(text.as_bytes()).expect("JSON");
    assert_eq!(read(&text), value);
    for message in places(&text).iter().map(|place| read(place)).filter(|place| place.get("parts").is_some()) {
        let typed = UiMessage::deserialize(&message).expect("a message");
        let mut message = message;
        if let Value::Object(fields) = &mut message {
            fields.shift_remove("content");
        }
        assert_eq!(json::parse(&serde_json::to_vec(&typed).expect("JSON")).expect("JSON"), message);
    }
    let chunk = read(&format!(r#"{{"type":"data-x","data":{text}}}"#));
    let typed = ReadChunk::from_value(chunk.clone()).expect("a chunk");
    let written = serde_json::to_vec(typed.known().expect("a known one")).expect("JSON");
    assert_eq!(json::parse(&written).expect("JSON"), chunk);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_nesting_overflows_the_stack_of_a_reader(levels in vec(around(), 1..40)) {
        let value = levels.iter().fold("1".to_owned(), |inner, level| level.put(&inner));
        on_a_small_stack(move || places(&value).iter().for_each(|text| read_all(text)));
    }
}
