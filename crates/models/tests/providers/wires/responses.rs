//! OpenAI's Responses: events about items of an output.

use holdpoint_runtime::model::provider::{OpenAiApi, Provider};
use serde_json::{Value, json};

use super::{openai::schema_refusal, *};

pub(crate) struct Responses;

/// The events so far, numbered.
#[derive(Default)]
struct Events {
    pieces: Vec<String>,
    output: Vec<Value>,
}

impl Events {
    fn push(&mut self, kind: &str, mut data: Value) {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(self.pieces.len());
        self.pieces.push(format!("event: {kind}\ndata: {data}\n\n"));
    }

    fn response(&mut self, kind: &str, status: &str, details: Value) {
        let usage = json!({"input_tokens": USAGE.0, "input_tokens_details": {"cached_tokens": PARTS.0},
            "output_tokens": USAGE.1, "output_tokens_details": {"reasoning_tokens": PARTS.1},
            "total_tokens": USAGE.0 + USAGE.1});
        let response = json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status,
            "model": "gpt-test-2026", "output": self.output, "tools": [], "usage": usage,
            "incomplete_details": details, "error": null});
        self.push(kind, json!({"response": response}));
    }

    /// An item that grows by these deltas.
    fn item(&mut self, begun: Value, kind: &str, slot: &str, deltas: &[&str], done: Value) {
        let index = self.output.len();
        self.push("response.output_item.added", json!({"output_index": index, "item": begun}));
        for delta in deltas {
            let mut data = json!({"output_index": index, "item_id": done["id"], "delta": delta});
            data[slot] = json!(0);
            self.push(kind, data);
        }
        self.push("response.output_item.done", json!({"output_index": index, "item": done}));
        self.output.push(done);
    }
}

fn error(status: u16, message: &str, code: &str) -> Reply {
    let error = json!({"message": message, "type": "invalid_request_error", "param": null, "code": code});
    Reply::error(status, json!({"error": error}).to_string())
}

impl Wire for Responses {
    fn provider(&self) -> Provider {
        Provider::OpenAi
    }

