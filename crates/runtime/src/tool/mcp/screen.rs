//! Screening of a server's messages.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use holdpoint_protocol::json::Screen;
use tokio::io::{AsyncRead, ReadBuf};

/// Why a message can't be given to `rmcp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScreenError {
    #[error("the message contains a reserved object key")]
    Key,
    #[error("the message is larger than {limit} bytes")]
    Size { limit: usize },
}

/// A program's output, until a message has a reserved key.
#[derive(Debug)]
pub(super) struct Screened<R> {
    reader: R,
    screen: Screen,
}

impl<R> Screened<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, screen: Screen::default() }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Screened<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(cx, buffer))?;
        if self.screen.feed(&buffer.filled()[before..]) {
            buffer.set_filled(before);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, ScreenError::Key)));
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
}
