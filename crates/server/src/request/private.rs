//! The headers of every response: it is somebody's own, and it is what its content type says.

use axum::{
    Router,
    http::{HeaderValue, header},
    middleware::map_response,
    response::Response,
};

use super::Failure;
use crate::app::Server;

/// Lets no cache keep a response and no browser guess its type. A route that says otherwise, such as a stream, is left.
pub(crate) async fn private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
    response
}

impl Server {
    /// Adds to a whole app what its routes outside of [`Server::router`] lack: the errors for an unknown route and for a
    /// wrong method, in the form of every other error, and on every response the headers with which no cache keeps it and
    /// no browser guesses its type, unless the route sets them itself. For a program all of whose routes are private.
    pub fn complete(app: Router) -> Router {
        app.fallback(async || Failure::NoRoute)
            .method_not_allowed_fallback(async || Failure::MethodNotAllowed)
            .layer(map_response(private))
    }
}
