//! `GET /api/events`: changes to the chats of this subject, and to the approval requests that it may decide.

use axum::{extract::State, response::Response};
use holdpoint_protocol::response::ServerEvent;
use holdpoint_runtime::Change;
use tokio_util::sync::CancellationToken;

use super::sse::{self, Events, Flow};
use crate::{app::Server, auth::Caller, metrics::StreamKind, openapi::StreamEvent, request::Failure};

/// Streams changes to your chats, and to the approval requests that you may decide.
///
/// Events: `{"type":"ready"}` first, `{"type":"chat","chatId"}`, `{"type":"approvals","chatId"}` (with the role
/// `approver`, in the chats of others too; also when the call of a request has an outcome), and `{"type":"missed"}` if some
/// were lost: then read the lists again.
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
pub(crate) async fn get(State(server): State<Server>, Caller(identity): Caller) -> Result<Response, Failure> {
    let place = server.inner.place(identity.subject(), StreamKind::Events)?;
    let runtime = &server.inner.runtime;
    let draining = server.inner.draining.clone();
    let changes = Changes { changes: runtime.changes(&identity), draining, is_first: true };
    Ok(sse::response(changes, &identity, runtime.clock(), place))
}

struct Changes {
    changes: holdpoint_runtime::Changes,
    draining: CancellationToken,
    is_first: bool,
}

impl Events for Changes {
    async fn next(&mut self, out: &mut Vec<u8>) -> Flow {
        if std::mem::take(&mut self.is_first) {
            // Nothing is missed from here on: a list read after this event is current.
            write(&ServerEvent::Ready, out);
            return Flow::More;
        }
        let change = tokio::select! {
            change = self.changes.next() => change,
            () = self.draining.cancelled() => return Flow::End,
        };
        match change {
            Some(Change::Chat { chat, approvals }) => {
                write(&ServerEvent::Chat { chat_id: chat.clone() }, out);
                if approvals {
                    write(&ServerEvent::Approvals { chat_id: chat }, out);
                }
                Flow::More
            }
            Some(Change::Approvals { chat }) => {
                write(&ServerEvent::Approvals { chat_id: chat }, out);
                Flow::More
            }
            Some(Change::Missed) => {
                write(&ServerEvent::Missed, out);
                Flow::More
            }
            None => Flow::End,
        }
    }

    /// The stream just ends: the client connects again, and gets 401.
    fn expire(&mut self, _: &mut Vec<u8>) -> Flow {
        Flow::End
    }
}

fn write(event: &ServerEvent, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    // This can't fail: all keys are strings, and the writer is memory.
    let _ = serde_json::to_writer(&mut *out, event);
    out.extend_from_slice(b"\n\n");
}
