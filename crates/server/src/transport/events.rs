//! `GET /api/events`: which chats and approvals of this subject changed.

use axum::{extract::State, response::Response};
use holdpoint_runtime::{driver::Change, subject::Subject};
use serde_json::json;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;

use super::sse::{self, Events};
use crate::{app::Server, auth::Caller, request::Failure};

pub(crate) async fn get(State(server): State<Server>, Caller(subject): Caller) -> Result<Response, Failure> {
    let limit = server.inner.limits.streams_per_subject;
    let place = server.inner.place(&subject).ok_or(Failure::TooManyStreams { limit })?;
    let runtime = &server.inner.runtime;
    let draining = server.inner.draining.clone();
    let changes = Changes { changes: runtime.changes(), subject, draining, is_first: true };
    Ok(sse::response(changes, runtime.clock().clone(), place))
}

struct Changes {
    changes: Receiver<Change>,
    subject: Subject,
    draining: CancellationToken,
    is_first: bool,
}

impl Events for Changes {
    async fn next(&mut self, out: &mut Vec<u8>) -> bool {
        if std::mem::take(&mut self.is_first) {
            // From here on nothing is missed: a list that is read after this is current.
            write(&json!({"type": "ready"}), out);
            return true;
        }
        loop {
            let change = tokio::select! {
                change = self.changes.recv() => change,
                () = self.draining.cancelled() => return false,
            };
            match change {
                Ok(change) if change.subject == self.subject => {
                    write(&json!({"type": "chat", "chatId": change.chat}), out);
                    if change.approvals {
                        write(&json!({"type": "approvals", "chatId": change.chat}), out);
                    }
                    return true;
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => {
                    write(&json!({"type": "missed"}), out);
                    return true;
                }
                Err(RecvError::Closed) => return false,
            }
        }
    }
}

fn write(event: &serde_json::Value, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("data: {event}\n\n").as_bytes());
}
