//! Anthropic's Messages: <https://platform.claude.com/docs/en/api/messages>.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Answer, Ask, EventError, Made, Part, Read, Reason, Said, Source, number_at, text_at};
use crate::provider::{Inner, effort::Reasoning, replay::Restored};

pub(super) const VERSION: &str = "2023-06-01";
/// <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation>
const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

pub(super) fn body(ask: &Ask<'_>) -> Map<String, Value> {
    let inner = ask.inner;
    let is_cached = inner.settings.prompt_caching != Some(false);
    let mut messages: Vec<Value> = Vec::new();
    for said in &ask.said {
        let (role, content) = match said {
            Said::User(parts) => ("user", parts.iter().map(part).collect()),
            Said::Assistant { text, calls } => {
                let text = text.iter().map(|text| json!({"type": "text", "text": text}));
                ("assistant", text.chain(calls.iter().map(tool_use)).collect())
            }
            Said::Restored(items) => ("assistant", items.iter().map(restored).collect()),
            Said::Results(results) => ("user", results.iter().map(result).collect::<Vec<Value>>()),
        };
        messages.push(json!({"role": role, "content": content}));
    }
    let mut tools: Vec<Value> = ask
        .tools
        .iter()
        .map(|tool| {
            let mut written = json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema});
            if inner.streams_inputs_eagerly() {
                written["eager_input_streaming"] = json!(true);
            }
            written
        })
        .collect();
    let mut system = ask.system.map(|system| json!([{"type": "text", "text": system}]));
    if is_cached {
        // Each step of a turn sends everything before it again. At most four marks are taken.
        let last = messages.last_mut().and_then(|message| message.get_mut("content")?.as_array_mut()?.last_mut());
        let system = system.as_mut().and_then(|system| system.get_mut(0));
        for marked in [tools.last_mut(), system, last].into_iter().flatten() {
            marked["cache_control"] = json!({"type": "ephemeral"});
        }
    }
    let mut body = Map::from_iter([
        ("model".to_owned(), json!(inner.spec.model)),
        ("messages".to_owned(), Value::Array(messages)),
        ("stream".to_owned(), json!(true)),
        // It is required.
        ("max_tokens".to_owned(), json!(ask.max_tokens.unwrap_or_else(|| inner.traits.max_tokens()))),
    ]);
    body.extend(system.map(|system| ("system".to_owned(), system)));
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    body.extend(inner.temperature().map(|temperature| ("temperature".to_owned(), json!(temperature))));
    match inner.reasoning {
        None => {}
        Some(Reasoning::Off) => drop(body.insert("thinking".to_owned(), json!({"type": "disabled"}))),
        Some(Reasoning::Budget(tokens)) => {
            body.insert("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": tokens}));
        }
        Some(reasoning @ Reasoning::Level(_)) => {
            if inner.traits.thinks_by_level() {
                body.insert("thinking".to_owned(), json!({"type": "adaptive"}));
            }
            body.insert("output_config".to_owned(), json!({"effort": reasoning.level()}));
        }
    }
    body
}

/// Thinking blocks are bound to what stands before them: the system prompt, the tools and the messages. Those may change (by the
/// settings, by an MCP server), and then the blocks are to be dropped and not the whole request refused. Adaptive thinking is what
/// these models do by themselves.
pub(super) fn bind(body: &mut Map<String, Value>, inner: &Inner) {
    if !inner.binds_thinking() {
        return;
    }
    let thinking = body.entry("thinking").or_insert_with(|| json!({"type": "adaptive"}));
    if thinking.get("type").is_some_and(|kind| kind == "adaptive")
        && let Some(thinking) = thinking.as_object_mut()
    {
        thinking.entry("block_binding").or_insert_with(|| json!({"prefix_mismatch_behavior": "drop_block"}));
    }
}

pub(super) fn beta(body: &Map<String, Value>) -> Option<&'static str> {
    body.get("thinking")?.get("block_binding").map(|_| BINDING_BETA)
}

fn part(part: &Part) -> Value {
    let source = |media_type: &str, source: &Source| match source {
        Source::Data(data) => json!({"type": "base64", "media_type": media_type, "data": data}),
        Source::Address(url) => json!({"type": "url", "url": url}),
    };
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image { media_type, source: image } => {
            json!({"type": "image", "source": source(media_type.as_deref().unwrap_or("image/png"), image)})
        }
        Part::Pdf { name, source: pdf } => {
            let mut document = json!({"type": "document", "source": source("application/pdf", pdf)});
            if let Some(name) = name {
                document["title"] = json!(name);
            }
            document
        }
        Part::Audio { .. } | Part::Video { .. } => json!({"type": "text", "text": "(a file, not included)"}),
    }
}

fn tool_use(call: &Made) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input})
}

fn restored(item: &Restored) -> Value {
    match item {
        Restored::Item(item) => item.clone(),
        Restored::Call { made, .. } => tool_use(made),
    }
}

fn result(told: &super::Told) -> Value {
    let pictures: Vec<Value> = told.pictures().map(part).collect();
    let content = match pictures.is_empty() {
        true => json!(told.text()),
        false => std::iter::once(json!({"type": "text", "text": told.text()})).chain(pictures).collect(),
    };
    let mut result = json!({"type": "tool_result", "tool_use_id": told.id, "content": content});
    if told.is_error {
        result["is_error"] = json!(true);
    }
    result
}

