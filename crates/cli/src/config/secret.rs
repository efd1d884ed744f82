//! Secret texts, which may refer to environment variables and are never shown.

use std::{collections::BTreeMap, fmt};

use holdpoint_runtime::tool::{Secret, mcp::SecretUrl};
use serde::{Deserialize, Deserializer, de};
use toml::Value;

/// The source of variables: the environment, or a test.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The error for a variable that is not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: the environment variable {name} is not set")]
pub struct MissingVariable {
    /// The setting that refers to it.
    pub key: String,
    /// Its name.
    pub name: String,
}

/// A text such as `"Bearer ${TOKEN}"`, or `{ env = "TOKEN" }`.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Vec<Part>);

#[derive(Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(String),
}

impl SecretText {
    /// The text with its variables substituted. Their values are secret; whether the rest is depends on its use. `key` is
    /// the setting, for an error.
    pub fn resolve(&self, key: &str, variables: Variables<'_>) -> Result<Secret, MissingVariable> {
        Ok(Secret::with_secret_parts(self.text(key, variables)?, self.values(variables)))
    }

    /// The text as a URL, in which the variables are secret.
    pub fn resolve_url(&self, key: &str, variables: Variables<'_>) -> Result<SecretUrl, MissingVariable> {
        let url = SecretUrl::new(self.text(key, variables)?);
        Ok(url.hiding(self.values(variables).into_iter().map(Secret::new)))
    }

    /// The values of its variables, as far as they are set.
    pub(super) fn values(&self, variables: Variables<'_>) -> Vec<String> {
        let names = self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Variable(name) => variables(name),
        });
        names.filter(|value| !value.is_empty()).collect()
    }

    fn text(&self, key: &str, variables: Variables<'_>) -> Result<String, MissingVariable> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Variable(name) => {
                    let missing = || MissingVariable { key: key.to_owned(), name: name.clone() };
                    text.push_str(&variables(name).ok_or_else(missing)?);
                }
            }
        }
        Ok(text)
    }

    /// Reads a text that may contain `${NAME}`.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or("a `${` without its `}`")?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Variable(checked(name)?));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// The error never quotes the value: it may be the secret itself.
    fn from_value(value: Value) -> Result<Self, &'static str> {
        const SHAPE: &str = "must be a text, or { env = \"NAME\" }";
        match value {
            Value::String(text) => Self::read(&text),
            Value::Table(mut table) => match (table.remove("env"), table.is_empty()) {
                (Some(Value::String(name)), true) => Ok(Self(vec![Part::Variable(checked(&name)?)])),
                _ => Err(SHAPE),
            },
            _ => Err(SHAPE),
        }
    }
}

fn checked(name: &str) -> Result<String, &'static str> {
    let is_name = !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    if is_name { Ok(name.to_owned()) } else { Err("has a variable without a proper name") }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

/// The least length of a key that encrypts something.
pub(super) const MIN_KEY_LEN: usize = 16;

/// Why the key for the server's own secrets can't be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SecretsKeyError {
    #[error(
        "`secrets_key` must have at least {MIN_KEY_LEN} characters: set it to what `openssl rand -base64 32` prints, for example"
    )]
    TooShort,
    #[error(transparent)]
    Variable(#[from] MissingVariable),
}

impl super::Config {
    /// The key for the server's own secrets.
    pub fn key_of_secrets(&self, variables: Variables<'_>) -> Result<Option<Secret>, SecretsKeyError> {
        let Some(text) = &self.secrets_key else { return Ok(None) };
        let key = text.resolve("secrets_key", variables)?;
        if key.len() < MIN_KEY_LEN { Err(SecretsKeyError::TooShort) } else { Ok(Some(key)) }
    }
}

/// Secret texts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretTexts(BTreeMap<String, SecretText>);

impl SecretTexts {
    /// Whether there is one of this name, in any case.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.keys().any(|key| key.eq_ignore_ascii_case(name))
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All texts with their variables substituted. `key` is the setting, for an error.
    pub fn resolve(&self, key: &str, variables: Variables<'_>) -> Result<Vec<(String, Secret)>, MissingVariable> {
        let resolve = |text: &SecretText, name: &str| text.resolve(&format!("{key}.{name}"), variables);
        self.0.iter().map(|(name, text)| Ok((name.clone(), resolve(text, name)?))).collect()
    }
}

impl<'de> Deserialize<'de> for SecretTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Table(table) = Value::deserialize(deserializer)? else {
            return Err(de::Error::custom("must be a table of names and texts"));
        };
        let read = |(name, value): (String, Value)| {
            let text = SecretText::from_value(value);
            text.map(|text| (name.clone(), text)).map_err(|problem| de::Error::custom(format!("`{name}`: {problem}")))
        };
        table.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SecretTexts, String> {
        let table: toml::Table = text.parse().expect("TOML");
        SecretTexts::deserialize(Value::Table(table)).map_err(|error| error.to_string())
    }

    #[test]
    fn variables_are_replaced() {
        let texts = read("a = { env = 'KEY' }\nb = 'Bearer ${KEY}, ${OTHER}!'\nc = 'plain'").expect("good");
        let variables = |name: &str| (name != "NONE").then(|| format!("<{name}>"));
        let resolved = texts.resolve("headers", &variables).expect("all are set");
        let expected = [("a", "<KEY>"), ("b", "Bearer <KEY>, <OTHER>!"), ("c", "plain")];
        let parts = [vec!["<KEY>"], vec!["<KEY>", "<OTHER>"], vec![]];
        let expected = expected.iter().zip(parts).map(|((name, text), parts)| {
            ((*name).to_owned(), Secret::with_secret_parts(*text, parts.into_iter().map(str::to_owned)))
        });
        assert_eq!(resolved, expected.collect::<Vec<_>>());
        let missing = read("a = '${NONE}'").expect("good").resolve("headers", &variables).unwrap_err();
        assert_eq!(missing.to_string(), "`headers.a`: the environment variable NONE is not set");
        assert!(!format!("{texts:?}").contains("plain"));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        for text in [
            "a = ['hunter22']",
            "a = { evn = 'hunter22' }",
            "a = 'hunter22 ${'",
            "a = 'hunter22 ${a b}'",
            "a = 22222222",
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains("`a`") && !error.contains("hunter22") && !error.contains("22222222"), "{error}");
        }
    }
}
