//! The peer of a connection, with a time limit on writes.

use std::{
    io::{self, IoSlice},
    os::fd::AsFd,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures::future::BoxFuture;
use holdpoint_runtime::clock::Clock;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::{
    inflow::{Inflow, Timers},
    slots::Slot,
};

/// The peer of a connection, for responses, streams and WebSockets alike.
pub(super) struct Peer {
    stream: TcpStream,
    write_time: Duration,
    clock: Arc<dyn Clock>,
    /// Runs only while the peer accepts nothing, since most connections only wait.
    stalled: Option<BoxFuture<'static, ()>>,
    inflow: Arc<Inflow>,
    timers: Timers,
    /// Released when the connection is closed.
    slot: Option<Slot>,
}

impl Peer {
    pub(super) fn new(
        stream: TcpStream,
        write_time: Duration,
        clock: Arc<dyn Clock>,
        inflow: Arc<Inflow>,
        slot: Slot,
    ) -> Self {
        // For a peer that has vanished, the system buffers writes for a quarter of an hour. So unacknowledged data
        // counts too, by the system's own clock.
        #[cfg(target_os = "linux")]
        let _ = socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(write_time));
        let timers = Timers::new(Arc::clone(&clock));
        Self { stream, write_time, clock, stalled: None, inflow, timers, slot: Some(slot) }
    }

    fn in_time<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| self.clock.sleep(self.write_time));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// How long, and how much, a peer may still send after the connection is dropped. The data is discarded.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_LINGER_BYTES: usize = 16 * 1024 * 1024;

impl Drop for Peer {
    /// Discards incoming data for a moment. Closing a connection while the peer still sends resets it, and the last
    /// response, such as "too large", would be lost.
    fn drop(&mut self) {
        let is_sending = matches!(self.stream.try_read(&mut [0]), Ok(1));
        let (true, Ok(runtime)) = (is_sending, tokio::runtime::Handle::try_current()) else { return };
        let Ok(stream) = self.stream.as_fd().try_clone_to_owned() else { return };
        let (slot, late) = (self.slot.take(), self.clock.sleep(LINGER_TIMEOUT));
        runtime.spawn(async move {
            tokio::select! {
                _ = linger(stream.into()) => {}
                () = late => {}
            }
            drop(slot);
        });
    }
}

async fn linger(stream: std::net::TcpStream) -> io::Result<()> {
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut stream = TcpStream::from_std(stream)?;
    let (mut piece, mut read) = (vec![0; 16 * 1024], 0);
    loop {
        match stream.read(&mut piece).await? {
            0 => return Ok(()),
            _ if read > MAX_LINGER_BYTES => return Ok(()),
            more => read += more,
        }
    }
}

impl AsyncRead for Peer {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let peer = &mut *self;
        ready!(peer.timers.poll(&peer.inflow, cx))?;
        let before = buf.filled().len();
        ready!(Pin::new(&mut peer.stream).poll_read(cx, buf))?;
        peer.inflow.came(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Peer {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.in_time(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.in_time(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.in_time(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
