//! The console at `/`: built from `apps/web` by `build.rs`, and part of the binary.

use std::io::Read as _;

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use holdpoint_server::Server;

include!(concat!(env!("OUT_DIR"), "/console.rs"));

struct File {
    path: &'static str,
    /// Compressed, both in the binary and on the wire.
    gzip: &'static [u8],
}

/// Allows scripts, styles and connections (including WebSockets) of this origin only. Other sites may only be shown in
/// the frames of the `open-url` panel. The host is not named: behind a proxy it may be an internal one.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob: https:; \
                      connect-src 'self'; frame-src http: https:; object-src 'none'; base-uri 'none'; frame-ancestors 'self'";

/// The same for pages that may not be framed, not even by the console: a click in a frame could be a decision.
const UNFRAMED: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob: https:; \
                        connect-src 'self'; frame-src http: https:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/// Serves the console.
pub(crate) fn router() -> Router {
    Router::new()
        .route("/", get(page))
        .route("/inbox", get(decisions_page))
        .route("/inbox/{view}", get(decisions_page))
        .route("/hold/{approval}", get(decisions_page))
        .route("/status", get(decisions_page))
        .route("/llms.txt", get(llms))
        .route("/assets/{file}", get(asset))
        .route("/{file}", get(asset))
}

/// The overview for language models. Its links lead to the repository, where the documentation is.
async fn llms() -> Response {
    let absolute = concat!("](", env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
    let text = include_str!("../../llms.txt").replace("](", absolute);
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")], text).into_response()
}

async fn page(headers: HeaderMap) -> Response {
    match find("index.html") {
        Some(file) => serve(file, &headers, POLICY),
        None => Html(include_str!("missing.html")).into_response(),
    }
}

/// The inbox, the page of one approval request, and the status. It is the same document: its script reads the path. So
/// the response says nothing about whether the approval request exists.
async fn decisions_page(headers: HeaderMap) -> Response {
    match find("index.html") {
        Some(file) => serve(file, &headers, UNFRAMED),
        None => Html(include_str!("missing.html")).into_response(),
    }
}

async fn asset(request: Request) -> Response {
    match find(request.uri().path().trim_start_matches('/')) {
        Some(file) => serve(file, request.headers(), POLICY),
        None => Server::not_found().await,
    }
}

fn find(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

fn serve(file: &File, headers: &HeaderMap, policy: &'static str) -> Response {
    let kind = match file.path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("json" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    };
    // Names under assets/ contain a hash of their content; the page itself must be revalidated.
    let keep = if file.path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let common = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, keep),
        (header::VARY, "accept-encoding"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepted.split(',').any(|one| one.split(';').next().is_some_and(|name| name.trim() == "gzip")) {
        return (common, [(header::CONTENT_ENCODING, "gzip")], file.gzip).into_response();
    }
    let mut plain = Vec::new();
    match flate2::read::GzDecoder::new(file.gzip).read_to_end(&mut plain) {
        Ok(_) => (common, plain).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_connects_to_its_own_host_only() {
        assert!(POLICY.split("; ").any(|part| part == "connect-src 'self'"), "{POLICY}");
    }

    #[test]
    fn pages_of_decisions_differ_only_in_refusing_frames() {
        assert_eq!(POLICY.replace("frame-ancestors 'self'", "frame-ancestors 'none'"), UNFRAMED);
    }

    #[test]
    fn the_console_is_small() {
        let size: usize = FILES.iter().map(|file| file.gzip.len()).sum();
        assert!(size <= 400_000, "the console adds {size} bytes to the binary");
    }
}
