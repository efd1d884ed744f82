//! Grants: decisions made in advance. `remember` in a decision makes one, and `/api/grants` lists and revokes them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};

use crate::{
    ids::{ChatId, GrantId},
    json,
};

/// Which chats a grant applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum GrantScope {
    /// The chat of the call that was approved.
    Chat,
    /// Every chat of the same owner.
    Subject,
}

/// Which calls a grant covers: those with the same input, all calls of the tool, or those for which a rule certainly
/// holds.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "typescript", ts(type = "\"input\" | \"tool\" | Record<string, unknown>"))]
pub enum GrantMatch {
    /// Calls with the same input.
    #[default]
    Input,
    /// Every call of the tool.
    Tool,
    /// Calls whose input certainly meets a rule, written as in the settings: `{"when": "/amount", "under": 100}`.
    Rule(Map<String, Value>),
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for GrantMatch {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Type};
        let words = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["input", "tool"]));
        let rule = ObjectBuilder::new().schema_type(Type::Object).description(Some("A rule, as in the settings."));
        utoipa::openapi::RefOr::T(OneOfBuilder::new().item(words).item(rule).build().into())
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for GrantMatch {}

impl Serialize for GrantMatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Input => serializer.serialize_str("input"),
            Self::Tool => serializer.serialize_str("tool"),
            Self::Rule(rule) => rule.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for GrantMatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match json::value(deserializer)? {
            Value::String(word) if word == "input" => Ok(Self::Input),
            Value::String(word) if word == "tool" => Ok(Self::Tool),
            Value::Object(rule) => Ok(Self::Rule(rule)),
            _ => Err(D::Error::custom("`match` must be \"input\", \"tool\" or a rule such as {\"when\": …}")),
        }
    }
}

/// With an approval: later calls that it covers are approved too, without a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// The chats it applies to.
    pub scope: GrantScope,
    /// The calls it covers: `input` (the same input, after an edit the edited one), `tool`, or a rule. `input` by
    /// default.
    #[serde(default, rename = "match")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<GrantMatch>"))]
    pub covers: GrantMatch,
    /// When it ends, ISO 8601. Without it, it ends when it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub until: Option<String>,
    /// How often it can be used. Without it, any number of times.
    #[serde(default, deserialize_with = "uses", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub uses: Option<u32>,
}

/// A number of uses.
fn uses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let wrong = || D::Error::custom("it is the number of uses: a whole number, at least 1");
    let number = Option::<serde_json::Number>::deserialize(deserializer).map_err(|_| wrong())?;
    let whole = |number: serde_json::Number| number.as_u64().and_then(|number| u32::try_from(number).ok());
    number.map(|number| whole(number).ok_or_else(wrong)).transpose()
}

/// The state of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum GrantState {
    /// It approves the calls that it covers.
    Active,
    /// The tool is not there, or has another origin, schema or policy than when the grant was made. As long as that is so, it
    /// approves nothing.
    Suspended,
    /// It was revoked.
    Revoked,
    /// Its time is over.
    Expired,
    /// It was used as often as it may be.
    UsedUp,
}

/// One entry of `GET /api/grants`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// The tool whose calls it approves.
    pub tool_name: String,
    /// The chats it applies to.
    pub scope: GrantScope,
    /// The owner of these chats.
    pub subject: String,
    /// The chat, with the scope `chat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub chat_id: Option<ChatId>,
    /// The calls it covers.
    #[serde(rename = "match")]
    pub covers: GrantMatch,
    /// With the match `input`: the SHA-256 of that input in its canonical form (RFC 8785).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub input_sha256: Option<String>,
    /// Whether it approves calls.
    pub state: GrantState,
    /// Who made it.
    pub maker: String,
    /// When it was made, ISO 8601.
    pub made_at: String,
    /// When it ends, ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub until: Option<String>,
    /// How often it can be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub uses: Option<u32>,
    /// How often it was used.
    #[cfg_attr(feature = "typescript", ts(type = "number"))]
    pub used: u64,
    /// When it was used last, ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub last_used_at: Option<String>,
    /// When it was revoked, ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub revoked_at: Option<String>,
    /// Who revoked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub revoked_by: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_it_covers_is_a_word_or_a_rule() {
        let read = |value: Value| serde_json::from_value::<Remember>(value);
        let plain = read(json!({"scope": "chat"})).expect("the rest has defaults");
        assert_eq!(plain, Remember { scope: GrantScope::Chat, covers: GrantMatch::Input, until: None, uses: None });
        for covers in [json!("input"), json!("tool"), json!({"when": "/amount", "under": 5})] {
            let remember = read(json!({"scope": "subject", "match": covers})).expect("it is readable");
            assert_eq!(serde_json::to_value(&remember).expect("JSON")["match"], covers);
        }
        for wrong in [json!("all"), json!(5), json!(null), json!([])] {
            assert!(read(json!({"scope": "subject", "match": wrong})).is_err(), "{wrong}");
        }
        for wrong in [
            json!({}),
            json!({"scope": "all"}),
            json!({"scope": "chat", "for": 5}),
            json!({"scope": "chat", "uses": -1}),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
