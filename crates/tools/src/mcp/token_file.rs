//! The file with the tokens of a login. It is encrypted, and only its owner can read it.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    error::Unspecified,
    hkdf::{HKDF_SHA256, Salt},
};
use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use tokio::sync::Mutex;

use crate::Secret;

/// The largest file with tokens.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// The beginning of a file. It is authenticated with the contents.
const HEADER: &[u8] = b"holdpoint tokens 1\n";

/// The tokens in a file: a header, a nonce, and the credentials as JSON, encrypted with AES-256-GCM.
pub(super) struct TokenFile {
    path: PathBuf,
    key: Secret,
    /// One refresh at a time: a refresh token may be for one use.
    refreshing: Arc<Mutex<()>>,
}

impl TokenFile {
    pub(super) fn new(path: &Path, key: &Secret) -> Self {
        Self { path: path.to_owned(), key: key.clone(), refreshing: Arc::default() }
    }

    fn failed(&self, error: impl std::fmt::Display) -> AuthError {
        AuthError::CredentialStoreError(format!("{}: {error}", self.path.display()))
    }

    fn cipher(&self) -> Result<RandomizedNonceKey, Unspecified> {
        let mut bytes = [0; 32];
        let extracted = Salt::new(HKDF_SHA256, HEADER).extract(self.key.reveal().as_bytes());
        extracted.expand(&[b"tokens of an MCP server"], HKDF_SHA256)?.fill(&mut bytes)?;
        RandomizedNonceKey::new(&AES_256_GCM, &bytes)
    }

    fn sealed(&self, credentials: &StoredCredentials) -> Result<Vec<u8>, AuthError> {
        let mut data = serde_json::to_vec(credentials).map_err(|error| self.failed(error))?;
        let sealed = self.cipher().and_then(|key| key.seal_in_place_append_tag(Aad::from(HEADER), &mut data));
        let nonce = sealed.map_err(|_| self.failed("it can't be encrypted"))?;
        Ok([HEADER, nonce.as_ref(), &data].concat())
    }

    fn opened(&self, bytes: &[u8]) -> Option<StoredCredentials> {
        let (nonce, data) = bytes.strip_prefix(HEADER)?.split_at_checked(NONCE_LEN)?;
        let (nonce, mut data) = (Nonce::try_assume_unique_for_key(nonce).ok()?, data.to_vec());
        let key = self.cipher().ok()?;
        let json = key.open_in_place(nonce, Aad::from(HEADER), &mut data).ok()?;
        serde_json::from_slice(json).ok()
    }

    fn read(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let file = match std::fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(error)),
        };
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(file, MAX_FILE_BYTES), &mut bytes)
            .map_err(|error| self.failed(error))?;
        let problem = "it was written with another `oauth_key`, or is not what a login writes: log in again";
        self.opened(&bytes).map(Some).ok_or_else(|| self.failed(problem))
    }

    /// Written beside it and moved into its place, so that it is never half there.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let new = self.path.with_file_name(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // One that was left over may have other rights.
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = options.open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, &self.path)
    }
}

#[async_trait::async_trait]
impl CredentialStore for TokenFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.read()
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.write(&self.sealed(&credentials)?).map_err(|error| self.failed(error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(error)),
            _ => Ok(()),
        }
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        Ok(Some(CredentialRefreshGuard::new(Arc::clone(&self.refreshing).lock_owned().await)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, key: &str) -> TokenFile {
        TokenFile::new(&folder.join("tokens"), &Secret::new(key))
    }

    fn credentials(client: &str) -> StoredCredentials {
        StoredCredentials::new(client.to_owned(), None, Vec::new(), None)
    }

    #[tokio::test]
    async fn tokens_are_kept_in_a_file_that_only_its_owner_reads() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = file(folder.path(), "a key of sixteen");
        assert!(file.load().await.expect("nothing").is_none());
        file.save(credentials("client-17")).await.expect("saved");
        assert_eq!(file.load().await.expect("read").expect("it is there").client_id, "client-17");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&file.path).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        file.clear().await.expect("cleared");
        file.clear().await.expect("there is nothing to clear");
        assert!(file.load().await.expect("nothing").is_none());
    }

    #[tokio::test]
    async fn a_stolen_file_says_nothing_and_a_changed_one_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = file(folder.path(), "a key of sixteen");
        own.save(credentials("client-17")).await.expect("saved");
        let written = std::fs::read(&own.path).expect("it is there");
        assert!(!written.windows(9).any(|bytes| bytes == b"client-17"), "it is not encrypted");
        own.save(credentials("client-17")).await.expect("saved");
        assert_ne!(std::fs::read(&own.path).expect("it is there"), written, "the nonce is another one each time");
        let error = file(folder.path(), "another key of s").load().await.expect_err("another key").to_string();
        assert!(error.contains("another `oauth_key`") && error.contains("log in again"), "{error}");
        for at in [0, HEADER.len(), HEADER.len() + NONCE_LEN, written.len() - 1] {
            let mut changed = written.clone();
            changed[at] ^= 1;
            std::fs::write(&own.path, changed).expect("written");
            own.load().await.expect_err("it was changed");
        }
        for cut in [0, 5, HEADER.len() + 3, written.len() - 1] {
            std::fs::write(&own.path, &written[..cut]).expect("written");
            own.load().await.expect_err("it was cut off");
        }
    }

    #[tokio::test]
    async fn what_is_no_file_of_a_login_is_not_quoted() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = file(folder.path(), "a key of sixteen");
        std::fs::write(&file.path, "hunter22").expect("written");
        let error = file.load().await.expect_err("no login").to_string();
        assert!(error.contains("log in again") && !error.contains("hunter22"), "{error}");
    }
}
