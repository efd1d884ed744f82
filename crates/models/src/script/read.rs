//! The script parser, with errors that say where.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use super::{Entry, Script, Turn};
use crate::Usage;
use holdpoint_core::tool::text::{pattern, show};

/// Why a script can't be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ScriptError {
    /// The file can't be read.
    #[error("the script {} can't be read: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Arc<io::Error>,
    },
    /// The file's content is wrong.
    #[error("the script {}: {problem}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: Box<ScriptError>,
    },
    /// The text is neither JSON nor YAML.
    #[error("it is neither JSON nor YAML: {problem}")]
    Syntax {
        /// The problem and its location.
        problem: String,
    },
    /// A part of the script is invalid.
    #[error("{place}: {problem}")]
    Wrong {
        /// The location, such as `turns[0].steps[1][2]`.
        place: String,
        /// The problem.
        problem: String,
    },
}

type Read<T> = Result<T, ScriptError>;

/// Reads a script from its text, JSON or YAML.
pub(super) fn script(text: &str) -> Read<Script> {
    let mut root = Table::open(parse(text)?, "the script", &["modelVersion", "turns"])?;
    let version = match root.take("modelVersion") {
        Some((place, value)) => string(value, &place)?,
        None => "script".to_owned(),
    };
    let turns = root.need("turns").and_then(|(place, value)| list(value, &place, turn))?;
    Ok(Script { version, turns })
}

fn parse(text: &str) -> Read<Value> {
    let syntax = |problem: String| ScriptError::Syntax { problem };
    let json = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // A text that begins like JSON was meant as JSON, so report that error.
    serde_yaml_ng::from_str(text).map_err(|yaml| {
        syntax(if text.trim_start().starts_with(['{', '[']) { json.to_string() } else { yaml.to_string() })
    })
}

fn turn(value: Value, place: &str) -> Read<Turn> {
    let mut table = Table::open(value, place, &["when", "usage", "steps"])?;
    let when = match table.take("when") {
        Some((place, value)) => {
            let text = string(value, &place)?;
            let compiled = pattern(&text);
            Some(
                compiled
                    .map_err(|problem| wrong(&place, format!("no regular expression that can be used: {problem}")))?,
            )
        }
        None => None,
    };
    let usage = table.take("usage").map(|(place, value)| usage(value, &place)).transpose()?.unwrap_or_default();
    let (place, steps) = table.need("steps")?;
    let steps = list(steps, &place, |step, place| list(step, place, entry))?;
    Ok(Turn { when, usage, steps })
}

fn usage(value: Value, place: &str) -> Read<Usage> {
    let mut table = Table::open(value, place, &["promptTokens", "completionTokens"])?;
    let mut tokens = |key| table.take(key).map_or(Ok(0), |(place, value)| whole(&value, &place));
    Ok(Usage {
        prompt_tokens: tokens("promptTokens")?,
        completion_tokens: tokens("completionTokens")?,
        ..Usage::default()
    })
}

fn entry(value: Value, place: &str) -> Read<Entry> {
    const KINDS: [&str; 5] = ["reasoning", "text", "toolCall", "waitMs", "error"];
    let table = Table::open(value, place, &KINDS)?;
    let mut parts = table.map.into_iter();
    let (Some((kind, value)), None) = (parts.next(), parts.next()) else {
        return Err(wrong(place, format!("an entry has exactly one of {}", names(&KINDS))));
    };
    let place = format!("{place}.{kind}");
    Ok(match kind.as_str() {
        "reasoning" => Entry::Reasoning(strings(value, &place)?),
        "text" => Entry::Text(strings(value, &place)?),
        "waitMs" => Entry::Wait(Duration::from_millis(whole(&value, &place)?)),
        "error" => Entry::Fail(string(value, &place)?),
        _ => call(value, &place)?,
    })
}

fn call(value: Value, place: &str) -> Read<Entry> {
    let mut table = Table::open(value, place, &["name", "input", "id"])?;
    let name = table.need("name").and_then(|(place, value)| string(value, &place))?;
    let id = table.take("id").map(|(place, value)| string(value, &place)).transpose()?;
    if id.as_deref() == Some("") {
        return Err(wrong(&format!("{place}.id"), "must not be empty"));
    }
    let input = table.take("input").map_or_else(|| json!({}), |(_, value)| value);
    Ok(Entry::Call { id, name, input })
}

/// An object of the script, with its location.
struct Table<'a> {
    map: Map<String, Value>,
    place: &'a str,
}

impl<'a> Table<'a> {
    fn open(value: Value, place: &'a str, known: &[&str]) -> Read<Self> {
        let Value::Object(map) = value else {
            return Err(wrong(place, format!("must be an object with {}, not {}", names(known), show(&value))));
        };
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(wrong(place, format!("unknown key `{key}`: there are {}", names(known)))),
            None => Ok(Self { map, place }),
        }
    }

    fn take(&mut self, key: &str) -> Option<(String, Value)> {
        let value = self.map.shift_remove(key)?;
        Some((if self.place == "the script" { key.to_owned() } else { format!("{}.{key}", self.place) }, value))
    }

    fn need(&mut self, key: &str) -> Read<(String, Value)> {
        self.take(key).ok_or_else(|| wrong(self.place, format!("`{key}` is missing")))
    }
}

