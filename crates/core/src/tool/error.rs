//! Why a call failed.

use std::fmt;

/// Why a call failed. Given to the model and shown to the user.
///
/// Every error becomes one by `?`, with the texts of its sources. It is no `std::error::Error` itself, because that would
/// rule this out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError(
    /// The text.
    pub String,
    bool,
);

impl ToolError {
    /// An error with this text. It is the outcome of the call: what it was to do is not done.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into(), false)
    }

    /// An error with this text, after which nobody knows whether the call was carried out: a request was sent, say, and no
    /// answer came. The record says so, and the model is told not to repeat the call without asking, unless the tool is
    /// [idempotent](super::ToolSpec::is_idempotent).
    pub fn outcome_unknown(text: impl Into<String>) -> Self {
        Self(text.into(), true)
    }

    /// Whether nobody knows if the call was carried out.
    pub fn is_outcome_unknown(&self) -> bool {
        self.1
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            // Many errors already contain the text of their source.
            if !text.contains(&cause_text) {
                text.push_str(": ");
                text.push_str(&cause_text);
            }
            source = cause.source();
        }
        Self::new(text)
    }
}
