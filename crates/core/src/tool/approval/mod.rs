//! Approval policies: never, always, or when a condition on the input holds.

mod check;
mod condition;
mod format;
mod number;
mod timeout;

use std::sync::Arc;

pub use check::{ApprovalCheck, ApprovalContext, CHECK_TIME_LIMIT};
pub use condition::Condition;
pub use format::RuleError;
use serde_json::Value;
pub use timeout::ApprovalTimeout;

use super::text::plain;

/// Maximum length of a reason.
const MAX_REASON_CHARS: usize = 500;

/// The approval policy of a tool.
///
/// In JSON and TOML it is `"always"`, `"never"`, or a condition such as `{ when = "/amount", over = 100 }`: see
/// [`Condition`].
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalPolicy {
    /// Runs without approval.
    Never,
    /// Requires approval every time.
    Always,
    /// Requires approval every time, for this reason. Serialized as `"always"`.
    AlwaysBecause(Arc<str>),
    /// Requires approval when the condition holds, and also when it is undecidable.
    When(Condition),
    /// Requires approval when this function says so. Serialized as `"always"`.
    Check(ApprovalCheck),
}

impl ApprovalPolicy {
    /// `None` if the call may run; otherwise the reason for the approval request, written for the approver.
    pub fn approval_reason(&self, input: &Value) -> Option<String> {
        match self {
            Self::Never => None,
            Self::Always => Some("This tool always needs approval".to_owned()),
            Self::AlwaysBecause(reason) => Some(plain(reason, MAX_REASON_CHARS)),
            Self::When(condition) => condition.approval_reason(input).map(|reason| plain(&reason, MAX_REASON_CHARS)),
            // Its result comes with the call. A call without one was made before the tool had this policy.
            Self::Check(_) => Some(check::UNCHECKED.to_owned()),
        }
    }
}

impl From<Condition> for ApprovalPolicy {
    fn from(condition: Condition) -> Self {
        Self::When(condition)
    }
}
