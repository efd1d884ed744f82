//! The bytes of a capture, in any of its three formats, fed in pieces of any size.

use super::{Options, Rule, StreamChecker, Violation, transcript::Transcript};
use crate::sse::{Decoder, Event};

/// The largest event or line that is read, in bytes.
pub const MAX_EVENT: usize = 16 * 1024 * 1024;

/// How many bytes are examined to detect the format of a capture.
const MAX_DETECTION_BYTES: usize = 64 * 1024;

/// Checks the bytes of a capture. Feed it, finish it, and take the violations as they come.
#[derive(Debug)]
pub struct Checker {
    stream: StreamChecker,
    form: Form,
    unreadable: Option<Unreadable>,
    has_payload: bool,
    /// How many leading bytes were checked for NUL.
    looked: usize,
}

/// Why a capture, or part of it, could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Unreadable {
    #[error("this is a binary file, not a capture: there is a NUL byte in it")]
    Binary,
    #[error("line {line}: larger than {} MiB; the rest of this event was not checked", MAX_EVENT / 1024 / 1024)]
    TooLarge { line: u64 },
    #[error("the input has no chunks: it has neither `data:` events, nor JSON lines, nor a transcript")]
    Empty,
}

#[derive(Debug)]
enum Form {
    /// Not detected yet; the bytes so far.
    Unknown(Vec<u8>),
    Sse(Decoder),
    Lines(Lines),
}

#[derive(Debug, Default)]
struct Lines {
    number: u64,
    partial: Vec<u8>,
    is_dropping: bool,
    /// `None` until the first line decides.
    is_transcript: Option<bool>,
    transcript: Transcript,
}

impl Checker {
    /// A checker for one file.
    pub fn new(options: Options) -> Self {
        Self {
            stream: StreamChecker::new(options),
            form: Form::Unknown(Vec::new()),
            unreadable: None,
            has_payload: false,
            looked: 0,
        }
    }

    /// Takes more of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        let look = &bytes[..bytes.len().min(MAX_DETECTION_BYTES - self.looked)];
        self.looked += look.len();
        if look.contains(&0) {
            self.unreadable.get_or_insert(Unreadable::Binary);
        }
        let Form::Unknown(begun) = &mut self.form else {
            return self.read(bytes);
        };
        begun.extend_from_slice(bytes);
        let begun = std::mem::take(begun);
        match form_of(&begun, false) {
            Some(form) => {
                self.form = form;
                self.read(&begun);
            }
            None => self.form = Form::Unknown(begun),
        }
    }

    /// Ends the file.
    pub fn finish(&mut self) {
        if let Form::Unknown(begun) = &mut self.form {
            let begun = std::mem::take(begun);
            if let Some(form) = form_of(&begun, true) {
                self.form = form;
                self.read(&begun);
            }
        }
        let (stream, has_payload) = (&mut self.stream, &mut self.has_payload);
        match std::mem::replace(&mut self.form, Form::Unknown(Vec::new())) {
            Form::Sse(decoder) => decoder.finish(|event| {
                if let Event::Incomplete { line, .. } = event {
                    *has_payload = true;
                    stream.line = line;
                    stream.report(
                        Rule::F2,
                        "the capture ends before the blank line that completes this event: a client never sees it",
                    );
                }
            }),
            Form::Lines(mut lines) => {
                let last = std::mem::take(&mut lines.partial);
                *has_payload |= lines.line(&last, stream);
                lines.transcript.finish(stream);
            }
            Form::Unknown(_) => {}
        }
        self.stream.end();
        if !self.has_payload {
            self.unreadable.get_or_insert(Unreadable::Empty);
        }
    }

    /// The violations found since the last call.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        self.stream.take_violations()
    }

    /// The first part that could not be read, if any.
    pub fn unreadable(&self) -> Option<&Unreadable> {
        self.unreadable.as_ref()
    }

    fn read(&mut self, bytes: &[u8]) {
        let (stream, unreadable, has_payload) = (&mut self.stream, &mut self.unreadable, &mut self.has_payload);
        match &mut self.form {
            Form::Unknown(_) => {}
            Form::Sse(decoder) => decoder.feed(bytes, |event| match event {
                Event::Data { line, data } => {
                    *has_payload = true;
                    stream.payload(line, data);
                }
                Event::Junk { line, text } => {
                    stream.line = line;
                    stream.report(
                        Rule::F2,
                        format!("{} is not a field of an event: a client drops the line", Printable(text)),
                    );
                }
                Event::TooLarge { line } => drop(unreadable.get_or_insert(Unreadable::TooLarge { line })),
                Event::Comment { .. } | Event::Incomplete { .. } => {}
            }),
            Form::Lines(lines) => lines.feed(bytes, stream, unreadable, has_payload),
        }
    }
}

/// The format, once the first bytes show it.
fn form_of(begun: &[u8], is_all: bool) -> Option<Form> {
    let text = begun.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(begun);
    let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    match text.get(blank) {
        None if is_all || begun.len() >= MAX_DETECTION_BYTES => Some(Form::Sse(Decoder::new(MAX_EVENT))),
        None => None,
        Some(b'{' | b'[') => Some(Form::Lines(Lines::default())),
        Some(_) if begun.len() < 3 && !is_all => None,
        Some(_) => Some(Form::Sse(Decoder::new(MAX_EVENT))),
    }
}

impl Lines {
    fn feed(
        &mut self,
        mut bytes: &[u8],
        stream: &mut StreamChecker,
        unreadable: &mut Option<Unreadable>,
        has_payload: &mut bool,
    ) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = rest;
            if std::mem::take(&mut self.is_dropping) {
                self.number += 1;
            } else if self.partial.is_empty() {
                *has_payload |= self.line(line, stream);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                *has_payload |= self.line(&whole, stream);
                whole.clear();
                self.partial = whole;
            }
        }
        if self.is_dropping {
            return;
        }
        if self.partial.len() + bytes.len() > MAX_EVENT {
            unreadable.get_or_insert(Unreadable::TooLarge { line: self.number + 1 });
            (self.partial, self.is_dropping) = (Vec::new(), true);
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }

    /// Returns whether the line was non-empty.
    fn line(&mut self, line: &[u8], stream: &mut StreamChecker) -> bool {
        self.number += 1;
        let line = if self.number == 1 { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
        let line = line.trim_ascii();
        if line.is_empty() {
            return false;
        }
        if *self.is_transcript.get_or_insert_with(|| Transcript::is_one(line)) {
            self.transcript.line(self.number, line, stream);
        } else {
            stream.payload(self.number, line);
        }
        true
    }
}

/// A printable excerpt of a capture.
pub(super) struct Printable<'a>(pub(super) &'a [u8]);

impl std::fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(&self.0[..self.0.len().min(240)]);
        let short: String = text.chars().take(60).collect();
        write!(f, "{short:?}{}", if short.len() < self.0.len() { "…" } else { "" })
    }
}
