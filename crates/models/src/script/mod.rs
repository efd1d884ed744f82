//! The script model: plays a file deterministically, for demos, tests and benchmarks.

mod read;

use std::{path::Path, sync::Arc, time::Duration};

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use holdpoint_protocol::chunk::FinishReason;
pub use read::ScriptError;
use regex::Regex;
use serde_json::Value;

use super::{Model, ModelError, ModelEvent, ModelMessage, ModelRequest, Usage, last_user_text, since_user};

/// A model that plays a script, JSON or YAML.
///
/// It is stateless: the last user message selects the turn, and the replies since then count its steps.
#[derive(Debug, Clone)]
pub struct ScriptModel {
    script: Arc<Script>,
}

#[derive(Debug)]
struct Script {
    version: String,
    turns: Vec<Turn>,
}

#[derive(Debug)]
struct Turn {
    /// If `None`, every text matches.
    when: Option<Regex>,
    usage: Usage,
    steps: Vec<Vec<Entry>>,
}

#[derive(Debug)]
enum Entry {
    Reasoning(Vec<String>),
    Text(Vec<String>),
    Call { id: Option<String>, name: String, input: Value },
    Wait(Duration),
    Fail(String),
}

/// An item of a step while it is played.
#[derive(Debug)]
enum Beat {
    Event(Result<ModelEvent, ModelError>),
    Rest(Duration),
}

impl From<ModelEvent> for Beat {
    fn from(event: ModelEvent) -> Self {
        Self::Event(Ok(event))
    }
}

impl ScriptModel {
    /// Reads a script from a file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::File { path: path.to_owned(), source: Arc::new(source) })?;
        Self::from_text(&text)
            .map_err(|problem| ScriptError::InFile { path: path.to_owned(), problem: Box::new(problem) })
    }

    /// Reads a script from its text.
    pub fn from_text(text: &str) -> Result<Self, ScriptError> {
        let mut script = read::script(text)?;
        script.turns.push(Turn::without_answer());
        Ok(Self { script: Arc::new(script) })
    }
}

impl Turn {
    /// What is played where nothing else matches.
    fn without_answer() -> Self {
        let text = ["Sorry, ", "the script that I play ", "has no answer to that."].map(str::to_owned);
        Self { when: None, usage: Usage::default(), steps: vec![vec![Entry::Text(text.into())]] }
    }
}

impl Model for ScriptModel {
    fn name(&self) -> &str {
        &self.script.version
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let player = Player::new(Arc::clone(&self.script), &request);
        stream::iter(player)
            .filter_map(|beat| async {
                match beat {
                    Beat::Event(event) => Some(event),
                    Beat::Rest(duration) => {
                        tokio::time::sleep(duration).await;
                        None
                    }
                }
            })
            .boxed()
    }
}

/// A step while it is played. Each item is made when it is asked for: a whole step may be large, and many may be played at
/// a time.
#[derive(Debug)]
struct Player {
    script: Arc<Script>,
    turn: usize,
    step: usize,
    /// The entry, and the number of its items that have been played.
    entry: usize,
    played: usize,
    /// The number of calls before this entry.
    calls: usize,
    is_over: bool,
}

impl Player {
    fn new(script: Arc<Script>, request: &ModelRequest) -> Self {
        let text = last_user_text(&request.messages);
        let answers = since_user(&request.messages).iter();
        let step = answers.filter(|message| matches!(message, ModelMessage::Assistant { .. })).count();
        let matches = |turn: &Turn| turn.when.as_ref().is_none_or(|when| when.is_match(&text));
        // The last turn matches everything.
        let turn = script.turns.iter().position(matches).unwrap_or_default();
        Self { script, turn, step, entry: 0, played: 0, calls: 0, is_over: false }
    }

    fn finish(&self) -> ModelEvent {
        let reason = if self.calls > 0 { FinishReason::ToolCalls } else { FinishReason::Stop };
        let usage = self.script.turns.get(self.turn).map_or_else(Usage::default, |turn| turn.usage);
        ModelEvent::Finish { usage, reason, version: Some(self.script.version.clone()), state: None }
    }
}

impl Iterator for Player {
    type Item = Beat;

