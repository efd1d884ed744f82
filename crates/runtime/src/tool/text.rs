//! Fields, values and patterns as text for people and for the model: short and on one line.

use std::io;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

/// Maximum length of a shown value.
const MAX_SHOWN_CHARS: usize = 80;
/// Maximum memory of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// A JSON pointer in dotted form: `/items/0/price` is `items.0.price`.
pub(crate) fn field(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        None => "the input".to_owned(),
        Some(path) => plain(&path.replace('/', ".").replace("~1", "/").replace("~0", "~"), MAX_SHOWN_CHARS),
    }
}

/// A value as JSON, cut if long.
pub(crate) fn show(value: &Value) -> String {
    let mut head = Head { bytes: Vec::new(), room: MAX_SHOWN_CHARS * 4 };
    // Only a full head can fail here, which is its purpose.
    let _ = serde_json::to_writer(&mut head, value);
    plain(&String::from_utf8_lossy(&head.bytes), MAX_SHOWN_CHARS)
}

/// A text on one line, of at most this many characters. Deceptive characters, such as a change of writing direction,
/// are escaped: a person decides by this text.
pub(crate) fn plain(text: &str, limit: usize) -> String {
    let mut shown = String::new();
    for (index, char) in text.chars().enumerate() {
        if index == limit {
            shown.push('…');
            break;
        }
        push_plain(&mut shown, char);
    }
    shown
}

/// Adds a character, escaped if it is deceptive.
pub(crate) fn push_plain(shown: &mut String, char: char) {
    match char {
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{61c}'
        | '\u{feff}'
        | '\u{fffd}' => shown.extend(char.escape_unicode()),
        _ if char.is_control() => shown.extend(char.escape_default()),
        _ => shown.push(char),
    }
}

/// Compiles a pattern from outside, with bounded size and a one-line error.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).size_limit(MAX_PATTERN_BYTES).build().map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        last.trim_start_matches("error: ").to_owned()
    })
}

/// Takes the first bytes and rejects the rest, so that a value of megabytes is not written out for its first line.
struct Head {
    bytes: Vec<u8>,
    room: usize,
}

impl io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if taken == 0 && !bytes.is_empty() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_named_as_people_write_them() {
        assert_eq!(field("/amount"), "amount");
        assert_eq!(field("/items/0/unit~1price"), "items.0.unit/price");
        assert_eq!(field(""), "the input");
    }

    #[test]
    fn values_are_shown_short_and_as_they_are() {
        assert_eq!(show(&json!({"b": 1, "a": "東京"})), r#"{"b":1,"a":"東京"}"#);
        assert_eq!(show(&json!("a\nb")), r#""a\nb""#);
        assert_eq!(show(&json!("ab\u{202e}cd")), r#""ab\u{202e}cd""#);
        for long in [json!("あ".repeat(5_000_000)), json!(vec![12345; 100_000])] {
            let shown = show(&long);
            assert_eq!(shown.chars().count(), MAX_SHOWN_CHARS + 1);
            assert!(shown.ends_with('…'));
        }
    }

    #[test]
    fn a_pattern_is_bounded_and_its_problem_is_one_line() {
        assert!(pattern("^a+$").unwrap().is_match("aaa"));
        assert_eq!(pattern("a(b").unwrap_err(), "unclosed group");
        assert!(pattern(r"\w{500}{500}").unwrap_err().contains("size limit"));
    }
}
