//! `streamGenerateContent?alt=sse`: server-sent events that are whole responses with more and more parts.

use holdpoint_runtime::model::provider::Provider;
use serde_json::{Value, json};

use super::*;

pub(crate) struct Gemini;

fn chunk(parts: Value, finish: Option<&str>) -> String {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    let usage = json!({"promptTokenCount": USAGE.0, "candidatesTokenCount": USAGE.1 - PARTS.1, "cachedContentTokenCount": PARTS.0,
        "thoughtsTokenCount": PARTS.1,
        "totalTokenCount": USAGE.0 + USAGE.1});
    let body = json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-test-2026",
        "responseId": "r1"});
    format!("data: {body}\r\n\r\n")
}

fn error(status: u16, name: &str, message: &str, details: Value) -> Reply {
    let error = json!({"code": status, "message": message, "status": name, "details": details});
    Reply::error(status, json!({"error": error}).to_string())
}

impl Wire for Gemini {
    fn provider(&self) -> Provider {
        Provider::Gemini
    }

    fn model(&self) -> &'static str {
        "gemini-3-test"
    }

    fn path(&self) -> &'static str {
        "/v1beta/models/gemini-3-test:streamGenerateContent"
    }

    fn answer(&self, answer: &Answer) -> Reply {
        let mut pieces: Vec<String> = Vec::new();
        pieces.extend(answer.reasoning.iter().map(|text| chunk(json!([{"text": text, "thought": true}]), None)));
        pieces.extend(answer.text.iter().map(|text| chunk(json!([{"text": text}]), None)));
        for call in &answer.calls {
            let args: Value = serde_json::from_str(&call.pieces.concat()).expect("arguments of the test");
            let call = json!({"functionCall": {"name": call.name, "args": args}, "thoughtSignature": SIGNATURE});
            pieces.push(chunk(json!([call]), None));
        }
        let reason = match answer.end {
            End::Cut => return event_stream(pieces, true),
            End::Stop => "STOP",
            End::Length => "MAX_TOKENS",
            End::Filter => "SAFETY",
        };
        pieces.push(chunk(json!([{"text": ""}]), Some(reason)));
        event_stream(pieces, false)
    }

    fn sent(&self, asked: &Asked) -> Vec<Sent> {
        let mut sent = Vec::new();
        let system: String =
            list(&asked.body, "/systemInstruction/parts").iter().map(|part| text(part, "/text")).collect();
        if !system.is_empty() {
            sent.push(Sent::System(system));
        }
        for content in list(&asked.body, "/contents") {
            let parts = list(content, "/parts");
            let texts: Vec<String> = parts
                .iter()
                .filter(|part| part["text"].is_string() && part["thought"] != true)
                .map(|part| text(part, "/text"))
                .collect();
            if content["role"] == "model" {
                let calls = parts.iter().filter(|part| part["functionCall"].is_object()).map(|part| SentCall {
                    id: text(part, "/functionCall/id"),
                    name: text(part, "/functionCall/name"),
                    input: part["functionCall"]["args"].clone(),
                });
                sent.push(Sent::Assistant { text: texts.concat(), calls: calls.collect() });
                continue;
            }
            let results: Vec<SentResult> = parts
                .iter()
                .filter(|part| part["functionResponse"].is_object())
                .map(|part| SentResult {
                    id: text(part, "/functionResponse/id"),
                    name: text(part, "/functionResponse/name"),
                    text: part["functionResponse"]["response"].to_string(),
                })
                .collect();
            if !results.is_empty() {
                sent.push(Sent::Results(results));
            }
            let images: Vec<String> = parts
                .iter()
                .filter_map(|part| match (&part["inlineData"], &part["fileData"]) {
                    (Value::Null, Value::Null) => None,
                    (Value::Null, file) => Some(text(file, "/fileUri")),
                    (data, _) => Some(format!("data:{};base64,{}", text(data, "/mimeType"), text(data, "/data"))),
                })
                .collect();
            if !texts.is_empty() || !images.is_empty() {
                sent.push(Sent::User { texts, images });
            }
        }
        sent
    }

    /// Thoughts are summaries, which need not go back; what goes back are the signatures of the parts.
    fn reasoning(&self, asked: &Asked) -> Vec<String> {
        let parts = list(&asked.body, "/contents").iter().flat_map(|content| list(content, "/parts"));
        let thoughts = parts.filter(|part| part["thought"] == true);
        thoughts.map(|part| text(part, "/text")).collect()
    }

    fn is_signed(&self) -> bool {
        true
    }

    /// <https://ai.google.dev/gemini-api/docs/thought-signatures>: for Gemini 3, the first function call of each step of
    /// the current turn must have its signature, or the request fails with 400.
    fn refusal(&self, asked: &Asked) -> Option<String> {
        let contents = list(&asked.body, "/contents");
        let is_said = |content: &Value| list(content, "/parts").iter().any(|part| part["text"].is_string());
        let turn = contents.iter().rposition(|content| content["role"] == "user" && is_said(content)).unwrap_or(0);
        let steps = contents[turn..].iter().filter(|content| content["role"] == "model");
        let mut calls =
            steps.filter_map(|step| list(step, "/parts").iter().find(|part| part["functionCall"].is_object()));
        calls
            .any(|call| text(call, "/thoughtSignature").is_empty())
            .then(|| "Function call is missing a thought_signature in functionCall parts.".to_owned())
    }

    fn settings(&self, asked: &Asked) -> SentSettings {
        assert!(asked.path.contains("alt=sse"), "{}", asked.path);
        let tools = list(&asked.body, "/tools/0/functionDeclarations").iter();
        SentSettings {
            temperature: asked.body["generationConfig"]["temperature"].as_f64(),
            max_tokens: asked.body["generationConfig"]["maxOutputTokens"].as_u64(),
            tools: tools.map(|tool| (text(tool, "/name"), tool["parametersJsonSchema"].clone())).collect(),
        }
    }

    fn effort(&self, asked: &Asked) -> String {
        text(&asked.body, "/generationConfig/thinkingConfig/thinkingLevel")
    }

    fn has_key(&self, asked: &Asked, key: &str) -> bool {
        let head = asked.head.to_lowercase();
        head.contains(&format!("x-goog-api-key: {}\r\n", key.to_lowercase())) && !asked.path.contains(key)
    }

    fn wrong_key(&self, key: &str) -> Reply {
        let details = json!([{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}]);
        error(400, "INVALID_ARGUMENT", &format!("API key not valid: {key}. Please pass a valid API key."), details)
    }

    fn unknown_model(&self) -> Reply {
        let text = "models/gemini-3-test is not found for API version v1beta";
        error(404, "NOT_FOUND", text, json!([]))
    }

    fn too_long(&self) -> Reply {
        let text = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
        error(400, "INVALID_ARGUMENT", text, json!([]))
    }

    fn filtered(&self) -> Option<Reply> {
        let body = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": {"promptTokenCount": 3}, "modelVersion": "gemini-test-2026"});
        Some(event_stream(vec![format!("data: {body}\r\n\r\n")], false))
    }

    fn broken(&self) -> Reply {
        let error = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
        event_stream(vec![chunk(json!([{"text": "Half"}]), None), format!("data: {error}\r\n\r\n")], false)
    }

    fn malformed(&self) -> Reply {
        let call = json!({"functionCall": {"name": "get_weather", "args": ["Tokyo"]}});
        event_stream(vec![chunk(json!([call]), Some("STOP"))], false)
    }

    fn streams_arguments(&self) -> bool {
        false
    }
}
