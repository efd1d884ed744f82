//! The number of values in a JSON text, without building any.

/// The number of values in a JSON text, or a little more: what memory it takes once it is parsed depends on it. The text need
/// not be valid.
pub fn count_values(text: &[u8]) -> usize {
    let (mut values, mut at) = (1, 0);
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' | b',' => values += 1,
            b'"' => at += string_length(&text[at..]),
            _ => {}
        }
    }
    values
}

/// The length of a string with its closing quote.
fn string_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &text[at..]) {
        at += found + 1;
        if text[at - 1] == b'"' {
            return at;
        }
        // What follows is escaped.
        at = (at + 1).min(text.len());
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_counted() {
        for (text, values) in [
            ("1", 1..=1),
            ("[]", 1..=2),
            ("[1,2,3]", 4..=5),
            ("[[[[]]]]", 4..=5),
            (r#"{"a":{},"b":[{}]}"#, 4..=6),
            (r#""a,[{\",[,""#, 1..=1),
            (r#"{"a,b":"[[[[","c\\":[1]}"#, 4..=4),
            ("", 1..=1),
            ("\"", 1..=1),
            ("\"\\", 1..=1),
        ] {
            let counted = count_values(text.as_bytes());
            assert!(values.contains(&counted), "{text}: {counted}");
        }
    }
}
