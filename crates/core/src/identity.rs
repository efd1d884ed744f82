//! The identity that a request is authenticated as: its subject, roles and groups.

use std::collections::BTreeSet;

pub use holdpoint_protocol::identity::Role;
use serde::{Deserialize, Serialize};

use crate::{clock::Timestamp, subject::Subject};

/// A group of people, by name. An approval policy can leave a decision to one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Group(std::sync::Arc<str>);

impl Group {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Group {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

/// Whoever a request is authenticated as: a subject, what it may do, and the groups it belongs to.
///
/// The subject alone owns chats. Roles and groups are those of the credential of one request, and are not stored with a
/// chat.
///
/// ```
/// use holdpoint_core::identity::{Identity, Role};
///
/// let carol = Identity::new("carol").with_roles([Role::User, Role::Approver]).with_groups(["finance"]);
/// assert!(carol.is_approver() && carol.is_in(&"finance".into()) && !carol.is_admin());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    subject: Subject,
    roles: BTreeSet<Role>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    groups: BTreeSet<Group>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

impl Identity {
    /// A user: the role `user`, no groups, and no expiry.
    pub fn new(subject: impl Into<Subject>) -> Self {
        let roles = BTreeSet::from([Role::User]);
        Self { subject: subject.into(), roles, groups: BTreeSet::new(), expires_at: None }
    }

    /// The only identity of a server without a login: the subject `local`, with all roles.
    pub fn local() -> Self {
        Self::new(Subject::local()).with_roles(Role::ALL)
    }

    /// Replaces the roles. An identity without any may do nothing.
    #[must_use]
    pub fn with_roles(mut self, roles: impl IntoIterator<Item = Role>) -> Self {
        self.roles = roles.into_iter().collect();
        self
    }

    /// Replaces the groups.
    #[must_use]
    pub fn with_groups(mut self, groups: impl IntoIterator<Item = impl Into<Group>>) -> Self {
        self.groups = groups.into_iter().map(Into::into).collect();
        self
    }

    /// Replaces the subject.
    #[must_use]
    pub fn renamed(mut self, subject: Subject) -> Self {
        self.subject = subject;
        self
    }

    /// Sets when the login ends: streams and sockets that were opened with it are closed then.
    #[must_use]
    pub fn expiring(mut self, at: Timestamp) -> Self {
        self.expires_at = Some(at);
        self
    }

    /// The name that owns chats and is recorded in decisions.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The roles.
    pub fn roles(&self) -> &BTreeSet<Role> {
        &self.roles
    }

    /// The groups.
    pub fn groups(&self) -> &BTreeSet<Group> {
        &self.groups
    }

    /// When the login ends, if it does.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }

    /// Whether it has a role.
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Whether it may chat.
    pub fn is_user(&self) -> bool {
        self.has(Role::User)
    }

    /// Whether it may decide for others, where an approval policy says so.
    pub fn is_approver(&self) -> bool {
        self.has(Role::Approver)
    }

    /// Whether it may see everything.
    pub fn is_admin(&self) -> bool {
        self.has(Role::Admin)
    }

    /// Whether it belongs to a group.
    pub fn is_in(&self, group: &Group) -> bool {
        self.groups.contains(group)
    }
}

impl From<&Identity> for Identity {
    fn from(identity: &Identity) -> Self {
        identity.clone()
    }
}

impl From<&Subject> for Identity {
    /// A user of this name.
    fn from(subject: &Subject) -> Self {
        Self::new(subject.clone())
    }
}

impl From<Subject> for Identity {
    /// A user of this name.
    fn from(subject: Subject) -> Self {
        Self::new(subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_a_user_and_local_is_everything() {
        let ann = Identity::from(Subject::from("ann"));
        assert_eq!((ann.is_user(), ann.is_approver(), ann.is_admin()), (true, false, false));
        assert!(ann.groups().is_empty() && ann.expires_at().is_none());
        let local = Identity::local();
        assert!(Role::ALL.into_iter().all(|role| local.has(role)));
        assert_eq!(local.subject(), &Subject::local());
    }

    #[test]
    fn roles_are_replaced_and_groups_compared_by_name() {
        let carol = Identity::new("carol").with_roles([Role::Approver]).with_groups(["finance", "finance"]);
        assert!(!carol.is_user() && carol.is_approver());
        assert!(carol.is_in(&"finance".into()) && !carol.is_in(&"Finance".into()));
        assert_eq!(carol.groups().len(), 1);
    }

    /// A ticket stores it.
    #[test]
    fn it_is_stored_and_read_back() {
        let carol = Identity::new("carol").with_roles([Role::Admin]).with_groups(["finance"]).expiring(Timestamp(7));
        for identity in [carol, Identity::new("ann"), Identity::local(), Identity::new("x").with_roles([])] {
            let stored = serde_json::to_string(&identity).expect("JSON");
            assert_eq!(serde_json::from_str::<Identity>(&stored).expect("it is read"), identity, "{stored}");
        }
    }
}
