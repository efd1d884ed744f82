//! `[auth]`: API keys, and JSON Web Tokens of an identity provider.

use std::path::PathBuf;

use holdpoint_server::{AuthKey, JwtSettings, Role};
use serde::{Deserialize, Deserializer};

use super::choice;

/// Authentication settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct AuthConfig {
    /// API keys. Without any, and without `jwt`, everyone may use the server, but only from this machine.
    #[serde(deserialize_with = "keys")]
    #[cfg_attr(test, schemars(with = "Vec<KeyConfig>"))]
    pub keys: Vec<AuthKey>,
    /// JSON Web Tokens of an identity provider.
    #[serde(deserialize_with = "jwt")]
    #[cfg_attr(test, schemars(with = "Option<JwtConfig>"))]
    pub jwt: Option<JwtSettings>,
}

/// One API key. It holds the digest, never the key itself.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct KeyConfig {
    /// The SHA-256 digest of the key, in hex.
    key_sha256: String,
    /// The key's subject.
    subject: String,
    /// What the key may do: `user`, `approver`, `admin`. `user` if none is given.
    #[serde(default, deserialize_with = "choice::roles")]
    roles: Vec<Role>,
    /// The groups that the subject belongs to.
    #[serde(default, deserialize_with = "choice::texts")]
    groups: Vec<String>,
}

impl From<KeyConfig> for AuthKey {
    fn from(KeyConfig { key_sha256, subject, roles, groups }: KeyConfig) -> Self {
        Self { key_sha256, subject, roles, groups }
    }
}

fn keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AuthKey>, D::Error> {
    Ok(Vec::<KeyConfig>::deserialize(deserializer)?.into_iter().map(AuthKey::from).collect())
}

/// Settings of JSON Web Tokens.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct JwtConfig {
    /// The issuer: the claim `iss` of every token.
    issuer: String,
    /// The audience: the claim `aud` of every token must contain it.
    audience: String,
    /// A file with the issuer's public keys, as a JSON Web Key Set. Alternative to `jwks_url`.
    #[serde(default)]
    jwks_file: Option<PathBuf>,
    /// The URL of the issuer's public keys. It must be https, except on this machine.
    #[serde(default)]
    jwks_url: Option<String>,
    /// The claim with the subject: its key, or a JSON Pointer.
    #[serde(default)]
    subject_claim: Option<String>,
    /// The claim with the roles, a list or a text with spaces. Names that are not roles are ignored; without a role,
    /// the subject is a `user`.
    #[serde(default)]
    roles_claim: Option<String>,
    /// The claim with the groups: a list, or one name.
    #[serde(default)]
    groups_claim: Option<String>,
    /// How far the issuer's clock may be off.
    #[serde(default)]
    leeway_sec: Option<u32>,
}

impl From<JwtConfig> for JwtSettings {
    fn from(config: JwtConfig) -> Self {
        let JwtConfig { issuer, audience, jwks_file, jwks_url, subject_claim, roles_claim, groups_claim, leeway_sec } =
            config;
        Self { issuer, audience, jwks_file, jwks_url, subject_claim, roles_claim, groups_claim, leeway_sec }
    }
}

fn jwt<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<JwtSettings>, D::Error> {
    Ok(Option::<JwtConfig>::deserialize(deserializer)?.map(JwtSettings::from))
}
