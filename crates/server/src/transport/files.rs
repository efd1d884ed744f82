//! `GET /api/chat/{id}/files/{call}/{index}`: the files that calls have produced.

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use holdpoint_protocol::ids::{ChatId, ToolCallId};

use super::{chats::owner, list::whole};
use crate::{
    app::Server,
    auth::Caller,
    request::{Failure, PathIds},
};

/// Kinds that a browser may show by itself. Others, such as a page with a script, are only saved.
const SHOWN: [&str; 9] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "video/mp4",
    "video/webm",
];

/// Reads a file that a call has produced, such as a picture. The call's output has the link to it.
#[utoipa::path(
    get,
    path = "/api/chat/{id}/files/{call}/{index}",
    tag = "chats",
    operation_id = "file",
    params(
        ("id" = String, Path, description = "The chat.", example = "chat_1"),
        ("call" = String, Path, description = "The call.", example = "call_1"),
        ("index" = usize, Path, description = "The index of the file among the files of the call.", example = 0),
    ),
    responses((status = 200, description = "The file, with the media type that the tool said. What a browser might run is sent as a download.", content_type = "application/octet-stream", body = [u8], example = json!("the bytes of the file"))),
)]
pub(crate) async fn get(
    State(server): State<Server>,
    Caller(identity): Caller,
    PathIds(chat, call, index): PathIds,
) -> Result<Response, Failure> {
    let (chat, call) = (ChatId::from(chat.as_str()), ToolCallId::from(call.as_str()));
    let owner = owner(&server, &identity, &chat).await?;
    let index: usize = index.parse().map_err(|_| Failure::NotFound)?;
    let reading = server.inner.reading(identity.subject()).await?;
    let file = server.inner.runtime.chats(&owner).file(&chat, &call, index).await?.ok_or(Failure::NotFound)?;
    let bytes = file.bytes().ok_or(Failure::NotFound)?;
    let held = server.inner.responses.of(identity.subject()).hold(bytes.len()).await?;
    drop(reading);
    let media_type = HeaderValue::from_str(&file.media_type).map_err(|_| Failure::NotFound)?;
    let disposition = match SHOWN.contains(&file.media_type.as_str()) {
        true => "inline",
        false => "attachment",
    };
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static(disposition)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox")),
        // It never changes, but only a subject that may read the chat may have it.
        (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600")),
    ];
    Ok((headers, whole(bytes, held)).into_response())
}
