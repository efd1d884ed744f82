//! Chat Completions: server-sent events of `chat.completion.chunk`, then `[DONE]`.

use holdpoint_runtime::model::provider::Provider;
use serde_json::{Value, json};

use super::*;

pub(crate) struct OpenAi;

fn chunk(delta: Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let body = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test-2026",
        "choices": [choice], "usage": null});
    format!("data: {body}\n\n")
}

fn usage() -> String {
    let usage = json!({"prompt_tokens": USAGE.0, "completion_tokens": USAGE.1, "total_tokens": USAGE.0 + USAGE.1,
        "prompt_tokens_details": {"cached_tokens": PARTS.0}, "completion_tokens_details": {"reasoning_tokens": PARTS.1}});
    let body = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test-2026",
        "choices": [], "usage": usage});
    format!("data: {body}\n\n")
}

fn error(status: u16, message: &str, kind: &str, code: &str) -> Reply {
    Reply::error(status, json!({"error": {"message": message, "type": kind, "code": code}}).to_string())
}

/// <https://platform.openai.com/docs/guides/function-calling>: the parameters are a JSON Schema of an object. "schema must have
/// type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
pub(super) fn schema_refusal(tool: &Value, place: &str) -> Option<String> {
    let schema = tool.pointer(place)?;
    let has_combinator = ["oneOf", "anyOf", "allOf", "enum", "not"].iter().any(|key| schema.get(key).is_some());
    (schema["type"] != "object" || has_combinator).then(|| {
        format!(
            "Invalid schema for function '{}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
            text(tool, "/name")
        )
    })
}

impl Wire for OpenAi {
    fn provider(&self) -> Provider {
        Provider::OpenAi
    }

