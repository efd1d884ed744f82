//! A scanner for JSON on its way to a third-party parser.

/// The prefix of the keys that `serde_json` does not treat as data.
const RESERVED_PREFIX: &[u8] = b"$serde_json::private::";

/// Whether `serde_json` gives an object a special meaning when this is its first key.
pub fn is_reserved_key(key: &str) -> bool {
    key.as_bytes().starts_with(RESERVED_PREFIX)
}

/// Finds object keys that `serde_json` does not treat as data, in JSON text fed in pieces. Libraries that read into a
/// [`serde_json::Value`] must never see one: see [`super::parse`].
///
/// It tracks only strings, escapes, colons and brackets, so documents may follow each other, as lines or as server-sent
/// events.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    place: Place,
    /// Bytes of [`RESERVED_PREFIX`] matched so far, while the string is a prefix of it.
    matched: Option<usize>,
    is_found: bool,
    /// Open brackets: now, and the maximum so far.
    levels: usize,
    deepest: usize,
}

#[derive(Debug, Clone, Copy, Default)]
enum Place {
    #[default]
    Outside,
    String,
    Escape,
    /// Inside `\uXXXX`: the number of digits and their value so far.
    Unicode(u8, u32),
    /// After a string with the prefix. A colon makes it a key.
    After,
}

impl Screen {
    /// Scans more bytes. Returns whether a reserved key has been found, in this piece or before.
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            self.byte(*byte);
        }
        self.is_found
    }

    /// The deepest nesting so far.
    pub fn deepest(&self) -> usize {
        self.deepest
    }

    /// Begins a new line, of a peer that sends one document a line: brackets that were left open do not count.
    pub fn next_line(&mut self) {
        (self.levels, self.deepest) = (0, 0);
    }

    fn bracket(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => self.levels += 1,
            b'}' | b']' => self.levels = self.levels.saturating_sub(1),
            _ => {}
        }
        self.deepest = self.deepest.max(self.levels);
    }

    fn byte(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            // A JSON string contains no line end, so an earlier quote was not JSON.
            (_, b'\n') if !matches!(self.place, Place::After) => Place::Outside,
            (Place::Outside | Place::After, b'"') => {
                self.matched = Some(0);
                Place::String
            }
            (Place::Outside, byte) => {
                self.bracket(byte);
                Place::Outside
            }
            (Place::After, b' ' | b'\t' | b'\r' | b'\n') => Place::After,
            (Place::After, byte) => {
                self.is_found |= byte == b':';
                self.bracket(byte);
                Place::Outside
            }
            (Place::String, b'"') if self.matched == Some(RESERVED_PREFIX.len()) => Place::After,
            (Place::String, b'"') => Place::Outside,
            (Place::String, b'\\') => Place::Escape,
            (Place::String, byte) => self.character(u32::from(byte)),
            (Place::Escape, b'u') => Place::Unicode(0, 0),
            // No other escape stands for a character of the prefix.
            (Place::Escape, _) => self.character(0),
            (Place::Unicode(digits, so_far), byte) => match (digits, char::from(byte).to_digit(16)) {
                (_, None) => self.character(0),
                (3, Some(digit)) => self.character(so_far * 16 + digit),
                (_, Some(digit)) => Place::Unicode(digits + 1, so_far * 16 + digit),
            },
        };
    }

    fn character(&mut self, character: u32) -> Place {
        self.matched = self.matched.and_then(|at| match RESERVED_PREFIX.get(at) {
            // The rest of the key does not matter.
            None => Some(at),
            Some(expected) => (u32::from(*expected) == character).then_some(at + 1),
        });
        Place::String
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(text: &str) -> bool {
        let whole = Screen::default().feed(text.as_bytes());
        let mut screen = Screen::default();
        let in_pieces = text.as_bytes().chunks(1).map(|piece| screen.feed(piece)).last().unwrap_or_default();
        assert_eq!(whole, in_pieces, "{text}");
        whole
    }

    #[test]
    fn keys_are_found_however_they_are_spelled() {
        for text in [
            r#"{"$serde_json::private::RawValue":"[1]"}"#,
            r#"[1,{"a":{"$serde_json::private::Number" : "1"}}]"#,
            "{\"$serde_json::private::RawValue\"\n\t:1}",
            r#"{"\u0024serde\u005Fjson\u003a:private::RawValue":""}"#,
            "data: {\"x\":1}\n\ndata: {\"$serde_json::private::RawValue\":\"1\"}\n\n",
            ": a comment with one quote \"\ndata: {\"$serde_json::private::RawValue\":\"1\"}\n\n",
        ] {
            assert!(is_found(text), "{text}");
        }
    }

    #[test]
    fn brackets_outside_strings_are_levels() {
        for (text, levels) in [
            ("", 0),
            (r#"{"a":[[1],{"b":"[[[[\"{{"}]}"#, 3),
            ("[[[[", 4),
            ("]]]][[", 2),
            ("{\"$serde_json::private::x\"}[[", 2),
            ("[1][2][3]", 1),
        ] {
            let mut screen = Screen::default();
            for piece in text.as_bytes().chunks(1) {
                screen.feed(piece);
            }
            assert_eq!(screen.deepest(), levels, "{text}");
        }
    }

    #[test]
    fn text_about_them_is_text() {
        for text in [
            r#"{"text":"$serde_json::private::RawValue"}"#,
            r#"["$serde_json::private::RawValue"]"#,
            r#"{"text":"{\"$serde_json::private::RawValue\":1}"}"#,
            r#"{" $serde_json::private::RawValue":1,"$serde_json":2,"x$serde_json::private::RawValue":3}"#,
            r#"{"\\u0024serde_json::private::RawValue":1}"#,
        ] {
            assert!(!is_found(text), "{text}");
        }
    }
}
