//! One turn over SSE: what `POST /stream` and `POST /api/chat` share.

use axum::{body::Body, http::HeaderMap, response::Response};
use holdpoint_protocol::{request::ChatRequest, skim::Outline};
use holdpoint_runtime::{
    Identity,
    subject::Subject,
    wire::{Profile, View},
};

use super::sse;
use crate::{
    app::Server,
    metrics::StreamKind,
    request::{Failure, parse},
};

/// Takes a chat request and streams its response.
pub(super) async fn turn(
    server: &Server,
    identity: &Identity,
    profile: Profile,
    headers: &HeaderMap,
    request: Body,
) -> Result<Response, Failure> {
    let view = view(profile, |name| headers.get(name)?.to_str().ok());
    let (limits, subject) = (server.inner.limits, identity.subject());
    let received = server.inner.json_body(request, subject).await?;
    let request = match skimmed(server, subject, &received.bytes).await {
        Some(request) => request,
        None => parse(&received.bytes, limits.json())?,
    };
    let _held = received.into_held();
    let place = server.inner.place(subject, StreamKind::Turn)?;
    let runtime = &server.inner.runtime;
    let (_, response) = runtime.submit(identity, request, view).await?;
    Ok(sse::response(sse::TurnEvents::new(response), identity, runtime.clock(), place))
}

/// The smallest body for which it pays to look up whether its chat is known.
const MIN_SKIMMED_BYTES: usize = 32 * 1024;

/// A request for a known chat, read without building its history. `None` if that is not possible.
async fn skimmed(server: &Server, subject: &Subject, body: &[u8]) -> Option<ChatRequest> {
    // What is skipped is not looked at, so it is checked here that it is text.
    if body.len() < MIN_SKIMMED_BYTES || std::str::from_utf8(body).is_err() {
        return None;
    }
    let outline = Outline::read(body).filter(Outline::has_history)?;
    let is_known = server.inner.runtime.chats(subject).owns(outline.id.as_ref()?).await;
    if is_known { outline.skim(body, server.inner.limits.json()) } else { None }
}

/// Whether a response ends at a frontend call (`resubmit`), or waits for its result (`stream`).
pub(super) const WAIT: &str = "x-holdpoint-wait";

/// The view that a client asks for in its headers.
pub(super) fn view<'a>(profile: Profile, header: impl Fn(&'static str) -> Option<&'a str>) -> View {
    let says = |name, value: &str| header(name).is_some_and(|header| header.eq_ignore_ascii_case(value));
    View {
        profile,
        is_progressive: says("x-holdpoint-text", "progressive"),
        // A stock client's `addToolOutput` sends nothing while a response is open, so its responses end at a frontend
        // call.
        is_resubmit: match profile {
            Profile::Adk => says(WAIT, "resubmit"),
            Profile::AiSdk => !says(WAIT, "stream"),
        },
    }
}
