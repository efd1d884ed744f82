//! The listener: a limited number of connections, a timeout for everything that a peer can delay, and an orderly
//! shutdown.

mod descriptors;
mod inflow;
mod peer;
mod service;
mod slots;
mod timer;

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::Router;
use holdpoint_runtime::clock::Clock;
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::{inflow::Inflow, slots::Handle as Connection};
use self::{peer::Peer, service::Service, slots::Slots, timer::ClockTimer};
use crate::{
    app::{CLOSE_GRACE, Server},
    occasional::Occasional,
};

/// How long running turns have to end or reach a hold after the listener is closed.
const TURN_GRACE: Duration = Duration::from_secs(25);
/// The maximum size of a request's header, which anybody can send. Larger ones get 431.
const MAX_HEADER_BYTES: usize = 32 * 1024;
/// How long to wait for a descriptor if there is none and no idle connection to close.
const DESCRIPTOR_RETRY: Duration = Duration::from_millis(50);

/// Limits on connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections with a request in progress, including streams and WebSockets. Beyond it, requests get 503.
    pub connections: usize,
    /// Of these, connections with a request of one subject. Beyond it, its requests get 429. By default a quarter, where
    /// there can be several subjects.
    pub per_subject: Option<usize>,
    /// Additional connections for `/health`, `/ready`, `/metrics`, and for what ends or frees work: the inbox, results, stop,
    /// deletion and grants. Once all are open, a new connection
    /// replaces the one that has been idle longest.
    pub reserved: usize,
    /// How long a connection may be idle, and how long the header of a request may take.
    pub header_time: Duration,
    /// How long a peer may accept none of what is written to it.
    pub write_time: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            per_subject: None,
            reserved: 16,
            header_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
        }
    }
}

impl Server {
    /// Serves `app`, which contains this server's router, until `stop` completes. Then the listener is closed at once,
    /// `/ready` returns 503, running turns may end or reach a hold for up to 25 seconds, and waiting responses are
    /// ended properly.
    ///
    /// There are never more connections than file descriptors: the process's limit on them is raised as far as the
    /// system permits.
    pub async fn serve(
        &self,
        listener: TcpListener,
        app: Router,
        limits: ConnectionLimits,
        stop: impl Future<Output = ()>,
    ) {
        let limits = descriptors::fit(limits);
        let clock = Arc::clone(self.inner.runtime.clock());
        let accepting = Accepting {
            server: self.clone(),
            app: TowerToHyperService::new(app),
            http: http(&limits, &clock),
            clock: Arc::clone(&clock),
            slots: Arc::new(Slots::new(&limits, self.is_shared())),
            limits,
            connections: TaskTracker::new(),
            refused: Occasional::default(),
            unaccepted: Occasional::default(),
            closing: CancellationToken::new(),
        };
        tokio::select! {
            biased;
            () = stop => {}
            () = accepting.run(&listener) => {}
        }
        drop(listener);
        self.shutdown(TURN_GRACE).await;
        accepting.closing.cancel();
        accepting.connections.close();
        tokio::select! {
            () = accepting.connections.wait() => {}
            () = clock.sleep(CLOSE_GRACE) => {}
        }
    }
}

/// Uses hyper directly instead of `axum::serve`: an open stream that waits takes half the memory, and a burst of small
/// chunks is written at once.
fn http(limits: &ConnectionLimits, clock: &Arc<dyn Clock>) -> http1::Builder {
    let timer = ClockTimer::new(Arc::clone(clock));
    let mut http = http1::Builder::new();
    http.writev(false).timer(timer).header_read_timeout(limits.header_time).max_buf_size(MAX_HEADER_BYTES);
    http
}

struct Accepting {
    server: Server,
    app: TowerToHyperService<Router>,
    http: http1::Builder,
    clock: Arc<dyn Clock>,
    slots: Arc<Slots>,
    limits: ConnectionLimits,
    connections: TaskTracker,
    /// Connections that were refused, and that could not be accepted.
    refused: Occasional,
    unaccepted: Occasional,
    /// Cancelled when connections should end.
    closing: CancellationToken,
}

impl Accepting {
    async fn run(&self, listener: &TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => self.take(stream, address.ip()),
                Err(error) => {
                    if let Some(left_out) = self.unaccepted.next() {
                        tracing::warn!(%error, left_out, "a connection could not be accepted");
                    }
                    // The process is most likely out of descriptors.
                    let is_closed = self.slots.close_idle();
                    self.clock.sleep(if is_closed { Duration::from_millis(1) } else { DESCRIPTOR_RETRY }).await;
                }
            }
        }
    }

    fn take(&self, stream: TcpStream, address: IpAddr) {
        let Some(slot) = self.slots.open() else {
            if let Some(left_out) = self.refused.next() {
                let limit = self.limits.connections;
                tracing::warn!(limit, left_out, "a connection was refused: all others are in use");
            }
            return service::refuse(stream);
        };
        let _ = stream.set_nodelay(true);
        let (handle, inflow) = (slot.handle(), Arc::<Inflow>::default());
        let service = Service {
            app: self.app.clone(),
            server: self.server.clone(),
            slot: handle.clone(),
            address,
            inflow: Arc::clone(&inflow),
        };
        let clock = Arc::clone(&self.clock);
        let peer = TokioIo::new(Peer::new(stream, self.limits.write_time, clock, inflow, slot));
        let connection = self.http.serve_connection(peer, service).with_upgrades();
        let (draining, closing) = (self.server.inner.draining.clone(), self.closing.clone());
        let own = handle.clone();
        let task = self.connections.spawn(async move {
            let mut connection = std::pin::pin!(connection);
            // Hand-written, because `hyper_util::server::graceful` ends all connections at one signal. Here idle ones
            // stay open a little longer, so that their clients can still check `/ready`.
            let end = async {
                draining.cancelled().await;
                if !own.is_busy() {
                    closing.cancelled().await;
                }
            };
            let ended = tokio::select! {
                // Check the end first: a response that ends because of it must not leave its connection open for the
                // next request.
                biased;
                () = end => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
                ended = connection.as_mut() => ended,
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended with an error");
            }
        });
        handle.runs(task.abort_handle());
    }
}
