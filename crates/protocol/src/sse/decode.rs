//! An incremental SSE decoder: the same events wherever the bytes are split.

/// An item of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A complete event. `line` is that of its first `data` field.
    Data {
        /// Its first line, from 1.
        line: u64,
        /// The data lines, joined by LF.
        data: &'a [u8],
    },
    /// A comment line, used as a keep-alive.
    Comment {
        /// Its line.
        line: u64,
    },
    /// A line that is not a field of the format. Clients drop it silently.
    Junk {
        /// Its line.
        line: u64,
        /// The line.
        text: &'a [u8],
    },
    /// A line or event over the limit. It is dropped up to its blank line; decoding resumes after that.
    TooLarge {
        /// The line that exceeded the limit.
        line: u64,
    },
    /// The input ended inside an event, which clients drop.
    Incomplete {
        /// The first line of the event.
        line: u64,
        /// The data, or the unfinished line.
        data: &'a [u8],
    },
}

/// Decodes SSE bytes. Buffers at most one event, and never more than twice the limit.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    /// Bytes of a byte order mark seen so far; `None` once past it.
    bom: Option<usize>,
    /// The last byte was CR. Like the SDK's parser, we end the line only at the next byte, in case it is the matching
    /// LF.
    held_cr: bool,
    /// Number of the current line.
    line: u64,
    /// The current line, as far as earlier calls brought it.
    partial: Vec<u8>,
    /// Data lines of the current event.
    data: Vec<u8>,
    /// The line of its first `data` field.
    data_line: Option<u64>,
    /// Whether an event over the limit is being dropped.
    dropping: bool,
    /// While dropping: whether the current line has any bytes.
    dropped_bytes: bool,
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

