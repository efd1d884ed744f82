//! An identity provider: makes keys, publishes them, signs tokens. No private key is stored anywhere.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rand::SystemRandom,
    rsa,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
        Ed25519KeyPair,
    },
};
use jsonwebtoken::{Algorithm, AlgorithmFamily, EncodingKey, Header, encode, jwk::Jwk};
use serde_json::{Value, json};

/// The identity provider's name, and the name of the server in its tokens.
pub(crate) const ISSUER: &str = "https://login.example";
pub(crate) const AUDIENCE: &str = "holdpoint";

pub(crate) struct Issuer {
    pub(crate) id: String,
    pub(crate) algorithm: Algorithm,
    key: EncodingKey,
}

impl Issuer {
    /// With a new key of this id, for this algorithm.
    pub(crate) fn new(id: &str, algorithm: Algorithm) -> Self {
        let random = SystemRandom::new();
        let ec = |curve: &'static EcdsaSigningAlgorithm| {
            EncodingKey::from_ec_der(EcdsaKeyPair::generate_pkcs8(curve, &random).expect("a key").as_ref())
        };
        let key = match algorithm.family() {
            AlgorithmFamily::Ec if algorithm == Algorithm::ES256 => ec(&ECDSA_P256_SHA256_FIXED_SIGNING),
            AlgorithmFamily::Ec => ec(&ECDSA_P384_SHA384_FIXED_SIGNING),
            AlgorithmFamily::Ed => {
                EncodingKey::from_ed_der(Ed25519KeyPair::generate_pkcs8v1(&random).expect("a key").as_ref())
            }
            AlgorithmFamily::Rsa => {
                let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).expect("a key");
                let der: Pkcs8V1Der<'_> = pair.as_der().expect("DER");
                // The library wants the key without its envelope, which has the same length for all keys of this size.
                EncodingKey::from_rsa_der(&der.as_ref()[26..])
            }
            AlgorithmFamily::Hmac => EncodingKey::from_secret(b"a secret that both sides know"),
        };
        Self { id: id.to_owned(), algorithm, key }
    }

    /// The public key, as it is published.
    pub(crate) fn jwk(&self) -> Value {
        let mut jwk = json!(Jwk::from_encoding_key(&self.key, self.algorithm).expect("a public key"));
        jwk["kid"] = json!(self.id);
        jwk
    }

    /// Signs a token with these claims.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.id.clone());
        self.sign_as(&header, claims)
    }

    pub(crate) fn sign_as(&self, header: &Header, claims: &Value) -> String {
        encode(header, claims, &self.key).expect("a token")
    }
}

/// The published set.
pub(crate) fn key_set(issuers: &[&Issuer]) -> String {
    json!({"keys": issuers.iter().map(|issuer| issuer.jwk()).collect::<Vec<_>>()}).to_string()
}

/// The claims of a good token, until a time in seconds.
pub(crate) fn claims(subject: &str, expires: u64) -> Value {
    json!({"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "exp": expires})
}
