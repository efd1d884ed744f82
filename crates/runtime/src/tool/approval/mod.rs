//! Who has to agree to a call: nobody, always somebody, or somebody when a rule over the input says so.

mod condition;
mod number;
mod shape;

use std::sync::Arc;

pub use condition::Condition;
use serde_json::Value;
pub use shape::RuleError;

use super::text::plain;

/// How long a reason can be.
const REASON: usize = 500;

/// Whether a call needs a person's approval.
///
/// In JSON and TOML it is `"always"`, `"never"`, or a rule such as `{ when = "/amount", over = 100 }`: see [`Condition`].
#[derive(Debug, Clone, PartialEq)]
pub enum Approval {
    /// It runs at once.
    Never,
    /// Somebody is asked every time.
    Always,
    /// Somebody is asked every time, and told this as the reason. It is written as `"always"`.
    Because(Arc<str>),
    /// Somebody is asked when this holds, and also when it can't be told whether it does.
    When(Condition),
}

impl Approval {
    /// `None` if the call may run; otherwise why somebody has to be asked, in words for that person.
    pub fn asks(&self, input: &Value) -> Option<String> {
        match self {
            Self::Never => None,
            Self::Always => Some("This tool always needs approval".to_owned()),
            Self::Because(reason) => Some(plain(reason, REASON)),
            Self::When(condition) => condition.asks(input).map(|reason| plain(&reason, REASON)),
        }
    }
}

impl From<Condition> for Approval {
    fn from(condition: Condition) -> Self {
        Self::When(condition)
    }
}
