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
        Ok(Self { script: Arc::new(read::script(text)?) })
    }

    fn beats(&self, request: &ModelRequest) -> Vec<Beat> {
        let text = last_user_text(&request.messages);
        let answers = since_user(&request.messages).iter();
        let index = answers.filter(|message| matches!(message, ModelMessage::Assistant { .. })).count();
        let matches = |turn: &&Turn| turn.when.as_ref().is_none_or(|when| when.is_match(&text));
        let turn = self.script.turns.iter().find(matches);

        let mut player = Player { index, calls: 0, beats: Vec::new() };
        match turn {
            Some(turn) => {
                for entry in turn.steps.get(index).into_iter().flatten() {
                    if !player.play(entry) {
                        return player.beats;
                    }
                }
            }
            None if index == 0 => {
                player.text(&["Sorry, ".into(), "the script that I play ".into(), "has no answer to that.".into()]);
            }
            None => {}
        }
        let reason = if player.calls > 0 { FinishReason::ToolCalls } else { FinishReason::Stop };
        let usage = turn.map_or_else(Usage::default, |turn| turn.usage);
        player.event(ModelEvent::Finish { usage, reason, version: Some(self.script.version.clone()), state: None });
        player.beats
    }
}

impl Model for ScriptModel {
    fn version(&self) -> &str {
        &self.script.version
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let beats = stream::iter(self.beats(&request));
        beats
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

/// Converts the entries of one step into beats.
struct Player {
    index: usize,
    calls: usize,
    beats: Vec<Beat>,
}

impl Player {
    /// Plays an entry. Returns whether the step continues.
    fn play(&mut self, entry: &Entry) -> bool {
        match entry {
            Entry::Reasoning(blocks) => {
                for block in blocks {
                    self.event(ModelEvent::ReasoningStart);
                    self.event(ModelEvent::ReasoningDelta(block.clone()));
                    self.event(ModelEvent::ReasoningEnd);
                }
            }
            Entry::Text(deltas) => self.text(deltas),
            Entry::Call { id, name, input } => {
                let id = id.clone().unwrap_or_else(|| format!("call-{}-{}", self.index, self.calls));
                self.calls += 1;
                self.event(ModelEvent::InputStart { id: id.clone(), name: name.clone() });
                self.event(ModelEvent::InputDelta { id: id.clone(), delta: input.to_string() });
                self.event(ModelEvent::Call { id, name: name.clone(), input: Ok(input.clone()) });
            }
            Entry::Wait(duration) => self.beats.push(Beat::Rest(*duration)),
            Entry::Fail(text) => {
                let message = "The model failed. Please try again.".to_owned();
                self.beats.push(Beat::Event(Err(ModelError { message, detail: text.clone() })));
                return false;
            }
        }
        true
    }

    fn text(&mut self, deltas: &[String]) {
        self.event(ModelEvent::TextStart);
        for delta in deltas {
            self.event(ModelEvent::TextDelta(delta.clone()));
        }
        self.event(ModelEvent::TextEnd);
    }

    fn event(&mut self, event: ModelEvent) {
        self.beats.push(Beat::Event(Ok(event)));
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
        assert_eq!(model.unwrap().version(), "script");
        assert!(wrong.contains(&*path.to_string_lossy()) && wrong.contains("turns: "), "{wrong}");
        let missing = ScriptModel::from_file(&path).unwrap_err().to_string();
        assert!(missing.contains(&*path.to_string_lossy()), "{missing}");
    }
}
