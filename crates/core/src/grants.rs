//! Grants: decisions made in advance. An approval can make one, and later calls that it covers run without a question.

use std::{fmt, str::FromStr, time::Duration};

pub use holdpoint_protocol::grants::{GrantMatch, GrantScope, Remember};
use holdpoint_protocol::{ids::GrantId, json};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    clock::Timestamp,
    hash::{BatchHash, NoHash},
    subject::Subject,
    tool::{ApprovalPolicy, Condition, RuleError, ToolSpec},
    value::{ValueError, admit},
};

/// The longest time for which a grant can be made, if it has an end.
pub const MAX_TIME: Duration = Duration::from_secs(10 * 366 * 24 * 3600);
/// The largest number of uses, if it is limited.
pub const MAX_USES: u32 = 1_000_000;
/// The size of the largest rule, as JSON.
pub const MAX_RULE_BYTES: usize = 4 * 1024;

/// The SHA-256 of a JSON value in its canonical form (RFC 8785).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct JsonDigest([u8; 32]);

impl JsonDigest {
    /// The digest of a value. `None` for a number that the canonical form does not have.
    pub fn of(value: &Value) -> Option<Self> {
        let bytes = serde_json_canonicalizer::to_vec(value).ok()?;
        Some(Self(Sha256::digest(bytes).into()))
    }
}

impl fmt::Display for JsonDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BatchHash::from(self.0).fmt(f)
    }
}

impl fmt::Debug for JsonDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for JsonDigest {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Self, NoHash> {
        text.parse::<BatchHash>().map(|hash| Self(*hash.as_bytes()))
    }
}

impl Serialize for JsonDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for JsonDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// What a grant approves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantTerms {
    /// The chats it applies to.
    pub scope: GrantScope,
    /// The calls it covers.
    pub covers: Coverage,
    /// The tool as it was: its origin, its schema and its approval policy. With any of them changed, the grant covers
    /// nothing.
    pub tool: JsonDigest,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// How often it can be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
}

/// The calls that a grant covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coverage {
    /// Those with the input of this digest.
    Input(JsonDigest),
    /// All of them.
    Tool,
    /// Those for which this rule certainly holds.
    Rule(#[serde(deserialize_with = "json::value")] Value),
}

impl Coverage {
    /// As on the wire.
    pub fn wire(&self) -> GrantMatch {
        match self {
            Self::Rule(Value::Object(rule)) => GrantMatch::Rule(rule.clone()),
            Self::Rule(_) | Self::Input(_) => GrantMatch::Input,
            Self::Tool => GrantMatch::Tool,
        }
    }

    fn includes(&self, input: &Value) -> bool {
        match self {
            Self::Input(digest) => JsonDigest::of(input).as_ref() == Some(digest),
            Self::Tool => true,
            Self::Rule(rule) => Condition::from_json(rule.clone()).is_ok_and(|rule| rule.certainly_holds(input)),
        }
    }
}

/// A grant that may approve calls of a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct UsableGrant {
    /// Its id.
    pub id: GrantId,
    /// The name of the tool.
    pub tool: Box<str>,
    /// Who made it.
    pub maker: Subject,
    /// How often it can still be used.
    pub left: Option<u64>,
    /// What it approves.
    pub terms: GrantTerms,
}

impl UsableGrant {
    /// Whether it covers a call of a tool, now.
    pub fn covers(&self, spec: &ToolSpec, input: &Value, now: Timestamp) -> bool {
        *self.tool == spec.name
            && self.terms.until.is_none_or(|until| now < until)
            && tool_digest(spec).as_ref() == Some(&self.terms.tool)
            && self.terms.covers.includes(input)
    }
}

