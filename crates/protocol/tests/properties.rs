//! What holds for all inputs.

use holdpoint_protocol::{
    check::{Checker, Options, Profile, StreamChecker},
    chunk::ReadChunk,
    ids::MessageId,
    message::UiMessage,
    reduce::{Reducer, Sdk},
    request::ChatRequest,
    sse::{Decoder, Event, encode},
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Any JSON, with the keys and words of the protocol in it so that it gets past the first check.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "type",
        "id",
        "messageId",
        "toolCallId",
        "approvalId",
        "toolName",
        "input",
        "output",
        "delta",
        "state",
        "parts",
        "role",
        "messages",
        "approval",
        "data",
        "inputTextDelta",
        "errorText",
        "finishReason",
        "messageMetadata",
        "providerMetadata",
        "dynamic",
    ]);
    let value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::sample::select(holdpoint_protocol::chunk::Chunk::KINDS.to_vec()).prop_map(Value::from),
        prop::sample::select(vec![
            "0",
            "c",
            "stop",
            "user",
            "assistant",
            "approval-responded",
            "tool-x",
            "data-x",
            "[DONE]"
        ])
        .prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    value.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop_oneof![word.clone().prop_map(str::to_owned), ".{0,4}"], inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// A chunk of a known type with every field that it needs and some that it may have.
fn any_chunk() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(holdpoint_protocol::chunk::Chunk::KINDS.to_vec());
    let id = prop::sample::select(vec!["0", "1", "c", "__proto__", "ü"]);
    (kind, id, any::<[bool; 6]>(), ".{0,12}", any_json()).prop_map(|(kind, id, flags, text, value)| {
        let mut chunk = json!({"type": kind});
        let mut put = |key: &str, value: Value| chunk[key] = value;
        match kind {
            "start" if flags[0] => put("messageId", id.into()),
            "abort" if flags[0] => put("reason", text.into()),
            "error" => put("errorText", text.into()),
            "finish" if flags[0] => put("finishReason", "stop".into()),
            "message-metadata" => put("messageMetadata", value),
            "text-start" | "text-end" | "reasoning-start" | "reasoning-end" => put("id", id.into()),
            "text-delta" | "reasoning-delta" => {
                put("id", id.into());
                put("delta", text.into());
            }
            "tool-input-start" | "tool-input-available" | "tool-input-error" => {
                put("toolCallId", id.into());
                put("toolName", "pay".into());
                if flags[0] {
                    put("dynamic", flags[1].into());
                }
                if flags[2] {
                    put("title", text.clone().into());
                }
                if kind != "tool-input-start" {
                    put("input", value);
                }
                if kind == "tool-input-error" {
                    put("errorText", text.into());
                }
            }
            "tool-input-delta" => {
                put("toolCallId", id.into());
                put("inputTextDelta", text.into());
            }
            "tool-approval-request" => {
                put("approvalId", text.into());
                put("toolCallId", id.into());
            }
            "tool-approval-response" => {
                put("approvalId", text.into());
                put("approved", flags[0].into());
            }
            "tool-output-available" => {
                put("toolCallId", id.into());
                put("output", value);
                if flags[0] {
                    put("preliminary", flags[1].into());
                }
            }
            "tool-output-error" => {
                put("toolCallId", id.into());
                put("errorText", text.into());
            }
            "tool-output-denied" => put("toolCallId", id.into()),
            "source-url" => {
                put("sourceId", id.into());
                put("url", text.into());
            }
            "source-document" => {
                put("sourceId", id.into());
                put("mediaType", text.clone().into());
                put("title", text.into());
            }
            "file" | "reasoning-file" => {
                put("url", text.clone().into());
                put("mediaType", text.into());
            }
            "custom" => put("kind", text.into()),
            "steering-message" => {
                put("id", id.into());
                put("parts", json!([{"type": "text", "text": text}]));
            }
            _ => {}
        }
        if flags[5] && !matches!(kind, "message-metadata" | "start-step" | "finish-step" | "reset-step") {
            chunk["providerMetadata"] = json!({"openai": {"a": 1}});
        }
        chunk
    })
}

#[derive(Debug, PartialEq, Clone)]
enum Seen {
    Data(u64, Vec<u8>),
    Comment(u64),
    Junk(u64, Vec<u8>),
    TooLarge(u64),
    Incomplete(u64, Vec<u8>),
}

