//! How much a model reasons.

use rig_core::completion::options::{Effort, Reasoning};

/// How much a model reasons before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ReasoningEffort {
    /// Not at all.
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl ReasoningEffort {
    /// All of them, with their names in settings.
    pub const ALL: [(&'static str, Self); 7] = [
        ("none", Self::None),
        ("minimal", Self::Minimal),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("xhigh", Self::XHigh),
        ("max", Self::Max),
    ];

    pub(super) fn reasoning(self) -> Reasoning {
        let effort = match self {
            Self::None => return Reasoning::Off,
            Self::Minimal => Effort::Minimal,
            Self::Low => Effort::Low,
            Self::Medium => Effort::Medium,
            Self::High => Effort::High,
            Self::XHigh => Effort::XHigh,
            Self::Max => Effort::Max,
        };
        effort.into()
    }
}