/// Why an approval can't make a grant. The approval is not in force either.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RememberError {
    /// The tool allows none.
    #[error("the approvals of this tool can't be remembered: `grants = false`, or its policy has a quorum")]
    NotAllowed,
    /// The tool is not the one that the person was asked about.
    #[error("the tool or its policy has changed since this was asked, so your approval can't be remembered")]
    Changed,
    /// The maker could not decide later calls alone.
    #[error("you may decide about this call, but not about every later one, so your approval can't be remembered")]
    NotAlone,
    /// The end is not a time.
    #[error("until: {0:?} is not a time such as 2026-11-20T09:30:00Z")]
    NoTime(String),
    /// The end is over.
    #[error("until: the time is in the past")]
    Past,
    /// The end is too far away.
    #[error("until: the time is more than ten years from now: leave it out for a grant without an end")]
    TooFar,
    /// The number of uses is out of range.
    #[error("uses: must be a number from 1 to {MAX_USES}: leave it out for any number of uses")]
    Uses,
    /// The rule is invalid.
    #[error("match: {0}")]
    Rule(RuleError),
    /// The rule is too large.
    #[error("match: the rule is larger than {MAX_RULE_BYTES} bytes")]
    LargeRule,
    /// The rule has a value that can't be stored.
    #[error("match: {0}")]
    RuleValue(ValueError),
    /// The rule does not cover the approved call.
    #[error("match: the rule does not hold for the call that you approve")]
    NotCovered,
    /// The input has no digest.
    #[error("match: this input has no canonical form, so calls with the same one can't be recognized: send a rule")]
    NoDigest,
    /// The owner of the chat has too many.
    #[error("{limit} grants are in force for the owner of this chat, which is the limit: revoke one first")]
    TooMany {
        /// The limit.
        limit: usize,
    },
}

impl RememberError {
    /// The invalid field of `remember`, as a JSON pointer; `None` if the cause is elsewhere.
    pub fn pointer(&self) -> Option<&'static str> {
        match self {
            Self::NotAllowed | Self::Changed | Self::NotAlone | Self::TooMany { .. } => None,
            Self::NoTime(_) | Self::Past | Self::TooFar => Some("/remember/until"),
            Self::Uses => Some("/remember/uses"),
            Self::Rule(_) | Self::LargeRule | Self::RuleValue(_) | Self::NotCovered | Self::NoDigest => {
                Some("/remember/match")
            }
        }
    }
}

impl GrantTerms {
    /// The terms of a grant that is made with the approval of a call with this input.
    pub fn new(remember: &Remember, spec: &ToolSpec, input: &Value, now: Timestamp) -> Result<Self, RememberError> {
        if !spec.allows_grants() {
            return Err(RememberError::NotAllowed);
        }
        let until = remember.until.as_ref().map(|text| until(text, now)).transpose()?;
        if remember.uses.is_some_and(|uses| !(1..=MAX_USES).contains(&uses)) {
            return Err(RememberError::Uses);
        }
        let covers = match &remember.covers {
            GrantMatch::Input => Coverage::Input(JsonDigest::of(input).ok_or(RememberError::NoDigest)?),
            GrantMatch::Tool => Coverage::Tool,
            GrantMatch::Rule(rule) => Coverage::Rule(admit_rule(Value::Object(rule.clone()), input)?),
        };
        let tool = tool_digest(spec).ok_or(RememberError::NotAllowed)?;
        Ok(Self { scope: remember.scope, covers, tool, until, uses: remember.uses })
    }

    /// Whether they are those of this wish.
    pub fn are(&self, remember: &Remember) -> bool {
        self.scope == remember.scope
            && self.covers.wire() == remember.covers
            && self.until == remember.until.as_deref().and_then(Timestamp::parse)
            && self.uses == remember.uses
    }
}

fn until(text: &str, now: Timestamp) -> Result<Timestamp, RememberError> {
    let until = Timestamp::parse(text).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        RememberError::NoTime(shown)
    })?;
    if until <= now {
        return Err(RememberError::Past);
    }
    if until > now.after(MAX_TIME) {
        return Err(RememberError::TooFar);
    }
    Ok(until)
}

fn admit_rule(rule: Value, input: &Value) -> Result<Value, RememberError> {
    if rule.to_string().len() > MAX_RULE_BYTES {
        return Err(RememberError::LargeRule);
    }
    admit(&rule).map_err(RememberError::RuleValue)?;
    let condition = Condition::from_json(rule.clone()).map_err(RememberError::Rule)?;
    if condition.certainly_holds(input) { Ok(rule) } else { Err(RememberError::NotCovered) }
}

/// The digest of what a grant relies on: a tool of the same name from elsewhere, with another schema or with another
/// policy has another one. Changes to a policy in code are not detected: revoke the grants when you change it.
pub fn tool_digest(spec: &ToolSpec) -> Option<JsonDigest> {
    let approval = match &spec.approval {
        ApprovalPolicy::Check(_) => json!("check"),
        ApprovalPolicy::AlwaysBecause(reason) => json!({"always": reason}),
        policy => serde_json::to_value(policy).ok()?,
    };
    JsonDigest::of(&json!({
        "name": spec.name,
        "source": spec.source,
        "origin": spec.origin,
        "execution": spec.execution,
        "schema": spec.input.as_value(),
        "approval": approval,
        "approvers": serde_json::to_value(&*spec.approvers).ok()?,
    }))
}
