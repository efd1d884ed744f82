//! A log writer that masks secrets in URLs. Other libraries log URLs in full, including keys in the query.

use std::io::{self, Write};

use holdpoint_runtime::internals::redact;

/// Masks the URLs in the output. The formatter writes one event per call.
pub(super) struct Masked<W>(pub(super) W);

impl<W: Write> Write for Masked<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        self.0.write_all(redact::urls(&text).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_masked() {
        let mut written = Vec::new();
        let event = b"WARN rmcp: error for url (http://h/mcp?apiKey=s3cret)\n";
        assert_eq!(Masked(&mut written).write(event).expect("written"), event.len());
        assert_eq!(written, "WARN rmcp: error for url (http://h/mcp?•••)\n".as_bytes());
    }
}
