//! Google's `streamGenerateContent`: <https://ai.google.dev/api/generate-content>.

use serde_json::{Map, Value, json};

use super::{Answer, Ask, EventError, Made, Part, Read, Reason, Said, Source, number_at, text_at};
use crate::provider::{effort::Reasoning, replay::Restored};

/// Stands for the signature of a call that is rebuilt from the log:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const UNSIGNED: &str = "skip_thought_signature_validator";

pub(super) fn body(ask: &Ask<'_>) -> Map<String, Value> {
    let inner = ask.inner;
    // From version 3 on, calls have ids and signatures, and results can have pictures.
    let is_third = inner.traits.is_gemini_3();
    let mut contents = Vec::new();
    for said in &ask.said {
        match said {
            Said::User(parts) => contents.push(content("user", parts.iter().map(part).collect())),
            Said::Assistant { text, calls } => {
                let text = text.iter().map(|text| json!({"text": text}));
                let calls = calls.iter().enumerate().map(|(at, call)| {
                    let mut part = json!({"functionCall": function_call(call, is_third)});
                    if is_third && at == 0 {
                        part["thoughtSignature"] = json!(UNSIGNED);
                    }
                    part
                });
                contents.push(content("model", text.chain(calls).collect()));
            }
            Said::Restored(items) => {
                contents.push(content("model", items.iter().map(|item| restored(item, is_third)).collect()));
            }
            Said::Results(results) => {
                let responses = results.iter().map(|told| json!({"functionResponse": response(told, is_third)}));
                contents.push(content("user", responses.collect()));
                let pictures: Vec<Value> = results.iter().flat_map(super::Told::pictures).map(part).collect();
                if !is_third && !pictures.is_empty() {
                    contents.push(content("user", pictures));
                }
            }
        }
    }
    let mut body = Map::from_iter([("contents".to_owned(), Value::Array(contents))]);
    body.extend(ask.system.map(|system| ("systemInstruction".to_owned(), json!({"parts": [{"text": system}]}))));
    if !ask.tools.is_empty() {
        let tools = ask.tools.iter().map(
            |tool| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}),
        );
        body.insert("tools".to_owned(), json!([{"functionDeclarations": tools.collect::<Vec<Value>>()}]));
    }
    let mut config = Map::new();
    config.extend(inner.temperature().map(|temperature| ("temperature".to_owned(), json!(temperature))));
    config.extend(ask.max_tokens.map(|tokens| ("maxOutputTokens".to_owned(), json!(tokens))));
    config.extend(inner.reasoning.map(|reasoning| {
        let thinking = match reasoning {
            Reasoning::Off => json!({"thinkingBudget": 0}),
            Reasoning::Budget(tokens) => json!({"thinkingBudget": tokens}),
            level @ Reasoning::Level(_) => json!({"thinkingLevel": level.level()}),
        };
        ("thinkingConfig".to_owned(), thinking)
    }));
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(config));
    }
    body
}

fn content(role: &str, parts: Vec<Value>) -> Value {
    json!({"role": role, "parts": parts})
}

fn part(part: &Part) -> Value {
    let media = |media_type: Option<&str>, source: &Source| match (source, media_type) {
        (Source::Data(data), media_type) => json!({"inlineData": {"mimeType": media_type, "data": data}}),
        (Source::Address(url), None) => json!({"fileData": {"fileUri": url}}),
        (Source::Address(url), media_type) => json!({"fileData": {"mimeType": media_type, "fileUri": url}}),
    };
    match part {
        Part::Text(text) => json!({"text": text}),
        Part::Image { media_type, source } => media(media_type.as_deref(), source),
        Part::Pdf { source, .. } => media(Some("application/pdf"), source),
        Part::Audio { media_type, source } | Part::Video { media_type, source } => media(Some(media_type), source),
    }
}

fn function_call(call: &Made, has_id: bool) -> Value {
    let mut written = json!({"name": call.name, "args": call.input});
    if has_id {
        written["id"] = json!(call.id);
    }
    written
}

fn restored(item: &Restored, has_id: bool) -> Value {
    match item {
        Restored::Item(item) => item.clone(),
        Restored::Call { made, item, .. } => {
            let mut part = item.clone();
            match part.as_object_mut() {
                Some(part) => drop(part.insert("functionCall".to_owned(), function_call(made, has_id))),
                None => part = json!({"functionCall": function_call(made, has_id)}),
            }
            part
        }
    }
}

