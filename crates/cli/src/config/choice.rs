//! Settings that are one of several words, or a list. Validation errors name the value and the allowed ones.

use std::{fmt, marker::PhantomData, net::SocketAddr};

use holdpoint_protocol::holds::Allowed;
use holdpoint_runtime::{
    identity::Role,
    model::provider::{OpenAiApi, ReasoningEffort},
    tool::{Execution, Returns, Wait, http::InputPlacement, mcp::McpProtocol},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, SeqAccess, Unexpected, Visitor},
};

use super::LogFormat;

/// A type of which every value has a name in the settings.
pub(super) trait Choice: Copy + 'static {
    /// All of them, with their names.
    const ALL: &'static [(&'static str, Self)];
}

impl Choice for OpenAiApi {
    const ALL: &'static [(&'static str, Self)] = &OpenAiApi::ALL;
}

impl Choice for ReasoningEffort {
    const ALL: &'static [(&'static str, Self)] = &ReasoningEffort::ALL;
}

impl Choice for Execution {
    const ALL: &'static [(&'static str, Self)] =
        &[("server", Self::Server), ("frontend", Self::Frontend), ("delegate", Self::Delegate)];
}

impl Choice for Wait {
    const ALL: &'static [(&'static str, Self)] = &[("stream", Self::Stream), ("resubmit", Self::Resubmit)];
}

impl Choice for Returns {
    const ALL: &'static [(&'static str, Self)] = &[("output", Self::Output), ("ack", Self::Ack)];
}

impl Choice for InputPlacement {
    const ALL: &'static [(&'static str, Self)] = &[("json", Self::Json), ("query", Self::Query)];
}

impl Choice for LogFormat {
    const ALL: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

impl Choice for Allowed {
    const ALL: &'static [(&'static str, Self)] = &[
        ("approve", Self::Approve),
        ("deny", Self::Deny),
        ("edit", Self::Edit),
        ("answer", Self::Answer),
        ("remember", Self::Remember),
    ];
}

impl Choice for Role {
    const ALL: &'static [(&'static str, Self)] =
        &[("user", Self::User), ("approver", Self::Approver), ("admin", Self::Admin)];
}

impl Choice for McpProtocol {
    const ALL: &'static [(&'static str, Self)] =
        &[("2026-07-28", Self::V2026_07_28), ("2025-11-25", Self::V2025_11_25), ("2025-06-18", Self::V2025_06_18)];
}

struct OneOf<T: 'static>(&'static [(&'static str, T)]);

impl<T: Choice> Visitor<'_> for OneOf<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one of ")?;
        for (at, (name, _)) in self.0.iter().enumerate() {
            write!(f, "{}\"{name}\"", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let found = self.0.iter().find(|(name, _)| *name == text);
        found.map(|(_, value)| *value).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Reads one of the words.
pub(super) fn one_of<'de, D: Deserializer<'de>, T: Choice>(deserializer: D) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_str(OneOf(T::ALL)).map(Some)
}

impl<'de, T: Choice> DeserializeSeed<'de> for OneOf<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

/// Reads a list of such words.
pub(super) fn some_of<'de, D: Deserializer<'de>, T: Choice>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
    deserializer.deserialize_seq(List(|| OneOf(T::ALL), PhantomData)).map(Some)
}

/// Reads the roles of a key.
pub(super) fn roles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Role>, D::Error> {
    some_of(deserializer).map(Option::unwrap_or_default)
}

/// Reads a list of texts.
pub(super) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    deserializer.deserialize_seq(List(|| PhantomData::<String>, PhantomData))
}

/// Reads a list of texts that may be left out.
pub(super) fn some_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    texts(deserializer).map(Some)
}

/// A list. The function makes what reads an entry.
struct List<F, T>(F, PhantomData<T>);

impl<'de, S: DeserializeSeed<'de>, F: Fn() -> S> Visitor<'de> for List<F, S::Value> {
    type Value = Vec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list, such as [\"a\", \"b\"]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed((self.0)())? {
            values.push(value);
        }
        Ok(values)
    }
}

/// Reads an address to listen on.
pub(super) fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || {
        D::Error::custom(format!(
            "{text:?} is not an address: write an IP address and a port up to 65535, such as \"127.0.0.1:8787\" or \"[::1]:8787\""
        ))
    };
    text.parse().map(Some).map_err(|_| wrong())
}