fn decode(limit: usize, pieces: &[&[u8]]) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut each = |event: Event<'_>| {
        seen.push(match event {
            Event::Data { line, data } => Seen::Data(line, data.to_vec()),
            Event::Comment { line } => Seen::Comment(line),
            Event::Junk { line, text } => Seen::Junk(line, text.to_vec()),
            Event::TooLarge { line } => Seen::TooLarge(line),
            Event::Incomplete { line, data } => Seen::Incomplete(line, data.to_vec()),
        });
    };
    let mut decoder = Decoder::new(limit);
    pieces.iter().for_each(|piece| decoder.feed(piece, &mut each));
    decoder.finish(&mut each);
    seen
}

/// Bytes that look like SSE often enough.
fn any_sse() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "data: ",
        "data:",
        "data",
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "\r\n\r\n",
        ": ping",
        "event: x",
        "id: 1",
        "{\"type\":\"start\"}",
        "x",
        "\u{feff}",
        "é",
        "[DONE]",
        "data: [DONE]\n\n",
    ]);
    let noise = prop::collection::vec(any::<u8>(), 0..4);
    prop::collection::vec(prop_oneof![6 => piece.prop_map(|text| text.as_bytes().to_vec()), 1 => noise], 0..40)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sse_decoding_inverts_encoding(chunks in prop::collection::vec(any_chunk(), 1..8)) {
        let chunks: Vec<_> = chunks
            .into_iter()
            .filter_map(|chunk| match ReadChunk::from_value(chunk) {
                Ok(ReadChunk::Known { chunk, .. }) => Some(chunk),
                _ => None,
            })
            .collect();
        let mut bytes = Vec::new();
        chunks.iter().for_each(|chunk| encode(chunk, &mut bytes));
        let decoded: Vec<_> = decode(1 << 20, &[&bytes])
            .into_iter()
            .map(|seen| match seen {
                Seen::Data(_, data) => ReadChunk::parse(&data),
                other => panic!("we never write {other:?}"),
            })
            .collect();
        let expected: Vec<_> =
            chunks.into_iter().map(|chunk| Ok(ReadChunk::Known { chunk, extra: serde_json::Map::new() })).collect();
        prop_assert_eq!(decoded, expected);
    }

    #[test]
    fn the_decoder_gives_the_same_events_for_any_split_of_the_bytes(bytes in any_sse(), limit in prop_oneof![Just(1usize << 20), 1usize..24]) {
        let whole = decode(limit, &[&bytes]);
        for at in 0..=bytes.len() {
            let (a, b) = bytes.split_at(at);
            prop_assert_eq!(&decode(limit, &[a, b]), &whole, "split at {}", at);
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&decode(limit, &single), &whole);
    }

    #[test]
    fn the_reducer_and_the_checker_never_panic(values in prop::collection::vec(prop_oneof![any_chunk(), any_json()], 0..24)) {
        for profile in [Profile::AiSdk, Profile::AdkSse, Profile::AdkLive] {
            let mut checker = StreamChecker::new(Options { profile, progressive_text: false });
            for (line, value) in values.iter().enumerate() {
                checker.payload(line as u64 + 1, value.to_string().as_bytes());
            }
            checker.end();
        }
        for sdk in [Sdk::V6, Sdk::V7] {
            let mut reducer = Reducer::new(sdk, MessageId::from("m"));
            for value in &values {
                if let Ok(read) = sdk.read(value.to_string().as_bytes()) {
                    let _ = reducer.apply_read(&read);
                }
            }
            let message = reducer.into_message();
            let written = serde_json::to_string(&message).expect("a message can be written");
            let back: UiMessage = serde_json::from_str(&written).expect("and read");
            prop_assert_eq!(serde_json::to_value(&back).ok(), serde_json::to_value(&message).ok());
            let _ = Reducer::continue_from(sdk, back).written();
        }
    }

    #[test]
    fn transcripts_and_bodies_never_panic(values in prop::collection::vec((0..4u8, any_json()), 0..12)) {
        let mut text = String::new();
        for (kind, value) in &values {
            let line = match kind {
                0 => json!({"request": value}),
                1 => json!({"status": value}),
                2 => json!({"frame": value}),
                _ => json!({"request": {"type": "send", "requestId": "r", "messages": value}}),
            };
            text.push_str(&format!("{line}\n"));
            if let Ok(request) = serde_json::from_value::<ChatRequest>(json!({"messages": value})) {
                request.messages.iter().for_each(|message| drop(message.answers()));
            }
        }
        let mut checker = Checker::new(Options::default());
        checker.feed(text.as_bytes());
        checker.finish();
    }
}
