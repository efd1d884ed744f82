//! The URL of a server, which may contain a key.

use std::fmt;

use crate::Secret;
use holdpoint_core::redact::{Mask, urls};

/// A URL with parts that are never shown. Only its scheme, its host and the segments of its path that cannot be a key are shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl {
    text: String,
    secrets: Vec<Secret>,
}

impl SecretUrl {
    /// A URL. The values of its query, and what looks like a key in its path, are secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), secrets: Vec::new() }
    }

    /// These parts of it are secret too, whatever they look like.
    #[must_use]
    pub fn hiding(mut self, secrets: impl IntoIterator<Item = Secret>) -> Self {
        self.secrets.extend(secrets);
        self
    }

    /// The text itself, for connecting.
    pub(super) fn reveal(&self) -> &str {
        &self.text
    }

    /// A mask that also hides what is certainly secret in it, for an answer that repeats it.
    pub(super) fn echo(&self, mask: Mask) -> Mask {
        mask.and_answer_secrets(&self.secrets)
    }

    /// A mask that also hides what is secret in it.
    pub(super) fn mask(&self, mask: Mask) -> Mask {
        mask.and_whole(&self.secrets).and_url(&self.text)
    }
}

impl From<&str> for SecretUrl {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&urls(&self.mask(Mask::default()).hide(&self.text)))
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_is_not_shown() {
        let url = SecretUrl::new("https://mcp.example/s/tiny/mcp?apiKey=hunter22").hiding([Secret::new("tiny")]);
        assert_eq!(url.to_string(), "https://mcp.example/s/•••/mcp?•••");
        assert_eq!(format!("{url:?}"), "\"https://mcp.example/s/•••/mcp?•••\"");
    }
}