    fn next(&mut self) -> Option<Beat> {
        if self.is_over {
            return None;
        }
        let script = Arc::clone(&self.script);
        let entries = script.turns.get(self.turn).and_then(|turn| turn.steps.get(self.step)).into_iter().flatten();
        for entry in entries.skip(self.entry) {
            if let Some(beat) = entry.beat(self.played, || format!("call-{}-{}", self.step, self.calls)) {
                self.played += 1;
                self.is_over = matches!(beat, Beat::Event(Err(_)));
                return Some(beat);
            }
            self.calls += usize::from(matches!(entry, Entry::Call { .. }));
            (self.entry, self.played) = (self.entry + 1, 0);
        }
        self.is_over = true;
        Some(self.finish().into())
    }
}

impl Entry {
    /// Its item at this place; `None` behind the last. A call without an id gets this one.
    fn beat(&self, at: usize, call_id: impl FnOnce() -> String) -> Option<Beat> {
        let event = match self {
            Entry::Reasoning(blocks) => match (blocks.get(at / 3)?, at % 3) {
                (_, 0) => ModelEvent::ReasoningStart,
                (text, 1) => ModelEvent::ReasoningDelta(text.clone()),
                _ => ModelEvent::ReasoningEnd,
            },
            Entry::Text(deltas) => match (at.checked_sub(1), deltas.len()) {
                (None, _) => ModelEvent::TextStart,
                (Some(at), count) if at < count => ModelEvent::TextDelta(deltas[at].clone()),
                (Some(at), count) if at == count => ModelEvent::TextEnd,
                _ => return None,
            },
            Entry::Call { id, name, input } => {
                let id = || id.clone().unwrap_or_else(call_id);
                match at {
                    0 => ModelEvent::InputStart { id: id(), name: name.clone() },
                    1 => ModelEvent::InputDelta { id: id(), delta: input.to_string() },
                    2 => ModelEvent::Call { id: id(), name: name.clone(), input: Ok(input.clone()) },
                    _ => return None,
                }
            }
            Entry::Wait(duration) if at == 0 => return Some(Beat::Rest(*duration)),
            Entry::Fail(text) if at == 0 => {
                let message = "The model failed. Please try again.".to_owned();
                return Some(Beat::Event(Err(ModelError { message, detail: text.clone() })));
            }
            Entry::Wait(_) | Entry::Fail(_) => return None,
        };
        Some(event.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ModelCall, UserPart};

    const SCRIPT: &str = r#"{
        "modelVersion": "played",
        "turns": [
            {"when": "(?i)pay", "usage": {"promptTokens": 3, "completionTokens": 4}, "steps": [
                [{"reasoning": ["one", "two"]}, {"text": ["Let me ", "see."]},
                 {"toolCall": {"name": "process_payment", "input": {"b": 1, "a": 2}}},
                 {"toolCall": {"name": "get_location", "input": {}, "id": "mine"}}],
                [{"waitMs": 1}, {"text": ["Done."]}]]},
            {"when": "支払", "steps": [[{"text": ["前"]}, {"error": "the wire broke"}, {"text": ["never"]}]]},
            {"when": "pay|nothing", "steps": []}
        ]}"#;

    /// A conversation with this user message and this many steps since.
    fn request(text: &str, steps: usize) -> ModelRequest {
        let earlier = ModelMessage::Assistant { text: "earlier".to_owned(), calls: Vec::new(), state: None };
        let mut messages = vec![earlier, ModelMessage::User(vec![UserPart::Text(text.to_owned())])];
        for _ in 0..steps {
            let call = ModelCall { id: "a".into(), name: "get_location".into(), input: json!({}) };
            messages.push(ModelMessage::Assistant { text: String::new(), calls: vec![call], state: None });
            messages.push(ModelMessage::Results(Vec::new()));
        }
        ModelRequest { messages: messages.into(), tools: [].into(), instructions: [].into() }
    }

    async fn play(text: &str, steps: usize) -> Vec<Result<ModelEvent, ModelError>> {
        let model = ScriptModel::from_text(SCRIPT).unwrap();
        model.stream(request(text, steps)).collect().await
    }

    fn finish(usage: (u64, u64), reason: FinishReason) -> Result<ModelEvent, ModelError> {
        let usage = Usage { prompt_tokens: usage.0, completion_tokens: usage.1, ..Usage::default() };
        Ok(ModelEvent::Finish { usage, reason, version: Some("played".to_owned()), state: None })
    }

