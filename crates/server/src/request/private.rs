//! The headers of every response: it is somebody's own, and it is what its content type says.

use axum::{
    http::{HeaderValue, header},
    response::Response,
};

/// Lets no cache keep a response and no browser guess its type. A route that says otherwise, such as a stream, is left.
pub(crate) async fn private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
    response
}
