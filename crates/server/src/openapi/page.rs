//! The page at `/docs`: self-contained, in one file, with nothing from other hosts.

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};

const PAGE: &str = include_str!("page.html");

/// The placeholder for the nonce of the page's scripts and styles.
const NONCE: &str = "NONCE";

/// The page, with a policy that allows only its own script.
pub(super) fn response() -> Response {
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let Ok(policy) = HeaderValue::try_from(policy) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let headers: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, Html(PAGE.replace(NONCE, &nonce))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_takes_nothing_from_elsewhere() {
        for foreign in ["http://", "https://", "//cdn", "@import", "innerHTML", "eval("] {
            assert!(!PAGE.contains(foreign), "{foreign}");
        }
        assert_eq!(
            PAGE.matches("nonce=\"NONCE\"").count(),
            PAGE.matches("<script").count() + PAGE.matches("<style").count()
        );
    }
}
