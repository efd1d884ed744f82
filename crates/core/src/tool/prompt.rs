//! Prompts of running tools to the user.

use std::time::Duration;

use serde_json::Value;

/// A running tool's prompt to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The message.
    pub message: String,
    /// The JSON Schema of the answer.
    pub schema: Value,
    /// Timeout for the answer.
    pub timeout: Duration,
}

/// The user's answer to a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptResponse {
    /// Accepted, with this content.
    Accepted(Value),
    /// Declined.
    Declined,
    /// Neither: the prompt was dismissed, or the turn is over.
    Cancelled,
    /// No answer came in time.
    Expired,
}
