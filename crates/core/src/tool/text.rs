//! Fields, values and patterns as text for people and for the model: short and on one line.

use std::io;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::unseen::{is_form_of, is_unseen};

/// Maximum length of a shown value.
const MAX_SHOWN_CHARS: usize = 80;
/// Maximum memory of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// A JSON pointer in dotted form: `/items/0/price` is `items.0.price`.
pub fn field(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        None => "the input".to_owned(),
        Some(path) => plain(&path.replace('/', ".").replace("~1", "/").replace("~0", "~"), MAX_SHOWN_CHARS),
    }
}

/// A value as JSON, cut if long.
pub fn show(value: &Value) -> String {
    let mut head = Head { bytes: Vec::new(), room: MAX_SHOWN_CHARS * 4 };
    // Only a full head can fail here, which is its purpose.
    let _ = serde_json::to_writer(&mut head, value);
    plain(&String::from_utf8_lossy(&head.bytes), MAX_SHOWN_CHARS)
}

/// A text on one line, of at most this many characters. Deceptive characters, such as a change of writing direction,
/// are escaped: a person decides by this text.
pub fn plain(text: &str, limit: usize) -> String {
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
pub fn push_plain(shown: &mut String, char: char) {
    match char {
        _ if char.is_control() => shown.extend(char.escape_default()),
        _ if is_unseen(char) && !is_form_of(char, shown.chars().next_back()) => shown.extend(char.escape_unicode()),
        _ => shown.push(char),
    }
}

/// Compiles a pattern from outside, with bounded size and a one-line error.
pub fn pattern(text: &str) -> Result<Regex, String> {
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

    /// A person decides by this text, and a model can write instructions in characters that nobody sees.
    #[test]
    fn nothing_is_hidden() {
        let hidden = [
            0x00..=0x1f,
            0x7f..=0x9f,
            0xad..=0xad,
            0x34f..=0x34f,
            0x61c..=0x61c,
            0x115f..=0x1160,
            0x17b4..=0x17b5,
            0x180b..=0x180f,
            0x200b..=0x200f,
            0x2028..=0x202e,
            0x2060..=0x206f,
            0x2800..=0x2800,
            0x3164..=0x3164,
            0xfe00..=0xfe0f,
            0xfeff..=0xfeff,
            0xffa0..=0xffa0,
            0xfff0..=0xfffd,
            0x1bca0..=0x1bca3,
            0x1d173..=0x1d17a,
            0xe0000..=0xe0fff,
            0xf0000..=0xf0001,
        ];
        for code in hidden.into_iter().flatten() {
            let char = char::from_u32(code).expect("a character");
            let shown = plain(&format!("a{char}b"), 80);
            assert!(shown.is_ascii() && !shown.contains(char) && shown.len() > 3, "U+{code:04X}: {shown:?}");
        }
        for seen in ["a b", "東京", "é", "e\u{301}", "Привет", "مرحبا", "👍", "❤\u{fe0f}", "\u{ac00}", "नमस्ते"]
        {
            assert_eq!(plain(seen, 80), seen);
        }
    }

    #[test]
    fn a_pattern_is_bounded_and_its_problem_is_one_line() {
        assert!(pattern("^a+$").unwrap().is_match("aaa"));
        assert_eq!(pattern("a(b").unwrap_err(), "unclosed group");
        assert!(pattern(r"\w{500}{500}").unwrap_err().contains("size limit"));
    }
}