fn response(told: &super::Told, is_third: bool) -> Value {
    let key = if told.is_error { "error" } else { "output" };
    let mut output = json!({key: told.output});
    let notes: Vec<&Part> = told.files.iter().filter(|part| matches!(part, Part::Text(_))).collect();
    if !notes.is_empty() {
        output = json!({key: told.text()});
    }
    let mut response = json!({"name": told.name, "response": output});
    if is_third {
        response["id"] = json!(told.id);
        let pictures: Vec<Value> = told.pictures().map(part).collect();
        if !pictures.is_empty() {
            response["parts"] = Value::Array(pictures);
        }
    }
    response
}

#[derive(Default)]
pub(super) struct Reader {
    /// The parts so far. Pieces of one text are one part.
    parts: usize,
    /// The text or thought that is being written: whether it is a thought, and what was written.
    open: Option<(bool, String)>,
    has_ended: bool,
}

impl Read for Reader {
    fn event(&mut self, event: &Value, answer: &mut Answer) -> Result<(), EventError> {
        if event.get("error").is_some() {
            return Err(EventError::Told(event.clone()));
        }
        answer.version(text_at(event, "/modelVersion"));
        if let Some(usage) = event.get("usageMetadata") {
            let (told, thought) = (&mut answer.ending.usage, number_at(usage, "/thoughtsTokenCount"));
            told.prompt_tokens = number_at(usage, "/promptTokenCount");
            told.completion_tokens = number_at(usage, "/candidatesTokenCount").saturating_add(thought);
            told.cached_prompt_tokens = number_at(usage, "/cachedContentTokenCount");
            told.reasoning_tokens = thought;
        }
        for part in event.pointer("/candidates/0/content/parts").and_then(Value::as_array).into_iter().flatten() {
            self.part(part, answer);
        }
        if event.pointer("/promptFeedback/blockReason").is_some() {
            self.has_ended = true;
            answer.ending.reason = Some(Reason::Filter);
        }
        if let Some(reason) = text_at(event, "/candidates/0/finishReason") {
            self.has_ended = true;
            answer.ending.reason = Some(match reason {
                "STOP" => Reason::Stop,
                "MAX_TOKENS" => Reason::Length,
                "SAFETY" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => Reason::Filter,
                other => Reason::Other(other.to_owned()),
            });
        }
        Ok(())
    }

    fn end(&mut self, answer: &mut Answer) -> bool {
        self.close(answer);
        self.has_ended
    }
}

impl Reader {
    fn part(&mut self, part: &Value, answer: &mut Answer) {
        let is_signed = part.get("thoughtSignature").is_some();
        answer.ending.is_needed |= is_signed;
        if let Some(call) = part.get("functionCall") {
            self.close(answer);
            let name = text_at(call, "/name").unwrap_or_default();
            answer.call(self.parts, name, call.get("args"), part.clone());
            self.parts += 1;
        } else if let Some(text) = text_at(part, "/text") {
            let is_thought = part.get("thought").is_some_and(|thought| thought == true);
            answer.ending.is_needed |= is_thought;
            if self.open.as_ref().is_some_and(|(open, _)| *open != is_thought) {
                self.close(answer);
            }
            if is_thought {
                answer.reasoning(self.parts, text)
            } else {
                answer.text(self.parts, text)
            }
            let (_, written) = self.open.get_or_insert_with(|| (is_thought, String::new()));
            written.push_str(text);
            if is_signed {
                // A signature is that of its own part, so what was written before it stays apart.
                let end = written.len() - text.len();
                written.truncate(end);
                self.close(answer);
                answer.keep(part.clone());
            }
        } else if part.is_object() {
            self.close(answer);
            answer.keep(part.clone());
        }
    }

    fn close(&mut self, answer: &mut Answer) {
        let Some((is_thought, written)) = self.open.take() else { return };
        answer.end(self.parts);
        self.parts += 1;
        match (written.is_empty(), is_thought) {
            (true, _) => {}
            (_, true) => answer.keep(json!({"text": written, "thought": true})),
            (_, false) => answer.keep(json!({"text": written})),
        }
    }
}
