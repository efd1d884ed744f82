//! Encrypts the server's own secrets with a key from the settings.

#[cfg(feature = "encryption")]
pub(in crate::driver) use with_key::Cipher;
#[cfg(not(feature = "encryption"))]
pub(in crate::driver) use without_key::Cipher;

#[cfg(feature = "encryption")]
mod with_key {
    use std::fmt;

    use aws_lc_rs::{
        aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
        error::Unspecified,
        hkdf::{HKDF_SHA256, Salt},
    };

    use crate::tool::Secret;

    /// Divides this use of a key from every other.
    const SALT: &[u8] = b"holdpoint secrets 1";

    /// AES-256-GCM with a key that is derived from the one of the settings. The name of a secret is authenticated, so that
    /// none can be put in the place of another.
    pub(in crate::driver) struct Cipher(Secret);

    impl Cipher {
        pub(in crate::driver) fn new(key: &Secret) -> Self {
            Self(key.clone())
        }

        fn derived(&self) -> Result<RandomizedNonceKey, Unspecified> {
            let mut bytes = [0; 32];
            let extracted = Salt::new(HKDF_SHA256, SALT).extract(self.0.reveal().as_bytes());
            extracted.expand(&[b"secrets of a server"], HKDF_SHA256)?.fill(&mut bytes)?;
            RandomizedNonceKey::new(&AES_256_GCM, &bytes)
        }

        /// A nonce, and the encrypted bytes. `None` if the system has no random numbers.
        pub(in crate::driver) fn seal(&self, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
            let mut sealed = bytes.to_vec();
            let key = self.derived().ok()?;
            let nonce = key.seal_in_place_append_tag(Aad::from(name.as_bytes()), &mut sealed).ok()?;
            Some([&nonce.as_ref()[..], &sealed].concat())
        }

        /// `None` if they were encrypted with another key or under another name, or changed since.
        pub(in crate::driver) fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
            let (nonce, rest) = sealed.split_at_checked(NONCE_LEN)?;
            let (nonce, mut rest) = (Nonce::try_assume_unique_for_key(nonce).ok()?, rest.to_vec());
            let key = self.derived().ok()?;
            let bytes = key.open_in_place(nonce, Aad::from(name.as_bytes()), &mut rest).ok()?;
            Some(bytes.to_vec())
        }
    }

    impl fmt::Debug for Cipher {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Cipher")
        }
    }
}

#[cfg(not(feature = "encryption"))]
mod without_key {
    /// Without the feature `encryption` there is none.
    #[derive(Debug)]
    pub(in crate::driver) enum Cipher {}

    impl Cipher {
        pub(in crate::driver) fn seal(&self, _name: &str, _bytes: &[u8]) -> Option<Vec<u8>> {
            match *self {}
        }

        pub(in crate::driver) fn open(&self, _name: &str, _sealed: &[u8]) -> Option<Vec<u8>> {
            match *self {}
        }
    }
}
