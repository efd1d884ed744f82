//! An answer while it is read: what is shown of it, and what the provider needs back.

use std::collections::BTreeMap;

use holdpoint_protocol::json;
use serde_json::{Map, Value};

use super::super::replay::Kept;
use crate::Usage;

/// A piece of an answer. Parts are numbered by the provider, and may overlap.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum Piece {
    Text {
        part: usize,
        text: String,
    },
    Reasoning {
        part: usize,
        text: String,
    },
    CallStart {
        part: usize,
        name: String,
    },
    Arguments {
        part: usize,
        json: String,
    },
    /// A call is complete. The text of its arguments, if they are not an object.
    Call {
        part: usize,
        name: String,
        input: Result<Map<String, Value>, String>,
    },
    /// A part of text or reasoning is complete.
    End {
        part: usize,
    },
}

/// Why the provider ended an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Reason {
    Stop,
    Length,
    ToolCalls,
    Filter,
    /// In its own word.
    Other(String),
}

/// The end of an answer.
#[derive(Debug, Default)]
pub(in super::super) struct Ending {
    pub(in super::super) reason: Option<Reason>,
    pub(in super::super) usage: Usage,
    /// The model that answered.
    pub(in super::super) version: Option<String>,
    /// The answer as the provider needs it back.
    pub(in super::super) kept: Vec<Kept>,
    /// Whether it needs it back at all.
    pub(in super::super) is_needed: bool,
}

/// An answer so far.
#[derive(Debug, Default)]
pub(in super::super) struct Answer {
    pieces: Vec<Piece>,
    /// The calls that are being written.
    open: BTreeMap<usize, (String, String)>,
    pub(in super::super) ending: Ending,
}

impl Answer {
    /// What has come since the last time.
    pub(in super::super) fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    pub(super) fn text(&mut self, part: usize, text: &str) {
        if !text.is_empty() {
            self.pieces.push(Piece::Text { part, text: text.to_owned() });
        }
    }

    pub(super) fn reasoning(&mut self, part: usize, text: &str) {
        if !text.is_empty() {
            self.pieces.push(Piece::Reasoning { part, text: text.to_owned() });
        }
    }

    pub(super) fn end(&mut self, part: usize) {
        self.pieces.push(Piece::End { part });
    }

    pub(super) fn begin_call(&mut self, part: usize, name: &str) {
        if let std::collections::btree_map::Entry::Vacant(entry) = self.open.entry(part) {
            entry.insert((name.to_owned(), String::new()));
            self.pieces.push(Piece::CallStart { part, name: name.to_owned() });
        }
    }

    pub(super) fn arguments(&mut self, part: usize, piece: &str) {
        if let Some((_, written)) = self.open.get_mut(&part).filter(|_| !piece.is_empty()) {
            written.push_str(piece);
            self.pieces.push(Piece::Arguments { part, json: piece.to_owned() });
        }
    }

    /// Ends a call. `item` is what the provider needs back of it; the text that was written of its arguments is given.
    pub(super) fn end_call(&mut self, part: usize, item: Value) {
        let Some((name, written)) = self.open.remove(&part) else { return };
        let input = match json::parse(written.as_bytes()) {
            Ok(Value::Object(input)) => Ok(input),
            // Some write nothing for no arguments.
            Err(_) if written.trim().is_empty() => Ok(Map::new()),
            _ => Err(written),
        };
        self.ending.kept.push(Kept::Call { name: name.clone(), input: input.as_ref().ok().cloned(), item });
        self.pieces.push(Piece::Call { part, name, input });
    }

    /// A call that comes as a whole. Arguments that are a text are JSON, or meant to be.
    pub(super) fn call(&mut self, part: usize, name: &str, arguments: Option<&Value>, item: Value) {
        self.begin_call(part, name);
        match arguments {
            None | Some(Value::Null) => self.arguments(part, "{}"),
            Some(Value::String(text)) => self.arguments(part, text),
            Some(arguments) => self.arguments(part, &arguments.to_string()),
        }
        self.end_call(part, item);
    }

    pub(super) fn keep(&mut self, item: Value) {
        self.ending.kept.push(Kept::Item(item));
    }

    pub(super) fn version(&mut self, name: Option<&str>) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.ending.version = Some(name.to_owned());
        }
    }
}
