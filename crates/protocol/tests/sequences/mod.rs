//! Random sequences that keep every rule of the ai-sdk profile: what a good backend might send.

use serde_json::{Value, json};

/// A small generator of its own: the same cases on every machine and in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len() as u64) as usize]
    }
}

/// `count` cases in the form of `tests/sdk/run.mjs`.
pub(crate) fn generate(count: u64) -> Vec<Value> {
    (0..count).map(|seed| Turn::new(seed).play()).collect()
}

struct Turn {
    seed: u64,
    dice: Dice,
    calls: u64,
    segments: Vec<Value>,
    chunks: Vec<Value>,
    before: Vec<Value>,
}

const TEXTS: [&str; 6] =
    ["Hello", " wörld", "\n\n```rust\nfn main() {}\n```", "東京は晴れです。", "\"quoted\" \\ back", "😀"];

impl Turn {
    fn new(seed: u64) -> Self {
        let dice = Dice(0x9E37_79B9_7F4A_7C15 ^ (seed + 1).wrapping_mul(0xD134_2543_DE82_EF95));
        Self { seed, dice, calls: 0, segments: Vec::new(), chunks: Vec::new(), before: Vec::new() }
    }

    fn play(mut self) -> Value {
        self.start();
        let steps = self.dice.roll(4);
        for _ in 0..steps {
            self.step_with_calls();
        }
        self.last_step();
        self.finish("stop");
        json!({"name": format!("generated-{}", self.seed), "segments": self.segments})
    }

    fn push(&mut self, chunk: Value) {
        self.chunks.push(chunk);
    }

    fn start(&mut self) {
        let mut start = json!({"type": "start", "messageId": format!("m-{}", self.seed)});
        if self.dice.roll(3) == 0 {
            start["messageMetadata"] = json!({"usage": {"promptTokens": self.dice.roll(9)}, "tags": ["a"]});
        }
        self.push(start);
    }

    fn finish(&mut self, reason: &str) {
        let usage = json!({"promptTokens": self.dice.roll(100), "completionTokens": 5, "totalTokens": 9});
        self.push(json!({"type": "finish", "finishReason": reason, "messageMetadata": {"usage": usage, "modelVersion": "dice-1"}}));
        self.push(json!("[DONE]"));
        let (chunks, before) = (std::mem::take(&mut self.chunks), std::mem::take(&mut self.before));
        self.segments.push(json!({"chunks": chunks, "before": before}));
    }

    fn last_step(&mut self) {
        self.push(json!({"type": "start-step"}));
        self.extras();
        self.block("text");
        self.push(json!({"type": "finish-step"}));
    }

    fn block(&mut self, kind: &str) {
        let id = format!("{kind}-{}", self.dice.roll(3));
        let metadata = (self.dice.roll(4) == 0).then(|| json!({"openai": {"itemId": "x", "n": null}}));
        let with = |mut chunk: Value, metadata: &Option<Value>| {
            if let Some(metadata) = metadata {
                chunk["providerMetadata"] = metadata.clone();
            }
            chunk
        };
        self.push(with(json!({"type": format!("{kind}-start"), "id": id}), &metadata));
        for _ in 0..self.dice.roll(5) {
            let delta = *self.dice.pick(&TEXTS);
            self.push(json!({"type": format!("{kind}-delta"), "id": id, "delta": delta}));
        }
        self.push(with(json!({"type": format!("{kind}-end"), "id": id}), &metadata));
    }

