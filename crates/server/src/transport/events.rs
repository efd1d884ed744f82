//! `GET /api/events`: changes to the chats and approval requests of this subject.

use axum::{extract::State, response::Response};
use holdpoint_protocol::response::ServerEvent;
use holdpoint_runtime::driver::Change;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;

use super::sse::{self, Events};
use crate::{app::Server, auth::Caller, metrics::StreamKind, openapi::StreamEvent, request::Failure};

/// Streams changes to the chats and approval requests of this subject.
///
/// Events: `{"type":"ready"}` first, `{"type":"chat","chatId"}`, `{"type":"approvals","chatId"}`, and
/// `{"type":"missed"}` if some were lost: then read the lists again.
#[utoipa::path(
    get,
    path = "/api/events",
    tag = "chats",
    operation_id = "events",
    responses((
        status = 200,
        description = "Server-sent events.",
        content_type = "text/event-stream",
        body = StreamEvent,
        example = json!({"data": "{\"type\":\"chat\",\"chatId\":\"chat_1\"}"}),
    )),
)]
pub(crate) async fn get(State(server): State<Server>, Caller(subject): Caller) -> Result<Response, Failure> {
    let place = server.inner.place(&subject, StreamKind::Events)?;
    let runtime = &server.inner.runtime;
    let draining = server.inner.draining.clone();
    let changes = Changes { changes: runtime.changes(&subject), draining, is_first: true };
    Ok(sse::response(changes, runtime.clock().clone(), place))
}

struct Changes {
    changes: Receiver<Change>,
    draining: CancellationToken,
    is_first: bool,
}

impl Events for Changes {
    async fn next(&mut self, out: &mut Vec<u8>) -> bool {
        if std::mem::take(&mut self.is_first) {
            // Nothing is missed from here on: a list read after this event is current.
            write(&ServerEvent::Ready, out);
            return true;
        }
        let change = tokio::select! {
            change = self.changes.recv() => change,
            () = self.draining.cancelled() => return false,
        };
        match change {
            Ok(Change::Chat { chat, approvals }) => {
                write(&ServerEvent::Chat { chat_id: chat.clone() }, out);
                if approvals {
                    write(&ServerEvent::Approvals { chat_id: chat }, out);
                }
                true
            }
            Ok(Change::Missed) | Err(RecvError::Lagged(_)) => {
                write(&ServerEvent::Missed, out);
                true
            }
            Err(RecvError::Closed) => false,
        }
    }
}

fn write(event: &ServerEvent, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    // This can't fail: all keys are strings, and the writer is memory.
    let _ = serde_json::to_writer(&mut *out, event);
    out.extend_from_slice(b"\n\n");
}
