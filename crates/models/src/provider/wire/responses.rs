//! OpenAI's Responses: <https://platform.openai.com/docs/api-reference/responses>.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{Answer, Ask, EventError, Made, Part, Read, Reason, Said, Source, number_at, text_at};
use crate::provider::replay::Restored;

pub(super) fn body(ask: &Ask<'_>) -> Map<String, Value> {
    let inner = ask.inner;
    let mut input = Vec::new();
    for said in &ask.said {
        match said {
            Said::User(parts) => {
                let content: Vec<Value> = parts.iter().map(part).collect();
                input.push(json!({"type": "message", "role": "user", "content": content}));
            }
            Said::Assistant { text, calls } => {
                input.extend(text.as_ref().map(|text| json!({"role": "assistant", "content": text})));
                input.extend(calls.iter().map(function_call));
            }
            Said::Restored(items) => input.extend(restored(items)),
            Said::Results(results) => input.extend(results.iter().map(|told| {
                let pictures: Vec<Value> = told.pictures().map(part).collect();
                let output = match pictures.is_empty() {
                    true => json!(told.text()),
                    false => {
                        std::iter::once(json!({"type": "input_text", "text": told.text()})).chain(pictures).collect()
                    }
                };
                json!({"type": "function_call_output", "call_id": told.id, "output": output})
            })),
        }
    }
    let mut body = Map::from_iter([
        ("model".to_owned(), json!(inner.spec.model)),
        ("input".to_owned(), Value::Array(input)),
        ("stream".to_owned(), json!(true)),
        // The log has the conversation, and a chat that is deleted is gone.
        ("store".to_owned(), json!(false)),
    ]);
    body.extend(ask.system.map(|system| ("instructions".to_owned(), json!(system))));
    if !ask.tools.is_empty() {
        // Without `strict`, OpenAI tries to make every schema a strict one.
        let tools = ask.tools.iter().map(|tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.schema, "strict": false})
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    body.extend(inner.temperature().map(|temperature| ("temperature".to_owned(), json!(temperature))));
    body.extend(ask.max_tokens.map(|tokens| ("max_output_tokens".to_owned(), json!(tokens))));
    body.extend(inner.reasoning.map(|reasoning| ("reasoning".to_owned(), json!({"effort": reasoning.level()}))));
    body
}

/// Nothing is stored, so reasoning comes back encrypted.
pub(super) fn include(body: &mut Map<String, Value>) {
    const ENCRYPTED: &str = "reasoning.encrypted_content";
    let include = body.entry("include").or_insert_with(|| json!([]));
    if let Value::Array(include) = include
        && !include.iter().any(|item| item == ENCRYPTED)
    {
        include.push(json!(ENCRYPTED));
    }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "input_text", "text": text}),
        Part::Image { media_type, source } => {
            json!({"type": "input_image", "image_url": source.url(media_type.as_deref().unwrap_or("image/png"))})
        }
        Part::Pdf { source: Source::Address(url), .. } => json!({"type": "input_file", "file_url": url}),
        Part::Pdf { name, source } => {
            let filename = name.as_deref().unwrap_or("document.pdf");
            json!({"type": "input_file", "filename": filename, "file_data": source.url("application/pdf")})
        }
        Part::Audio { .. } | Part::Video { .. } => json!({"type": "input_text", "text": "(a file, not included)"}),
    }
}

fn function_call(call: &Made) -> Value {
    let arguments = Value::Object(call.input.clone()).to_string();
    json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
}

/// Reasoning that nothing follows is left out: it would be refused.
fn restored(items: &[Restored]) -> Vec<Value> {
    let mut restored: Vec<Value> = items
        .iter()
        .map(|item| match item {
            Restored::Item(item) => item.clone(),
            Restored::Call { made, item, is_as_made } => {
                let mut call = item.clone();
                match call.as_object_mut() {
                    Some(fields) if *is_as_made => drop(fields.insert("call_id".to_owned(), json!(made.id))),
                    _ => call = function_call(made),
                }
                call
            }
        })
        .collect();
    while restored.last().is_some_and(is_reasoning) {
        restored.pop();
    }
    restored
}

