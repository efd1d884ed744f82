//! Collecting the files of a running call, and the links to them.

use std::sync::{Arc, Mutex, PoisonError};

use base64::{Engine, engine::general_purpose::STANDARD};
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use serde::Serialize;

use super::{StoredFile, ToolError};

/// The maximum size of all files of one call.
pub const MAX_FILE_BYTES: usize = 5 * 1024 * 1024;
/// The maximum number of files of one call.
pub const MAX_FILES: usize = 32;
/// The maximum length of a media type.
const MAX_MEDIA_TYPE: usize = 100;
/// What is known of a file whose kind is not.
const UNKNOWN_KIND: &str = "application/octet-stream";

/// A link to a stored file, for an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileLink {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: FileKind,
    /// Its media type.
    #[serde(rename = "mimeType")]
    pub media_type: String,
    /// Its size.
    pub bytes: usize,
    /// Where it can be read by whoever may read the chat. `None` if it is too large to be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Why it was not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl FileLink {
    /// In place of a link to a file that is not stored, for this reason.
    pub fn not_stored(media_type: &str, bytes: usize, reason: &str) -> Self {
        let media_type = essence(media_type);
        let note = Some(format!("not stored: {reason}"));
        Self { kind: FileKind::of(&media_type), media_type, bytes, url: None, note }
    }
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// Anything else.
    File,
}

impl FileKind {
    /// The kind of a media type.
    pub fn of(media_type: &str) -> Self {
        match media_type.split('/').next() {
            Some("image") => Self::Image,
            Some("audio") => Self::Audio,
            _ => Self::File,
        }
    }
}

/// The files of a running call.
#[derive(Debug, Clone, Default)]
pub struct Files(Arc<Mutex<Vec<StoredFile>>>);

impl Files {
    /// Adds a file, and gives the link to it. What is over the limit gets no link, and a note that says so.
    pub(super) fn add(&self, chat: &ChatId, call: &ToolCallId, media_type: &str, bytes: &[u8]) -> FileLink {
        let media_type = essence(media_type);
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken: usize = files.iter().map(|file| file.data.len() / 4 * 3).sum();
        let is_over = taken + bytes.len() > MAX_FILE_BYTES || files.len() == MAX_FILES;
        if is_over {
            let reason = format!("the files of one call can have {MAX_FILE_BYTES} bytes, and there can be {MAX_FILES}");
            return FileLink::not_stored(&media_type, bytes.len(), &reason);
        }
        let url = Some(url(chat, call, files.len()));
        files.push(StoredFile { media_type: media_type.clone(), data: STANDARD.encode(bytes) });
        FileLink { kind: FileKind::of(&media_type), media_type, bytes: bytes.len(), url, note: None }
    }

    /// Adds a file that is given in base64.
    pub(super) fn add_base64(
        &self,
        chat: &ChatId,
        call: &ToolCallId,
        media_type: &str,
        data: &str,
    ) -> Result<FileLink, ToolError> {
        let bytes = STANDARD.decode(data).map_err(|_| ToolError::new("a file of the tool's answer is not base64"))?;
        Ok(self.add(chat, call, media_type, &bytes))
    }

    /// What was added.
    pub fn take(&self) -> Vec<StoredFile> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A media type without its parameters. An invalid one becomes the type of arbitrary bytes, since it is sent as a header.
fn essence(media_type: &str) -> String {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
    let is_one = essence.split_once('/').is_some_and(|(kind, name)| {
        !kind.is_empty() && !name.is_empty() && kind.bytes().chain(name.bytes()).all(is_usual)
    });
    if is_one && essence.len() <= MAX_MEDIA_TYPE { essence } else { UNKNOWN_KIND.to_owned() }
}

fn url(chat: &ChatId, call: &ToolCallId, index: usize) -> String {
    format!("/api/chat/{}/files/{}/{index}", escaped(chat.as_str()), escaped(call.as_str()))
}

/// A path segment.
fn escaped(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => out.push(char::from(byte)),
            // Also the dot: a segment of dots would be another path.
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(files: &Files, media_type: &str, bytes: &[u8]) -> FileLink {
        files.add(&"../a b".into(), &"call_1".into(), media_type, bytes)
    }

    #[test]
    fn a_file_gets_a_link_and_is_kept() {
        let files = Files::default();
        let link = add(&files, "image/PNG; q=1", b"\x89PNG");
        assert_eq!(
            serde_json::to_value(&link).expect("JSON"),
            serde_json::json!({
                "type": "image", "mimeType": "image/png", "bytes": 4, "url": "/api/chat/%2E%2E%2Fa%20b/files/call_1/0",
            })
        );
        assert_eq!(add(&files, "audio/wav", b"x").url.as_deref(), Some("/api/chat/%2E%2E%2Fa%20b/files/call_1/1"));
        let taken = files.take();
        assert_eq!(taken[0].bytes().as_deref(), Some(&b"\x89PNG"[..]));
        assert!(taken.len() == 2 && files.take().is_empty());
    }

    #[test]
    fn too_much_is_not_kept() {
        let files = Files::default();
        let half = vec![0; MAX_FILE_BYTES / 2 + 3];
        assert!(add(&files, "image/png", &half).url.is_some());
        let over = add(&files, "image/png", &half);
        assert!(over.url.is_none() && over.note.is_some_and(|note| note.contains("5242880 bytes")));
        (0..40).for_each(|_| drop(add(&files, "image/png", b"")));
        assert_eq!(files.take().len(), MAX_FILES);
    }

    #[test]
    fn a_media_type_is_one() {
        for (text, essence) in [
            ("image/svg+xml", "image/svg+xml"),
            ("text/html; charset=utf-8", "text/html"),
            ("image/png\r\nx: y", UNKNOWN_KIND),
            ("image", UNKNOWN_KIND),
            ("/", UNKNOWN_KIND),
            ("", UNKNOWN_KIND),
        ] {
            assert_eq!(super::essence(text), essence, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_base64_is_an_error() {
        let files = Files::default();
        assert!(files.add_base64(&"c".into(), &"d".into(), "image/png", "###").is_err());
        assert!(files.take().is_empty());
    }
}
