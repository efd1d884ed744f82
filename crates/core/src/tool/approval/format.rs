//! The configuration format of approval policies: `"always"`, `"never"`, or a condition.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};
use serde_json::{Map, Value};

use super::{
    ApprovalPolicy, Condition,
    condition::{Rule, Test},
};
use crate::tool::text::show;

const KEYS: &str =
    "a rule is `when` with `over`, `under`, `equals`, `one_of` or `matches`, or it is `all`, `any` or `not`";

/// Why a rule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum RuleError {
    #[error(
        "{pointer:?} is not a JSON pointer: start it with a slash, such as \"/amount\", or leave it empty for the whole input"
    )]
    Pointer { pointer: String },
    #[error("`{key}` needs a number, not {value}")]
    NotANumber { key: &'static str, value: String },
    #[error("`{key}` is empty: give it at least one entry")]
    Empty { key: &'static str },
    #[error("`{key}` needs {wanted}, not {value}")]
    WrongType { key: &'static str, wanted: &'static str, value: String },
    #[error("{pattern} is not a supported regular expression: {problem}")]
    Pattern { pattern: String, problem: String },
    #[error("unknown key `{key}`; {KEYS}")]
    UnknownKey { key: String },
    #[error("`{first}` and `{second}` can't be in one rule. Combine two rules with `all` or `any`")]
    Together { first: String, second: String },
    #[error("the rule has nothing to compare with; {KEYS}")]
    NoComparison,
    #[error("`{key}` needs `when = \"/field\"` to name the value")]
    NoPointer { key: String },
    #[error(
        "{value} is not an approval policy: use \"always\", \"never\", or a rule such as {{ when = \"/amount\", over = 100 }}"
    )]
    NotAnApproval { value: String },
    /// A nested rule is invalid.
    #[error("in `{place}`: {problem}")]
    Inside { place: String, problem: Box<RuleError> },
}

impl ApprovalPolicy {
    fn read(value: Value) -> Result<Self, RuleError> {
        match value {
            Value::String(word) if word == "always" => Ok(Self::Always),
            Value::String(word) if word == "never" => Ok(Self::Never),
            Value::Object(rule) => Condition::read(rule).map(Self::When),
            other => Err(RuleError::NotAnApproval { value: show(&other) }),
        }
    }
}

impl Condition {
    /// Reads a rule, as it is in the settings.
    pub(crate) fn from_json(value: Value) -> Result<Self, RuleError> {
        match value {
            Value::Object(rule) => Self::read(rule),
            other => Err(RuleError::WrongType { key: "rule", wanted: "a table", value: show(&other) }),
        }
    }

    fn read(mut rule: Map<String, Value>) -> Result<Self, RuleError> {
        let pointer = rule.shift_remove("when");
        let mut keys = rule.into_iter();
        let Some((key, value)) = keys.next() else {
            return Err(RuleError::NoComparison);
        };
        let others: Vec<String> = keys.map(|(key, _)| key).collect();
        let known = |key: &str| ["over", "under", "equals", "one_of", "matches", "all", "any", "not"].contains(&key);
        if let Some(key) = std::iter::once(&key).chain(&others).find(|key| !known(key)) {
            return Err(RuleError::UnknownKey { key: key.clone() });
        }
        if let Some(second) = others.into_iter().next() {
            return Err(RuleError::Together { first: key, second });
        }
        match (key.as_str(), pointer) {
            ("all" | "any" | "not", Some(_)) => Err(RuleError::Together { first: "when".to_owned(), second: key }),
            ("all", None) => Self::all(Self::read_list("all", value)?),
            ("any", None) => Self::any(Self::read_list("any", value)?),
            ("not", None) => Self::read_inside("not".to_owned(), value).map(Self::not),
            (_, Some(Value::String(pointer))) => Self::read_comparison(&pointer, &key, value),
            (_, Some(other)) => {
                Err(RuleError::WrongType { key: "when", wanted: "a JSON pointer", value: show(&other) })
            }
            (_, None) => Err(RuleError::NoPointer { key }),
        }
    }

    fn read_comparison(pointer: &str, key: &str, value: Value) -> Result<Self, RuleError> {
        match (key, value) {
            ("over", value) => Self::over(pointer, value),
            ("under", value) => Self::under(pointer, value),
            ("one_of", Value::Array(values)) => Self::one_of(pointer, values),
            ("one_of", other) => Err(RuleError::WrongType { key: "one_of", wanted: "a list", value: show(&other) }),
            ("matches", Value::String(pattern)) => Self::matches(pointer, &pattern),
            ("matches", other) => {
                Err(RuleError::WrongType { key: "matches", wanted: "a regular expression", value: show(&other) })
            }
            (_, value) => Self::equals(pointer, value),
        }
    }

