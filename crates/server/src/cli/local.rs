//! A server without keys is for this machine alone, and for nobody whom this machine's browser happens to visit: a web page may open a
//! WebSocket to any address, and a name of its own may lead to ours.

use std::sync::Arc;

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

/// Refuses requests that were made for another host, or by a page of one.
pub(super) async fn only(origins: Arc<[String]>, request: Request, next: Next) -> Response {
    if is_ours(request.headers(), &origins) {
        return next.run(request).await;
    }
    let why = "this server has no keys and serves this machine only: use http://localhost, or set [[auth.keys]]";
    (StatusCode::FORBIDDEN, why).into_response()
}

fn is_ours(headers: &HeaderMap, origins: &[String]) -> bool {
    let text = |name: header::HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    text(header::HOST).is_none_or(is_local)
        && text(header::ORIGIN)
            .is_none_or(|origin| is_local_origin(origin) || origins.iter().any(|known| known == origin))
}

/// Whether a page of this origin comes from this machine.
pub(super) fn is_local_origin(origin: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, authority)| is_local(authority))
}

/// Whether an authority (`host`, `host:port`, `[address]:port`) names this machine.
fn is_local(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_this_machine() {
        for local in ["localhost", "LOCALHOST:8787", "127.0.0.1:8787", "127.1.2.3", "[::1]:8787", "app.localhost:1"] {
            assert!(is_local(local), "{local}");
        }
        for other in
            ["example.com", "localhost.example.com", "127.0.0.1.example.com:8787", "10.0.0.1", "[::2]:1", "", "null"]
        {
            assert!(!is_local(other), "{other}");
        }
    }
}
