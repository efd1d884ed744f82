//! Headers of the settings, sent with every request.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::ProviderSetupError;
use holdpoint_core::redact::Secret;

/// Reads headers. They replace those of the provider's own format, such as `authorization`.
pub(super) fn read(headers: &[(String, Secret)]) -> Result<HeaderMap, ProviderSetupError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || ProviderSetupError::Header { name: name.clone() };
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// Adds a beta to those of the settings.
pub(super) fn add_beta(headers: &mut HeaderMap, beta: &'static str) {
    const NAME: &str = "anthropic-beta";
    let set = headers.get(NAME).and_then(|set| set.to_str().ok()).map(str::trim).filter(|set| !set.is_empty());
    let all = match set {
        Some(set) if set.split(',').any(|name| name.trim() == beta) => return,
        Some(set) => format!("{set},{beta}"),
        None => beta.to_owned(),
    };
    if let Ok(all) = HeaderValue::try_from(all) {
        headers.insert(NAME, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beta_is_added_to_those_of_the_settings() {
        let mut headers = HeaderMap::new();
        for expected in ["b", "b", "a, c,b"] {
            if expected.len() > 1 {
                headers.insert("anthropic-beta", HeaderValue::from_static("a, c"));
            }
            add_beta(&mut headers, "b");
            assert_eq!(headers["anthropic-beta"], expected);
        }
    }
}
