//! People over the wire: their roles, and `GET /api/me`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A role of an identity: what it may do. An identity can have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = IdentityRole))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "IdentityRole"))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// May chat, and see, stop and delete their own chats.
    User,
    /// May decide the holds of others that an approval policy gives to them or to one of their groups.
    Approver,
    /// May see and delete every chat. Deciding is not part of it.
    Admin,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::User, Self::Approver, Self::Admin];

    /// The name, as in the settings and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that does not name a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown role {0:?}: use user, approver or admin")]
pub struct UnknownRole(pub String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.name() == name).ok_or_else(|| UnknownRole(name.to_owned()))
    }
}

/// The response to `GET /api/me`: the identity of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Me {
    /// The name that owns chats and is recorded in decisions.
    pub subject: String,
    /// What it may do.
    pub roles: Vec<Role>,
    /// The groups that it belongs to.
    pub groups: Vec<String>,
    /// When the credential of this request is no longer accepted, in ISO 8601; left out if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub expires_at: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_written_and_read_by_its_name() {
        for role in Role::ALL {
            assert_eq!(serde_json::to_value(role).expect("JSON"), role.name());
            assert_eq!(role.name().parse(), Ok(role));
        }
        assert!("Admin".parse::<Role>().is_err() && "root".parse::<Role>().is_err());
    }
}
