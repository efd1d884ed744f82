//! The common part of our WebSockets: a place among the subject's streams, limits on frames, liveness of the peer, an
//! orderly close.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::ws::{CloseFrame, Message, WebSocket},
    response::Response,
};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use holdpoint_protocol::json;
use holdpoint_runtime::{Identity, clock::Clock};
use serde::de::DeserializeOwned;

use crate::{
    app::{Limits, Server},
    listen::Inflow,
    metrics::{StreamKind, Transport},
    request::{Failure, Held, Share, UNCOUNTED_BYTES, Upgrade, parse},
};

/// How long a peer may be silent before it gets a ping, and after that before it is dropped.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of invalid frames in a row that ends a connection.
const MAX_INVALID_FRAMES: u32 = 20;
/// The size of the read buffer.
const READ_BUFFER_BYTES: usize = 4096;
/// What may wait to be written, frames of the largest size included. Reading stops long before: see [`Socket::read`].
const MAX_UNWRITTEN_BYTES: usize = 16 * 1024 * 1024;

/// The connection has ended.
pub(super) struct Over;

/// Accepts a WebSocket and runs it.
pub(super) fn accept<R: Future<Output = ()> + Send + 'static>(
    server: Server,
    identity: &Identity,
    kind: StreamKind,
    Upgrade(upgrade, inflow): Upgrade,
    run: impl FnOnce(Server, Socket, Frames) -> R + Send + 'static,
) -> Result<Response, Failure> {
    let (limits, subject) = (server.inner.limits, identity.subject());
    let place = server.inner.place(subject, kind)?;
    // Larger messages are not read: the client gets an error, and the connection is closed (1009). The default read
    // buffer is 128 KiB per socket, and most sockets only wait.
    let upgrade = upgrade.max_message_size(limits.body).max_frame_size(limits.body).read_buffer_size(READ_BUFFER_BYTES);
    // A frame of the client may be repeated in one of ours.
    let upgrade = upgrade.max_write_buffer_size(MAX_UNWRITTEN_BYTES.saturating_add(limits.body));
    let sockets = server.inner.sockets.clone();
    let (bodies, parsed) = (server.inner.bodies.of(subject), server.inner.parsed.of(subject));
    if let Some(inflow) = &inflow {
        inflow.begin(bodies.clone(), limits.body_time);
    }
    Ok(upgrade.on_upgrade(move |socket| {
        sockets.track_future(async move {
            let (out, frames) = socket.split();
            let frames = Frames::new(frames, server.inner.runtime.clock().clone(), inflow);
            let socket = Socket { out, server: server.clone(), limits, bodies, parsed, bad_frames: 0 };
            run(server, socket, frames).await;
            drop(place);
        })
    }))
}

/// The incoming half.
pub(super) struct Frames {
    frames: SplitStream<WebSocket>,
    clock: Arc<dyn Clock>,
    silence: futures::future::BoxFuture<'static, ()>,
    is_silent: bool,
    /// Counts the received part of an incomplete message.
    inflow: Option<Arc<Inflow>>,
}

/// The result of waiting for a frame.
pub(super) enum Came {
    Frame(Message),
    /// Nothing for a while: ping the peer.
    Silence,
    /// The socket failed: the message was too large, or the peer is gone.
    Broken(axum::Error),
    End,
}

impl Frames {
    fn new(frames: SplitStream<WebSocket>, clock: Arc<dyn Clock>, inflow: Option<Arc<Inflow>>) -> Self {
        let silence = clock.sleep_until(clock.now().after(SILENCE_TIMEOUT));
        Self { frames, clock, silence, is_silent: false, inflow }
    }

    fn count(&self, frame: &Message) {
        let Some(inflow) = &self.inflow else { return };
        match frame {
            Message::Ping(content) | Message::Pong(content) => inflow.control(content.len()),
            Message::Text(_) | Message::Binary(_) | Message::Close(_) => inflow.message(),
        }
    }

    /// Waits for the next frame. Cancel-safe.
    pub(super) async fn next(&mut self) -> Came {
        tokio::select! {
            frame = self.frames.next() => match frame {
                Some(Ok(frame)) => {
                    self.is_silent = false;
                    self.count(&frame);
                    Came::Frame(frame)
                }
                Some(Err(error)) => Came::Broken(error),
                None => Came::End,
            },
            () = &mut self.silence => {
                self.silence = self.clock.sleep_until(self.clock.now().after(SILENCE_TIMEOUT));
                match std::mem::replace(&mut self.is_silent, true) {
                    false => Came::Silence,
                    // Not even a pong since the last ping: the peer is gone.
                    true => Came::End,
                }
            }
        }
    }
}

/// Drops a peer that does not read. It uses system time instead of the injected clock: this is about the network, and
/// no client depends on it.
async fn in_time(sent: impl Future<Output = Result<(), axum::Error>>) -> Result<(), Over> {
    match tokio::time::timeout(SILENCE_TIMEOUT, sent).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Over),
    }
}

