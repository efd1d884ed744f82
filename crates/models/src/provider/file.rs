//! Files in user messages, as far as a provider accepts them.

use super::{
    OpenAiApi, Provider,
    wire::{Part, Source},
};
use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Maximum length of a text file, in characters. The rest is cut off.
const MAX_TEXT_CHARS: usize = 200_000;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What a model takes, by its provider's documents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taker {
    pub(super) provider: Provider,
    pub(super) api: OpenAiApi,
}

impl Taker {
    /// <https://platform.openai.com/docs/guides/images-vision>, <https://platform.claude.com/docs/en/build-with-claude/vision>,
    /// <https://ai.google.dev/gemini-api/docs/image-understanding>. Ollama takes data and fetches nothing.
    fn takes_image(self, kind: Option<&str>, source: &Source) -> bool {
        match (self.provider, kind) {
            (Provider::Ollama, kind) => {
                matches!(source, Source::Data(_)) && matches!(kind, Some("png" | "jpeg" | "webp"))
            }
            (_, None) => true,
            (Provider::Gemini, Some(kind)) => matches!(kind, "png" | "jpeg" | "webp" | "heic" | "heif"),
            (_, Some(kind)) => matches!(kind, "png" | "jpeg" | "webp" | "gif"),
        }
    }

    /// <https://platform.openai.com/docs/guides/pdf-files>: Chat Completions takes no URL.
    fn takes_pdf(self, source: &Source) -> bool {
        match (self.provider, self.api) {
            (Provider::Ollama, _) => false,
            (Provider::OpenAi, OpenAiApi::Chat) => matches!(source, Source::Data(_)),
            _ => true,
        }
    }

    /// <https://ai.google.dev/gemini-api/docs/audio>; <https://platform.openai.com/docs/guides/audio>: Chat Completions takes
    /// `wav` and `mp3`, as data, and Responses takes none.
    fn takes_audio(self, media_type: &str, source: &Source) -> bool {
        match (self.provider, self.api) {
            (Provider::Gemini, _) => AUDIO_OF_GEMINI.contains(&media_type),
            (Provider::OpenAi, OpenAiApi::Chat) => {
                matches!(media_type, "audio/wav" | "audio/mp3") && matches!(source, Source::Data(_))
            }
            _ => false,
        }
    }
}

/// A file as it is sent.
pub(super) struct SentFile {
    pub(super) content: Vec<Part>,
    /// The message to the user, if the model does not get the file.
    pub(super) left_out: Option<String>,
}

/// The parts of the message for a file. What the model does not take becomes a note, so that it can mention the file.
pub(super) fn send(taker: Taker, media_type: &str, url: &str, filename: Option<&str>) -> SentFile {
    let (media_type, data) = match DataUrl::read(url) {
        Some(data) if media_type.is_empty() || media_type == "application/octet-stream" => {
            (data.media_type.to_owned(), Some(data))
        }
        data => (media_type.to_owned(), data),
    };
    // Parameters (`text/plain;charset=utf-8`) are not needed here.
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let name = filename.unwrap_or("file");
    let address = Some(url).filter(|_| data.is_none());
    let bytes = data.as_ref().map(DataUrl::bytes);
    let source = match &bytes {
        Some(bytes) => bytes.as_ref().filter(|bytes| !bytes.is_empty()).map(|bytes| Source::Data(BASE64.encode(bytes))),
        None => Some(Source::Address(url.to_owned())),
    };
    let content = if is_text(&media_type) {
        let text = bytes.as_ref().and_then(|bytes| text(bytes.clone()?));
        text.map(|text| vec![Part::Text(format!("The file {name} ({media_type}):\n\n{text}"))])
    } else {
        source.and_then(|source| sent_as(taker, &media_type, source, filename))
    };
    match content {
        Some(content) => SentFile { content, left_out: None },
        None => {
            let why = match &bytes {
                None => "the model can't fetch this kind of file",
                Some(None) => "its data can't be read",
                Some(Some(bytes)) if bytes.is_empty() => "it is empty",
                Some(Some(_)) => "the model can't read this kind of file",
            };
            SentFile {
                content: vec![note(name, &media_type, address)],
                left_out: Some(not_sent(name, &media_type, why)),
            }
        }
    }
}

/// A file that the model has refused before.
pub(super) fn without(media_type: &str, url: &str, filename: Option<&str>) -> SentFile {
    let name = filename.unwrap_or("file");
    let address = Some(url).filter(|url| DataUrl::read(url).is_none());
    let content = vec![note(name, media_type, address)];
    SentFile { content, left_out: Some(not_sent(name, media_type, NOT_ACCEPTED)) }
}

