//! The server's own secrets.

use std::fmt;

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_core::clock::Timestamp;

use crate::LogError;

/// The server's own secrets, which all nodes that share a log have in common. An engine does not know what is in them.
///
/// A secret is set by a compare-and-set. Of several nodes that make one at the same time, one succeeds, and the others read
/// what it has made.
pub trait Secrets: Send + Sync + fmt::Debug + 'static {
    /// All secrets, by name. Linearizable, as [reads](super::Log::read) are.
    fn secrets(&self) -> BoxFuture<'_, Result<Vec<StoredSecret>, LogError>>;

    /// Stores a secret if what is stored under its name has the value `expected`; `None` if nothing is. Returns whether it
    /// did.
    fn set_secret(&self, secret: StoredSecret, expected: Option<Bytes>) -> BoxFuture<'_, Result<bool, LogError>>;
}

/// A stored secret.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredSecret {
    /// Its name.
    pub name: Box<str>,
    /// Its value, as the runtime writes it: encrypted, if there is a key.
    pub value: Bytes,
    /// When it was made.
    pub created_at: Timestamp,
}

impl fmt::Debug for StoredSecret {
    /// Omits the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSecret").field("name", &self.name).finish_non_exhaustive()
    }
}