#[derive(Default)]
pub(super) struct Reader {
    blocks: BTreeMap<u64, Block>,
    /// The parts of what was read: those of the cache are not in `input_tokens`.
    read: [u64; 3],
    has_ended: bool,
}

/// A block that is being written, and the text of its input.
struct Block {
    block: Value,
    input: String,
}

impl Read for Reader {
    fn event(&mut self, event: &Value, answer: &mut Answer) -> Result<(), EventError> {
        let index = number_at(event, "/index");
        let part = (index & 0xffff_ffff) as usize;
        match text_at(event, "/type").unwrap_or_default() {
            "error" => return Err(EventError::Told(event.clone())),
            "message_start" => {
                answer.version(text_at(event, "/message/model"));
                self.usage(event.pointer("/message/usage"), answer);
            }
            "content_block_start" => {
                let block = event.get("content_block").cloned().unwrap_or_default();
                if text_at(&block, "/type") == Some("tool_use") {
                    answer.begin_call(part, text_at(&block, "/name").unwrap_or_default());
                }
                // Of some servers, the first piece comes with the block.
                answer.text(part, text_at(&block, "/text").unwrap_or_default());
                answer.reasoning(part, text_at(&block, "/thinking").unwrap_or_default());
                self.blocks.insert(index, Block { block, input: String::new() });
            }
            "content_block_delta" => {
                let Some(block) = self.blocks.get_mut(&index) else {
                    return Err(EventError::Malformed("a piece of a block that has not begun"));
                };
                block.delta(event.get("delta").unwrap_or(&Value::Null), part, answer);
            }
            "content_block_stop" => {
                if let Some(block) = self.blocks.remove(&index) {
                    block.end(part, answer);
                }
            }
            "message_delta" => {
                self.usage(event.get("usage"), answer);
                if let Some(reason) = text_at(event, "/delta/stop_reason") {
                    self.has_ended = true;
                    answer.ending.reason = Some(match reason {
                        "end_turn" | "stop_sequence" => Reason::Stop,
                        "max_tokens" | "model_context_window_exceeded" => Reason::Length,
                        "tool_use" => Reason::ToolCalls,
                        "refusal" => Reason::Filter,
                        other => Reason::Other(other.to_owned()),
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, answer: &mut Answer) -> bool {
        for (index, block) in std::mem::take(&mut self.blocks) {
            block.end((index & 0xffff_ffff) as usize, answer);
        }
        self.has_ended
    }
}

impl Reader {
    fn usage(&mut self, usage: Option<&Value>, answer: &mut Answer) {
        let Some(usage) = usage else { return };
        let names = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        for (read, name) in self.read.iter_mut().zip(names) {
            *read = usage.get(name).and_then(Value::as_u64).unwrap_or(*read);
        }
        let told = &mut answer.ending.usage;
        told.prompt_tokens = self.read.iter().fold(0, |sum, read| sum.saturating_add(*read));
        told.cached_prompt_tokens = self.read[1];
        told.completion_tokens = usage.get("output_tokens").and_then(Value::as_u64).unwrap_or(told.completion_tokens);
    }
}

impl Block {
    fn delta(&mut self, delta: &Value, part: usize, answer: &mut Answer) {
        let piece = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match text_at(delta, "/type").unwrap_or_default() {
            "text_delta" => {
                answer.text(part, piece("text"));
                self.append("text", piece("text"));
            }
            "thinking_delta" => {
                answer.reasoning(part, piece("thinking"));
                self.append("thinking", piece("thinking"));
            }
            "signature_delta" => self.append("signature", piece("signature")),
            "input_json_delta" => {
                answer.arguments(part, piece("partial_json"));
                self.input.push_str(piece("partial_json"));
            }
            _ => {}
        }
    }

    fn append(&mut self, key: &str, piece: &str) {
        let Some(block) = self.block.as_object_mut() else { return };
        match block.get_mut(key) {
            Some(Value::String(text)) => text.push_str(piece),
            _ => drop(block.insert(key.to_owned(), json!(piece))),
        }
    }

    /// Blocks go back complete and unmodified; a text without any would be refused.
    fn end(mut self, part: usize, answer: &mut Answer) {
        match text_at(&self.block, "/type").unwrap_or_default() {
            "tool_use" => {
                let whole =
                    self.block.get("input").filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
                if let Some(whole) = whole.filter(|_| self.input.is_empty()) {
                    answer.arguments(part, &whole.to_string());
                }
                answer.end_call(part, Value::Null);
            }
            "text" => {
                answer.end(part);
                if text_at(&self.block, "/text").is_some_and(|text| !text.trim().is_empty()) {
                    answer.keep(self.block);
                }
            }
            _ => {
                answer.end(part);
                if !self.input.is_empty()
                    && let Ok(input) = holdpoint_protocol::json::parse(self.input.as_bytes())
                {
                    self.block["input"] = input;
                }
                answer.ending.is_needed = true;
                answer.keep(self.block);
            }
        }
    }
}