/// Why a file that the model has refused was not sent.
pub(super) const NOT_ACCEPTED: &str = "the model did not accept it";

/// The message to the user about a file.
pub(super) fn not_sent(name: &str, media_type: &str, why: &str) -> String {
    format!("{name} ({media_type}) was not sent: {why}.")
}

/// A sound of a tool's result, if the model can hear it.
pub(super) fn sound(taker: Taker, media_type: &str, data: &str) -> Option<Part> {
    let source = Source::Data(data.to_owned());
    let media_type = audio_type(media_type);
    let is_heard = !data.is_empty() && taker.takes_audio(media_type, &source);
    is_heard.then(|| Part::Audio { media_type: media_type.to_owned(), source })
}

fn sent_as(taker: Taker, media_type: &str, source: Source, filename: Option<&str>) -> Option<Vec<Part>> {
    if matches!((&source, media_type), (Source::Address(_), "image/*" | "image")) {
        return taker.takes_image(None, &source).then(|| vec![Part::Image { media_type: None, source }]);
    }
    if let Some(kind) = media_type.strip_prefix("image/") {
        let kind = if kind == "jpg" { "jpeg" } else { kind };
        let media_type = Some(format!("image/{kind}"));
        return taker.takes_image(Some(kind), &source).then(|| vec![Part::Image { media_type, source }]);
    }
    if media_type == "application/pdf" {
        return taker.takes_pdf(&source).then(|| pdf(taker, source, filename));
    }
    let audio = audio_type(media_type);
    if taker.takes_audio(audio, &source) {
        return Some(vec![Part::Audio { media_type: audio.to_owned(), source }]);
    }
    // <https://ai.google.dev/gemini-api/docs/video-understanding>; the others take no video.
    let is_seen = taker.provider == Provider::Gemini && VIDEO_OF_GEMINI.contains(&media_type);
    is_seen.then(|| vec![Part::Video { media_type: media_type.to_owned(), source }])
}

const AUDIO_OF_GEMINI: [&str; 6] = ["audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"];
const VIDEO_OF_GEMINI: [&str; 10] = [
    "video/mp4",
    "video/mpeg",
    "video/mov",
    "video/quicktime",
    "video/avi",
    "video/x-flv",
    "video/mpg",
    "video/webm",
    "video/wmv",
    "video/3gpp",
];

/// A PDF with its name: where the provider has no field for that, the name is read before the file.
fn pdf(taker: Taker, source: Source, filename: Option<&str>) -> Vec<Part> {
    let has_field = match (taker.provider, &source) {
        (Provider::Anthropic, _) => true,
        (Provider::OpenAi, source) => matches!(source, Source::Data(_)),
        (Provider::Gemini | Provider::Ollama, _) => false,
    };
    let heading = filename.filter(|_| !has_field).map(|name| Part::Text(format!("The file {name}:")));
    let file = Part::Pdf { name: filename.map(str::to_owned), source };
    heading.into_iter().chain([file]).collect()
}

/// The type of audio. Browsers and servers have several names for most.
fn audio_type(media_type: &str) -> &str {
    match media_type {
        "audio/mpeg" | "audio/mpeg3" | "audio/x-mp3" => "audio/mp3",
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav",
        "audio/x-aiff" => "audio/aiff",
        "audio/x-flac" => "audio/flac",
        "audio/x-aac" => "audio/aac",
        "audio/vorbis" | "application/ogg" => "audio/ogg",
        other => other,
    }
}

/// A picture of a kind that providers take in a tool's result.
pub(super) fn picture(media_type: &str, data: &str) -> Option<Part> {
    let is_taken = matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp") && !data.is_empty();
    is_taken.then(|| Part::Image { media_type: Some(media_type.to_owned()), source: Source::Data(data.to_owned()) })
}

fn is_text(media_type: &str) -> bool {
    let known = ["application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml"];
    media_type.starts_with("text/")
        || known.contains(&media_type)
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml") && !media_type.starts_with("image/")
}

