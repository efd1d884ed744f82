//! Approval rules: never, always, or when a condition on the input holds.

mod condition;
mod number;
mod shape;

use std::sync::Arc;

pub use condition::Condition;
use serde_json::Value;
pub use shape::RuleError;

use super::text::plain;

/// Maximum length of a reason.
const REASON: usize = 500;

/// The approval rule of a tool.
///
/// In JSON and TOML it is `"always"`, `"never"`, or a condition such as `{ when = "/amount", over = 100 }`: see
/// [`Condition`].
#[derive(Debug, Clone, PartialEq)]
pub enum Approval {
    /// Runs without approval.
    Never,
    /// Requires approval every time.
    Always,
    /// Requires approval every time, for this reason. Serialized as `"always"`.
    Because(Arc<str>),
    /// Requires approval when the condition holds, and also when it is undecidable.
    When(Condition),
}

impl Approval {
    /// `None` if the call may run; otherwise the reason for the approval request, written for the approver.
    pub fn approval_reason(&self, input: &Value) -> Option<String> {
        match self {
            Self::Never => None,
            Self::Always => Some("This tool always needs approval".to_owned()),
            Self::Because(reason) => Some(plain(reason, REASON)),
            Self::When(condition) => condition.approval_reason(input).map(|reason| plain(&reason, REASON)),
        }
    }
}

impl From<Condition> for Approval {
    fn from(condition: Condition) -> Self {
        Self::When(condition)
    }
}