    fn model(&self) -> &'static str {
        "gpt-test"
    }

    fn base(&self, url: &str) -> String {
        format!("{url}/v1")
    }

    fn path(&self) -> &'static str {
        "/v1/chat/completions"
    }

    fn answer(&self, answer: &Answer) -> Reply {
        let mut pieces = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
        pieces.extend(answer.reasoning.iter().map(|text| chunk(json!({"reasoning_content": text}), None)));
        pieces.extend(answer.text.iter().map(|text| chunk(json!({"content": text}), None)));
        for (index, call) in answer.calls.iter().enumerate() {
            let function = json!({"name": call.name, "arguments": ""});
            let first =
                json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function});
            pieces.push(chunk(json!({"tool_calls": [first]}), None));
        }
        // The pieces of parallel calls by turns: nothing in the format forbids it.
        let longest = answer.calls.iter().map(|call| call.pieces.len()).max().unwrap_or(0);
        for at in 0..longest {
            for (index, call) in answer.calls.iter().enumerate().filter(|(_, call)| at < call.pieces.len()) {
                let more = json!({"index": index, "function": {"arguments": call.pieces[at]}});
                pieces.push(chunk(json!({"tool_calls": [more]}), None));
            }
        }
        let reason = match answer.end {
            End::Cut => return event_stream(pieces, true),
            End::Stop if !answer.calls.is_empty() => "tool_calls",
            End::Stop => "stop",
            End::Length => "length",
            End::Filter => "content_filter",
        };
        pieces.extend([chunk(json!({}), Some(reason)), usage(), "data: [DONE]\n\n".to_owned()]);
        event_stream(pieces, false)
    }

    fn sent(&self, asked: &Asked) -> Vec<Sent> {
        let mut sent: Vec<Sent> = Vec::new();
        for message in list(&asked.body, "/messages") {
            let parts = match &message["content"] {
                Value::String(text) => vec![json!({"type": "text", "text": text})],
                content => list(content, "").to_vec(),
            };
            let texts: Vec<String> =
                parts.iter().filter(|part| part["type"] == "text").map(|part| text(part, "/text")).collect();
            match message["role"].as_str().expect("a role") {
                "system" => sent.push(Sent::System(texts.concat())),
                "user" => {
                    let images = parts.iter().filter(|part| part["type"] == "image_url");
                    let images = images.map(|part| text(part, "/image_url/url")).collect();
                    sent.push(Sent::User { texts, images });
                }
                "assistant" => {
                    let calls = list(message, "/tool_calls").iter().map(|call| SentCall {
                        id: text(call, "/id"),
                        name: text(call, "/function/name"),
                        input: serde_json::from_str(&text(call, "/function/arguments")).expect("arguments are JSON"),
                    });
                    sent.push(Sent::Assistant { text: texts.concat(), calls: calls.collect() });
                }
                "tool" => {
                    let id = text(message, "/tool_call_id");
                    let result = SentResult { id, name: String::new(), text: texts.concat() };
                    match sent.last_mut() {
                        Some(Sent::Results(results)) => results.push(result),
                        _ => sent.push(Sent::Results(vec![result])),
                    }
                }
                other => panic!("the role {other}"),
            }
        }
        sent
    }

    fn reasoning(&self, asked: &Asked) -> Vec<String> {
        let texts = list(&asked.body, "/messages").iter().map(|message| text(message, "/reasoning_content"));
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// <https://platform.openai.com/docs/guides/error-codes>: "An assistant message with 'tool_calls' must be followed by
    /// tool messages responding to each 'tool_call_id'."
    fn refusal(&self, asked: &Asked) -> Option<String> {
        let tools = list(&asked.body, "/tools");
        if tools.len() > 128 {
            let text = "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length";
            return Some(format!("{text} {} instead.", tools.len()));
        }
        if let Some(refusal) = tools.iter().find_map(|tool| schema_refusal(&tool["function"], "/parameters")) {
            return Some(refusal);
        }
        let mut open: Vec<String> = Vec::new();
        for message in list(&asked.body, "/messages") {
            match message["role"].as_str() {
                Some("tool") => {
                    let id = text(message, "/tool_call_id");
                    let Some(at) = open.iter().position(|open| *open == id) else {
                        return Some("messages with role 'tool' must follow a message with 'tool_calls'".to_owned());
                    };
                    open.remove(at);
                }
                _ if !open.is_empty() => break,
                _ => open = list(message, "/tool_calls").iter().map(|call| text(call, "/id")).collect(),
            }
        }
        (!open.is_empty()).then(|| format!("no tool messages for tool_call_ids {open:?}"))
    }

    fn settings(&self, asked: &Asked) -> SentSettings {
        let tools = list(&asked.body, "/tools").iter();
        assert_eq!(asked.body["stream"], true);
        assert_eq!(asked.body["stream_options"]["include_usage"], true);
        SentSettings {
            temperature: asked.body["temperature"].as_f64(),
            max_tokens: asked.body["max_tokens"].as_u64().or(asked.body["max_completion_tokens"].as_u64()),
            tools: tools.map(|tool| (text(tool, "/function/name"), tool["function"]["parameters"].clone())).collect(),
        }
    }

    fn effort(&self, asked: &Asked) -> String {
        text(&asked.body, "/reasoning_effort")
    }

    fn has_key(&self, asked: &Asked, key: &str) -> bool {
        asked.head.to_lowercase().contains(&format!("authorization: bearer {}\r\n", key.to_lowercase()))
    }

    fn wrong_key(&self, key: &str) -> Reply {
        let text = format!("Incorrect API key provided: {key}. You can find your API key in your settings.");
        error(401, &text, "invalid_request_error", "invalid_api_key")
    }

    fn unknown_model(&self) -> Reply {
        error(404, "The model `gpt-test` does not exist", "invalid_request_error", "model_not_found")
    }

    fn too_long(&self) -> Reply {
        let text = "This model's maximum context length is 8192 tokens.";
        error(400, text, "invalid_request_error", "context_length_exceeded")
    }

    fn filtered(&self) -> Option<Reply> {
        Some(self.answer(&Answer { end: End::Filter, ..Answer::default() }))
    }

    fn broken(&self) -> Reply {
        let error = json!({"error": {"message": "The server had an error", "type": "server_error", "code": null}});
        event_stream(vec![chunk(json!({"content": "Half"}), None), format!("data: {error}\n\n")], false)
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
