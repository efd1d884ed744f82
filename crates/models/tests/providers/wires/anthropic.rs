//! Messages: named server-sent events, one block after the other.

use holdpoint_runtime::model::provider::Provider;
use serde_json::{Value, json};

use super::*;

pub(crate) struct Anthropic;

/// The signature of a thinking block whose prefix has changed.
pub(crate) const BOUND_ELSEWHERE: &str = "of-another-conversation";
const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

fn event(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().expect("a type"))
}

fn start() -> String {
    event(json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
        "model": "claude-test-2026", "content": [], "stop_reason": null,
        "usage": {"input_tokens": USAGE.0 - PARTS.0, "cache_read_input_tokens": PARTS.0, "output_tokens": 1}}}))
}

fn block(pieces: &mut Vec<String>, index: usize, block: Value, deltas: impl Iterator<Item = Value>) {
    pieces.push(event(json!({"type": "content_block_start", "index": index, "content_block": block})));
    pieces.extend(deltas.map(|delta| event(json!({"type": "content_block_delta", "index": index, "delta": delta}))));
    pieces.push(event(json!({"type": "content_block_stop", "index": index})));
}

fn error(status: u16, kind: &str, message: &str) -> Reply {
    Reply::error(status, json!({"type": "error", "error": {"type": kind, "message": message}}).to_string())
}

