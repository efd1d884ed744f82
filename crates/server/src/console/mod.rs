//! What a browser gets at `/` until the console is there.

use axum::{Router, response::Html, routing::get};

pub(crate) fn router() -> Router {
    Router::new().route("/", get(|| async { Html(include_str!("page.html")) }))
}
