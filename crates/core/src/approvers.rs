//! Who may decide about a call: part of a tool's approval policy, recorded with every approval request.

use std::{collections::BTreeSet, fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    identity::{Group, Identity},
    subject::{NameError, Subject},
    tool::Decisions,
};

/// Somebody who may decide.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Approver {
    /// The owner of the chat. Written `self`.
    Owner,
    /// One person. Written `subject:NAME`.
    Subject(Subject),
    /// Everybody in a group. Written `group:NAME`.
    Group(Group),
}

/// A text names no approver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApproverError {
    /// It is neither `self` nor has one of the prefixes.
    #[error("{0:?} names nobody: use \"self\", \"subject:NAME\" or \"group:NAME\"")]
    Unknown(String),
    /// The name after the prefix is empty.
    #[error("{0:?} has no name after the colon")]
    NoName(String),
    /// No subject has such a name.
    #[error("{text:?} can't be the name of a subject: {why}")]
    Name {
        /// The whole text.
        text: String,
        /// What is wrong with the name.
        why: NameError,
    },
}

impl FromStr for Approver {
    type Err = ApproverError;

    fn from_str(text: &str) -> Result<Self, ApproverError> {
        match Self::recorded(text)? {
            Self::Subject(subject) => match Subject::named(subject.as_str()) {
                Ok(subject) => Ok(Self::Subject(subject)),
                Err(why) => Err(ApproverError::Name { text: text.to_owned(), why }),
            },
            approver => Ok(approver),
        }
    }
}

impl Approver {
    /// Reads what was recorded: its name is taken as it is.
    fn recorded(text: &str) -> Result<Self, ApproverError> {
        match text.split_once(':') {
            None if text == "self" => Ok(Self::Owner),
            Some(("subject" | "group", "")) => Err(ApproverError::NoName(text.to_owned())),
            Some(("subject", name)) => Ok(Self::Subject(name.into())),
            Some(("group", name)) => Ok(Self::Group(name.into())),
            _ => Err(ApproverError::Unknown(text.to_owned())),
        }
    }

    /// The one with this kind and this name in the tables of a log.
    pub fn of_parts(kind: &str, name: &str) -> Option<Self> {
        let found = match kind {
            "self" => Self::Owner,
            "subject" => Self::Subject(Subject::from(name)),
            "group" => Self::Group(Group::from(name)),
            _ => return None,
        };
        (found.parts() == (kind, name)).then_some(found)
    }

    /// Its kind and its name, as they are in the tables of a log.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Owner => ("self", ""),
            Self::Subject(subject) => ("subject", subject.as_str()),
            Self::Group(group) => ("group", group.as_str()),
        }
    }
}

impl fmt::Display for Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("self"),
            Self::Subject(subject) => write!(f, "subject:{}", subject.as_str()),
            Self::Group(group) => write!(f, "group:{}", group.as_str()),
        }
    }
}

impl Serialize for Approver {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Approver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::recorded(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Who may decide about the calls of a tool, and how many of them it takes.
///
/// ```
/// use holdpoint_core::approvers::Approvers;
///
/// let approvers = Approvers::new(["group:finance", "subject:carol"])?.excluding_self().quorum(2);
/// assert_eq!(approvers.quorum, 2);
/// # Ok::<(), holdpoint_core::approvers::ApproverError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approvers {
    /// Who may decide.
    pub by: Vec<Approver>,
    /// Whether the owner of the chat does not count, even if they are named or in a named group.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclude_self: bool,
    /// The number of different people whose approval it takes. One denial denies.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub quorum: u32,
    /// Who is added if nobody decides for some time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalate: Option<Escalation>,
}

/// Who is added to those who may decide, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Escalation {
    /// How long after the approval request was made.
    #[serde(rename = "afterMs", serialize_with = "to_millis", deserialize_with = "from_millis")]
    pub after: Duration,
    /// Who is added.
    pub to: Vec<Approver>,
}

fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(quorum: &u32) -> bool {
    *quorum == 1
}

fn to_millis<S: Serializer>(after: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(after.as_millis()).unwrap_or(u64::MAX))
}

fn from_millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

impl Default for Approvers {
    /// The owner of the chat.
    fn default() -> Self {
        Self { by: vec![Approver::Owner], exclude_self: false, quorum: 1, escalate: None }
    }
}

