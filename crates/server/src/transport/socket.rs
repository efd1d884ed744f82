//! What our WebSockets have in common: a place among the subject's streams, limits on frames, a peer that may be gone, an orderly end.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::ws::{CloseFrame, Message, WebSocket},
    response::Response,
};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use holdpoint_runtime::{clock::Clock, subject::Subject};
use serde::de::DeserializeOwned;

use crate::{
    app::{Limits, Server},
    listen::Inflow,
    metrics::{StreamKind, Transport},
    request::{Failure, Held, Share, Upgrade, parse},
};

/// How long a peer may say nothing before it is asked whether it is there, and then before it is given up.
const SILENCE: Duration = Duration::from_secs(30);
/// How many bad frames in a row end a connection.
const ABUSE: u32 = 20;
/// How much is read at once.
const READ_BUFFER: usize = 4096;

/// The connection is over.
pub(super) struct Over;

/// Accepts a WebSocket and lets it run.
pub(super) fn accept<R: Future<Output = ()> + Send + 'static>(
    server: Server,
    subject: &Subject,
    kind: StreamKind,
    Upgrade(upgrade, inflow): Upgrade,
    run: impl FnOnce(Server, Socket, Frames) -> R + Send + 'static,
) -> Result<Response, Failure> {
    let limits = server.inner.limits;
    let place = server.inner.place(subject, kind)?;
    // What is larger is not read: the client is told, and the connection closed (1009).
    // Its own buffer for reading would be 128 KiB for each socket, and most of them only wait.
    let upgrade = upgrade.max_message_size(limits.body).max_frame_size(limits.body).read_buffer_size(READ_BUFFER);
    let sockets = server.inner.sockets.clone();
    let bodies = server.inner.bodies.of(subject);
    if let Some(inflow) = &inflow {
        inflow.begin(bodies.clone(), limits.body_time);
    }
    Ok(upgrade.on_upgrade(move |socket| {
        sockets.track_future(async move {
            let (out, frames) = socket.split();
            let frames = Frames::new(frames, server.inner.runtime.clock().clone(), inflow);
            let socket = Socket { out, server: server.clone(), limits, bodies, bad_frames: 0 };
            run(server, socket, frames).await;
            drop(place);
        })
    }))
}

/// What comes in.
pub(super) struct Frames {
    frames: SplitStream<WebSocket>,
    clock: Arc<dyn Clock>,
    silence: futures::future::BoxFuture<'static, ()>,
    is_silent: bool,
    /// What came of a message that is not complete.
    inflow: Option<Arc<Inflow>>,
}

/// What came in, or did not.
pub(super) enum Came {
    Frame(Message),
    /// Nothing for a while: the peer is to be asked whether it is there.
    Silence,
    /// The socket failed: a message far too large, or the other side gone.
    Broken(axum::Error),
    End,
}

impl Frames {
    fn new(frames: SplitStream<WebSocket>, clock: Arc<dyn Clock>, inflow: Option<Arc<Inflow>>) -> Self {
        let silence = clock.sleep_until(clock.now().after(SILENCE));
        Self { frames, clock, silence, is_silent: false, inflow }
    }

    fn count(&self, frame: &Message) {
        let Some(inflow) = &self.inflow else { return };
        match frame {
            Message::Ping(content) | Message::Pong(content) => inflow.control(content.len()),
            Message::Text(_) | Message::Binary(_) | Message::Close(_) => inflow.message(),
        }
    }

    /// Waits for the next. Cancel-safe.
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
                self.silence = self.clock.sleep_until(self.clock.now().after(SILENCE));
                match std::mem::replace(&mut self.is_silent, true) {
                    false => Came::Silence,
                    // Not even a pong since the last time: nobody is there.
                    true => Came::End,
                }
            }
        }
    }
}

/// A peer that does not read is given up. The machine's own time, not the injected one: it is about the network, and promised to nobody.
async fn in_time(sent: impl Future<Output = Result<(), axum::Error>>) -> Result<(), Over> {
    match tokio::time::timeout(SILENCE, sent).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Over),
    }
}

/// What goes out.
pub(super) struct Socket {
    out: SplitSink<WebSocket, Message>,
    server: Server,
    limits: Limits,
    bodies: Share,
    bad_frames: u32,
}

/// A frame, read.
pub(super) enum Read<T> {
    /// What it says, and the bytes in flight that it takes.
    Is(T, Held),
    /// It can't be used; the frame and what is wrong with it.
    Bad(String, String),
    /// Nothing for us.
    Nothing,
}

impl Socket {
    /// Adds one text frame to what goes out with the next flush.
    pub(super) async fn feed(&mut self, text: Vec<u8>) -> Result<(), Over> {
        let text = String::from_utf8(text).unwrap_or_default();
        self.server.inner.metrics.sent(Transport::Socket, text.len());
        in_time(self.out.feed(Message::Text(text.into()))).await
    }

    pub(super) async fn flush(&mut self) -> Result<(), Over> {
        in_time(self.out.flush()).await
    }

    /// Asks the peer whether it is there.
    pub(super) async fn ping(&mut self) -> Result<(), Over> {
        in_time(self.out.send(Message::Ping(Default::default()))).await
    }

    /// Says goodbye. It is over, whether or not the peer hears it.
    pub(super) async fn close(&mut self, code: u16, reason: &'static str) -> Over {
        let _ = in_time(self.out.send(Message::Close(Some(CloseFrame { code, reason: reason.into() })))).await;
        Over
    }

    /// What to tell the peer of why the socket failed: it has sent a message that is too large. Then the socket is closed (1009).
    pub(super) fn too_large(&self, error: &axum::Error) -> Option<Failure> {
        let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<tungstenite::Error>());
        matches!(cause, Some(tungstenite::Error::Capacity(_))).then_some(Failure::TooLarge { limit: self.limits.body })
    }

    pub(super) async fn close_too_large(&mut self) -> Over {
        self.close(1009, "the message is too large").await
    }

    /// Reads a frame of JSON, within the limits.
    pub(super) async fn read<T: DeserializeOwned>(&mut self, frame: Message) -> Result<Read<T>, Over> {
        let text = match frame {
            Message::Text(text) => text,
            Message::Binary(_) => {
                return Ok(Read::Bad(String::new(), "send text frames: this is a binary one".to_owned()));
            }
            Message::Close(_) => return Err(Over),
            Message::Ping(_) | Message::Pong(_) => return Ok(Read::Nothing),
        };
        self.server.inner.metrics.received(Transport::Socket, text.len());
        let read = match self.bodies.hold(text.len()).await {
            Ok(held) => parse(text.as_bytes(), self.limits.json()).map(|read| (read, held)),
            Err(failure) => Err(failure),
        };
        Ok(match read {
            Ok((read, held)) => {
                self.bad_frames = 0;
                Read::Is(read, held)
            }
            Err(failure) => {
                self.rejected(&failure);
                Read::Bad(text.to_string(), failure.to_string())
            }
        })
    }

    /// A frame was refused.
    pub(super) fn rejected(&self, failure: &Failure) {
        if let Some(limit) = failure.limit() {
            self.server.inner.metrics.rejected(limit);
        }
    }

    /// A bad frame was told: only repeated abuse ends the connection.
    pub(super) async fn was_bad(&mut self) -> Result<(), Over> {
        self.bad_frames += 1;
        match self.bad_frames >= ABUSE {
            true => Err(self.close(1008, "too many bad frames").await),
            false => Ok(()),
        }
    }
}
