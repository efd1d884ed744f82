//! Files in user messages, as far as a provider accepts them.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use rig_core::message::{AudioMediaType, DocumentMediaType, ImageMediaType, MimeType, UserContent, VideoMediaType};

/// Maximum length of a text file, in characters. The rest is cut off.
const MAX_TEXT_CHARS: usize = 200_000;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The message part. A file that no provider accepts becomes a note, so that the model can mention it.
pub(super) fn content(media_type: &str, url: &str, filename: Option<&str>) -> UserContent {
    let (media_type, data) = match DataUrl::read(url) {
        Some(data) if media_type.is_empty() || media_type == "application/octet-stream" => {
            (data.media_type.to_owned(), Some(data))
        }
        data => (media_type.to_owned(), data),
    };
    // Parameters (`text/plain;charset=utf-8`) are not needed here.
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let name = filename.unwrap_or("file");
    if is_text(&media_type) {
        return match data.as_ref().and_then(DataUrl::text) {
            Some(text) => UserContent::text(format!("The file {name} ({media_type}):\n\n{text}")),
            None => note(name, &media_type, Some(url).filter(|_| data.is_none())),
        };
    }
    let source = match &data {
        Some(data) => data.base64().map(Source::Data),
        None => Some(Source::Address(url.to_owned())),
    };
    let Some(source) = source else { return note(name, &media_type, None) };
    sent_as(&media_type, source).unwrap_or_else(|| note(name, &media_type, Some(url).filter(|_| data.is_none())))
}

enum Source {
    Data(String),
    Address(String),
}

fn sent_as(media_type: &str, source: Source) -> Option<UserContent> {
    if let Some(kind) = ImageMediaType::from_mime_type(media_type) {
        return Some(match source {
            Source::Data(data) => UserContent::image_base64(data, Some(kind), None),
            Source::Address(url) => UserContent::image_url(url, Some(kind), None),
        });
    }
    if let (Source::Address(url), "image/*" | "image") = (&source, media_type) {
        return Some(UserContent::image_url(url, None, None));
    }
    if media_type == "application/pdf" {
        let kind = Some(DocumentMediaType::PDF);
        return Some(match source {
            Source::Data(data) => UserContent::document_base64(data, kind),
            Source::Address(url) => UserContent::document_url(url, kind),
        });
    }
    if let Some(kind) = AudioMediaType::from_mime_type(media_type) {
        return Some(match source {
            Source::Data(data) => UserContent::audio_base64(data, Some(kind)),
            Source::Address(url) => UserContent::audio_url(url, Some(kind)),
        });
    }
    let kind = VideoMediaType::from_mime_type(media_type)?;
    Some(match source {
        Source::Data(data) => UserContent::video_base64(data, Some(kind)),
        Source::Address(url) => UserContent::video_url(url, Some(kind)),
    })
}

fn is_text(media_type: &str) -> bool {
    let known = ["application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml"];
    media_type.starts_with("text/")
        || known.contains(&media_type)
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml") && !media_type.starts_with("image/")
}

fn note(name: &str, media_type: &str, url: Option<&str>) -> UserContent {
    UserContent::text(match url {
        Some(url) => format!("(The user sent {name}, {media_type}, at {url}. It is not included.)"),
        None => format!("(The user sent {name}, {media_type}. It is not included: you can't read this kind of file.)"),
    })
}

/// `data:TYPE;base64,DATA` or `data:TYPE,TEXT`.
struct DataUrl<'a> {
    media_type: &'a str,
    is_base64: bool,
    data: &'a str,
}

impl<'a> DataUrl<'a> {
    fn read(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once(':')?;
        let (head, data) = rest.split_once(',').filter(|_| scheme.eq_ignore_ascii_case("data"))?;
        let is_base64 = head.to_ascii_lowercase().ends_with(";base64");
        let media_type = head.split(';').next().filter(|kind| !kind.is_empty()).unwrap_or("text/plain");
        Some(Self { media_type, is_base64, data })
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        if self.is_base64 { BASE64.decode(self.data.trim()).ok() } else { Some(unescaped(self.data)) }
    }

    /// With padding and without line ends, as providers require.
    fn base64(&self) -> Option<String> {
        self.bytes().map(|bytes| BASE64.encode(bytes))
    }

    fn text(&self) -> Option<String> {
        let text = String::from_utf8(self.bytes()?).ok()?;
        Some(match text.char_indices().nth(MAX_TEXT_CHARS) {
            Some((at, _)) => format!("{}\n(cut off here: the file is longer)", &text[..at]),
            None => text,
        })
    }
}

/// Decodes percent escapes. Anything else stays as it is.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digit = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use rig_core::message::DocumentSourceKind;

    use super::*;

    fn text_of(content: &UserContent) -> &str {
        match content {
            UserContent::Text(text) => &text.text,
            other => panic!("not a text: {other:?}"),
        }
    }

    #[test]
    fn images_go_as_data_or_by_address() {
        let UserContent::Image(image) = content("image/png", "data:image/png;base64,aGk", None) else { panic!() };
        assert_eq!(image.data, DocumentSourceKind::Base64("aGk=".to_owned()));
        let UserContent::Image(image) = content("image/webp", "https://x.example/a.webp", None) else { panic!() };
        assert_eq!(image.data, DocumentSourceKind::Url("https://x.example/a.webp".to_owned()));
        // The data's own type is used if the part has none.
        let untyped = content("application/octet-stream", "data:image/gif;base64,aGk=", None);
        assert!(matches!(untyped, UserContent::Image(_)));
        let UserContent::Document(pdf) = content("application/pdf", "data:application/pdf;base64,aGk=", None) else {
            panic!()
        };
        assert_eq!(pdf.media_type, Some(DocumentMediaType::PDF));
    }

    #[test]
    fn text_files_are_read() {
        let csv = content("text/csv;charset=utf-8", "data:text/csv;base64,YSxi", Some("table.csv"));
        assert_eq!(text_of(&csv), "The file table.csv (text/csv):\n\na,b");
        let plain = content("text/plain", "data:,100%25%20sure%", None);
        assert!(text_of(&plain).ends_with("100% sure%"));
    }

    #[test]
    fn what_nobody_can_read_is_a_note() {
        let zip = content("application/zip", "data:application/zip;base64,aGk=", Some("a.zip"));
        assert!(text_of(&zip).contains("a.zip") && !text_of(&zip).contains("aGk"));
        let broken = content("image/png", "data:image/png;base64,!!!", Some("a.png"));
        assert!(text_of(&broken).contains("a.png"));
        let linked = content("text/plain", "https://x.example/a.txt", None);
        assert!(text_of(&linked).contains("https://x.example/a.txt"));
    }
}
