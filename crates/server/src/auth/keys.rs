//! API keys of the settings.

use holdpoint_runtime::{
    identity::{Identity, Role},
    subject::{NameError, Subject},
};
use subtle::ConstantTimeEq;

/// One API key. It holds the digest, never the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthKey {
    /// The SHA-256 digest of the key, in hex.
    pub key_sha256: String,
    /// The key's subject.
    pub subject: String,
    /// What the key may do: `user`, `approver`, `admin`. `user` if none is given.
    pub roles: Vec<Role>,
    /// The groups that the subject belongs to.
    pub groups: Vec<String>,
}

/// The SHA-256 digest of nothing.
const EMPTY_KEY: [u8; 32] = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41,
    0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];

/// The API keys of a server. Without any it is open, and every caller is `local`, with all roles.
#[derive(Debug, Default)]
pub struct Keys {
    keys: Vec<([u8; 32], Identity)>,
}

/// An unusable API key in the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum KeyError {
    #[error("key_sha256 of {subject:?} must be 64 hexadecimal digits, as `holdpoint key hash` prints them")]
    Hash { subject: String },
    #[error(
        "key_sha256 of {subject:?} is the digest of the empty key, which anybody could send: make one with `holdpoint key new`"
    )]
    Empty { subject: String },
    #[error("auth.keys: a key has no `subject`. Add one")]
    NoSubject,
    #[error("auth.keys: {subject:?} can't be a `subject`: {why}. Write another name")]
    Subject { subject: String, why: NameError },
    #[error("auth.keys, {subject:?}: a group has no name. Name it, or remove it")]
    NoGroup { subject: String },
    #[error("auth.keys: {first:?} and {second:?} have the same key. Give each its own")]
    Shared { first: String, second: String },
    #[error("auth.keys: a key of {subject:?} is listed twice, with different roles or groups. Remove one of them")]
    Twice { subject: String },
}

impl Keys {
    /// Reads the keys of a configuration.
    pub fn new(keys: &[AuthKey]) -> Result<Self, KeyError> {
        let read = |key: &AuthKey| {
            let subject = || key.subject.clone();
            let hash = digest(&key.key_sha256).ok_or_else(|| KeyError::Hash { subject: subject() })?;
            if hash == EMPTY_KEY {
                return Err(KeyError::Empty { subject: subject() });
            }
            let named = Subject::named(&key.subject).map_err(|why| match why {
                NameError::Empty => KeyError::NoSubject,
                why => KeyError::Subject { subject: subject(), why },
            })?;
            if key.groups.iter().any(String::is_empty) {
                return Err(KeyError::NoGroup { subject: subject() });
            }
            let identity = Identity::new(named).with_groups(key.groups.iter().map(String::as_str));
            Ok((hash, if key.roles.is_empty() { identity } else { identity.with_roles(key.roles.iter().copied()) }))
        };
        let keys: Vec<([u8; 32], Identity)> = keys.iter().map(read).collect::<Result<_, _>>()?;
        for (at, (hash, identity)) in keys.iter().enumerate() {
            let Some((_, first)) = keys[..at].iter().find(|(other, first)| other == hash && first != identity) else {
                continue;
            };
            let (first, second) = (first.subject().as_str().to_owned(), identity.subject().as_str().to_owned());
            return Err(match first == second {
                true => KeyError::Twice { subject: first },
                false => KeyError::Shared { first, second },
            });
        }
        Ok(Self { keys })
    }

    /// Whether no key is required.
    pub fn allows_anonymous(&self) -> bool {
        self.keys.is_empty()
    }

    /// The identity of the key with this digest.
    pub(super) fn identity(&self, digest: &[u8; 32]) -> Option<Identity> {
        // Compare all keys, each in constant time, so that timing reveals nothing.
        let mut found = None;
        for (known, identity) in &self.keys {
            if bool::from(known.ct_eq(digest)) {
                found = Some(identity);
            }
        }
        found.cloned()
    }
}

/// A SHA-256 digest, as it stands in the configuration.
fn digest(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    hex::decode_to_slice(text, &mut digest).ok()?;
    Some(digest)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn identity(keys: &Keys, key: &str) -> Option<Identity> {
        keys.identity(&Sha256::digest(key).into())
    }

    fn key(text: &str, subject: &str, roles: &[Role], groups: &[&str]) -> AuthKey {
        AuthKey {
            key_sha256: hex::encode(Sha256::digest(text)),
            subject: subject.to_owned(),
            roles: roles.to_vec(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        }
    }

    #[test]
    fn a_key_has_the_roles_and_groups_of_its_entry() {
        let carol = key("c", "carol", &[Role::Approver, Role::Admin], &["finance", "directors"]);
        let keys = Keys::new(&[key("a", "ann", &[], &[]), carol]).expect("good keys");
        assert_eq!(identity(&keys, "a"), Some(Identity::new("ann")), "a user by default");
        let carol = identity(&keys, "c").expect("known");
        assert!(!carol.is_user() && carol.is_approver() && carol.is_admin());
        assert!(carol.is_in(&"finance".into()) && carol.is_in(&"directors".into()));
        assert_eq!(identity(&keys, "b"), None);
    }

    #[test]
    fn one_key_is_one_identity() {
        let refused = |keys: &[AuthKey]| Keys::new(keys).map(drop).expect_err("refused");
        let ann = || key("a", "ann", &[], &[]);
        assert!(Keys::new(&[ann(), ann()]).is_ok(), "the same entry twice means the same");
        assert!(matches!(refused(&[ann(), key("a", "bob", &[], &[])]), KeyError::Shared { .. }));
        assert!(matches!(refused(&[ann(), key("a", "ann", &[Role::Admin], &[])]), KeyError::Twice { .. }));
        assert!(matches!(refused(&[ann(), key("a", "ann", &[], &["finance"])]), KeyError::Twice { .. }));
        assert_eq!(refused(&[key("a", "", &[], &[])]), KeyError::NoSubject);
        assert_eq!(refused(&[key("", "ann", &[], &[])]), KeyError::Empty { subject: "ann".to_owned() });
        assert!(matches!(refused(&[key("a", "ann ", &[], &[])]), KeyError::Subject { .. }));
        assert!(matches!(refused(&[key("a", "ann", &[], &[""])]), KeyError::NoGroup { .. }));
    }
}
