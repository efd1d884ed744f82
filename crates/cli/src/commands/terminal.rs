//! Text of others on a terminal: it neither moves the cursor nor changes the direction of what follows.

use holdpoint_runtime::is_unseen;

/// The text with everything that is not seen, or changes what is seen, as its number.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unseen(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    shown
}

/// A value as one line of JSON, for programs and terminals alike: such characters are escaped, which changes no value.
pub(super) fn json_line(value: &impl serde::Serialize) -> serde_json::Result<String> {
    let mut line = String::new();
    // They stand in strings only.
    for c in serde_json::to_string(value)?.chars() {
        match is_unseen(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| line += &format!("\\u{unit:04x}")),
            false => line.push(c),
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_terminal_is_not_told_what_to_do() {
        let odd = "a\u{1b}[2J\u{9b}31m\u{202e}b\u{200b}\u{2066}c\u{7f}\u{feff}\u{e0041}d\u{ad}";
        let is_plain = |c: char| c == ' ' || c.is_ascii_graphic();
        let shown = plain(odd);
        assert!(shown.chars().all(is_plain), "{shown:?}");
        assert!(shown.starts_with("a\\u{1b}[2J") && shown.contains("\\u{202e}b"), "{shown}");
        assert_eq!(plain("東京 é {\"n\":1}"), "東京 é {\"n\":1}");
        let value = json!({"reason": odd, "k\u{202e}": "東京"});
        let line = json_line(&value).expect("JSON");
        assert!(line.chars().all(|c| is_plain(c) || "東京".contains(c)), "{line:?}");
        assert_eq!(serde_json::from_str::<Value>(&line).expect("JSON"), value, "as JSON it stays the same");
    }
}
