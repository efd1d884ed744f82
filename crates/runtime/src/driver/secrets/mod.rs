//! The server's own secrets. They are made at the first start and kept in the log, so that all nodes have the same ones, also
//! after a restart.
//!
//! A secret is 32 random bytes. Its stored value begins with its form: as it is, or encrypted with a key from the settings.

mod cipher;
#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;
pub(super) use cipher::Cipher;

use crate::{
    clock::Timestamp,
    log::{LogError, Store, StoredSecret},
};

/// The length of a secret.
const LEN: usize = 32;
/// The forms of a stored value.
const PLAIN: u8 = 0;
const ENCRYPTED: u8 = 1;
/// How often the secrets are read again because another node has set one at the same time. A node sets each at most twice: it
/// makes it, and encrypts it.
const MOST_READS: usize = 8;

/// Why the server's secrets can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretsError {
    /// They are encrypted, and there is no key.
    #[error(
        "the server's secrets in the log are encrypted: set `secrets_key` to the key that they were encrypted with"
    )]
    NoKey,
    /// There is another key.
    #[error(
        "`secrets_key` is not the key that the server's secrets in the log were encrypted with, or somebody has changed them: \
         set that key. If it is lost, delete the rows of the table `secrets`, and the server makes new ones"
    )]
    WrongKey,
    /// A secret has no form that this version knows.
    #[error(
        "the secret {name:?} of the server in the log can't be read: delete its row of the table `secrets`, and the server makes a new one"
    )]
    Unreadable {
        /// Its name.
        name: Box<str>,
    },
    /// The system gives no random numbers.
    #[error("a secret of the server can't be made: {0}")]
    NotMade(String),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// A secret, which is never shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SecretKey([u8; LEN]);

impl SecretKey {
    fn new() -> Result<Self, SecretsError> {
        let mut bytes = [0; LEN];
        getrandom::fill(&mut bytes).map_err(|error| SecretsError::NotMade(error.to_string()))?;
        Ok(Self(bytes))
    }

    /// These bytes.
    #[cfg(test)]
    pub(super) fn of(bytes: [u8; LEN]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

/// The secrets that this version uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerSecrets {
    /// Finds tickets, and proves that a node has written them.
    pub(super) tickets: SecretKey,
}

/// The name of [`ServerSecrets::tickets`].
const TICKETS: &str = "tickets";

/// Reads the secrets of a log, and makes those that it has not. With a key, those that are stored as they are get encrypted.
pub(super) async fn open(
    log: &dyn Store,
    cipher: Option<&Cipher>,
    now: Timestamp,
) -> Result<ServerSecrets, SecretsError> {
    for _ in 0..MOST_READS {
        let stored = log.secrets().await?;
        if !encrypt(log, cipher, &stored).await? {
            continue;
        }
        match stored.iter().find(|secret| &*secret.name == TICKETS) {
            Some(secret) => return Ok(ServerSecrets { tickets: read(cipher, secret)? }),
            None => {
                let value = write(cipher, TICKETS, SecretKey::new()?)?;
                // Another node may be first. Its secret is the one, then.
                log.set_secret(StoredSecret { name: TICKETS.into(), value, created_at: now }, None).await?;
            }
        }
    }
    Err(LogError::Failed("the server's secrets change all the time".to_owned()).into())
}

/// Checks whether a runtime with this key, or without one, could read the server's own secrets in a log. Nothing is written.
#[cfg(feature = "encryption")]
pub async fn check_secrets(log: &dyn Store, key: Option<&crate::tool::Secret>) -> Result<(), SecretsError> {
    let cipher = key.map(Cipher::new);
    log.secrets().await?.iter().try_for_each(|secret| read(cipher.as_ref(), secret).map(drop))
}

/// Checks that all secrets can be read, and encrypts those that are not. Returns `false` if another node did something
/// meanwhile.
async fn encrypt(log: &dyn Store, cipher: Option<&Cipher>, stored: &[StoredSecret]) -> Result<bool, SecretsError> {
    for secret in stored {
        let key = read(cipher, secret)?;
        if cipher.is_some() && secret.value.first() == Some(&PLAIN) {
            let value = write(cipher, &secret.name, key)?;
            if !log.set_secret(StoredSecret { value, ..secret.clone() }, Some(secret.value.clone())).await? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn write(cipher: Option<&Cipher>, name: &str, SecretKey(bytes): SecretKey) -> Result<Bytes, SecretsError> {
    Ok(match cipher {
        None => Bytes::from([&[PLAIN], &bytes[..]].concat()),
        Some(cipher) => {
            let sealed = cipher.seal(name, &bytes);
            let sealed = sealed.ok_or_else(|| SecretsError::NotMade("it can't be encrypted".to_owned()))?;
            Bytes::from([&[ENCRYPTED], &sealed[..]].concat())
        }
    })
}

fn read(cipher: Option<&Cipher>, StoredSecret { name, value, .. }: &StoredSecret) -> Result<SecretKey, SecretsError> {
    let unreadable = || SecretsError::Unreadable { name: name.clone() };
    let bytes = match (value.split_first(), cipher) {
        (Some((&PLAIN, bytes)), _) => bytes.to_vec(),
        (Some((&ENCRYPTED, _)), None) => return Err(SecretsError::NoKey),
        (Some((&ENCRYPTED, sealed)), Some(cipher)) => cipher.open(name, sealed).ok_or(SecretsError::WrongKey)?,
        _ => return Err(unreadable()),
    };
    bytes.try_into().map(SecretKey).map_err(|_| unreadable())
}
