//! The guard against foreign hosts and pages. Any web page may send a form or open a WebSocket to any address, and its
//! DNS name may resolve to ours. A server without keys would take such a page's requests for the user's own.

mod cors;
mod local;

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, HeaderName, Method, Version, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use self::local::Authority;
use crate::{auth::Credential, request::Failure};

/// The hosts and origins that may use a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    /// Allowed origins, besides the server's own.
    pub(crate) origins: Vec<String>,
    /// Allowed host names of a server without keys, besides the names of this machine.
    pub(crate) hosts: Vec<String>,
    pub(crate) is_off: bool,
}

impl Guard {
    /// Puts the guard in front of these routes.
    pub(crate) fn protect<S: Clone + Send + Sync + 'static>(
        &self,
        router: Router<S>,
        credential: Credential,
    ) -> Router<S> {
        if self.is_off {
            return router;
        }
        let guard = std::sync::Arc::new(self.clone());
        router.layer(cors::layer(credential, &self.origins)).layer(axum::middleware::from_fn(
            move |request: Request, next: Next| {
                let guard = std::sync::Arc::clone(&guard);
                async move {
                    match guard.refusal(&request, credential) {
                        Some(failure) => failure.into_response(),
                        None => next.run(request).await as Response,
                    }
                }
            },
        ))
    }

    fn refusal(&self, request: &Request, credential: Credential) -> Option<Failure> {
        let headers = request.headers();
        let allows_anonymous = credential == Credential::None;
        // By the standard, a request of HTTP/1.1 has exactly one. Of several, something before us may have looked at
        // another one. Later versions have an authority in its place.
        let hosts = headers.get_all(header::HOST).iter().count();
        if hosts > 1 || hosts == 0 && request.version() == Version::HTTP_11 {
            return Some(Failure::WrongHost);
        }
        // With a login this is not needed: a key is never sent automatically, and a cookie only to its own host.
        let named = request.uri().authority().map(|authority| authority.as_str());
        if allows_anonymous && texts(headers, header::HOST).chain(named).any(|host| !self.is_allowed_host(host)) {
            return Some(Failure::ForeignHost);
        }
        if texts(headers, header::HOST).any(|host| Authority::read(host).is_none()) {
            return Some(Failure::WrongHost);
        }
        let is_change = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        let is_foreign = match headers.contains_key(header::ORIGIN) {
            true => {
                texts(headers, header::ORIGIN).any(|origin| !self.is_allowed_origin(origin, headers, allows_anonymous))
            }
            // A request for an image or a script has no origin, but says whether it is cross-site.
            false => says(headers, "sec-fetch-site", "cross-site") && !says(headers, "sec-fetch-mode", "navigate"),
        };
        // With keys, reads are left to CORS: a page of another origin can't see the response. A cookie would be sent with
        // them, and following a chat can resume its turn.
        if is_foreign && (credential != Credential::Key || is_change || headers.contains_key(header::UPGRADE)) {
            return Some(Failure::ForeignOrigin);
        }
        // A form, or a script without a preflight request, can send only these types. Checking a capture changes
        // nothing.
        if is_change && !request.uri().path().ends_with("/api/check") {
            return texts(headers, header::CONTENT_TYPE)
                .find_map(form)
                .map(|kind| Failure::UnsupportedContentType { kind });
        }
        None
    }

    fn is_allowed_host(&self, authority: &str) -> bool {
        let Some(authority) = Authority::read(authority) else { return false };
        authority.is_local() || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(authority.host))
    }

    fn is_allowed_origin(&self, origin: &str, headers: &HeaderMap, allows_anonymous: bool) -> bool {
        let is_own = |own: &str| texts(headers, header::HOST).any(|host| host.eq_ignore_ascii_case(own));
        self.origins.iter().any(|known| known == origin)
            || local::authority(origin).is_some_and(is_own)
            || allows_anonymous && local::is_local_origin(origin)
    }
}

/// The values of a header. A value that is not text becomes the empty string, which matches nothing.
fn texts(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).into_iter().map(|value| value.to_str().unwrap_or_default())
}

fn says(headers: &HeaderMap, name: &str, value: &str) -> bool {
    headers.get(name).is_some_and(|header| header.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
}

/// The content type, if a form can send it.
fn form(content_type: &str) -> Option<&'static str> {
    let essence = content_type.split([';', ',']).next().unwrap_or_default().trim();
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
        .into_iter()
        .find(|kind| essence.eq_ignore_ascii_case(kind))
}