    fn read_list(key: &'static str, value: Value) -> Result<Vec<Self>, RuleError> {
        let Value::Array(rules) = value else {
            return Err(RuleError::WrongType { key, wanted: "a list of rules", value: show(&value) });
        };
        rules.into_iter().enumerate().map(|(index, rule)| Self::read_inside(format!("{key}[{index}]"), rule)).collect()
    }

    fn read_inside(place: String, value: Value) -> Result<Self, RuleError> {
        Self::from_json(value).map_err(|problem| RuleError::Inside { place, problem: Box::new(problem) })
    }
}

impl<'de> Deserialize<'de> for ApprovalPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl Serialize for ApprovalPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Never => serializer.serialize_str("never"),
            Self::Always | Self::AlwaysBecause(_) | Self::Check(_) => serializer.serialize_str("always"),
            Self::When(condition) => condition.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Map::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.0 {
            Rule::All(parts) => map.serialize_entry("all", parts)?,
            Rule::Any(parts) => map.serialize_entry("any", parts)?,
            Rule::Not(part) => map.serialize_entry("not", part)?,
            Rule::Value { pointer, test } => {
                map.serialize_entry("when", pointer)?;
                match test {
                    Test::Over(limit) => map.serialize_entry("over", limit)?,
                    Test::Under(limit) => map.serialize_entry("under", limit)?,
                    Test::Equals(value) => map.serialize_entry("equals", value)?,
                    Test::OneOf(values) => map.serialize_entry("one_of", values)?,
                    Test::Matches(pattern) => map.serialize_entry("matches", pattern.as_str())?,
                }
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_shape_is_read_and_written() {
        for shape in [
            json!("always"),
            json!("never"),
            json!({"when": "/amount", "over": 100}),
            json!({"when": "/amount", "under": 0.5}),
            json!({"when": "", "equals": {"a": [null, true]}}),
            json!({"when": "/currency", "one_of": ["EUR", 5, null]}),
            json!({"when": "/宛先", "matches": "^[A-Z]+$"}),
            json!({"all": [{"any": [{"when": "/a", "over": 18_446_744_073_709_551_615_u64}]}, {"not": {"when": "/b", "equals": null}}]}),
        ] {
            let approval: ApprovalPolicy = serde_json::from_value(shape.clone()).expect("a good shape");
            assert_eq!(serde_json::to_value(&approval).unwrap(), shape);
            assert_eq!(serde_json::from_value::<ApprovalPolicy>(shape).unwrap(), approval);
        }
    }

    #[test]
    fn rules_are_told_apart() {
        let read = |shape| serde_json::from_value::<ApprovalPolicy>(shape).unwrap();
        let rule = read(json!({"when": "/a", "over": 1}));
        assert_eq!(rule, Condition::over("/a", 1).unwrap().into());
        for other in [
            json!("always"),
            json!({"when": "/a", "over": 2}),
            json!({"when": "/a", "under": 1}),
            json!({"when": "/b", "over": 1}),
            json!({"not": {"when": "/a", "over": 1}}),
        ] {
            assert_ne!(rule, read(other));
        }
        assert_ne!(read(json!({"when": "/a", "matches": "a"})), read(json!({"when": "/a", "matches": "b"})));
    }

    #[test]
    fn mistakes_are_named() {
        for (shape, part) in [
            (json!("sometimes"), "\"sometimes\" is not an approval policy"),
            (json!(true), "true is not an approval policy"),
            (json!({}), "nothing to compare with"),
            (json!({"when": "/a"}), "nothing to compare with"),
            (json!({"when": "/a", "ovr": 5}), "unknown key `ovr`"),
            (json!({"when": "/a", "over": 5, "then": 1}), "unknown key `then`"),
            (json!({"when": "/a", "over": 5, "under": 9}), "`over` and `under` can't be in one rule"),
            (json!({"when": "/a", "all": []}), "`when` and `all` can't be in one rule"),
            (json!({"over": 5}), "`over` needs `when"),
            (json!({"when": 5, "over": 5}), "`when` needs a JSON pointer, not 5"),
            (json!({"when": "a", "over": 5}), "start it with a slash"),
            (json!({"when": "/a", "over": "5"}), "`over` needs a number, not \"5\""),
            (json!({"when": "/a", "one_of": "x"}), "`one_of` needs a list"),
            (json!({"when": "/a", "matches": 5}), "`matches` needs a regular expression"),
            (json!({"when": "/a", "matches": "["}), "is not a supported regular expression"),
            (json!({"all": {"when": "/a", "over": 5}}), "`all` needs a list of rules"),
            (json!({"any": []}), "`any` is empty"),
            (json!({"any": [{"when": "/a", "over": 1}, {"not": {"x": 1}}]}), "in `any[1]`: in `not`: unknown key `x`"),
            (json!({"not": "always"}), "in `not`: `rule` needs a table"),
        ] {
            let text = serde_json::from_value::<ApprovalPolicy>(shape).unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        }
    }
}
