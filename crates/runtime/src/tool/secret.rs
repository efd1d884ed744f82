//! Secrets of tools: header values and environment variables.

use std::fmt;

use crate::redact::MASK;

/// A text that is sent and never shown: a header's value, a variable of a program's environment.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "whether it is long enough is all that is asked")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The text itself, for sending.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}
