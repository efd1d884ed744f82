//! How long an approval request waits.

use std::time::Duration;

use crate::approvers::Approvers;

/// Whoever asked is likely to be there.
const OWN: Duration = Duration::from_secs(300);
/// Others are not at the screen all the time.
const OTHERS: Duration = Duration::from_secs(24 * 60 * 60);

/// How long an approval request waits before it expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalTimeout {
    /// Five minutes, or a day if the policy names others than the owner of the chat.
    #[default]
    Usual,
    /// This long.
    After(Duration),
    /// It never expires.
    Never,
}

impl ApprovalTimeout {
    /// The time after which a request to these approvers expires, if it does.
    pub fn of(self, approvers: &Approvers) -> Option<Duration> {
        match self {
            Self::Usual => Some(if approvers.names_others() { OTHERS } else { OWN }),
            Self::After(timeout) => Some(timeout),
            Self::Never => None,
        }
    }
}

impl From<Option<Duration>> for ApprovalTimeout {
    /// `None` and zero mean that it never expires.
    fn from(timeout: Option<Duration>) -> Self {
        timeout.filter(|timeout| !timeout.is_zero()).map_or(Self::Never, Self::After)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_have_a_day() {
        let of = |by: &[&str]| Approvers::new(by).expect("names");
        let usual = |approvers: &Approvers| ApprovalTimeout::Usual.of(approvers).map(|timeout| timeout.as_secs());
        assert_eq!(usual(&Approvers::default()), Some(300));
        for approvers in [of(&["group:finance"]), of(&["self", "subject:carol"])] {
            assert_eq!(usual(&approvers), Some(86_400));
        }
        let later = Approvers::default().escalating(Duration::from_secs(600), ["group:directors"]).expect("names");
        assert_eq!(usual(&later), Some(86_400), "there would be no time for them");
        for approvers in [Approvers::default(), of(&["group:finance"])] {
            assert_eq!(
                ApprovalTimeout::from(Some(Duration::from_secs(5))).of(&approvers),
                Some(Duration::from_secs(5))
            );
            assert_eq!(ApprovalTimeout::from(Some(Duration::ZERO)).of(&approvers), None);
            assert_eq!(ApprovalTimeout::from(None).of(&approvers), None);
        }
    }
}