/// Approvers that nobody, or too few, could ever be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ApproversError {
    /// Nobody is named.
    #[error("`by`: nobody is named, so no call could be approved: name \"self\", a subject or a group")]
    Nobody,
    /// Nobody but the owner is named, and the owner does not count.
    #[error("`exclude_self`: nobody but \"self\" is in `by`, so no call could be approved: name a subject or a group")]
    OnlySelf,
    /// Nobody has to approve.
    #[error("`quorum` must be at least 1")]
    NoQuorum,
    /// Fewer people are named than are needed.
    #[error("`quorum` is {quorum}, but at most {named} different people are in `by`, so no call could be approved")]
    TooFew {
        /// How many are needed.
        quorum: u32,
        /// How many are named.
        named: usize,
    },
    /// Others could change what earlier voters have approved.
    #[error(
        "`quorum` is above 1, so `decisions` can only be [\"approve\", \"deny\"]: an edit would make earlier votes count for an input that nobody saw"
    )]
    Decisions,
    /// Nobody could have decided alone what a grant would decide.
    #[error("`quorum` is above 1, so `grants` can't be true: a grant is one person's decision")]
    Grants,
    /// The escalation names nobody.
    #[error("`escalate.to`: nobody is named")]
    NobodyToEscalateTo,
    /// The escalation is to the owner, who does not count.
    #[error("`escalate.to`: \"self\" is added, but `exclude_self` says that the owner does not count")]
    EscalatesToSelf,
    /// The escalation would come at once.
    #[error("`escalate.after_sec` must be at least 1")]
    EscalatesAtOnce,
    /// The request expires before the escalation.
    #[error(
        "`escalate.after_sec` is {after} s, but the request expires after {timeout} s (`approval_timeout_sec`): escalate earlier"
    )]
    EscalatesTooLate {
        /// When it would escalate, in seconds.
        after: u64,
        /// When it expires, in seconds.
        timeout: u64,
    },
}

impl Approvers {
    /// Whoever is named: `self`, `subject:NAME` or `group:NAME`.
    pub fn new<T: AsRef<str>>(by: impl IntoIterator<Item = T>) -> Result<Self, ApproverError> {
        Ok(Self { by: names(by)?, ..Self::default() })
    }

    /// The owner of the chat does not count.
    #[must_use]
    pub fn excluding_self(mut self) -> Self {
        self.exclude_self = true;
        self
    }

    /// Sets how many different people have to approve.
    #[must_use]
    pub fn quorum(mut self, quorum: u32) -> Self {
        self.quorum = quorum;
        self
    }

    /// Adds these if nobody decides within a time.
    pub fn escalating<T: AsRef<str>>(
        mut self,
        after: Duration,
        to: impl IntoIterator<Item = T>,
    ) -> Result<Self, ApproverError> {
        self.escalate = Some(Escalation { after, to: names(to)? });
        Ok(self)
    }

    /// Whether the owner of the chat decides, alone: what every tool without a policy has.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that calls can be decided. `timeout` is that of the approval.
    pub fn check(&self, timeout: Option<Duration>, decisions: Decisions) -> Result<(), ApproversError> {
        if self.by.is_empty() {
            return Err(ApproversError::Nobody);
        }
        if self.exclude_self && self.by.iter().all(|approver| *approver == Approver::Owner) {
            return Err(ApproversError::OnlySelf);
        }
        if self.quorum == 0 {
            return Err(ApproversError::NoQuorum);
        }
        if self.quorum > 1 && decisions != Decisions::PLAIN {
            return Err(ApproversError::Decisions);
        }
        if let Some(Escalation { after, to }) = &self.escalate {
            if to.is_empty() {
                return Err(ApproversError::NobodyToEscalateTo);
            }
            if self.exclude_self && to.contains(&Approver::Owner) {
                return Err(ApproversError::EscalatesToSelf);
            }
            if after.is_zero() {
                return Err(ApproversError::EscalatesAtOnce);
            }
            if let Some(timeout) = timeout.filter(|timeout| after >= timeout) {
                let (after, timeout) = (after.as_secs(), timeout.as_secs());
                return Err(ApproversError::EscalatesTooLate { after, timeout });
            }
        }
        let named: BTreeSet<&Approver> = self.named(true).collect();
        let has_group = named.iter().any(|approver| matches!(approver, Approver::Group(_)));
        let people = named.iter().filter(|approver| !self.exclude_self || ***approver != Approver::Owner).count();
        if !has_group && people < self.quorum as usize {
            return Err(ApproversError::TooFew { quorum: self.quorum, named: people });
        }
        Ok(())
    }

    /// Whether others than the owner of the chat are named.
    pub fn names_others(&self) -> bool {
        self.named(true).any(|approver| *approver != Approver::Owner)
    }

    /// Everybody who is named, those of the escalation too if it has taken place.
    pub fn named(&self, is_escalated: bool) -> impl Iterator<Item = &Approver> {
        let added = self.escalate.iter().filter(move |_| is_escalated).flat_map(|escalation| &escalation.to);
        self.by.iter().chain(added)
    }

    /// Whether somebody may decide about a call in a chat of `owner`. It depends on nothing but what is recorded: this,
    /// and whether the escalation has taken place.
    ///
    /// Deciding for others needs the role `approver`.
    pub fn let_decide(&self, by: &Identity, owner: &Subject, is_escalated: bool) -> bool {
        let is_owner = by.subject() == owner;
        if is_owner && self.exclude_self || !is_owner && !by.is_approver() {
            return false;
        }
        self.named(is_escalated).any(|approver| match approver {
            Approver::Owner => is_owner,
            Approver::Subject(subject) => subject == by.subject(),
            Approver::Group(group) => by.is_in(group),
        })
    }
}

