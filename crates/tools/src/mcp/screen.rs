//! Screening of a server's messages.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use holdpoint_protocol::json::Screen;
use tokio::io::{AsyncRead, ReadBuf};

/// The number of levels that the library's parser can read. It drops a deeper message, and whoever waits for it would wait
/// until the timeout.
const MAX_LEVELS: usize = 127;

/// Why a message can't be given to `rmcp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScreenError {
    #[error("the message contains a reserved object key")]
    Key,
    #[error("the message is larger than {limit} bytes")]
    Size { limit: usize },
    #[error("the message has more than {MAX_LEVELS} levels")]
    Levels,
}

/// A screen for messages that are a line each.
#[derive(Debug, Default)]
pub(super) struct LineScreen(Screen);

impl LineScreen {
    /// Scans more bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), ScreenError> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.0.feed(line) {
                return Err(ScreenError::Key);
            }
            if self.0.deepest() > MAX_LEVELS {
                return Err(ScreenError::Levels);
            }
            if line.ends_with(b"\n") {
                self.0.next_line();
            }
        }
        Ok(())
    }
}

/// A program's output, until a message has a reserved key or too many levels.
#[derive(Debug)]
pub(super) struct Screened<R> {
    reader: R,
    screen: LineScreen,
}

impl<R> Screened<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, screen: LineScreen::default() }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Screened<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(cx, buffer))?;
        if let Err(error) = self.screen.feed(&buffer.filled()[before..]) {
            buffer.set_filled(before);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn what_can_be_read_passes_and_the_rest_ends_the_connection() {
        let good = "{\"a\":\"$serde_json::private::RawValue\"}\n";
        let mut text = String::new();
        Screened::new(good.as_bytes()).read_to_string(&mut text).await.expect("it passes");
        assert_eq!(text, good);
        let bad = format!("{good}{{\"a\":{{\"$serde_json::private::RawValue\":\"1\"}}}}\n");
        let error = Screened::new(bad.as_bytes()).read_to_end(&mut Vec::new()).await.expect_err("it does not pass");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[tokio::test]
    async fn a_line_has_the_levels_that_can_be_read() {
        let nested = |levels: usize| format!("{}{}\n", "[".repeat(levels), "]".repeat(levels));
        // What a program prints by mistake does not add up.
        let noise = "[info] {\n".repeat(500);
        let good = format!("{noise}{}", nested(MAX_LEVELS));
        assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_LEVELS)).is_ok());
        Screened::new(good.as_bytes()).read_to_end(&mut Vec::new()).await.expect("it passes");
        assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_LEVELS + 1)).is_err());
        let bad = nested(MAX_LEVELS + 1);
        Screened::new(bad.as_bytes()).read_to_end(&mut Vec::new()).await.expect_err("it does not pass");
    }
}