impl Decoder {
    /// A decoder for lines and events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            bom: Some(0),
            held_cr: false,
            line: 1,
            partial: Vec::new(),
            data: Vec::new(),
            data_line: None,
            dropping: false,
            dropped_bytes: false,
        }
    }

    /// Decodes more bytes and passes on every complete item.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(Event<'_>)) {
        while let Some(seen) = self.bom {
            match bytes.first() {
                None => return,
                Some(byte) if BOM.get(seen) == Some(byte) => {
                    bytes = &bytes[1..];
                    self.bom = (seen + 1 < BOM.len()).then_some(seen + 1);
                }
                Some(_) => {
                    self.partial.extend_from_slice(&BOM[..seen]);
                    self.bom = None;
                }
            }
        }
        if self.held_cr && !bytes.is_empty() {
            self.held_cr = false;
            let line = std::mem::take(&mut self.partial);
            self.end_line(&line, &mut each);
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            let cr = bytes[end] == b'\r';
            if cr && rest.is_empty() {
                self.held_cr = true;
                return self.keep(line, &mut each);
            }
            bytes = if cr { rest.strip_prefix(b"\n").unwrap_or(rest) } else { rest };
            if self.partial.is_empty() {
                // The usual event, `data: …` and a blank line, is passed on without a copy.
                if !cr
                    && !self.dropping
                    && self.data_line.is_none()
                    && bytes.first() == Some(&b'\n')
                    && line.len() <= self.limit
                    && let Some(data) = data_of(line)
                {
                    each(Event::Data { line: self.line, data });
                    self.line += 2;
                    bytes = &bytes[1..];
                    continue;
                }
                self.end_line(line, &mut each);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.end_line(&whole, &mut each);
                whole.clear();
                self.partial = whole;
            }
        }
        self.keep(bytes, &mut each);
    }

    /// Ends the input and passes on what was unfinished.
    pub fn finish(mut self, mut each: impl FnMut(Event<'_>)) {
        if let Some(seen) = self.bom {
            self.partial.extend_from_slice(&BOM[..seen]);
        }
        if let Some(line) = self.data_line {
            each(Event::Incomplete { line, data: &self.data });
        } else if !self.partial.is_empty() && !self.partial.starts_with(b":") {
            let data = data_of(&self.partial).unwrap_or(&self.partial);
            each(Event::Incomplete { line: self.line, data });
        }
    }

    /// Buffers the beginning of a line for the next call.
    fn keep(&mut self, bytes: &[u8], each: &mut impl FnMut(Event<'_>)) {
        if self.dropping {
            self.dropped_bytes |= !bytes.is_empty();
        } else if self.partial.len() + bytes.len() > self.limit {
            self.drop_event(each);
            self.dropped_bytes = true;
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, line: &[u8], each: &mut impl FnMut(Event<'_>)) {
        let number = self.line;
        if self.dropping {
            if line.is_empty() && !self.dropped_bytes {
                self.dropping = false;
            }
            self.dropped_bytes = false;
        } else if line.len() > self.limit {
            self.drop_event(each);
        } else if line.is_empty() {
            if let Some(line) = self.data_line.take() {
                each(Event::Data { line, data: &self.data });
                self.data.clear();
            }
        } else if let Some(data) = data_of(line) {
            if self.data.len() + data.len() + 1 > self.limit {
                self.drop_event(each);
            } else {
                match self.data_line {
                    Some(_) => self.data.push(b'\n'),
                    None => self.data_line = Some(number),
                }
                self.data.extend_from_slice(data);
            }
        } else if line[0] == b':' {
            each(Event::Comment { line: number });
        } else if !is_known_field(line) {
            each(Event::Junk { line: number, text: line });
        }
        self.line += 1;
    }

    fn drop_event(&mut self, each: &mut impl FnMut(Event<'_>)) {
        each(Event::TooLarge { line: self.line });
        self.dropping = true;
        self.partial = Vec::new();
        self.data = Vec::new();
        self.data_line = None;
    }
}

/// The value, if the line is a `data` field.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    match rest {
        [] => Some(rest),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

fn is_known_field(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().unwrap_or(line);
    matches!(name, b"event" | b"id" | b"retry")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(limit: usize, pieces: &[&[u8]]) -> Vec<String> {
        let mut seen = Vec::new();
        let mut decoder = Decoder::new(limit);
        let mut each = |event: Event<'_>| {
            seen.push(match event {
                Event::Data { line, data } => format!("{line} {}", String::from_utf8_lossy(data)),
                Event::Comment { line } => format!("{line} comment"),
                Event::Junk { line, text } => format!("{line} junk {}", String::from_utf8_lossy(text)),
                Event::TooLarge { line } => format!("{line} too large"),
                Event::Incomplete { line, data } => {
                    format!("{line} incomplete {}", String::from_utf8_lossy(data))
                }
            });
        };
        for piece in pieces {
            decoder.feed(piece, &mut each);
        }
        decoder.finish(&mut each);
        seen
    }

    #[test]
    fn line_ends_comments_and_fields() {
        let input = b"data: a\r\n\r\n: ping\r\rdata: b\ndata:c\ndata\n\nevent: x\nid: 1\nretry: 5\ndata: d\n\nfoo: bar\n{\"type\":1}\n";
        assert_eq!(
            decode(100, &[input]),
            ["1 a", "3 comment", "5 b\nc\n", "12 d", "14 junk foo: bar", "15 junk {\"type\":1}"]
        );
    }

    #[test]
    fn a_byte_order_mark_counts_only_at_the_start() {
        assert_eq!(decode(100, &[b"\xEF", b"\xBB\xBFdata: a\n\n"]), ["1 a"]);
        assert_eq!(decode(100, &[b"\xEF\xBB", b"data: a\n\n"]), ["1 junk \u{fffd}data: a"]);
        assert_eq!(decode(100, &[b"data: a\n\n\xEF\xBB\xBFdata: b\n\n"])[1], "3 junk \u{feff}data: b");
    }

    #[test]
    fn a_cr_at_the_very_end_completes_nothing() {
        assert_eq!(decode(100, &[b"data: a\r\rdata: b\r\r"]), ["1 a", "3 incomplete b"]);
        assert_eq!(decode(100, &[b"data: a\r", b"\n\r", b"\ndata: b\n\n"]), ["1 a", "3 b"]);
    }

    #[test]
    fn an_unfinished_event_is_told() {
        assert_eq!(decode(100, &[b"data: a\n\ndata: b\n"]), ["1 a", "3 incomplete b"]);
        assert_eq!(decode(100, &[b"data: a\n\ndata: b"]), ["1 a", "3 incomplete b"]);
        assert_eq!(decode(100, &[b"data: a\n\n: pi"]), ["1 a"]);
    }

    #[test]
    fn too_large_is_dropped_and_the_rest_is_read() {
        let big = [b'x'; 50];
        assert_eq!(decode(20, &[b"data: ", &big, b"\nmore\n\ndata: ok\n\n"]), ["1 too large", "4 ok"]);
        assert_eq!(decode(20, &[b"data: 1234567890\ndata: 1234567890\n\ndata: ok\n\n"]), ["2 too large", "4 ok"]);
        assert_eq!(decode(20, &[&big]), ["1 too large"]);
    }
}
