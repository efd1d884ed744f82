//! The longest readable prefix of a partial JSON text: what the client shows of a tool's input while it streams.

use serde_json::Value;

use super::Sdk;
use crate::json;

/// The value of a JSON text that may be cut off anywhere; `None` if nothing can be read yet.
pub(super) fn read(text: &str, sdk: Sdk) -> Option<Value> {
    parse(text).or_else(|| parse(&complete(text, sdk)))
}

/// The client's parser rejects forbidden keys, so such an input is not shown.
fn parse(text: &str) -> Option<Value> {
    json::parse(text.as_bytes()).ok().filter(|value| !json::has_forbidden_key(value))
}

/// The open constructs at some point of a JSON text, innermost last.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    Root,
    /// After `{`: a key or the end may follow.
    Object,
    NextKey,
    Key,
    Colon,
    MemberValue,
    AfterMember,
    /// After `[`.
    Array,
    NextItem,
    AfterItem,
    Text,
    Escape,
    /// `\u` and the number of hex digits so far.
    Unicode(u8),
    Number,
    /// `true`, `false` or `null`, starting at this byte.
    Word(usize),
}

/// Cuts the text after its last complete piece and closes what is open there.
fn complete(text: &str, sdk: Sdk) -> String {
    let mut open = vec![Open::Root];
    let mut good = 0;
    // The client counts UTF-16 units: a non-ASCII character yields its last byte once per unit.
    let units = text.char_indices().flat_map(|(at, char)| {
        let last = at + char.len_utf8() - 1;
        std::iter::repeat_n((last, text.as_bytes()[last]), char.len_utf16())
    });
    for (at, byte) in units {
        let Some(state) = open.last().copied() else { break };
        match state {
            Open::Root => {
                open.pop();
                begin(byte, at, &mut open, &mut good);
                if open.is_empty() {
                    open.push(Open::Root);
                }
            }
            Open::Object => match byte {
                b'"' => replace(&mut open, Open::Key),
                b'}' => close(&mut open, &mut good, at),
                _ => {}
            },
            Open::NextKey if byte == b'"' => replace(&mut open, Open::Key),
            Open::Key if byte == b'"' => replace(&mut open, Open::Colon),
            Open::Colon if byte == b':' => replace(&mut open, Open::MemberValue),
            Open::NextKey | Open::Key | Open::Colon => {}
            Open::MemberValue => value(byte, at, Open::AfterMember, &mut open, &mut good),
            Open::AfterItem if !matches!(byte, b',' | b']') => good = at + 1,
            Open::AfterMember | Open::AfterItem => after(byte, at, &mut open, &mut good),
            Open::Array if byte == b']' => close(&mut open, &mut good, at),
            Open::Array => {
                // `ai` 6 accepts any first character in an array, even a minus sign.
                if sdk == Sdk::V6 {
                    good = at + 1;
                }
                value(byte, at, Open::AfterItem, &mut open, &mut good);
            }
            Open::NextItem => value(byte, at, Open::AfterItem, &mut open, &mut good),
            Open::Text => match byte {
                b'"' => close(&mut open, &mut good, at),
                b'\\' => open.push(Open::Escape),
                _ => good = at + 1,
            },
            Open::Escape => {
                open.pop();
                match byte {
                    b'u' => open.push(Open::Unicode(0)),
                    _ => good = at + 1,
                }
            }
            Open::Unicode(3) if byte.is_ascii_hexdigit() => close(&mut open, &mut good, at),
            Open::Unicode(digits) if byte.is_ascii_hexdigit() => replace(&mut open, Open::Unicode(digits + 1)),
            Open::Unicode(_) => {}
            Open::Number => match byte {
                b'0'..=b'9' => good = at + 1,
                b'e' | b'E' | b'-' | b'.' => {}
                _ => {
                    open.pop();
                    after(byte, at, &mut open, &mut good);
                }
            },
            Open::Word(from) => {
                if word(&text[from..=at]).is_some() {
                    good = at + 1;
                } else {
                    open.pop();
                    after(byte, at, &mut open, &mut good);
                }
            }
        }
    }
    let mut completed = text[..good].to_owned();
    for state in open.iter().rev() {
        match state {
            Open::Text => completed.push('"'),
            Open::Object | Open::NextKey | Open::Key | Open::Colon | Open::MemberValue | Open::AfterMember => {
                completed.push('}')
            }
            Open::Array | Open::NextItem | Open::AfterItem => completed.push(']'),
            Open::Word(from) => completed.push_str(word(&text[*from..]).unwrap_or_default()),
            Open::Root | Open::Escape | Open::Unicode(_) | Open::Number => {}
        }
    }
    completed
}

