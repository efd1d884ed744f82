//! Ollama's `/api/chat`: <https://docs.ollama.com/api/chat>.

use serde_json::{Map, Value, json};

use super::{Answer, Ask, EventError, Made, Part, Read, Reason, Said, Source, number_at, text_at};
use crate::provider::{effort::Reasoning, replay::Restored};

pub(super) fn body(ask: &Ask<'_>) -> Map<String, Value> {
    let inner = ask.inner;
    let mut messages = Vec::new();
    messages.extend(ask.system.map(|system| json!({"role": "system", "content": system})));
    for said in &ask.said {
        match said {
            Said::User(parts) => messages.push(user(parts)),
            Said::Assistant { text, calls } => {
                let calls: Vec<Value> = calls.iter().map(tool_call).collect();
                messages.push(assistant(Map::new(), text.clone().unwrap_or_default(), calls));
            }
            Said::Restored(items) => {
                let (mut fields, mut calls) = (Map::new(), Vec::new());
                for item in items {
                    match item {
                        Restored::Item(item) => fields.extend(item.as_object().cloned().unwrap_or_default()),
                        Restored::Call { made, .. } => calls.push(tool_call(made)),
                    }
                }
                messages.push(assistant(fields, String::new(), calls));
            }
            Said::Results(results) => messages.extend(results.iter().map(|told| {
                let (mut content, pictures) = (told.text(), told.pictures().count());
                if pictures > 0 {
                    // Whether the model can see is not known, and it may fail if it can't.
                    content.push_str("\n(A picture is not included, see the link.)");
                }
                json!({"role": "tool", "tool_call_id": told.id, "tool_name": told.name, "content": content})
            })),
        }
    }
    let mut body = Map::from_iter([
        ("model".to_owned(), json!(inner.spec.model)),
        ("messages".to_owned(), Value::Array(messages)),
        ("stream".to_owned(), json!(true)),
    ]);
    if !ask.tools.is_empty() {
        let tools = ask.tools.iter().map(|tool| {
            let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    let mut options = Map::new();
    options.extend(inner.temperature().map(|temperature| ("temperature".to_owned(), json!(temperature))));
    options.extend(ask.max_tokens.map(|tokens| ("num_predict".to_owned(), json!(tokens))));
    if !options.is_empty() {
        body.insert("options".to_owned(), Value::Object(options));
    }
    body.extend(inner.reasoning.map(|reasoning| {
        let think = if reasoning == Reasoning::Off { json!(false) } else { json!(reasoning.level()) };
        ("think".to_owned(), think)
    }));
    body
}

fn user(parts: &[Part]) -> Value {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let images = parts.iter().filter_map(|part| match part {
        Part::Image { source: Source::Data(data), .. } => Some(json!(data)),
        _ => None,
    });
    let (content, images) = (texts.collect::<Vec<_>>().join("\n\n"), images.collect::<Vec<_>>());
    let mut message = json!({"role": "user", "content": content});
    if !images.is_empty() {
        message["images"] = Value::Array(images);
    }
    message
}

fn assistant(fields: Map<String, Value>, text: String, calls: Vec<Value>) -> Value {
    let mut message = Map::from_iter([("role".to_owned(), json!("assistant")), ("content".to_owned(), json!(text))]);
    message.extend(fields);
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Value::Object(message)
}

fn tool_call(call: &Made) -> Value {
    json!({"id": call.id, "function": {"name": call.name, "arguments": call.input}})
}

/// The parts of text and of reasoning. Those of calls follow.
const TEXT: usize = 0;
const REASONING: usize = 1;
const FIRST_CALL: usize = 2;

#[derive(Default)]
pub(super) struct Reader {
    aloud: Aloud,
    text: String,
    thinking: String,
    calls: usize,
    has_ended: bool,
}

impl Read for Reader {
    fn event(&mut self, event: &Value, answer: &mut Answer) -> Result<(), EventError> {
        if event.get("error").is_some() {
            return Err(EventError::Told(event.clone()));
        }
        if !event.is_object() {
            return Err(EventError::Malformed("a line that is not an object"));
        }
        answer.version(text_at(event, "/model"));
        if let Some(thinking) = text_at(event, "/message/thinking") {
            self.think(thinking, answer);
        }
        if let Some(text) = text_at(event, "/message/content") {
            for (is_thought, text) in self.aloud.split(text) {
                if is_thought { self.think(&text, answer) } else { self.say(&text, answer) }
            }
        }
        for call in event.pointer("/message/tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let name = text_at(call, "/function/name").unwrap_or_default();
            answer.call(FIRST_CALL + self.calls, name, call.pointer("/function/arguments"), Value::Null);
            self.calls += 1;
        }
        if event.get("done").is_some_and(|done| done == true) {
            self.has_ended = true;
            answer.ending.usage.prompt_tokens = number_at(event, "/prompt_eval_count");
            answer.ending.usage.completion_tokens = number_at(event, "/eval_count");
            answer.ending.reason = text_at(event, "/done_reason").map(|reason| match reason {
                "stop" => Reason::Stop,
                "length" => Reason::Length,
                other => Reason::Other(other.to_owned()),
            });
        }
        Ok(())
    }

    fn end(&mut self, answer: &mut Answer) -> bool {
        for (is_thought, text) in self.aloud.end() {
            if is_thought { self.think(&text, answer) } else { self.say(&text, answer) }
        }
        if !self.thinking.is_empty() {
            answer.ending.is_needed = true;
            answer.keep(json!({"thinking": self.thinking}));
        }
        if !self.text.is_empty() {
            answer.keep(json!({"content": self.text}));
        }
        self.has_ended
    }
}

impl Reader {
    fn think(&mut self, text: &str, answer: &mut Answer) {
        self.thinking.push_str(text);
        answer.reasoning(REASONING, text);
    }

    fn say(&mut self, text: &str, answer: &mut Answer) {
        self.text.push_str(text);
        answer.text(TEXT, text);
    }
}

/// Models whose thinking is the beginning of their text, between tags.
#[derive(Default)]
enum Aloud {
    /// What could still become the first tag.
    #[default]
    Start,
    Begun(String),
    Thinking(String),
    /// The spaces before the text.
    Thought,
    Text,
}

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

impl Aloud {
    /// The text in pieces, each with whether it is thinking.
    fn split(&mut self, text: &str) -> Vec<(bool, String)> {
        match std::mem::replace(self, Self::Text) {
            Self::Start => {
                *self = Self::Begun(String::new());
                self.split(text)
            }
            Self::Begun(before) => {
                let whole = before + text;
                let trimmed = whole.trim_start();
                if let Some(thought) = trimmed.strip_prefix(OPEN) {
                    *self = Self::Thinking(String::new());
                    let thought = thought.to_owned();
                    return self.split(&thought);
                }
                if OPEN.starts_with(trimmed) {
                    *self = Self::Begun(whole);
                    return Vec::new();
                }
                vec![(false, whole)]
            }
            Self::Thinking(before) => {
                let whole = before + text;
                if let Some((thought, rest)) = whole.split_once(CLOSE) {
                    *self = Self::Thought;
                    let mut pieces = vec![(true, thought.to_owned())];
                    pieces.extend(self.split(rest));
                    return pieces;
                }
                // The end may be the beginning of the last tag.
                let held = (1..CLOSE.len()).rev().find(|length| whole.ends_with(&CLOSE[..*length])).unwrap_or(0);
                let (thought, held) = whole.split_at(whole.len() - held);
                *self = Self::Thinking(held.to_owned());
                vec![(true, thought.to_owned())]
            }
            Self::Thought => match text.trim_start() {
                "" => {
                    *self = Self::Thought;
                    Vec::new()
                }
                text => vec![(false, text.to_owned())],
            },
            Self::Text => vec![(false, text.to_owned())],
        }
    }

    /// What was held back.
    fn end(&mut self) -> Vec<(bool, String)> {
        match std::mem::replace(self, Self::Text) {
            Self::Begun(text) => vec![(false, text)],
            Self::Thinking(text) => vec![(true, text)],
            Self::Start | Self::Thought | Self::Text => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let mut aloud = Aloud::default();
        let mut all: Vec<(bool, String)> = pieces.iter().flat_map(|piece| aloud.split(piece)).collect();
        all.extend(aloud.end());
        let of = |is_thought: bool| -> String {
            all.iter().filter(|(kind, _)| *kind == is_thought).map(|(_, text)| text.as_str()).collect()
        };
        (of(true), of(false))
    }

    #[test]
    fn thinking_aloud_is_found_wherever_it_is_split() {
        let whole = "<think>a < b</think>\n\nSo <think> it is";
        for at in 0..=whole.len() {
            let (one, two) = whole.split_at(at);
            assert_eq!(split(&[one, two]), ("a < b".into(), "So <think> it is".into()), "at {at}");
        }
        assert_eq!(split(&["<thank you>"]), (String::new(), "<thank you>".into()));
        assert_eq!(split(&["<thi"]), (String::new(), "<thi".into()));
        assert_eq!(split(&["<think>never ended</th"]), ("never ended</th".into(), String::new()));
    }
}
