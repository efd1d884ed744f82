//! JSON Web Tokens of an identity provider: from a token to an identity.

mod claims;
mod jwks;
mod source;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use holdpoint_runtime::{clock::Timestamp, identity::Identity};
use jsonwebtoken::{AlgorithmFamily, Validation, crypto::aws_lc, decode, decode_header};

use self::{
    claims::{Claims, Read},
    jwks::JwksError,
    source::{Found, JwksCache, Source, Timing},
};
use super::token::{TokenLogin, TokenRefusal};
use crate::ServerBuilder;

/// The longest clock skew that can be allowed for.
const MAX_LEEWAY_SEC: u32 = 3600;

/// Settings of JSON Web Tokens: `[auth.jwt]`.
///
/// A claim is named by its key, or, if it is inside another one, by a JSON Pointer: `/realm_access/roles`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JwtSettings {
    /// The issuer: the claim `iss` of every token.
    pub issuer: String,
    /// The audience: the claim `aud` of every token must contain it.
    pub audience: String,
    /// A file with the issuer's public keys, as a JSON Web Key Set. Alternative to `jwks_url`.
    pub jwks_file: Option<PathBuf>,
    /// The URL of the issuer's public keys. It must be https, except on this machine.
    pub jwks_url: Option<String>,
    /// The claim with the subject: its key, or a JSON Pointer.
    pub subject_claim: Option<String>,
    /// The claim with the roles, a list or a text with spaces. Names that are not roles are ignored; without a role,
    /// the subject is a `user`.
    pub roles_claim: Option<String>,
    /// The claim with the groups: a list, or one name.
    pub groups_claim: Option<String>,
    /// How far the issuer's clock may be off.
    pub leeway_sec: Option<u32>,
}

impl JwtSettings {
    /// The claim with the subject, where none is set.
    pub const DEFAULT_SUBJECT_CLAIM: &str = "sub";
    /// The claim with the roles, where none is set.
    pub const DEFAULT_ROLES_CLAIM: &str = "roles";
    /// The claim with the groups, where none is set.
    pub const DEFAULT_GROUPS_CLAIM: &str = "groups";
    /// The clock skew, where none is set, in seconds.
    pub const DEFAULT_LEEWAY_SEC: u32 = 60;
}

/// Unusable settings of JSON Web Tokens.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum JwtError {
    #[error("auth.jwt.{0} is empty: set it to what your identity provider writes into its tokens")]
    Empty(&'static str),
    #[error("auth.jwt: set either `jwks_file` or `jwks_url`, where the public keys of the issuer are")]
    Source,
    #[error(
        "auth.jwt.jwks_url: {0:?} must begin with https:// (http:// is for this machine only) and have no password"
    )]
    Url(String),
    #[error("auth.jwt.leeway_sec: must be at most {MAX_LEEWAY_SEC}")]
    Leeway,
    #[error("auth.jwt.jwks_file: {path}: {problem}")]
    File { path: String, problem: String },
    #[error("auth.jwt.jwks_url: can't make an HTTP client: {0}")]
    Client(String),
    #[error("auth.jwt: the issuer's keys at {place} can't be read: {problem}")]
    Keys { place: String, problem: String },
}

/// The login by JSON Web Tokens: see [`ServerBuilder::jwt`](crate::ServerBuilder::jwt).
#[derive(Debug)]
pub struct Jwt {
    validation: Validation,
    leeway: Duration,
    claims: Claims,
    keys: JwksCache,
}

impl Jwt {
    /// Checks the settings. Keys in a file are read now; keys from a URL are fetched later.
    pub fn new(settings: &JwtSettings) -> Result<Self, JwtError> {
        Self::with_timing(settings, Timing::default())
    }

    fn with_timing(settings: &JwtSettings, timing: Timing) -> Result<Self, JwtError> {
        // A program can enable both engines of the library, which then has no default and would panic. One that was
        // installed before stays.
        let _ = aws_lc::DEFAULT_PROVIDER.install_default();
        for (name, value) in [("issuer", &settings.issuer), ("audience", &settings.audience)] {
            if value.is_empty() {
                return Err(JwtError::Empty(name));
            }
        }
        let leeway = settings.leeway_sec.unwrap_or(JwtSettings::DEFAULT_LEEWAY_SEC);
        if leeway > MAX_LEEWAY_SEC {
            return Err(JwtError::Leeway);
        }
        let source = match (&settings.jwks_file, &settings.jwks_url) {
            (Some(file), None) => Source::File(file.clone()),
            (None, Some(url)) => Source::url(url)?,
            _ => return Err(JwtError::Source),
        };
        let mut validation = Validation::default();
        validation.set_issuer(&[&settings.issuer]);
        validation.set_audience(&[&settings.audience]);
        validation.set_required_spec_claims(&["iss", "aud"]);
        // The times are compared with the injected clock instead of the system's.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        let claims = Claims::new(settings)?;
        let keys = JwksCache::new(source, timing)?;
        Ok(Self { validation, leeway: Duration::from_secs(leeway.into()), claims, keys })
    }

    /// Begins to fetch the issuer's keys, so that the first request does not have to wait for them. Call it in a Tokio
    /// runtime.
    pub fn prepare(&self) {
        self.keys.begin();
    }

    /// Fetches the issuer's keys once, to find out whether that works. It changes nothing.
    pub async fn check(&self) -> Result<(), JwtError> {
        self.keys.check().await
    }

    /// The identity of a token.
    async fn identity(&self, token: &str, now: Timestamp) -> Result<Identity, TokenRefusal> {
        // A header with `alg: none`, or with an algorithm that is not known, can't be read.
        let header = decode_header(token).map_err(|_| TokenRefusal::Invalid)?;
        // A shared secret has no place in a set of public keys. With an extension that must be understood, none is.
        if header.alg.family() == AlgorithmFamily::Hmac || header.crit.is_some() {
            return Err(TokenRefusal::Invalid);
        }
        let key = match self.keys.find(header.kid.as_deref(), header.alg).await {
            Found::Key(key) => key,
            Found::None => return Err(TokenRefusal::Invalid),
            Found::Unavailable => return Err(TokenRefusal::Unavailable),
        };
        let validation = Validation { algorithms: vec![header.alg], ..self.validation.clone() };
        let decoded = decode::<Read>(token, &key.key, &validation).map_err(|_| TokenRefusal::Invalid)?;
        self.claims.identity(&decoded.claims, self.leeway, now)
    }
}

impl TokenLogin for Jwt {
    /// Three parts with dots between them.
    fn is_token(&self, credential: &str) -> bool {
        credential.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    fn identify<'a>(&'a self, token: &'a str, now: Timestamp) -> BoxFuture<'a, Result<Identity, TokenRefusal>> {
        Box::pin(self.identity(token, now))
    }
}

impl ServerBuilder {
    /// Uses JSON Web Tokens of an identity provider as the login, beside the API keys, if there are any.
    pub fn jwt(mut self, jwt: Jwt) -> Self {
        self.own = None;
        self.tokens = Some(Box::new(jwt));
        self
    }
}

/// A key of the issuer, shared by the set it belongs to.
type SharedKey = Arc<jwks::Key>;
