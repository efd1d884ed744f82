//! A connection to the server that can be stalled, as by a firewall that drops packets, or cut.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Forwards,
    Stalls,
    Cuts,
    /// Connections from before this number stall; later ones are forwarded.
    Loses(u64),
}

/// A proxy in front of a port of this machine.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: watch::Sender<State>,
    connections: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let (state, watched) = watch::channel(State::Forwards);
        let connections = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            for number in 0.. {
                let (client, _) = listener.accept().await.expect("it accepts");
                counted.store(number + 1, Ordering::Relaxed);
                let watched = watched.clone();
                tokio::spawn(async move {
                    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else { return };
                    let ((from_client, to_client), (from_server, to_server)) =
                        (client.into_split(), server.into_split());
                    tokio::spawn(forward(number, from_client, to_server, watched.clone()));
                    forward(number, from_server, to_client, watched).await;
                });
            }
        });
        Self { port, state, connections, task }
    }

    /// Forwards nothing, and closes nothing.
    pub(crate) fn stall(&self) {
        self.state.send_replace(State::Stalls);
    }

    /// Closes all connections, and every new one.
    pub(crate) fn cut(&self) {
        self.state.send_replace(State::Cuts);
    }

    /// Stalls the connections of now for ever, and forwards new ones.
    pub(crate) fn lose(&self) {
        self.state.send_replace(State::Loses(self.connections.load(Ordering::Relaxed)));
    }

    pub(crate) fn forward(&self) {
        self.state.send_replace(State::Forwards);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

async fn forward(
    number: u64,
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut state: watch::Receiver<State>,
) {
    let mut buffer = [0; 4096];
    loop {
        let now = *state.borrow_and_update();
        if now == State::Cuts {
            return;
        }
        let is_forwarding = match now {
            State::Loses(before) => number >= before,
            _ => now == State::Forwards,
        };
        tokio::select! {
            changed = state.changed() => if changed.is_err() { return },
            read = from.read(&mut buffer), if is_forwarding => match read {
                Ok(1..) if to.write_all(&buffer[..read.unwrap_or(0)]).await.is_ok() => {}
                _ => return,
            },
        }
    }
}
