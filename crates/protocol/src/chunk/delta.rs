//! Zero-copy reading of deltas in their usual form, which make up nearly all of a stream.

/// A delta in its usual form, borrowed from the input. Its text is a valid JSON string body.
#[derive(Debug, PartialEq)]
pub(crate) struct PlainDelta<'a> {
    pub(crate) kind: DeltaKind,
    pub(crate) id: &'a str,
}

/// The kind of a delta.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DeltaKind {
    Text,
    Reasoning,
    ToolInput,
}

impl<'a> PlainDelta<'a> {
    /// Matches `type`, id and text in this order, without whitespace, other keys or escapes in the id. On `None`, use
    /// the general reader.
    pub(crate) fn parse(payload: &'a [u8]) -> Option<Self> {
        let rest = payload.strip_prefix(b"{\"type\":\"")?;
        let (kind, rest) = if let Some(rest) = rest.strip_prefix(b"text-delta\",\"id\":\"") {
            (DeltaKind::Text, rest)
        } else if let Some(rest) = rest.strip_prefix(b"reasoning-delta\",\"id\":\"") {
            (DeltaKind::Reasoning, rest)
        } else {
            let rest = rest.strip_prefix(b"tool-input-delta\",\"toolCallId\":\"")?;
            (DeltaKind::ToolInput, rest)
        };
        let end = memchr::memchr2(b'"', b'\\', rest)?;
        let (id, rest) = rest.split_at(end);
        let text = match kind {
            DeltaKind::ToolInput => rest.strip_prefix(b"\",\"inputTextDelta\":\"")?,
            _ => rest.strip_prefix(b"\",\"delta\":\"")?,
        };
        let text = text.strip_suffix(b"\"}")?;
        let is_plain = !has_control(id) && is_string_body(text);
        is_plain.then(|| std::str::from_utf8(id).ok()).flatten().map(|id| Self { kind, id })
    }
}

/// Whether the bytes are a valid JSON string body. `\u` escapes are left to the general reader.
fn is_string_body(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        match rest.get(at..at + 2) {
            Some([b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't']) => rest = &rest[at + 2..],
            _ => return false,
        }
    }
    !has_control(text) && std::str::from_utf8(text).is_ok()
}

fn has_control(text: &[u8]) -> bool {
    // A fold, not `any`: without an early exit it vectorizes, 32 bytes at a time.
    text.iter().fold(false, |found, byte| found | (*byte < 0x20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ReadChunk;

    #[test]
    fn a_plain_delta_is_a_chunk_and_anything_else_is_left_to_the_general_reader() {
        let parse = |text: &str| PlainDelta::parse(text.as_bytes()).map(|delta| (delta.kind, delta.id.to_owned()));
        for (payload, kind, id) in [
            (r#"{"type":"text-delta","id":"0","delta":"a"}"#, DeltaKind::Text, "0"),
            (r#"{"type":"text-delta","id":"","delta":""}"#, DeltaKind::Text, ""),
            (r#"{"type":"reasoning-delta","id":"é","delta":"\n\\\"京"}"#, DeltaKind::Reasoning, "é"),
            (r#"{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{\"a\":"}"#, DeltaKind::ToolInput, "c"),
        ] {
            assert_eq!(parse(payload), Some((kind, id.to_owned())), "{payload}");
            assert!(ReadChunk::parse(payload.as_bytes()).is_ok(), "{payload}");
        }
        for payload in [
            r#"{"type":"text-delta","id":"0","delta":"a","x":"b"}"#,
            r#"{"type":"text-delta","id":"0","delta":"a"} "#,
            r#"{"type":"text-delta","id":"0","delta":"a\"}"#,
            r#"{"type":"text-delta","id":"0","delta":"\x"}"#,
            r#"{"type":"text-delta","id":"0","delta":"\u0041"}"#,
            "{\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"\t\"}",
            r#"{"type":"text-delta","id":"0\n","delta":"a"}"#,
            r#"{"type":"text-delta","delta":"a","id":"0"}"#,
            r#"{"type":"text-start","id":"0"}"#,
            r#"{"type":"text-delta","id":"0","delta":"}"#,
        ] {
            assert_eq!(parse(payload), None, "{payload}");
        }
        assert_eq!(PlainDelta::parse(b"{\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"\xff\"}"), None);
    }
}