    #[tokio::test]
    async fn a_step_is_played_as_it_is_written() {
        use ModelEvent::*;
        let (pay, mine) = ("call-0-0".to_owned(), "mine".to_owned());
        let expected = [
            ReasoningStart,
            ReasoningDelta("one".into()),
            ReasoningEnd,
            ReasoningStart,
            ReasoningDelta("two".into()),
            ReasoningEnd,
            TextStart,
            TextDelta("Let me ".into()),
            TextDelta("see.".into()),
            TextEnd,
            InputStart { id: pay.clone(), name: "process_payment".into() },
            InputDelta { id: pay.clone(), delta: r#"{"b":1,"a":2}"#.into() },
            Call { id: pay, name: "process_payment".into(), input: Ok(json!({"b": 1, "a": 2})) },
            InputStart { id: mine.clone(), name: "get_location".into() },
            InputDelta { id: mine.clone(), delta: "{}".into() },
            Call { id: mine, name: "get_location".into(), input: Ok(json!({})) },
        ];
        let mut expected: Vec<Result<ModelEvent, ModelError>> = expected.into_iter().map(Ok).collect();
        expected.push(finish((3, 4), FinishReason::ToolCalls));
        assert_eq!(play("Pay Ken", 0).await, expected);
        // The same request gives the same step.
        assert_eq!(play("Pay Ken", 0).await, expected);
    }

    #[tokio::test]
    async fn answers_since_the_last_user_message_count_the_steps() {
        let second = play("pay", 1).await;
        assert_eq!(second[1], Ok(ModelEvent::TextDelta("Done.".into())));
        assert_eq!(second.last(), Some(&finish((3, 4), FinishReason::Stop)));
        assert_eq!(play("pay", 2).await, [finish((3, 4), FinishReason::Stop)]);
        assert_eq!(play("nothing", 0).await, [finish((0, 0), FinishReason::Stop)]);
    }

    #[tokio::test]
    async fn what_matches_nothing_gets_a_polite_answer() {
        let events = play("hello", 0).await;
        assert!(matches!(&events[1], Ok(ModelEvent::TextDelta(text)) if text.starts_with("Sorry")));
        assert_eq!(events.last(), Some(&finish((0, 0), FinishReason::Stop)));
        assert_eq!(play("hello", 1).await, [finish((0, 0), FinishReason::Stop)]);
    }

    #[tokio::test]
    async fn a_failure_is_the_end() {
        let events = play("支払い", 0).await;
        let error = events.last().unwrap().clone().unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.detail.as_str()),
            ("The model failed. Please try again.", "the wire broke")
        );
        assert_eq!(events.len(), 4);
    }

    #[test]
    fn a_script_comes_from_a_file_and_has_a_version() {
        let path = std::env::temp_dir().join(format!("holdpoint-script-{}.yaml", std::process::id()));
        std::fs::write(&path, "turns:\n  - when: pay\n    steps: [[text: [a]]]\n").unwrap();
        let model = ScriptModel::from_file(&path);
        std::fs::write(&path, "turns: 5").unwrap();
        let wrong = ScriptModel::from_file(&path).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(model.unwrap().name(), "script");
        assert!(wrong.contains(&*path.to_string_lossy()) && wrong.contains("turns: "), "{wrong}");
        let missing = ScriptModel::from_file(&path).unwrap_err().to_string();
        assert!(missing.contains(&*path.to_string_lossy()), "{missing}");
    }

    /// Many steps with large calls may be played at a time.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_step_is_made_while_it_is_played() {
        let resident = || {
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
            4096 * pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
        };
        let call = json!({"toolCall": {"name": "deploy", "input": {"what": "x".repeat(500_000)}}});
        let script = json!({"turns": [{"steps": [vec![call; 20]]}]});
        let model = ScriptModel::from_text(&script.to_string()).unwrap();
        let before = resident();
        let mut streams: Vec<_> = (0..40).map(|_| model.stream(request("deploy", 0))).collect();
        for stream in &mut streams {
            assert!(matches!(stream.next().await, Some(Ok(ModelEvent::InputStart { .. }))));
        }
        // Whole steps are 40 times 20 MB.
        let grown = resident().saturating_sub(before);
        assert!(grown < 100 << 20, "{grown} bytes");
    }
}