/// The outgoing half.
pub(super) struct Socket {
    out: SplitSink<WebSocket, Message>,
    server: Server,
    limits: Limits,
    bodies: Share,
    /// For what is parsed of a frame.
    parsed: Share,
    bad_frames: u32,
}

/// A frame after parsing.
pub(super) enum Read<T> {
    /// The content, and its bytes in flight.
    Is(T, (Held, Held)),
    /// An invalid frame, what is wrong with it, and its bytes in flight.
    Bad(String, String, (Held, Held)),
    /// A frame without content for us.
    Nothing,
}

/// A message after which nothing can be read: what the peer is told, and how the connection is closed.
pub(super) struct Unreadable {
    pub(super) why: String,
    code: u16,
    reason: &'static str,
}

impl Socket {
    /// Reserves the bytes of a frame, and the memory for parsing it.
    async fn reserve(&self, frame: &[u8]) -> Result<(Held, Held), Failure> {
        let held = self.bodies.hold(frame.len()).await?;
        Ok((held, self.parsed.hold(json::parsed_bytes(frame)).await?))
    }

    /// Queues a text frame for the next flush.
    pub(super) async fn feed(&mut self, text: Vec<u8>) -> Result<(), Over> {
        let text = String::from_utf8(text).unwrap_or_default();
        self.server.inner.metrics.sent(Transport::Socket, text.len());
        in_time(self.out.feed(Message::Text(text.into()))).await
    }

    pub(super) async fn flush(&mut self) -> Result<(), Over> {
        in_time(self.out.flush()).await
    }

    /// Pings the peer.
    pub(super) async fn ping(&mut self) -> Result<(), Over> {
        in_time(self.out.send(Message::Ping(Default::default()))).await
    }

    /// Closes the connection, whether or not the peer gets the close frame.
    pub(super) async fn close(&mut self, code: u16, reason: &'static str) -> Over {
        let _ = in_time(self.out.send(Message::Close(Some(CloseFrame { code, reason: reason.into() })))).await;
        Over
    }

    /// What to report, if the connection ends because a message of the peer cannot be read.
    pub(super) fn unreadable(&self, error: &axum::Error) -> Option<Unreadable> {
        let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<tungstenite::Error>())?;
        match cause {
            tungstenite::Error::Capacity(_) => {
                let why = Failure::TooLarge { limit: self.limits.body }.to_string();
                Some(Unreadable { why, code: 1009, reason: "the message is too large" })
            }
            tungstenite::Error::Utf8(_) => {
                let why = "the frame is not UTF-8: send JSON in UTF-8".to_owned();
                Some(Unreadable { why, code: 1007, reason: "the message is not UTF-8" })
            }
            _ => None,
        }
    }

    /// Closes the connection because the login that opened it has ended.
    pub(super) async fn close_expired(&mut self) -> Over {
        self.close(1008, "the login has expired").await
    }

    pub(super) async fn close_unreadable(&mut self, message: &Unreadable) -> Over {
        self.close(message.code, message.reason).await
    }

    /// Parses a JSON frame, within the limits.
    pub(super) async fn read<T: DeserializeOwned>(&mut self, frame: Message) -> Result<Read<T>, Over> {
        let text = match frame {
            Message::Text(text) => text,
            Message::Binary(_) => {
                let why = "send text frames: this is a binary one".to_owned();
                return Ok(Read::Bad(String::new(), why, <(Held, Held)>::default()));
            }
            Message::Close(_) => return Err(Over),
            Message::Ping(_) => {
                // The library has queued the pong. Nothing more is read before it is written: a peer that sends pings
                // and reads nothing would fill the memory with pongs.
                self.flush().await?;
                return Ok(Read::Nothing);
            }
            Message::Pong(_) => return Ok(Read::Nothing),
        };
        self.server.inner.metrics.received(Transport::Socket, text.len());
        let held = match self.reserve(text.as_bytes()).await {
            Ok(held) => held,
            Err(failure) => {
                self.rejected(&failure);
                // Without room for it, nothing of it is kept.
                let start = text.as_str()[..text.as_str().floor_char_boundary(UNCOUNTED_BYTES)].to_owned();
                return Ok(Read::Bad(start, failure.to_string(), <(Held, Held)>::default()));
            }
        };
        Ok(match parse(text.as_bytes(), self.limits.json()) {
            Ok(read) => {
                self.bad_frames = 0;
                Read::Is(read, held)
            }
            Err(failure) => {
                self.rejected(&failure);
                Read::Bad(text.to_string(), failure.to_string(), held)
            }
        })
    }

    /// Counts a rejected frame.
    pub(super) fn rejected(&self, failure: &Failure) {
        if let Some(limit) = failure.limit() {
            self.server.inner.metrics.rejected(limit);
        }
    }

    /// Counts an invalid frame that was reported. Only repeated abuse ends the connection.
    pub(super) async fn was_bad(&mut self) -> Result<(), Over> {
        self.bad_frames += 1;
        match self.bad_frames >= MAX_INVALID_FRAMES {
            true => Err(self.close(1008, "too many bad frames").await),
            false => Ok(()),
        }
    }
}