fn names<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Vec<Approver>, ApproverError> {
    texts.into_iter().map(|text| text.as_ref().parse()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Role;

    const MINUTE: Option<Duration> = Some(Duration::from_secs(60));

    fn approver(name: &str, groups: &[&str]) -> Identity {
        Identity::new(name).with_roles([Role::User, Role::Approver]).with_groups(groups.iter().copied())
    }

    #[test]
    fn names_are_read_and_written() {
        for text in ["self", "subject:carol", "group:finance", "subject:a:b"] {
            let approver: Approver = text.parse().expect("it names somebody");
            assert_eq!(approver.to_string(), text);
        }
        for text in ["", "Self", "carol", "role:admin", "subject", ":x"] {
            assert_eq!(text.parse::<Approver>(), Err(ApproverError::Unknown(text.to_owned())));
        }
        for text in ["subject:", "group:"] {
            assert_eq!(text.parse::<Approver>(), Err(ApproverError::NoName(text.to_owned())));
        }
        assert_eq!("subject:Carol".parse(), Ok(Approver::Subject("carol".into())), "however it is spelled");
        assert!(matches!("subject:carol ".parse::<Approver>(), Err(ApproverError::Name { why: NameError::Space, .. })));
    }

    #[test]
    fn it_is_stored_and_read_back() {
        let full = Approvers::new(["group:finance", "self"]).expect("names").excluding_self().quorum(2);
        let full = full.escalating(Duration::from_secs(600), ["group:directors"]).expect("names");
        for approvers in [Approvers::default(), full] {
            let stored = serde_json::to_string(&approvers).expect("JSON");
            assert_eq!(serde_json::from_str::<Approvers>(&stored).expect("it is read"), approvers, "{stored}");
        }
        assert_eq!(serde_json::to_string(&Approvers::default()).expect("JSON"), r#"{"by":["self"]}"#);
    }

    #[test]
    fn only_those_who_are_named_may_decide() {
        let owner = Subject::from("ann");
        let finance = Approvers::new(["group:finance", "subject:carol"]).expect("names");
        let may = |approvers: &Approvers, by: &Identity| approvers.let_decide(by, &owner, false);
        assert!(may(&finance, &approver("bob", &["finance"])) && may(&finance, &approver("carol", &[])));
        assert!(!may(&finance, &approver("bob", &["sales"])), "not in the group");
        assert!(!may(&finance, &Identity::new("bob").with_groups(["finance"])), "not an approver");
        assert!(!may(&finance, &Identity::new("admin").with_roles([Role::Admin])), "deciding is not part of it");
        assert!(!may(&finance, &approver("ann", &[])), "the owner is not named");
        assert!(may(&finance, &approver("ann", &["finance"])), "the owner is in the group");
        assert!(!may(&finance.clone().excluding_self(), &approver("ann", &["finance"])), "and does not count");
        assert!(may(&Approvers::default(), &Identity::new("ann")));
        assert!(!may(&Approvers::default(), &approver("bob", &["finance"])));
        let later = finance.escalating(Duration::from_secs(1), ["group:directors"]).expect("names");
        let director = approver("dora", &["directors"]);
        assert!(!later.let_decide(&director, &owner, false) && later.let_decide(&director, &owner, true));
    }

    #[test]
    fn what_could_never_be_decided_is_refused() {
        let of = |by: &[&str]| Approvers::new(by).expect("names");
        let check = |approvers: Approvers| approvers.check(MINUTE, Decisions::PLAIN);
        assert_eq!(check(Approvers::default()), Ok(()));
        assert_eq!(check(of(&[])), Err(ApproversError::Nobody));
        assert_eq!(check(of(&["self"]).excluding_self()), Err(ApproversError::OnlySelf));
        assert_eq!(check(of(&["self"]).quorum(0)), Err(ApproversError::NoQuorum));
        assert_eq!(check(of(&["self"]).quorum(2)), Err(ApproversError::TooFew { quorum: 2, named: 1 }));
        assert_eq!(check(of(&["self", "subject:carol"]).quorum(2)), Ok(()));
        let two = of(&["self", "subject:carol"]).quorum(2).excluding_self();
        assert_eq!(check(two), Err(ApproversError::TooFew { quorum: 2, named: 1 }));
        assert_eq!(check(of(&["group:finance"]).quorum(9)), Ok(()));
        let edits = of(&["group:finance"]).quorum(2).check(MINUTE, Decisions::default());
        assert_eq!(edits, Err(ApproversError::Decisions));
        let late = |after| of(&["self"]).escalating(Duration::from_secs(after), ["group:directors"]).expect("names");
        assert_eq!(check(late(59)), Ok(()));
        assert_eq!(check(late(60)), Err(ApproversError::EscalatesTooLate { after: 60, timeout: 60 }));
        assert_eq!(check(late(0)), Err(ApproversError::EscalatesAtOnce));
        assert_eq!(late(60).check(None, Decisions::default()), Ok(()));
        let to = |to: &[&str]| of(&["group:a"]).excluding_self().escalating(Duration::from_secs(1), to).expect("names");
        assert_eq!(check(to(&[])), Err(ApproversError::NobodyToEscalateTo));
        assert_eq!(check(to(&["self"])), Err(ApproversError::EscalatesToSelf));
    }
}
