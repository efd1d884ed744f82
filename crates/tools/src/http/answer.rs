//! What an answer is: JSON, text or a file, by its content type and its bytes.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};

/// The first bytes of files that endpoints are known to send as text, and what they are.
const SIGNATURES: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
];
/// What is known of a file whose kind is not.
const UNKNOWN_KIND: &str = "application/octet-stream";

/// What an answer says about its body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    /// The media type, without parameters.
    media_type: String,
    charset: Option<String>,
}

impl Kind {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self::read(headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default())
    }

    fn read(text: &str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        let charset = parts.filter_map(|part| part.split_once('=')).find_map(|(name, value)| {
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
        });
        Self { media_type, charset }
    }

    pub(super) fn is_json(&self) -> bool {
        self.media_type == "application/json" || self.media_type.ends_with("+json")
    }

    /// The body as text, if it is text in its charset.
    pub(super) fn text<'a>(&self, body: &'a [u8]) -> Option<Cow<'a, str>> {
        let is_file = match self.media_type.split('/').next().unwrap_or_default() {
            "image" => self.media_type != "image/svg+xml",
            "audio" | "video" | "font" => true,
            _ => matches!(self.media_type.as_str(), "application/pdf" | "application/zip"),
        };
        // Every byte is a character in some charsets. No text has a NUL, and nearly every binary file has.
        if is_file { None } else { self.decode(body).filter(|text| !text.contains('\0')) }
    }

    /// The body in its charset. A byte order mark overrides what is declared.
    pub(super) fn decode<'a>(&self, body: &'a [u8]) -> Option<Cow<'a, str>> {
        let declared = self.charset.as_deref().and_then(|label| Encoding::for_label(label.as_bytes()));
        let (encoding, mark) = Encoding::for_bom(body).unwrap_or((declared.unwrap_or(UTF_8), 0));
        encoding.decode_without_bom_handling_and_without_replacement(&body[mark..])
    }

    /// The media type of a binary body. If it is declared as text, its real type is guessed as far as possible.
    pub(super) fn of_file(&self, body: &[u8]) -> &str {
        match self.media_type.is_empty() || self.media_type.starts_with("text/") {
            true => SIGNATURES.iter().find(|(start, _)| body.starts_with(start)).map_or(UNKNOWN_KIND, |(_, kind)| kind),
            false => &self.media_type,
        }
    }
}

/// The encoding of a body that is encoded, such as `gzip`. None was asked for.
pub(super) fn encoding(headers: &HeaderMap) -> Option<String> {
    let encodings = headers.get_all(CONTENT_ENCODING).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let encodings: Vec<String> =
        encodings.flat_map(|all| all.split(',').map(|one| one.trim().to_owned()).collect::<Vec<_>>()).collect();
    encodings.into_iter().find(|encoding| !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_text_is_told_from_what_is_not() {
        for (kind, body, wanted) in [
            ("text/plain", &b"\xe9t\xe9"[..], false),
            ("text/plain; charset=latin1", b"\xe9t\xe9", true),
            ("text/plain; charset=utf-16le", b"a\0b\0", true),
            ("text/plain", b"a\0b", false),
            ("", b"plain", true),
            ("", b"\xff\xd8\xff", false),
            ("application/xml", b"<a/>", true),
            ("application/octet-stream", b"\x00\xff", false),
            ("application/pdf", b"%PDF-1.7", false),
            ("image/png", b"a", false),
            ("image/svg+xml", b"<svg/>", true),
            ("audio/wav", b"RIFF", false),
        ] {
            assert_eq!(Kind::read(kind).text(body).is_some(), wanted, "{kind}");
        }
    }

    #[test]
    fn a_content_type_is_read() {
        let kind = |media_type: &str, charset: Option<&str>| Kind {
            media_type: media_type.to_owned(),
            charset: charset.map(str::to_owned),
        };
        assert_eq!(Kind::read("Text/HTML;a=b; CHARSET = \"x\""), kind("text/html", Some("x")));
        assert_eq!(Kind::read("text/html; charset"), kind("text/html", None));
        assert!(Kind::read("application/problem+json; charset=utf-8").is_json());
    }

    #[test]
    fn an_encoding_is_found() {
        let of = |value: &str| encoding(&HeaderMap::from_iter([(CONTENT_ENCODING, value.parse().expect("a value"))]));
        assert_eq!(of("identity, GZIP").as_deref(), Some("GZIP"));
        assert_eq!((of("identity"), of("")), (None, None));
    }
}