    fn model(&self) -> &'static str {
        "gpt-test"
    }

    fn api(&self) -> Option<OpenAiApi> {
        Some(OpenAiApi::Responses)
    }

    fn base(&self, url: &str) -> String {
        format!("{url}/v1")
    }

    fn path(&self) -> &'static str {
        "/v1/responses"
    }

    fn answer(&self, answer: &Answer) -> Reply {
        let mut events = Events::default();
        events.response("response.created", "in_progress", Value::Null);
        if !answer.reasoning.is_empty() {
            let begun = json!({"type": "reasoning", "id": "rs_1", "summary": []});
            let summary = json!([{"type": "summary_text", "text": answer.reasoning.concat()}]);
            let done = json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": SIGNATURE});
            let kind = "response.reasoning_summary_text.delta";
            events.item(begun, kind, "summary_index", &answer.reasoning, done);
        }
        if !answer.text.is_empty() {
            let message = |status: &str, content: Value| json!({"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content});
            let text = json!([{"type": "output_text", "text": answer.text.concat(), "annotations": []}]);
            let (begun, done) = (message("in_progress", json!([])), message("completed", text));
            events.item(begun, "response.output_text.delta", "content_index", &answer.text, done);
        }
        for (at, call) in answer.calls.iter().enumerate() {
            let item = |arguments: &str| {
                json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"),
                    "name": call.name, "arguments": arguments, "status": "completed"})
            };
            let kind = "response.function_call_arguments.delta";
            events.item(item(""), kind, "content_index", &call.pieces, item(&call.pieces.concat()));
        }
        match answer.end {
            End::Cut => return event_stream(events.pieces, true),
            End::Stop => events.response("response.completed", "completed", Value::Null),
            End::Length => {
                events.response("response.incomplete", "incomplete", json!({"reason": "max_output_tokens"}));
            }
            End::Filter => events.response("response.incomplete", "incomplete", json!({"reason": "content_filter"})),
        }
        event_stream(events.pieces, false)
    }

    fn sent(&self, asked: &Asked) -> Vec<Sent> {
        let mut sent: Vec<Sent> = Vec::new();
        let system = text(&asked.body, "/instructions");
        if !system.is_empty() {
            sent.push(Sent::System(system));
        }
        for item in list(&asked.body, "/input") {
            let parts = match &item["content"] {
                Value::String(text) => vec![json!({"type": "input_text", "text": text})],
                content => list(content, "").to_vec(),
            };
            let texts: Vec<String> =
                parts.iter().filter(|part| part["text"].is_string()).map(|part| text(part, "/text")).collect();
            match (item["type"].as_str(), item["role"].as_str()) {
                (Some("function_call"), _) => {
                    let call = SentCall {
                        id: text(item, "/call_id"),
                        name: text(item, "/name"),
                        input: serde_json::from_str(&text(item, "/arguments")).expect("arguments are JSON"),
                    };
                    match sent.last_mut() {
                        Some(Sent::Assistant { calls, .. }) => calls.push(call),
                        _ => sent.push(Sent::Assistant { text: String::new(), calls: vec![call] }),
                    }
                }
                (Some("function_call_output"), _) => {
                    let output = match &item["output"] {
                        Value::String(text) => text.clone(),
                        parts => list(parts, "").iter().map(|part| text(part, "/text")).collect(),
                    };
                    let result = SentResult { id: text(item, "/call_id"), name: String::new(), text: output };
                    match sent.last_mut() {
                        Some(Sent::Results(results)) => results.push(result),
                        _ => sent.push(Sent::Results(vec![result])),
                    }
                }
                (Some("reasoning"), _) => {}
                (_, Some("assistant")) => sent.push(Sent::Assistant { text: texts.concat(), calls: Vec::new() }),
                (_, Some("system" | "developer")) => sent.push(Sent::System(texts.concat())),
                (_, Some("user")) => {
                    let images = parts.iter().filter(|part| part["type"] == "input_image");
                    let images: Vec<String> = images.map(|part| text(part, "/image_url")).collect();
                    match sent.last_mut() {
                        // Each part is an item.
                        Some(Sent::User { texts: before, images: shown }) => {
                            before.extend(texts);
                            shown.extend(images);
                        }
                        _ => sent.push(Sent::User { texts, images }),
                    }
                }
                other => panic!("the item {other:?}"),
            }
        }
        sent
    }

    fn reasoning(&self, asked: &Asked) -> Vec<String> {
        let items = list(&asked.body, "/input").iter().filter(|item| item["type"] == "reasoning");
        items
            .map(|item| {
                let texts: String = list(item, "/summary").iter().map(|part| text(part, "/text")).collect();
                format!("{texts}/{}", text(item, "/encrypted_content"))
            })
            .collect()
    }

    fn is_signed(&self) -> bool {
        true
    }

    fn signed(&self, text: &str) -> String {
        format!("{text}/{SIGNATURE}")
    }

    /// <https://platform.openai.com/docs/guides/reasoning>: without stored state, reasoning items go back with their
    /// `encrypted_content`, and before the item that they belong to; every call has its output.
    fn refusal(&self, asked: &Asked) -> Option<String> {
        let body = &asked.body;
        if body["store"] != false || !list(body, "/include").contains(&json!("reasoning.encrypted_content")) {
            return Some(
                "this fake stores nothing: `store` is false and `include` has the encrypted content".to_owned(),
            );
        }
        if let Some(refusal) = list(body, "/tools").iter().find_map(|tool| schema_refusal(tool, "/parameters")) {
            return Some(refusal);
        }
        let items = list(body, "/input");
        let calls: Vec<&Value> = items.iter().filter(|item| item["type"] == "function_call").collect();
        let outputs: Vec<&Value> = items.iter().filter(|item| item["type"] == "function_call_output").collect();
        for call in &calls {
            if !outputs.iter().any(|output| output["call_id"] == call["call_id"]) {
                return Some(format!("No tool output found for function call {}.", call["call_id"]));
            }
        }
        for output in outputs {
            if !calls.iter().any(|call| call["call_id"] == output["call_id"]) {
                return Some(format!(
                    "No tool call found for function call output with call_id {}.",
                    output["call_id"]
                ));
            }
        }
        for (at, item) in items.iter().enumerate().filter(|(_, item)| item["type"] == "reasoning") {
            if text(item, "/encrypted_content").is_empty() {
                return Some("Item not found. Items are not persisted when `store` is set to false.".to_owned());
            }
            let next = items.get(at + 1).map(|next| (next["type"].as_str(), next["role"].as_str()));
            if !matches!(next, Some((Some("function_call"), _) | (_, Some("assistant")))) {
                let id = &item["id"];
                return Some(format!(
                    "Item {id} of type 'reasoning' was provided without its required following item."
                ));
            }
        }
        None
    }

    fn settings(&self, asked: &Asked) -> SentSettings {
        assert_eq!(asked.body["stream"], true);
        let tools = list(&asked.body, "/tools").iter();
        SentSettings {
            temperature: asked.body["temperature"].as_f64(),
            max_tokens: asked.body["max_output_tokens"].as_u64(),
            tools: tools.map(|tool| (text(tool, "/name"), tool["parameters"].clone())).collect(),
        }
    }

    fn effort(&self, asked: &Asked) -> String {
        text(&asked.body, "/reasoning/effort")
    }

    fn has_key(&self, asked: &Asked, key: &str) -> bool {
        OpenAi.has_key(asked, key)
    }

    fn wrong_key(&self, key: &str) -> Reply {
        OpenAi.wrong_key(key)
    }

    fn unknown_model(&self) -> Reply {
        error(404, "The requested model 'gpt-test' does not exist.", "model_not_found")
    }

    fn too_long(&self) -> Reply {
        error(400, "Your input exceeds the context window of this model.", "context_length_exceeded")
    }

    fn filtered(&self) -> Option<Reply> {
        Some(self.answer(&Answer { end: End::Filter, ..Answer::default() }))
    }

    fn broken(&self) -> Reply {
        let mut events = Events::default();
        events.response("response.created", "in_progress", Value::Null);
        let begun =
            json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []});
        events.push("response.output_item.added", json!({"output_index": 0, "item": begun}));
        let delta = json!({"output_index": 0, "item_id": "msg_1", "content_index": 0, "delta": "Half"});
        events.push("response.output_text.delta", delta);
        let message = "The server is overloaded. Please try again.";
        events.push("error", json!({"code": "server_error", "message": message, "param": null}));
        event_stream(events.pieces, false)
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
