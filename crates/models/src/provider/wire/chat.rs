//! OpenAI's Chat Completions, which every compatible server has: <https://platform.openai.com/docs/api-reference/chat>.

use serde_json::{Map, Value, json};

use super::{Answer, Ask, EventError, Made, Part, Read, Reason, Said, Source, number_at, text_at};
use crate::provider::replay::Restored;

pub(super) fn body(ask: &Ask<'_>) -> Map<String, Value> {
    let inner = ask.inner;
    let mut messages = Vec::new();
    // As a text: many servers take nothing else for the system prompt.
    messages.extend(ask.system.map(|system| json!({"role": "system", "content": system})));
    for said in &ask.said {
        match said {
            Said::User(parts) => messages.push(json!({"role": "user", "content": content(parts)})),
            Said::Assistant { text, calls } => {
                let mut message =
                    Map::from_iter([("role".to_owned(), json!("assistant")), ("content".to_owned(), json!(text))]);
                let calls: Vec<Value> = calls.iter().map(|call| tool_call(call, &Value::Null)).collect();
                if !calls.is_empty() {
                    message.insert("tool_calls".to_owned(), Value::Array(calls));
                }
                messages.push(Value::Object(message));
            }
            Said::Restored(items) => messages.push(restored(items)),
            Said::Results(results) => {
                let told =
                    |told: &super::Told| json!({"role": "tool", "tool_call_id": told.id, "content": told.text()});
                messages.extend(results.iter().map(told));
                // No result of a tool can have a picture in it, but the user can send one.
                let pictures = results.iter().flat_map(|told| {
                    let heading = || Part::Text(format!("Picture of the result of {}:", told.name));
                    told.pictures().flat_map(move |picture| [heading(), picture.clone()])
                });
                let pictures: Vec<Part> = pictures.collect();
                if !pictures.is_empty() {
                    messages.push(json!({"role": "user", "content": content(&pictures)}));
                }
            }
        }
    }
    if inner.wants_reasoning_content() {
        // DeepSeek wants it with every call, even if there was none.
        for message in messages.iter_mut().filter_map(Value::as_object_mut) {
            if message.contains_key("tool_calls") {
                message.entry("reasoning_content").or_insert(json!(""));
            }
        }
    }
    let mut body = Map::from_iter([
        ("model".to_owned(), json!(inner.spec.model)),
        ("messages".to_owned(), Value::Array(messages)),
        ("stream".to_owned(), json!(true)),
        ("stream_options".to_owned(), json!({"include_usage": true})),
    ]);
    if !ask.tools.is_empty() {
        let tools = ask.tools.iter().map(|tool| {
            let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    body.extend(inner.temperature().map(|temperature| ("temperature".to_owned(), json!(temperature))));
    if let Some(max_tokens) = ask.max_tokens {
        // OpenAI's reasoning models refuse the old name, and most other servers do not know the new one.
        let name = if inner.is_at_openai() { "max_completion_tokens" } else { "max_tokens" };
        body.insert(name.to_owned(), json!(max_tokens));
    }
    body.extend(inner.reasoning.map(|reasoning| ("reasoning_effort".to_owned(), json!(reasoning.level()))));
    body
}

/// One text is a text, since many servers take nothing else.
fn content(parts: &[Part]) -> Value {
    match parts {
        [Part::Text(text)] => json!(text),
        parts => parts.iter().map(part).collect(),
    }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image { media_type, source } => {
            let url = source.url(media_type.as_deref().unwrap_or("image/png"));
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        Part::Pdf { name, source } => {
            let filename = name.as_deref().unwrap_or("document.pdf");
            json!({"type": "file", "file": {"filename": filename, "file_data": source.url("application/pdf")}})
        }
        Part::Audio { media_type, source: Source::Data(data) } => {
            let format = if media_type.ends_with("wav") { "wav" } else { "mp3" };
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
        }
        Part::Audio { .. } | Part::Video { .. } => json!({"type": "text", "text": "(a file, not included)"}),
    }
}

/// A call, with the fields of its item that the server needs back.
fn tool_call(call: &Made, item: &Value) -> Value {
    let function = json!({"name": call.name, "arguments": Value::Object(call.input.clone()).to_string()});
    let mut written = Map::from_iter([
        ("id".to_owned(), json!(call.id)),
        ("type".to_owned(), json!("function")),
        ("function".to_owned(), function),
    ]);
    written.extend(item.as_object().cloned().unwrap_or_default());
    Value::Object(written)
}

/// The items are fields of the message, and the calls.
fn restored(items: &[Restored]) -> Value {
    let mut message = Map::from_iter([("role".to_owned(), json!("assistant")), ("content".to_owned(), Value::Null)]);
    let mut calls = Vec::new();
    for item in items {
        match item {
            Restored::Item(fields) => message.extend(fields.as_object().cloned().unwrap_or_default()),
            Restored::Call { made, item, .. } => calls.push(tool_call(made, item)),
        }
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Value::Object(message)
}

/// The parts of text and of reasoning. Those of calls follow.
const TEXT: usize = 0;
const REASONING: usize = 1;
const FIRST_CALL: usize = 2;

#[derive(Default)]
pub(super) struct Reader {
    text: String,
    reasoning: String,
    /// The field that reasoning comes in.
    field: Option<&'static str>,
    calls: Vec<Call>,
    has_ended: bool,
}

struct Call {
    index: u64,
    id: String,
    extra: Option<Value>,
}

impl Read for Reader {
    fn event(&mut self, event: &Value, answer: &mut Answer) -> Result<(), EventError> {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(EventError::Told(json!({"error": error})));
        }
        answer.version(text_at(event, "/model"));
        if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
            let cached = number_at(usage, "/prompt_tokens_details/cached_tokens");
            let told = &mut answer.ending.usage;
            told.prompt_tokens = number_at(usage, "/prompt_tokens");
            told.completion_tokens = number_at(usage, "/completion_tokens");
            told.cached_prompt_tokens = cached.max(number_at(usage, "/prompt_cache_hit_tokens"));
            told.reasoning_tokens = number_at(usage, "/completion_tokens_details/reasoning_tokens");
        }
        let Some(choice) = event.pointer("/choices/0") else { return Ok(()) };
        for field in ["reasoning_content", "reasoning"] {
            if let Some(text) = choice.get("delta").and_then(|delta| delta.get(field)?.as_str())
                && *self.field.get_or_insert(field) == field
            {
                self.reasoning.push_str(text);
                answer.reasoning(REASONING, text);
            }
        }
        for text in ["/delta/content", "/delta/refusal"].iter().filter_map(|at| text_at(choice, at)) {
            self.text.push_str(text);
            answer.text(TEXT, text);
        }
        for call in choice.pointer("/delta/tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(call, answer);
        }
        if let Some(reason) = text_at(choice, "/finish_reason") {
            self.has_ended = true;
            answer.ending.reason = Some(match reason {
                "stop" => Reason::Stop,
                "length" => Reason::Length,
                "tool_calls" | "function_call" => Reason::ToolCalls,
                "content_filter" => Reason::Filter,
                other => Reason::Other(other.to_owned()),
            });
        }
        Ok(())
    }

    fn end(&mut self, answer: &mut Answer) -> bool {
        if !self.has_ended {
            return false;
        }
        let field = self.field.unwrap_or("reasoning_content");
        if !self.reasoning.is_empty() {
            answer.keep(json!({field: self.reasoning}));
        }
        if !self.text.is_empty() {
            answer.keep(json!({"content": self.text}));
        }
        answer.ending.is_needed = !self.reasoning.is_empty() || self.calls.iter().any(|call| call.extra.is_some());
        for (at, call) in self.calls.drain(..).enumerate() {
            let item = call.extra.map_or(Value::Null, |extra| json!({"extra_content": extra}));
            answer.end_call(FIRST_CALL + at, item);
        }
        true
    }
}

impl Reader {
    /// Some servers give every call the same index, and another id.
    fn call(&mut self, call: &Value, answer: &mut Answer) {
        let index = call.get("index").and_then(Value::as_u64);
        let id = text_at(call, "/id").unwrap_or_default();
        let name = text_at(call, "/function/name").unwrap_or_default();
        let index = index.unwrap_or(if id.is_empty() { self.calls.len().saturating_sub(1) as u64 } else { u64::MAX });
        let is_it = |known: &Call| known.index == index && (id.is_empty() || known.id.is_empty() || known.id == id);
        let at = match self.calls.iter().rposition(is_it) {
            Some(at) => at,
            // Pieces of a call that has not begun.
            None if name.is_empty() => return,
            None => {
                self.calls.push(Call { index, id: id.to_owned(), extra: None });
                self.calls.len() - 1
            }
        };
        answer.begin_call(FIRST_CALL + at, name);
        if let Some(extra) = call.get("extra_content").filter(|extra| !extra.is_null()) {
            self.calls[at].extra = Some(extra.clone());
        }
        match call.pointer("/function/arguments") {
            Some(Value::String(piece)) => answer.arguments(FIRST_CALL + at, piece),
            Some(whole @ Value::Object(_)) => answer.arguments(FIRST_CALL + at, &whole.to_string()),
            _ => {}
        }
    }
}
