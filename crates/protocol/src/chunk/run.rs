//! Runs of deltas. Nearly all of a stream is text in small pieces, so a run is kept, passed on and written as one unit.

use std::sync::Arc;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor},
    ser::SerializeSeq,
};

use super::{Chunk, ReasoningDelta, TextDelta, ToolInputDelta};
use crate::ids::{PartId, ToolCallId};

/// Pieces of text, one after the other in one allocation. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pieces(Arc<Joined>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Joined {
    text: String,
    /// Where each piece ends.
    ends: Vec<usize>,
}

impl Pieces {
    /// Adds a piece.
    pub fn push(&mut self, piece: &str) {
        let joined = Arc::make_mut(&mut self.0);
        joined.text.push_str(piece);
        joined.ends.push(joined.text.len());
    }

    /// All pieces as one string.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The pieces, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.0.ends.iter().copied());
        starts.zip(&self.0.ends).filter_map(|(start, end)| self.0.text.get(start..*end))
    }
}

impl From<&str> for Pieces {
    fn from(piece: &str) -> Self {
        let mut pieces = Self::default();
        pieces.push(piece);
        pieces
    }
}

impl Serialize for Pieces {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.0.ends.len()))?;
        self.iter().try_for_each(|piece| seq.serialize_element(piece))?;
        seq.end()
    }
}

/// Reads a list of strings, or a single string.
impl<'de> Deserialize<'de> for Pieces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Strings;
        impl<'de> Visitor<'de> for Strings {
            type Value = Pieces;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E: de::Error>(self, piece: &str) -> Result<Pieces, E> {
                Ok(piece.into())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Pieces, A::Error> {
                let mut pieces = Pieces::default();
                while let Some(piece) = seq.next_element::<std::borrow::Cow<'de, str>>()? {
                    pieces.push(&piece);
                }
                Ok(pieces)
            }
        }
        deserializer.deserialize_any(Strings)
    }
}

/// The block or input that deltas belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum DeltaOf {
    Text(PartId),
    Reasoning(PartId),
    ToolInput(ToolCallId),
}

/// Consecutive deltas of one block or input: one chunk per piece.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the types say it")]
pub struct Run {
    pub of: DeltaOf,
    pub pieces: Pieces,
}

impl Run {
    /// The chunks, one by one.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk> {
        self.pieces.iter().map(|piece| {
            let delta = piece.to_owned();
            match &self.of {
                DeltaOf::Text(id) => TextDelta { id: id.clone(), delta, provider_metadata: None }.into(),
                DeltaOf::Reasoning(id) => ReasoningDelta { id: id.clone(), delta, provider_metadata: None }.into(),
                DeltaOf::ToolInput(id) => ToolInputDelta { tool_call_id: id.clone(), input_text_delta: delta }.into(),
            }
        })
    }

    /// Appends the JSON of every chunk between `before` and `after`.
    pub(crate) fn write(&self, before: &[u8], after: &[u8], out: &mut Vec<u8>) -> serde_json::Result<()> {
        self.write_some(0, usize::MAX, before, after, out).map(drop)
    }

    /// The same from a piece on, until `out` has this many bytes. Returns the piece to go on with, if any is left. The
    /// common prefix is built once.
    pub(crate) fn write_some(
        &self,
        from: usize,
        most: usize,
        before: &[u8],
        after: &[u8],
        out: &mut Vec<u8>,
    ) -> serde_json::Result<Option<usize>> {
        let (kind, id, key) = match &self.of {
            DeltaOf::Text(id) => ("{\"type\":\"text-delta\",\"id\":", id.as_str(), ",\"delta\":"),
            DeltaOf::Reasoning(id) => ("{\"type\":\"reasoning-delta\",\"id\":", id.as_str(), ",\"delta\":"),
            DeltaOf::ToolInput(id) => {
                ("{\"type\":\"tool-input-delta\",\"toolCallId\":", id.as_str(), ",\"inputTextDelta\":")
            }
        };
        let mut head = before.to_vec();
        head.extend_from_slice(kind.as_bytes());
        serde_json::to_writer(&mut head, id)?;
        head.extend_from_slice(key.as_bytes());
        let whole = self.pieces.text().len() + self.pieces.0.ends.len() * (head.len() + after.len() + 4);
        out.reserve(whole.min(most));
        for (at, piece) in self.pieces.iter().enumerate().skip(from) {
            if at > from && out.len() >= most {
                return Ok(Some(at));
            }
            out.extend_from_slice(&head);
            serde_json::to_writer(&mut *out, piece)?;
            out.push(b'}');
            out.extend_from_slice(after);
        }
        Ok(None)
    }
}

/// The next output: a chunk, or a run of deltas.
#[derive(Debug, Clone, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    missing_docs,
    reason = "the names say it; boxing would cost an allocation for each chunk"
)]
pub enum Chunks {
    One(Chunk),
    Run(Run),
}

impl Chunks {
    /// Calls `take` with every chunk.
    pub fn for_each(self, mut take: impl FnMut(Chunk)) {
        match self {
            Chunks::One(chunk) => take(chunk),
            Chunks::Run(run) => run.chunks().for_each(take),
        }
    }
}

impl From<Chunk> for Chunks {
    fn from(chunk: Chunk) -> Self {
        Chunks::One(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse;

    #[test]
    fn a_run_is_written_as_its_chunks_are() {
        let mut pieces = Pieces::from("a \"quoted\"\n");
        pieces.push("");
        pieces.push("京 🦀");
        let (part, call) = (PartId::from("0\""), ToolCallId::from("call_1"));
        for of in [DeltaOf::Text(part.clone()), DeltaOf::Reasoning(part), DeltaOf::ToolInput(call)] {
            let run = Run { of, pieces: pieces.clone() };
            let (mut together, mut one_by_one) = (Vec::new(), Vec::new());
            run.chunks().for_each(|chunk| sse::encode(&chunk, &mut one_by_one));
            sse::encode_chunks(&Chunks::Run(run), &mut together);
            assert_eq!(String::from_utf8_lossy(&together), String::from_utf8_lossy(&one_by_one));
        }
    }

    #[test]
    fn pieces_are_read_as_they_were_written_and_from_one_string() {
        let mut pieces = Pieces::from("a");
        pieces.push("b\n");
        let json = serde_json::to_string(&pieces).expect("writes");
        assert_eq!(json, r#"["a","b\n"]"#);
        assert_eq!(serde_json::from_str::<Pieces>(&json).expect("reads"), pieces);
        assert_eq!(serde_json::from_str::<Pieces>(r#""a""#).expect("reads"), Pieces::from("a"));
        assert_eq!(pieces.text(), "ab\n");
    }
}