fn list<T>(value: Value, place: &str, read: impl Fn(Value, &str) -> Read<T>) -> Read<Vec<T>> {
    let Value::Array(values) = value else {
        return Err(wrong(place, format!("must be a list, not {}", show(&value))));
    };
    values.into_iter().enumerate().map(|(index, value)| read(value, &format!("{place}[{index}]"))).collect()
}

/// A list of strings, or a single string.
fn strings(value: Value, place: &str) -> Read<Vec<String>> {
    match value {
        Value::String(text) => Ok(vec![text]),
        other => list(other, place, string),
    }
}

fn string(value: Value, place: &str) -> Read<String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong(place, format!("must be a string, not {}", show(&other)))),
    }
}

fn whole(value: &Value, place: &str) -> Read<u64> {
    value.as_u64().ok_or_else(|| wrong(place, format!("must be a whole number from 0 up, not {}", show(value))))
}

fn wrong(place: &str, problem: impl Into<String>) -> ScriptError {
    ScriptError::Wrong { place: place.to_owned(), problem: problem.into() }
}

fn names(known: &[&str]) -> String {
    known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_yaml_say_the_same() {
        let json = r#"{"modelVersion": "m", "turns": [{"when": "a", "usage": {"promptTokens": 1}, "steps": [
            [{"text": ["x", "y"]}, {"toolCall": {"name": "n", "input": {"k": [1, 2.5, null, "é"]}}}], [{"waitMs": 5}, {"error": "e"}]]}]}"#;
        let yaml = "
modelVersion: m
turns:
  - when: a
    usage: { promptTokens: 1 }
    steps:
      - - text: [x, 'y']
        - toolCall: { name: n, input: { k: [1, 2.5, null, é] } }
      - - waitMs: 5
        - error: e
";
        assert_eq!(format!("{:?}", script(json).unwrap()), format!("{:?}", script(yaml).unwrap()));
    }

    #[test]
    fn what_may_be_left_out_has_a_default() {
        let read = script(r#"{"turns": [{"steps": [[{"toolCall": {"name": "n"}}, {"text": "one"}]]}]}"#).unwrap();
        assert_eq!(read.version, "script");
        let turn = &read.turns[0];
        assert!(turn.when.is_none() && turn.usage == Usage::default());
        assert!(matches!(&turn.steps[0][0], Entry::Call { id: None, input, .. } if *input == json!({})));
        assert!(matches!(&turn.steps[0][1], Entry::Text(deltas) if deltas == &["one"]));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let in_step = |entry: &str| format!(r#"{{"turns": [{{"steps": []}}, {{"steps": [[], [{entry}]]}}]}}"#);
        for (text, expected) in [
            ("{\"turns\": [}".to_owned(), "it is neither JSON nor YAML: expected value at line 1 column 12"),
            ("turns: [\n".to_owned(), "it is neither JSON nor YAML: "),
            ("just words".to_owned(), "the script: must be an object with `modelVersion`, `turns`, not \"just words\""),
            ("{}".to_owned(), "the script: `turns` is missing"),
            (r#"{"turns": [], "model": 1}"#.to_owned(), "the script: unknown key `model`"),
            (r#"{"turns": [], "modelVersion": 5}"#.to_owned(), "modelVersion: must be a string, not 5"),
            (r#"{"turns": {}}"#.to_owned(), "turns: must be a list, not {}"),
            (r#"{"turns": [{}]}"#.to_owned(), "turns[0]: `steps` is missing"),
            (r#"{"turns": [{"when": "(", "steps": []}]}"#.to_owned(), "turns[0].when: no regular expression"),
            (
                r#"{"turns": [{"steps": [], "usage": {"tokens": 1}}]}"#.to_owned(),
                "turns[0].usage: unknown key `tokens`",
            ),
            (
                r#"{"turns": [{"steps": [], "usage": {"promptTokens": -1}}]}"#.to_owned(),
                "turns[0].usage.promptTokens: must be a whole number",
            ),
            (r#"{"turns": [{"steps": [{"text": []}]}]}"#.to_owned(), "turns[0].steps[0]: must be a list"),
            (in_step(r#"{"texts": []}"#), "turns[1].steps[1][0]: unknown key `texts`"),
            (in_step(r#"{"text": "a"}, {}"#), "turns[1].steps[1][1]: an entry has exactly one of"),
            (in_step(r#"{"text": "a", "error": "b"}"#), "turns[1].steps[1][0]: an entry has exactly one of"),
            (in_step(r#"{"text": ["a", 5]}"#), "turns[1].steps[1][0].text[1]: must be a string, not 5"),
            (in_step(r#"{"waitMs": 1.5}"#), "turns[1].steps[1][0].waitMs: must be a whole number"),
            (in_step(r#"{"error": null}"#), "turns[1].steps[1][0].error: must be a string"),
            (in_step(r#"{"toolCall": {"input": {}}}"#), "turns[1].steps[1][0].toolCall: `name` is missing"),
            (
                in_step(r#"{"toolCall": {"name": "n", "args": {}}}"#),
                "turns[1].steps[1][0].toolCall: unknown key `args`",
            ),
            (
                in_step(r#"{"toolCall": {"name": "n", "id": ""}}"#),
                "turns[1].steps[1][0].toolCall.id: must not be empty",
            ),
        ] {
            let error = script(&text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