impl Anthropic {
    /// An answer of these blocks, with calls in the end.
    pub(crate) fn blocks(blocks: &[Value]) -> Reply {
        let mut pieces = vec![start()];
        for (index, whole) in blocks.iter().enumerate() {
            let (mut empty, deltas) = (
                whole.clone(),
                match whole["type"].as_str() {
                    Some("thinking") => vec![
                        json!({"type": "thinking_delta", "thinking": whole["thinking"]}),
                        json!({"type": "signature_delta", "signature": whole["signature"]}),
                    ],
                    Some("text") => vec![json!({"type": "text_delta", "text": whole["text"]})],
                    Some("tool_use") => {
                        vec![json!({"type": "input_json_delta", "partial_json": whole["input"].to_string()})]
                    }
                    _ => Vec::new(),
                },
            );
            for key in ["thinking", "signature", "text"] {
                if empty[key].is_string() {
                    empty[key] = json!("");
                }
            }
            if empty["input"].is_object() {
                empty["input"] = json!({});
            }
            block(&mut pieces, index, empty, deltas.into_iter());
        }
        let delta = json!({"stop_reason": "tool_use", "stop_sequence": null});
        pieces.push(event(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": USAGE.1}})));
        pieces.push(event(json!({"type": "message_stop"})));
        event_stream(pieces, false)
    }
}

impl Wire for Anthropic {
    fn provider(&self) -> Provider {
        Provider::Anthropic
    }

    fn model(&self) -> &'static str {
        "claude-opus-4-6"
    }

    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn answer(&self, answer: &Answer) -> Reply {
        let mut pieces = vec![start(), event(json!({"type": "ping"}))];
        let mut index = 0;
        if !answer.reasoning.is_empty() {
            let deltas = answer.reasoning.iter().map(|text| json!({"type": "thinking_delta", "thinking": text}));
            let signature = json!({"type": "signature_delta", "signature": SIGNATURE});
            let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
            block(&mut pieces, index, thinking, deltas.chain([signature]));
            index += 1;
        }
        if !answer.text.is_empty() {
            let deltas = answer.text.iter().map(|text| json!({"type": "text_delta", "text": text}));
            block(&mut pieces, index, json!({"type": "text", "text": ""}), deltas);
            index += 1;
        }
        for call in &answer.calls {
            let deltas = call.pieces.iter().map(|json| json!({"type": "input_json_delta", "partial_json": json}));
            let tool_use = json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": call.name, "input": {}});
            block(&mut pieces, index, tool_use, deltas);
            index += 1;
        }
        let reason = match answer.end {
            End::Cut => {
                pieces.pop();
                return event_stream(pieces, true);
            }
            End::Stop if !answer.calls.is_empty() => "tool_use",
            End::Stop => "end_turn",
            End::Length => "max_tokens",
            End::Filter => "refusal",
        };
        let delta = json!({"stop_reason": reason, "stop_sequence": null});
        pieces.push(event(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": USAGE.1}})));
        pieces.push(event(json!({"type": "message_stop"})));
        event_stream(pieces, false)
    }

    fn sent(&self, asked: &Asked) -> Vec<Sent> {
        let mut sent = Vec::new();
        match &asked.body["system"] {
            Value::Null => {}
            Value::String(system) => sent.push(Sent::System(system.clone())),
            blocks => sent.push(Sent::System(list(blocks, "").iter().map(|block| text(block, "/text")).collect())),
        }
        for message in list(&asked.body, "/messages") {
            let blocks = match &message["content"] {
                Value::String(text) => vec![json!({"type": "text", "text": text})],
                content => list(content, "").to_vec(),
            };
            let of = |kind: &str| blocks.iter().filter(move |block| block["type"] == kind).collect::<Vec<_>>();
            let texts: Vec<String> = of("text").into_iter().map(|block| text(block, "/text")).collect();
            if message["role"] == "assistant" {
                let calls = of("tool_use").into_iter().map(|call| SentCall {
                    id: text(call, "/id"),
                    name: text(call, "/name"),
                    input: call["input"].clone(),
                });
                sent.push(Sent::Assistant { text: texts.concat(), calls: calls.collect() });
                continue;
            }
            let results: Vec<SentResult> = of("tool_result")
                .into_iter()
                .map(|result| SentResult {
                    id: text(result, "/tool_use_id"),
                    name: String::new(),
                    text: match &result["content"] {
                        Value::String(text) => text.clone(),
                        parts => list(parts, "").iter().map(|part| text(part, "/text")).collect(),
                    },
                })
                .collect();
            if !results.is_empty() {
                sent.push(Sent::Results(results));
            }
            let images: Vec<String> = of("image")
                .into_iter()
                .map(|image| match text(image, "/source/type").as_str() {
                    "url" => text(image, "/source/url"),
                    _ => format!("data:{};base64,{}", text(image, "/source/media_type"), text(image, "/source/data")),
                })
                .collect();
            if !texts.is_empty() || !images.is_empty() {
                sent.push(Sent::User { texts, images });
            }
        }
        sent
    }

    fn reasoning(&self, asked: &Asked) -> Vec<String> {
        let blocks = list(&asked.body, "/messages").iter().flat_map(|message| list(message, "/content"));
        let thoughts = blocks.filter(|block| block["type"] == "thinking");
        thoughts.map(|block| format!("{}/{}", text(block, "/thinking"), text(block, "/signature"))).collect()
    }

    fn is_signed(&self) -> bool {
        true
    }

    fn signed(&self, text: &str) -> String {
        format!("{text}/{SIGNATURE}")
    }

    /// <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>: thinking blocks carry their signature.
    /// <https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use>: tool results come right after
    /// their calls, before any text. <https://platform.claude.com/docs/en/api/messages>: `max_tokens` is required.
    fn refusal(&self, asked: &Asked) -> Option<String> {
        if !asked.body["max_tokens"].is_u64() {
            return Some("max_tokens: Field required".to_owned());
        }
        let combinators = ["oneOf", "anyOf", "allOf"];
        for (at, tool) in list(&asked.body, "/tools").iter().enumerate() {
            let schema = &tool["input_schema"];
            if schema["type"] != "object" {
                return Some(format!("tools.{at}.custom.input_schema.type: Field required"));
            }
            if combinators.iter().any(|key| schema.get(key).is_some()) {
                return Some(format!(
                    "tools.{at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
                ));
            }
            // The fakes are not Anthropic, so it is left out. Bedrock does not know it:
            // <https://github.com/BerriAI/litellm/issues/23825>.
            if !tool["eager_input_streaming"].is_null() {
                return Some(format!("tools.{at}.custom.eager_input_streaming: Extra inputs are not permitted"));
            }
        }
        let model = text(&asked.body, "/model");
        let takes_no_temperature =
            ["-4-7", "-4-8", "-5"].iter().any(|version| model.contains(version)) && !model.ends_with("4-5");
        if takes_no_temperature && !asked.body["temperature"].is_null() {
            return Some("`temperature` is deprecated for this model.".to_owned());
        }
        let binding = &asked.body["thinking"]["block_binding"];
        let has_beta = asked.head.to_lowercase().contains(BINDING_BETA);
        if !binding.is_null() && !has_beta {
            return Some("thinking.block_binding: Extra inputs are not permitted".to_owned());
        }
        let drops = binding["prefix_mismatch_behavior"] == "drop_block";
        let messages = list(&asked.body, "/messages");
        for (at, message) in messages.iter().enumerate() {
            for (index, block) in list(message, "/content").iter().enumerate() {
                // <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks>
                if block["signature"] == BOUND_ELSEWHERE && !drops {
                    return Some(format!(
                        "messages.{at}.content.{index}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
                    ));
                }
                if block["type"] == "thinking" && text(block, "/signature").is_empty() {
                    return Some(format!("messages.{at}: thinking: signature: Field required"));
                }
                if block["type"] == "tool_use" {
                    let results = messages.get(at + 1).map_or(&[][..], |next| list(next, "/content"));
                    let results = results.iter().take_while(|result| result["type"] == "tool_result");
                    if !results.into_iter().any(|result| result["tool_use_id"] == block["id"]) {
                        return Some(format!("messages.{at}: `tool_use` ids were found without `tool_result` blocks"));
                    }
                }
            }
        }
        None
    }

    fn settings(&self, asked: &Asked) -> SentSettings {
        assert_eq!(asked.body["stream"], true);
        assert!(asked.head.to_lowercase().contains("anthropic-version: "));
        let tools = list(&asked.body, "/tools").iter();
        SentSettings {
            temperature: asked.body["temperature"].as_f64(),
            max_tokens: asked.body["max_tokens"].as_u64(),
            tools: tools.map(|tool| (text(tool, "/name"), tool["input_schema"].clone())).collect(),
        }
    }

    fn effort(&self, asked: &Asked) -> String {
        text(&asked.body, "/output_config/effort")
    }

    /// Thinking is not counted apart from the rest.
    fn parts_of_usage(&self) -> (u64, u64) {
        (PARTS.0, 0)
    }

    fn has_key(&self, asked: &Asked, key: &str) -> bool {
        asked.head.to_lowercase().contains(&format!("x-api-key: {}\r\n", key.to_lowercase()))
    }

    fn wrong_key(&self, key: &str) -> Reply {
        error(401, "authentication_error", &format!("invalid x-api-key {key}"))
    }

    fn unknown_model(&self) -> Reply {
        error(404, "not_found_error", "model: claude-test")
    }

    fn too_long(&self) -> Reply {
        error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
    }

    fn filtered(&self) -> Option<Reply> {
        Some(self.answer(&Answer { end: End::Filter, ..Answer::default() }))
    }

    fn broken(&self) -> Reply {
        let mut pieces = vec![start()];
        let text = json!({"type": "text_delta", "text": "Half"});
        block(&mut pieces, 0, json!({"type": "text", "text": ""}), [text].into_iter());
        pieces.push(event(json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})));
        event_stream(pieces, false)
    }

    fn malformed(&self) -> Reply {
        self.answer(&Answer {
            calls: vec![Called { name: "get_weather", pieces: vec!["{\"location\": \"To", "kyo\", "] }],
            ..Answer::default()
        })
    }

    fn streams_arguments(&self) -> bool {
        true
    }
}
