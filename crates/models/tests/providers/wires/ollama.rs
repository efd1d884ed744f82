//! `/api/chat`: one JSON object a line, the last one `done`.

use holdpoint_runtime::model::provider::Provider;
use serde_json::{Value, json};

use super::*;

pub(crate) struct Ollama;

fn line(message: Value) -> String {
    let body = json!({"model": "llama-test", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false});
    format!("{body}\n")
}

fn says(field: &str, text: &str) -> String {
    let mut message = json!({"role": "assistant", "content": ""});
    message[field] = json!(text);
    line(message)
}

fn calls(name: &str, arguments: Value) -> String {
    let call = json!({"function": {"name": name, "arguments": arguments}});
    line(json!({"role": "assistant", "content": "", "tool_calls": [call]}))
}

fn stream(pieces: Vec<String>, is_cut: bool) -> Reply {
    Reply::Stream { content_type: "application/x-ndjson", pieces, is_cut }
}

fn done(reason: &str) -> String {
    let body = json!({"model": "llama-test", "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "prompt_eval_count": USAGE.0, "eval_count": USAGE.1});
    format!("{body}\n")
}

impl Wire for Ollama {
    fn provider(&self) -> Provider {
        Provider::Ollama
    }

    fn model(&self) -> &'static str {
        "llama-test"
    }

    fn path(&self) -> &'static str {
        "/api/chat"
    }

    fn answer(&self, answer: &Answer) -> Reply {
        let mut pieces: Vec<String> = Vec::new();
        pieces.extend(answer.reasoning.iter().map(|text| says("thinking", text)));
        pieces.extend(answer.text.iter().map(|text| says("content", text)));
        for call in &answer.calls {
            pieces.push(calls(call.name, serde_json::from_str(&call.pieces.concat()).expect("arguments of the test")));
        }
        pieces.push(match answer.end {
            End::Cut => return stream(pieces, true),
            End::Stop => done("stop"),
            End::Length => done("length"),
            End::Filter => panic!("Ollama has no filter"),
        });
        stream(pieces, false)
    }

    fn sent(&self, asked: &Asked) -> Vec<Sent> {
        let mut sent: Vec<Sent> = Vec::new();
        for message in list(&asked.body, "/messages") {
            let content = text(message, "/content");
            match message["role"].as_str().expect("a role") {
                "system" => sent.push(Sent::System(content)),
                "user" => {
                    let images = list(message, "/images").iter().map(|image| text(image, ""));
                    // The type is not said: the bytes say it.
                    let images = images.map(|image| format!("data:image/png;base64,{image}")).collect();
                    sent.push(Sent::User { texts: vec![content], images });
                }
                "assistant" => {
                    let calls = list(message, "/tool_calls").iter().map(|call| SentCall {
                        id: text(call, "/id"),
                        name: text(call, "/function/name"),
                        input: call["function"]["arguments"].clone(),
                    });
                    sent.push(Sent::Assistant { text: content, calls: calls.collect() });
                }
                "tool" => {
                    let (id, name) = (text(message, "/tool_call_id"), text(message, "/tool_name"));
                    let result = SentResult { id, name, text: content };
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
        let texts = list(&asked.body, "/messages").iter().map(|message| text(message, "/thinking"));
        texts.filter(|text| !text.is_empty()).collect()
    }

    fn settings(&self, asked: &Asked) -> SentSettings {
        assert_eq!(asked.body["stream"], true);
        let tools = list(&asked.body, "/tools").iter();
        SentSettings {
            temperature: asked.body["options"]["temperature"].as_f64(),
            max_tokens: asked.body["options"]["num_predict"].as_u64(),
            tools: tools.map(|tool| (text(tool, "/function/name"), tool["function"]["parameters"].clone())).collect(),
        }
    }

    fn effort(&self, asked: &Asked) -> String {
        text(&asked.body, "/think")
    }

    fn parts_of_usage(&self) -> (u64, u64) {
        (0, 0)
    }

    fn has_key(&self, asked: &Asked, key: &str) -> bool {
        asked.head.to_lowercase().contains(&format!("authorization: bearer {}\r\n", key.to_lowercase()))
    }

    fn wrong_key(&self, key: &str) -> Reply {
        Reply::error(401, json!({"error": format!("unauthorized: {key}")}).to_string())
    }

    fn unknown_model(&self) -> Reply {
        Reply::error(404, json!({"error": "model \"llama-test\" not found, try pulling it first"}).to_string())
    }

    fn too_long(&self) -> Reply {
        let text = "the request exceeds the available context size";
        Reply::error(400, json!({"error": text}).to_string())
    }

    fn filtered(&self) -> Option<Reply> {
        None
    }

    fn broken(&self) -> Reply {
        let error = json!({"error": "an error was encountered while running the model"});
        stream(vec![says("content", "Half"), format!("{error}\n")], false)
    }

    fn malformed(&self) -> Reply {
        stream(vec![calls("get_weather", json!("{\"location\": \"Tokyo\", ")), done("stop")], false)
    }

    fn streams_arguments(&self) -> bool {
        false
    }
}
