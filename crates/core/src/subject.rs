//! The name of an identity.

mod name;

pub use name::NameError;
use serde::{Deserialize, Serialize};

/// An authenticated user.
///
/// Two subjects are the same person if they are equal to the letter. So whatever comes from outside is read by
/// [`Subject::named`], which gives every spelling of a name the same letters or refuses it. The other conversions take
/// a name as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subject(std::sync::Arc<str>);

impl Subject {
    /// Stands where nobody is: no subject has this name.
    pub const NOBODY: &str = "";

    /// The subject of log keys that belong to no particular subject. No login can have this name.
    pub fn nobody() -> Self {
        Self::from(Self::NOBODY)
    }

    /// The only user of a server without keys.
    pub fn local() -> Self {
        Self::from("local")
    }

    /// The subject with this name, in whatever spelling.
    ///
    /// Upper case, and other forms of the same letters (NFKC), become one: `Bob` is `bob`. What could make one name look
    /// like another is refused: see [`NameError`].
    ///
    /// ```
    /// use holdpoint_core::subject::{NameError, Subject};
    ///
    /// assert_eq!(Subject::named("Bob@Example.com"), Ok(Subject::from("bob@example.com")));
    /// assert_eq!(Subject::named("bob\u{200b}"), Err(NameError::Invisible('\u{200b}')));
    /// ```
    pub fn named(name: &str) -> Result<Self, NameError> {
        name::normal(name).map(|name| Self::from(&*name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Subject {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}