fn note(name: &str, media_type: &str, url: Option<&str>) -> Part {
    Part::Text(match url {
        Some(url) => format!("(The user sent {name}, {media_type}, at {url}. It is not included.)"),
        None => format!("(The user sent {name}, {media_type}. It is not included: you can't read it.)"),
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
}

fn text(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    Some(match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((at, _)) => format!("{}\n(cut off here: the file is longer)", &text[..at]),
        None => text,
    })
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
    use super::*;

    fn text_of(content: &Part) -> &str {
        match content {
            Part::Text(text) => text,
            other => panic!("not a text: {other:?}"),
        }
    }

    const CHAT: Taker = Taker { provider: Provider::OpenAi, api: OpenAiApi::Chat };
    const RESPONSES: Taker = Taker { provider: Provider::OpenAi, api: OpenAiApi::Responses };
    const ANTHROPIC: Taker = Taker { provider: Provider::Anthropic, api: OpenAiApi::Chat };
    const GEMINI: Taker = Taker { provider: Provider::Gemini, api: OpenAiApi::Chat };
    const OLLAMA: Taker = Taker { provider: Provider::Ollama, api: OpenAiApi::Chat };

    fn content(media_type: &str, url: &str, filename: Option<&str>) -> Part {
        send(CHAT, media_type, url, filename).content.pop().expect("a part")
    }

    #[test]
    fn images_go_as_data_or_by_address() {
        let image = |media_type: &str, source| Part::Image { media_type: Some(media_type.to_owned()), source };
        let sent = content("image/png", "data:image/png;base64,aGk", None);
        assert_eq!(sent, image("image/png", Source::Data("aGk=".to_owned())));
        let sent = content("image/webp", "https://x.example/a.webp", None);
        assert_eq!(sent, image("image/webp", Source::Address("https://x.example/a.webp".to_owned())));
        // The data's own type is used if the part has none.
        let untyped = content("application/octet-stream", "data:image/gif;base64,aGk=", None);
        assert!(matches!(untyped, Part::Image { .. }));
        let pdf = content("application/pdf", "data:application/pdf;base64,aGk=", None);
        assert_eq!(pdf, Part::Pdf { name: None, source: Source::Data("aGk=".to_owned()) });
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

    /// Who takes which types, as data and by address.
    #[test]
    fn what_each_provider_takes_is_what_its_documents_say() {
        let all = [CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA];
        for (media_type, as_data, by_address) in [
            ("image/png", [true, true, true, true, true], [true, true, true, true, false]),
            ("image/gif", [true, true, true, false, false], [true, true, true, false, false]),
            ("image/heic", [false, false, false, true, false], [false, false, false, true, false]),
            ("image/svg+xml", [false; 5], [false; 5]),
            ("application/pdf", [true, true, true, true, false], [false, true, true, true, false]),
            ("audio/mpeg", [true, false, false, true, false], [false, false, false, true, false]),
            ("audio/x-wav", [true, false, false, true, false], [false, false, false, true, false]),
            ("audio/ogg", [false, false, false, true, false], [false, false, false, true, false]),
            ("audio/mp4", [false; 5], [false; 5]),
            ("video/mp4", [false, false, false, true, false], [false, false, false, true, false]),
            ("application/zip", [false; 5], [false; 5]),
            ("text/csv", [true; 5], [false; 5]),
        ] {
            let data = format!("data:{media_type};base64,aGk=");
            for (url, expected) in [(data.as_str(), as_data), ("https://x.example/a", by_address)] {
                for (taker, is_taken) in all.into_iter().zip(expected) {
                    let sent = send(taker, media_type, url, Some("a.bin"));
                    assert_eq!(sent.left_out.is_none(), is_taken, "{media_type} for {taker:?} at {url}");
                    // The user and the model are told which file it is, and the data goes nowhere.
                    if let Some(told) = sent.left_out {
                        assert!(told.starts_with("a.bin (") && told.contains("was not sent"), "{told}");
                        let note = text_of(&sent.content[0]);
                        assert!(note.contains("a.bin") && !note.contains("aGk"), "{note}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_pdf_keeps_its_name() {
        let url = "data:application/pdf;base64,aGk=";
        for (taker, parts) in [(CHAT, 1), (RESPONSES, 1), (ANTHROPIC, 1), (GEMINI, 2)] {
            let sent = send(taker, "application/pdf", url, Some("bill.pdf")).content;
            assert_eq!(sent.len(), parts);
            assert!(matches!(sent.last(), Some(Part::Pdf { name: Some(name), .. }) if name == "bill.pdf"), "{sent:?}");
        }
        let sent = send(GEMINI, "application/pdf", url, Some("bill.pdf")).content;
        assert_eq!(text_of(&sent[0]), "The file bill.pdf:");
        assert_eq!(send(GEMINI, "application/pdf", url, None).content.len(), 1);
    }
}
