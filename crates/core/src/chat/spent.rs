//! The tokens that a turn and a chat have used.

use serde::{Deserialize, Serialize};

use crate::{
    model::Usage,
    tool::{BudgetScope, Spending},
};

/// The largest integer that every client reads as it is: 2^53 - 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Used tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// All of them.
    used: u64,
    /// Those before the last approval to go on. They count no more.
    released: u64,
}

impl Spent {
    /// Whether nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn add(&mut self, usage: Usage) {
        self.used = self.used.saturating_add(usage.total());
    }

    pub(crate) fn release(&mut self) {
        self.released = self.used;
    }

    /// What a person is told if no more than this may be used without asking. Every browser shows these numbers as they are,
    /// whatever a provider has reported.
    pub(crate) fn over(self, scope: BudgetScope, more: u64) -> Option<Spending> {
        let safe = |number: u64| number.min(MAX_SAFE_INTEGER);
        let limit = self.released.saturating_add(more);
        (self.used >= limit).then(|| Spending { scope, used: safe(self.used), limit: safe(limit), more: safe(more) })
    }
}