fn replace(open: &mut [Open], state: Open) {
    if let Some(last) = open.last_mut() {
        *last = state;
    }
}

fn close(open: &mut Vec<Open>, good: &mut usize, at: usize) {
    open.pop();
    *good = at + 1;
}

/// A value may begin here. If it does, its container continues as `then`.
fn value(byte: u8, at: usize, then: Open, open: &mut Vec<Open>, good: &mut usize) {
    let before = open.len();
    begin(byte, at, open, good);
    if open.len() > before {
        open[before - 1] = then;
    }
}

fn begin(byte: u8, at: usize, open: &mut Vec<Open>, good: &mut usize) {
    open.push(match byte {
        b'"' => Open::Text,
        b'{' => Open::Object,
        b'[' => Open::Array,
        b't' | b'f' | b'n' => Open::Word(at),
        b'0'..=b'9' | b'-' => Open::Number,
        _ => return,
    });
    if byte != b'-' {
        *good = at + 1;
    }
}

/// After a value: a comma or the end of its container.
fn after(byte: u8, at: usize, open: &mut Vec<Open>, good: &mut usize) {
    match (open.last(), byte) {
        (Some(Open::AfterMember), b',') => replace(open, Open::NextKey),
        (Some(Open::AfterMember), b'}') | (Some(Open::AfterItem), b']') => close(open, good, at),
        (Some(Open::AfterItem), b',') => replace(open, Open::NextItem),
        _ => {}
    }
}

/// The missing rest of a keyword that starts with `begun`, if any.
fn word(begun: &str) -> Option<&'static str> {
    ["true", "false", "null"].into_iter().find_map(|word| word.strip_prefix(begun))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_readable_beginning() {
        for (text, shown) in [
            ("", None),
            ("{", Some(json!({}))),
            (r#"{"a""#, Some(json!({}))),
            (r#"{"a":[1,"#, Some(json!({"a": [1]}))),
            (r#"{"a":[1,{"b":""#, Some(json!({"a": [1, {"b": ""}]}))),
            (r#"{"a":"x\u00e"#, Some(json!({"a": "x"}))),
            (r#"{"a":"x\u00e9\"#, Some(json!({"a": "x\u{e9}"}))),
            (r#"{"a":[tr"#, Some(json!({"a": [true]}))),
            (r#"{"a":[true,-"#, Some(json!({"a": [true]}))),
            (r#"{"a":-2."#, Some(json!({"a": -2}))),
            (r#"{"a":1,"b"#, Some(json!({"a": 1}))),
            (r#"{"a":1,}"#, Some(json!({"a": 1}))),
            (r#"[1}"#, Some(json!([1]))),
            (r#"{"a":null,"d":{"e":f"#, Some(json!({"a": null, "d": {"e": false}}))),
            (r#"{"__proto__":{"a":1"#, None),
            ("té", None),
            ("[tré", None),
            ("[1é", Some(json!([1]))),
            ("[1éé", None),
            ("[1😀", None),
            (r#"{"a":1é"#, Some(json!({"a": 1}))),
            (r#"{"a":-é"#, Some(json!({}))),
        ] {
            assert_eq!(read(text, Sdk::V7), shown, "{text}");
        }
    }

    #[test]
    fn the_versions_differ_at_a_minus_sign() {
        assert_eq!(read("[-", Sdk::V6), None);
        assert_eq!(read("[-", Sdk::V7), Some(json!([])));
    }
}
