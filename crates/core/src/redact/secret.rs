//! Secrets of tools: header values and environment variables.

use std::fmt;

use super::MASK;

/// A text that is sent and never shown: a header's value, a variable of a program's environment.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret {
    text: String,
    /// What of it is certainly secret; `None` means all of it.
    parts: Option<Vec<String>>,
}

impl Secret {
    /// A secret. An answer that repeats it is masked.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), parts: None }
    }

    /// A text of which only these parts are known to be secret, such as the values of variables in a setting. An answer
    /// may well contain the rest for another reason, so the rest is masked there only where its name says that it is
    /// secret: as the value of `authorization`, for example.
    pub fn with_secret_parts(text: impl Into<String>, parts: impl IntoIterator<Item = String>) -> Self {
        Self { text: text.into(), parts: Some(parts.into_iter().collect()) }
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "whether it is long enough is all that is asked")]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// The text itself, for sending.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// What of it is certainly secret.
    pub fn certain(&self) -> impl Iterator<Item = &str> {
        let whole = self.parts.is_none().then_some(self.text.as_str());
        whole.into_iter().chain(self.parts.iter().flatten().map(String::as_str))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}