    /// Everything that is neither text nor a tool.
    fn extras(&mut self) {
        match self.dice.roll(9) {
            0 => self.block("reasoning"),
            1 => self.push(json!({"type": "source-url", "sourceId": "s1", "url": "https://example.com", "title": "Example"})),
            2 => self.push(json!({"type": "source-document", "sourceId": "s2", "mediaType": "application/pdf", "title": "Terms"})),
            3 => self.push(json!({"type": "file", "url": "data:text/plain;base64,aGk=", "mediaType": "text/plain"})),
            4 => {
                let transient = self.dice.roll(2) == 0;
                self.push(json!({"type": "data-progress", "id": "p", "data": {"percent": self.calls}, "transient": transient}));
            }
            5 => self.push(json!({"type": "data-note", "data": [1, null, "x"]})),
            6 => self.push(json!({"type": "message-metadata", "messageMetadata": {"usage": {"promptTokens": 7}, "tags": ["b", "c"]}})),
            _ => {}
        }
    }

    /// A step whose calls are all settled in the end; those that need a person end the segment.
    fn step_with_calls(&mut self) {
        self.push(json!({"type": "start-step"}));
        self.extras();
        if self.dice.roll(3) == 0 {
            self.block("text");
        }
        let count = 1 + self.dice.roll(3);
        let mut asked = Vec::new();
        let mut open = Vec::new();
        for _ in 0..count {
            self.calls += 1;
            let id = format!("call-{}", self.calls);
            let dynamic = self.dice.roll(4) == 0;
            if self.announce(&id, dynamic) {
                if self.dice.roll(3) == 0 { asked.push(id) } else { open.push(id) }
            }
        }
        for id in open {
            self.settle(&id);
        }
        for id in &asked {
            self.push(
                json!({"type": "tool-approval-request", "approvalId": format!("approval-{id}"), "toolCallId": id}),
            );
        }
        self.push(json!({"type": "finish-step"}));
        if asked.is_empty() {
            return;
        }
        self.finish("tool-calls");
        let answers: Vec<(String, bool)> = asked.into_iter().map(|id| (id, self.dice.roll(2) == 0)).collect();
        for (id, approved) in &answers {
            self.before.push(json!({"approve": format!("approval-{id}"), "approved": approved}));
        }
        self.start();
        for (id, approved) in answers {
            if approved {
                self.settle(&id);
            } else {
                self.push(json!({"type": "tool-output-denied", "toolCallId": id}));
            }
        }
    }

    /// Returns whether the call still needs an outcome.
    fn announce(&mut self, id: &str, dynamic: bool) -> bool {
        let flag = |mut chunk: Value| {
            if dynamic {
                chunk["dynamic"] = json!(true);
            }
            chunk
        };
        let input = json!({"amount": self.dice.roll(500), "recipient": "花子", "tags": ["a", {"b": null}], "ok": true});
        if self.dice.roll(4) > 0 {
            self.push(flag(json!({"type": "tool-input-start", "toolCallId": id, "toolName": "process_payment"})));
            if self.dice.roll(2) == 0 {
                let text = input.to_string();
                let letters: Vec<char> = text.chars().collect();
                let size = 1 + self.dice.roll(letters.len() as u64) as usize;
                for piece in letters.chunks(size) {
                    let delta: String = piece.iter().collect();
                    self.push(json!({"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": delta}));
                }
            }
        }
        if self.dice.roll(6) == 0 {
            self.push(flag(json!({"type": "tool-input-error", "toolCallId": id, "toolName": "process_payment", "input": input, "errorText": "amount is too large"})));
            return false;
        }
        self.push(flag(
            json!({"type": "tool-input-available", "toolCallId": id, "toolName": "process_payment", "input": input}),
        ));
        true
    }

    fn settle(&mut self, id: &str) {
        if self.dice.roll(4) == 0 {
            self.push(json!({"type": "tool-output-available", "toolCallId": id, "output": {"percent": 50}, "preliminary": true}));
        }
        if self.dice.roll(3) == 0 {
            self.push(json!({"type": "tool-output-error", "toolCallId": id, "errorText": "no money"}));
        } else {
            let balance = self.dice.roll(1000);
            self.push(json!({"type": "tool-output-available", "toolCallId": id, "output": {"success": true, "balance": balance}}));
        }
    }
}
