//! The name of an identity.

use serde::{Deserialize, Serialize};

/// An authenticated user.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subject(std::sync::Arc<str>);

impl Subject {
    pub(crate) const NOBODY: &str = "";

    /// The subject of the keys of a log that are nobody's in particular. No login has this name.
    pub fn nobody() -> Self {
        Self::from(Self::NOBODY)
    }

    /// The only user of a server without keys.
    pub fn local() -> Self {
        Self::from("local")
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
