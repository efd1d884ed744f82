//! CORS, for front ends served from another origin.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header, request::Parts};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::local;
use crate::auth::Credential;

/// Allows pages of these origins to use the server; without a login, local pages too. Cookies are allowed where they may
/// be the login.
pub(super) fn layer(credential: Credential, origins: &[String]) -> CorsLayer {
    let allows_anonymous = credential == Credential::None;
    let origins = origins.to_vec();
    let allowed = AllowOrigin::predicate(move |origin: &HeaderValue, _: &Parts| {
        let origin = origin.to_str().unwrap_or_default();
        origins.iter().any(|known| known == origin) || allows_anonymous && local::is_local_origin(origin)
    });
    CorsLayer::new()
        .allow_origin(allowed)
        .allow_credentials(credential == Credential::Own)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([
            HeaderName::from_static("x-vercel-ai-ui-message-stream"),
            HeaderName::from_static("x-request-id"),
            header::RETRY_AFTER,
        ])
        .max_age(Duration::from_secs(600))
}