fn is_reasoning(item: &Value) -> bool {
    item.get("type").is_some_and(|kind| kind == "reasoning")
}

#[derive(Default)]
pub(super) struct Reader {
    /// The items of which something was shown.
    begun: HashSet<usize>,
    has_ended: bool,
}

/// The number of a part: its item, and its place in it.
fn number(event: &Value, place: &str) -> usize {
    let place = event.get(place).and_then(Value::as_u64).unwrap_or_default().min(0xffff) as usize;
    item(event) << 16 | place
}

fn item(event: &Value) -> usize {
    (number_at(event, "/output_index") & 0xffff_ffff) as usize
}

impl Read for Reader {
    fn event(&mut self, event: &Value, answer: &mut Answer) -> Result<(), EventError> {
        let kind = text_at(event, "/type").unwrap_or_default();
        let delta = text_at(event, "/delta").unwrap_or_default();
        match kind {
            "error" => return Err(EventError::Told(event.clone())),
            "response.failed" => {
                return Err(EventError::Told(json!({"error": event.pointer("/response/error")})));
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                self.begun.insert(item(event));
                answer.text(number(event, "content_index"), delta);
            }
            "response.reasoning_summary_text.delta" => answer.reasoning(number(event, "summary_index"), delta),
            "response.reasoning_text.delta" => answer.reasoning(number(event, "content_index"), delta),
            "response.output_item.added" if is_call(event) => {
                let name = text_at(event, "/item/name").unwrap_or_default();
                answer.begin_call(item(event) << 16, name);
            }
            "response.function_call_arguments.delta" => {
                self.begun.insert(item(event));
                answer.arguments(item(event) << 16, delta);
            }
            "response.output_item.done" => self.done(event, answer),
            "response.completed" | "response.incomplete" => self.response(event, kind, answer),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Answer) -> bool {
        self.has_ended
    }
}

fn is_call(event: &Value) -> bool {
    text_at(event, "/item/type") == Some("function_call")
}

impl Reader {
    fn done(&mut self, event: &Value, answer: &mut Answer) {
        let Some(done) = event.get("item") else { return };
        let (part, is_begun) = (item(event) << 16, self.begun.contains(&item(event)));
        match text_at(done, "/type") {
            Some("function_call") => {
                answer.begin_call(part, text_at(done, "/name").unwrap_or_default());
                if !is_begun {
                    answer.arguments(part, text_at(done, "/arguments").unwrap_or_default());
                }
                answer.end_call(part, done.clone());
            }
            Some("reasoning") => {
                if text_at(done, "/encrypted_content").is_some_and(|sealed| !sealed.is_empty()) {
                    answer.ending.is_needed = true;
                    answer.keep(done.clone());
                }
            }
            Some("message") => {
                let parts = done.get("content").and_then(Value::as_array).into_iter().flatten();
                for text in parts.filter_map(|part| text_at(part, "/text")).filter(|_| !is_begun) {
                    answer.text(part, text);
                }
                answer.end(part);
                answer.keep(done.clone());
            }
            _ => answer.keep(done.clone()),
        }
    }

    fn response(&mut self, event: &Value, kind: &str, answer: &mut Answer) {
        let Some(response) = event.get("response") else { return };
        self.has_ended = true;
        answer.version(text_at(response, "/model"));
        let usage = &mut answer.ending.usage;
        usage.prompt_tokens = number_at(response, "/usage/input_tokens");
        usage.completion_tokens = number_at(response, "/usage/output_tokens");
        usage.cached_prompt_tokens = number_at(response, "/usage/input_tokens_details/cached_tokens");
        usage.reasoning_tokens = number_at(response, "/usage/output_tokens_details/reasoning_tokens");
        let reason = text_at(response, "/incomplete_details/reason");
        answer.ending.reason = Some(match (kind, reason) {
            ("response.completed", _) => Reason::Stop,
            (_, Some("max_output_tokens")) => Reason::Length,
            (_, Some("content_filter")) => Reason::Filter,
            (_, reason) => Reason::Other(reason.unwrap_or("incomplete").to_owned()),
        });
    }
}
