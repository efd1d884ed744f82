//! A log writer that masks secrets in URLs. Other libraries log URLs in full, including keys in the query and the path.

use std::{
    io::{self, Write},
    sync::Arc,
};

use holdpoint_runtime::redact;

/// Masks the URLs in the output, and what is known to be secret in a path. The formatter writes one event per call.
pub(super) struct Masked<W> {
    pub(super) writer: W,
    pub(super) secrets: Arc<[String]>,
}

impl<W: Write> Write for Masked<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let text = redact::urls(&text);
        let text = self.secrets.iter().fold(text, |text, secret| match text.contains(secret) {
            true => text.replace(secret, redact::MASK).into(),
            false => text,
        });
        self.writer.write_all(text.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_masked() {
        let mut written = Vec::new();
        let event = b"WARN rmcp: error for url (http://h/tok-en/mcp?apiKey=s3cret)\n";
        let mut masked = Masked { writer: &mut written, secrets: Arc::new(["tok-en".to_owned()]) };
        assert_eq!(masked.write(event).expect("written"), event.len());
        assert_eq!(written, "WARN rmcp: error for url (http://h/•••/mcp?•••)\n".as_bytes());
    }
}
