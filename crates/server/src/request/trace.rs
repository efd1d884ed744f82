//! The id and the span of a request. Spans contain ids and routes, never contents or keys.

use std::time::Duration;

use axum::{
    Router,
    extract::{MatchedPath, Request},
    http::{HeaderName, HeaderValue},
    middleware::{Next, from_fn},
    response::Response,
};
use tower_http::{classify::ServerErrorsFailureClass, trace::TraceLayer};
use tracing::Span;

/// The header that identifies a request in the log and in its response.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The maximum length of a client's own id.
const MAX_ID_LENGTH: usize = 64;

/// The id of a request.
#[derive(Debug, Clone)]
struct RequestId(HeaderValue);

/// Gives every request an id and a span.
pub(crate) fn traced<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    let trace = TraceLayer::new_for_http()
        .make_span_with(span)
        .on_request(())
        .on_body_chunk(())
        .on_eos(())
        .on_response(|response: &Response, latency: Duration, _: &Span| {
            let (status, ms) = (response.status().as_u16(), latency.as_millis());
            tracing::info!(status, ms, "a request was answered");
        })
        .on_failure(|failure: ServerErrorsFailureClass, latency: Duration, _: &Span| {
            tracing::warn!(%failure, ms = latency.as_millis(), "a request failed");
        });
    router.layer(trace).layer(from_fn(identify))
}

/// Adopts a valid id of a proxy or a client, and returns it in the response.
async fn identify(mut request: Request, next: Next) -> Response {
    let given = request.headers().get(REQUEST_ID).filter(|id| is_id(id)).cloned();
    let id = given.unwrap_or_else(new_id);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.run(request).await;
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

fn new_id() -> HeaderValue {
    let id = uuid::Uuid::new_v4().simple().to_string();
    HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("none"))
}

/// Whether the id is safe to log: it must not look like anything else.
fn is_id(value: &HeaderValue) -> bool {
    let is_usual = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=MAX_ID_LENGTH).contains(&value.len()) && value.as_bytes().iter().all(is_usual)
}

fn span(request: &Request) -> Span {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let id = request.extensions().get::<RequestId>().and_then(|id| id.0.to_str().ok()).unwrap_or_default();
    tracing::info_span!("request", method = %request.method(), route, request = id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_and_plain() {
        for (value, wanted) in
            [("a-B_9.", true), ("", false), ("a b", false), ("a\"b", false), (&*"x".repeat(65), false)]
        {
            assert_eq!(is_id(&HeaderValue::from_str(value).expect("a value")), wanted, "{value}");
        }
    }
}
